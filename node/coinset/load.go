package coinset

import (
	"context"
	"errors"

	"stele/store"
	"stele/tables"
	"stele/utxo"
)

// fromImage loads an image and rolls it to the tip. Where the image is to blame for an error, spoiled tells.
func (l *Loader) fromImage(ctx context.Context, name string) (set *utxo.Set, since uint64, err error) {
	i, err := openImage(l.d, name)
	if err != nil {
		return nil, 0, err
	}
	base, since, err := l.baseOf(i)
	if err != nil {
		return nil, 0, errors.Join(err, i.Close())
	}
	set, err = l.fill(ctx, i.Head.Records, func(ctx context.Context, set *utxo.Set) error {
		tip, _ := l.v.Tip()
		if err := l.loadShards(ctx, i, set); err != nil || base == tip {
			return err
		}
		return l.roll(ctx, set, base)
	})
	if err := errors.Join(err, i.Close()); err != nil {
		if set != nil {
			set.Close()
		}
		return nil, 0, err
	}
	return set, since, nil
}

// errNoRoll says that an image is good, and that nothing can bring it to the tip.
var errNoRoll = errors.New("the image is of another block")

// baseOf returns the block of an image, and how many inputs the blocks above its height have.
func (l *Loader) baseOf(i *utxo.Image) (base tables.HeaderLink, above uint64, err error) {
	err = store.Guard(func() error {
		var ok bool
		if base, ok = l.v.FindHeader(&i.Head.Base); !ok {
			return &utxo.ImageError{What: "its block is not known"}
		}
		tip, height := l.v.Tip()
		if base != tip && l.o.Roll == nil {
			return errNoRoll
		}
		for h := i.Head.Height + 1; h <= height; h++ {
			link, _ := l.v.HeaderAt(h)
			b, _ := l.v.Block(link)
			above += uint64(b.Ins)
		}
		return nil
	})
	return base, above, err
}

// loadShards loads shards of an image on all goroutines.
func (l *Loader) loadShards(ctx context.Context, i *utxo.Image, set *utxo.Set) error {
	s := &imageSource{i, hand{ctx: ctx, set: set, memory: l.o.Memory}}
	return utxo.Each(s, l.o.Threads, nil, func(shards int) { l.tell("image", uint64(shards), utxo.Shards) })
}

// imageSource is an image as something whose every shard is read under a guard, and loaded.
type imageSource struct {
	*utxo.Image
	start hand // of each shard
}

// Shard implements utxo.Source; it loads the records of a shard and gives nothing to f.
func (s *imageSource) Shard(shard int, _ func(*utxo.Record) error) error {
	h := s.start
	if err := h.look(); err != nil {
		return err
	}
	return store.Guard(func() error {
		return s.Image.Shard(shard, func(r *utxo.Record) error { return s.record(&h, r) })
	})
}

func (s *imageSource) record(h *hand, r *utxo.Record) error {
	if r.Height > s.Head.Height || r.First+uint64(r.Outs[len(r.Outs)-1].Vout) >= s.Head.Archive.Outputs {
		return &utxo.ImageError{What: "a transaction lies beyond what it was made over"}
	}
	return h.load(r)
}

// roll brings a set from the state after a block to the tip. What does not fit on it says that the image was wrong.
func (l *Loader) roll(ctx context.Context, set *utxo.Set, base tables.HeaderLink) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err := store.Guard(func() error {
		return l.o.Roll(ctx, l.v, set, base, func(done, total uint32) {
			l.tell("roll", uint64(done), uint64(total))
			if err := tooLarge(set, l.o.Memory); err != nil {
				cancel(err)
			}
		})
	})
	var large *TooLarge
	if err != nil && errors.As(context.Cause(ctx), &large) {
		return large
	}
	if unfit(err) {
		return &utxo.ImageError{What: "the chain does not go on from it: " + err.Error()}
	}
	return err
}

// unfit tells the errors of a chain that does not go on from a set.
func unfit(err error) bool {
	var missing *utxo.MissingError
	var duplicate *utxo.DuplicateError
	var undo *utxo.UndoError
	var damaged *store.Damaged
	return errors.As(err, &missing) || errors.As(err, &duplicate) || errors.As(err, &undo) ||
		errors.As(err, &damaged) && damaged.Name == "set of unspent outputs" // the name that confirm.Roll gives it
}
