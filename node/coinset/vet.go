package coinset

import (
	"errors"
	"fmt"

	"stele/store"
	"stele/tables"
	"stele/utxo"
)

// vet returns the names of the images that are good for a view, the newest first. All other files that have an image's
// name are removed, and are gone for good when it returns: what is left of a save, images of other stores, and those that
// lie beyond the view's cut. A disk that is read-only keeps them.
func vet(v *tables.View, d store.Disk, damaged func(string, error)) (good []string, err error) {
	names, err := utxo.Images(onStore{d})
	if err != nil {
		return nil, err
	}
	removed := false
	for _, name := range names {
		bad, err := look(v, d, name)
		if err != nil {
			return nil, err
		}
		if bad == nil {
			good = append(good, name)
			continue
		}
		damaged(name, bad)
		if d.ReadOnly() {
			continue
		}
		if err := d.Remove(name); err != nil {
			return nil, err
		}
		removed = true
	}
	if removed {
		return good, d.Sync()
	}
	return good, nil
}

// look says why an image is no good for a view; nil: it is. An error says that this could not be found out.
func look(v *tables.View, d store.Disk, name string) (bad, err error) {
	i, err := openImage(d, name)
	if spoiled(err, name) {
		return err, nil
	}
	if err != nil {
		return nil, err
	}
	head := i.Head
	if err := i.Close(); err != nil {
		return nil, err
	}
	err = store.Guard(func() error {
		bad = belongs(v, &head)
		return nil
	})
	return bad, err
}

func openImage(d store.Disk, name string) (i *utxo.Image, err error) {
	err = store.Guard(func() (err error) {
		i, err = utxo.OpenFile(onStore{d}, name)
		return err
	})
	return i, err
}

// belongs says why the archive that a view stands on is not the one that an image's numbers are of.
func belongs(v *tables.View, h *utxo.ImageHead) error {
	a, cut := &h.Archive, v.Cut()
	switch {
	case h.Network != v.Params().Magic:
		return &utxo.ImageError{What: "it is of another network"}
	case a.Store != v.StoreID():
		return &utxo.ImageError{What: "it is of another store"}
	case a.Blocks > uint64(cut.Txs) || a.Outputs > cut.Outs || a.Log > cut.Log:
		return &utxo.ImageError{What: fmt.Sprintf("it was made over %d archived blocks, %d outputs and %d records of the "+
			"chain log, and there are %d, %d and %d", a.Blocks, a.Outputs, a.Log, cut.Txs, cut.Outs, cut.Log)}
	}
	order, outputs, ok := v.ArchiveOrder(a.Blocks)
	if !ok || outputs != a.Outputs || order != a.Order {
		return &utxo.ImageError{What: "the archive has other blocks, or in another order"}
	}
	l, ok := v.FindHeader(&h.Base)
	if !ok || v.Header(l).Height() != h.Height {
		return &utxo.ImageError{What: "its block is not known"}
	}
	if b, ok := v.Block(l); !ok || uint64(b.FirstOut) >= a.Outputs {
		return &utxo.ImageError{What: "its block is not among those that it was made over"}
	}
	return nil
}

// spoiled tells the errors that an image is to blame for from all others.
func spoiled(err error, name string) bool {
	var image *utxo.ImageError
	var fault *store.Fault
	return errors.As(err, &image) || errors.As(err, &fault) && fault.Name == name && fault.Op == "read"
}
