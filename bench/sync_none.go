//go:build !bench

package bench

import (
	"errors"

	"stele/chain"
)

// btcdLinked is false: btcd's blockchain is not in this executable.
const btcdLinked = false

func (j *btcdJob) run(*childSide, string, *chain.Params) error { return errors.New(needsTag) }
