package coinset

import (
	"context"
	"fmt"

	"stele/utxo"
)

// TooLarge says that a set does not do with the memory that it may take.
type TooLarge struct {
	Wanted int64 // bytes that it had come to when it was given up; the whole of it wants more
	Memory int64 // bytes that it may take
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("the unspent outputs want more than the %d bytes of memory that they may take (%d so far)",
		e.Memory, e.Wanted)
}

func tooLarge(set *utxo.Set, memory int64) error {
	if memory <= 0 {
		return nil
	}
	if n := set.Bytes(); n > memory {
		return &TooLarge{Wanted: n, Memory: memory}
	}
	return nil
}

// lookEvery is how many records a goroutine loads between two looks at the memory, which read a word a shard: some 250 KB
// of the set.
const lookEvery = 4096

// hand is one goroutine's way to load a set.
type hand struct {
	ctx    context.Context
	set    *utxo.Set
	memory int64 // 0: any
	n      int   // records
}

// load adds a record. What the record is to blame for is an *utxo.ImageError.
func (h *hand) load(r *utxo.Record) error {
	if h.n++; h.n%lookEvery == 0 {
		if err := h.look(); err != nil {
			return err
		}
	}
	err := h.set.Load(r)
	if _, full := err.(*utxo.FullError); err == nil || full {
		return err
	}
	return &utxo.ImageError{What: err.Error()}
}

// look says whether to go on.
func (h *hand) look() error {
	if err := h.ctx.Err(); err != nil {
		return err
	}
	return tooLarge(h.set, h.memory)
}
