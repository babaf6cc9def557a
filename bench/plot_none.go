//go:build !bench

package bench

// Plotter returns ErrNoPlots: this executable cannot draw.
func Plotter(string) (draw func(*Result) error, err error) { return nil, ErrNoPlots }
