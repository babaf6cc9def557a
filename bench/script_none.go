//go:build !bench

package bench

// btcdEngine is nil: btcd's engine is linked with the tag bench only.
func btcdEngine(*scriptWork) (*btcdSide, error) { return nil, nil }
