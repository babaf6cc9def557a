package confirm

import (
	"context"
	"fmt"

	"stele/store"
	"stele/tables"
	"stele/utxo"
)

// rollInputs and rollBlocks bound a window of blocks that are rolled forward together.
const (
	rollInputs = 50_000
	rollBlocks = 256
)

// Roll brings a set from the state after block from to that after v's tip: back to where the two chains part, then
// forward. Everything comes out of the archive, in which both branches are. Nobody else changes the set meanwhile, and v
// is readable by any goroutine. told hears how many blocks are done, of how many; it may be nil.
//
// An error leaves the set after some block between the two. It is ctx's, *utxo.FullError, or *store.Damaged: a set that
// does not fit the archive is damage, too.
func Roll(
	ctx context.Context, v *tables.View, s *utxo.Set, from tables.HeaderLink, told func(done, total uint32),
) error {
	r := rolling{v: v, s: s, told: told}
	fork := from
	for !v.Confirmed(fork) {
		if _, ok := v.Block(fork); !ok {
			return unfit(v, from, nil)
		}
		r.total++
		fork, _ = v.Header(fork).Parent()
	}
	_, tip := v.Tip()
	height := v.Header(fork).Height()
	r.total += tip - height
	for ; from != fork; from, _ = v.Header(from).Parent() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.back(from); err != nil {
			return err
		}
	}
	for height < tip {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := r.forward(height+1, tip)
		if err != nil {
			return err
		}
		height += n
	}
	return nil
}

// rolling is one run of Roll.
type rolling struct {
	v           *tables.View
	s           *utxo.Set
	told        func(done, total uint32)
	done, total uint32
	windows     []rows
	changes     []*utxo.Block
	undos       []*utxo.Undo
}

func (r *rolling) advance(n uint32) {
	r.done += n
	if r.told != nil {
		r.told(r.done, r.total)
	}
}

// row returns memory for the n-th block of a window.
func (r *rolling) row(n int) *rows {
	for len(r.windows) <= n {
		r.windows = append(r.windows, rows{})
	}
	return &r.windows[n]
}

func (r *rolling) back(l tables.HeaderLink) error {
	x := r.row(0)
	err := store.Guard(func() error { return x.spent(r.v, l) })
	if err != nil {
		return err
	}
	if err := r.s.Undo(&x.undo); err != nil {
		return unfit(r.v, l, err)
	}
	r.advance(1)
	return nil
}

// forward commits blocks from a height on, up to the tip at the most. n is how many.
func (r *rolling) forward(height, tip uint32) (n uint32, err error) {
	r.changes, r.undos = r.changes[:0], r.undos[:0]
	// Room first: what is pointed to must not move.
	for i := range rollBlocks {
		r.row(i)
	}
	for inputs := 0; height+n <= tip && n < rollBlocks && inputs < rollInputs; n++ {
		l, _ := r.v.HeaderAt(height + n)
		x := r.row(int(n))
		if err := store.Guard(func() error { return x.made(r.v, l) }); err != nil {
			return 0, err
		}
		inputs += len(x.change.Spends) + len(x.change.Made)
		r.changes, r.undos = append(r.changes, &x.change), append(r.undos, &x.undo)
	}
	done, err := r.s.CommitAll(r.changes, r.undos)
	r.advance(uint32(done))
	if err != nil {
		l, _ := r.v.HeaderAt(height + uint32(done))
		return 0, unfit(r.v, l, err)
	}
	return n, nil
}

// unfit says that a set and the archive contradict each other at a block, unless err is about memory.
func unfit(v *tables.View, l tables.HeaderLink, err error) error {
	if full, ok := err.(*utxo.FullError); ok {
		return full
	}
	return &store.Damaged{Name: "set of unspent outputs", What: fmt.Sprintf(
		"does not fit the archive at block %v: %v", v.Header(l).Hash(), err,
	)}
}
