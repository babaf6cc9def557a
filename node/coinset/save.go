package coinset

import (
	"context"
	"errors"

	"stele/store"
	"stele/tables"
	"stele/utxo"
)

// ErrNotDurable says that an image was asked for of a view that a power cut may take.
var ErrNotDurable = errors.New("an image of the unspent outputs wants a checkpoint of its block first")

// Save writes a set as the disk's image, in place of older ones. The set must be as after the view's tip, and is held
// meanwhile: its writer waits, its readers do not. What the view stands on must be durable (ErrNotDurable). told, which
// may be nil, hears how many of the shards are done.
//
// Space is had before it is written to. A full disk is a *store.DiskFull, the end of ctx its error; whatever fails before
// the new image is durable leaves the old one and nothing else.
func Save(
	ctx context.Context, v *tables.View, d store.Disk, set *utxo.Set, threads int, told func(done, total uint64),
) error {
	if !v.Durable() {
		return ErrNotDurable
	}
	return save(ctx, v, d, set, threads, told)
}

func save(
	ctx context.Context, v *tables.View, d store.Disk, set *utxo.Set, threads int, told func(done, total uint64),
) error {
	var head utxo.ImageHead
	if err := store.Guard(func() (err error) {
		head, err = headOf(v)
		return err
	}); err != nil {
		return err
	}
	defer set.Hold()()
	var progress func(int)
	if told != nil {
		progress = func(shards int) { told(uint64(shards), utxo.Shards) }
	}
	return utxo.SaveImage(onStore{d}, head, heldSet{ctx, set}, threads, progress)
}

// headOf says of which block, and over which archive, an image of a view's tip is.
func headOf(v *tables.View) (h utxo.ImageHead, err error) {
	tip, height := v.Tip()
	cut := v.Cut()
	order, outputs, ok := v.ArchiveOrder(uint64(cut.Txs))
	if !ok || outputs != cut.Outs {
		return h, &store.Damaged{Name: "txs", What: "ends elsewhere than the cut"}
	}
	h = utxo.ImageHead{Network: v.Params().Magic, Base: v.Header(tip).Hash(), Height: height}
	h.Archive = utxo.Archive{
		Store: v.StoreID(), Order: order, Blocks: uint64(cut.Txs), Outputs: outputs, Log: cut.Log,
	}
	return h, nil
}

// heldSet is a set whose reading can be ended.
type heldSet struct {
	ctx context.Context
	*utxo.Set
}

// Shard implements utxo.Source.
func (s heldSet) Shard(shard int, f func(*utxo.Record) error) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	return s.Set.Shard(shard, f)
}
