package tables

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"stele/hashmap"
	"stele/store"
)

// Backup copies the store onto an empty disk while its writer and its checkpoints go on. Any goroutine may call it, one at
// a time. What it makes is a store of its own, at the newest checkpoint that was durable when the bodies were copied; it
// opens like one that was left without closing.
//
// Order: the index states of the durable manifest, then the files that they name, then the durable manifest again, and
// the bodies up to its lengths, and last the new manifest, with the old states and the new lengths. An index file may
// be merged while it is copied: what gets into the copy is covered by the later manifest, since merges take only what
// a durable manifest covers, and what is torn in it is below no watermark of the copy, so that opening it merges it again.
// Conflict alone must not be ahead of its state (its overflow lines are counted), so no checkpoint merges while that one
// small file is copied.
func (t *Tables) Backup(dst store.Disk, progress func(done, total int64)) error {
	b := backup{t: t, dst: dst, progress: progress}
	return store.Guard(b.run)
}

type backup struct {
	t           *Tables
	dst         store.Disk
	progress    func(done, total int64)
	done, total int64
	buf         []byte
}

func (b *backup) run() error {
	if names, err := b.dst.List(); err != nil || len(names) > 0 {
		return errors.Join(err, notEmpty(names))
	}
	t := b.t
	c := t.durable.Load().cut
	b.total = 13*store.PageSize + int64(c.Headers)*headerWidth + int64(c.Txs)*txsWidth + int64(c.Tx)*(txWidth+6) +
		int64(c.Ins)*insWidth + int64(c.Outs)*4 + int64(c.OutSlab) + int64(c.InSlab) + int64(c.Log)*chainWidth
	m, err := b.indexes()
	if err != nil {
		return err
	}
	m, err = b.bodies(m)
	if err != nil {
		return err
	}
	if err := b.dst.Sync(); err != nil {
		return err
	}
	manifest, err := store.CreateManifest(b.dst, t.manifest.Preamble())
	if err != nil {
		return err
	}
	_, err = manifest.Write(m.encode())
	return errors.Join(err, manifest.Close())
}

func notEmpty(names []string) error {
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("backup: %w: the folder already holds %s", fs.ErrExist, names[0])
}

// indexes copies the files of the indexes and returns the image whose states they have. A generation that a checkpoint
// retires before it is opened sends it to the next manifest's.
func (b *backup) indexes() (image, error) {
	for {
		m := *b.t.durable.Load()
		err := b.copyIndexes(&m)
		if !errors.Is(err, fs.ErrNotExist) || b.t.durable.Load().generations() == m.generations() {
			return m, err
		}
		names, err := b.dst.List()
		if err != nil {
			return m, err
		}
		for _, name := range names {
			if err := b.dst.Remove(name); err != nil {
				return m, err
			}
		}
	}
}

// generations returns the numbers of the files that the states name.
func (m *image) generations() (g [5]uint32) {
	for i, s := range m.states() {
		g[i] = s.Generation
	}
	return g
}

func (b *backup) copyIndexes(m *image) error {
	for _, f := range []struct {
		name   string
		state  hashmap.State
		length int64
	}{
		{headerName + ".lines", m.headerMap, -1}, {txName + ".lines", m.txMap, -1},
		{spendName + ".cells", m.spend, cellsLength(m.spend)}, {stateName + ".cells", m.mark, cellsLength(m.mark)},
	} {
		if f.state.Generation == 0 {
			continue
		}
		if err := b.file(fmt.Sprintf("%s-%d", f.name, f.state.Generation), f.length, &b.t.heads); err != nil {
			return err
		}
	}
	b.t.merging.Lock()
	defer b.t.merging.Unlock()
	if m.conf = b.t.durable.Load().conf; m.conf.Generation == 0 {
		return nil
	}
	return b.file(fmt.Sprintf("%s.multi-%d", confName, m.conf.Generation), -1, new(sync.Mutex))
}

// cellsLength is how far the cells of a state go, in whole words. A merge may be writing new ones behind them, which the
// copy's state does not know.
func cellsLength(s hashmap.State) int64 { return store.PageSize + int64(s.Entries+s.Entries&1)*4 }

// bodies copies the bodies, the log and the pending slab up to the newest durable manifest, and returns the image of m
// with its lengths.
func (b *backup) bodies(m image) (image, error) {
	for {
		now := *b.t.durable.Load()
		m.cut, m.pendingGen, m.pendingLen, m.clean, m.run = now.cut, now.pendingGen, now.pendingLen, false, 0
		err := b.file(pendingFile(m.pendingGen), store.PageSize+int64(m.pendingLen), new(sync.Mutex))
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || b.t.durable.Load().pendingGen == m.pendingGen {
			return m, err
		}
	}
	c := m.cut
	for _, f := range []struct {
		name   string
		length int64
	}{
		{headerName, int64(c.Headers) * headerWidth}, {txsName, int64(c.Txs) * txsWidth}, {txName, int64(c.Tx) * txWidth},
		{insName, int64(c.Ins) * insWidth}, {outTxName, samples(c.Outs) * outTxWidth}, {outputName, int64(c.OutSlab)},
		{inputName, int64(c.InSlab)}, {chainName, int64(c.Log) * chainWidth},
	} {
		if err := b.file(f.name, store.PageSize+f.length, new(sync.Mutex)); err != nil {
			return m, err
		}
	}
	return m, nil
}

// file copies the first length bytes of a file, all of it where length is negative, and syncs the copy. The header page
// comes last: it says how far merges came, and must cover whatever a merge put into the lines while they were copied. It
// is copied under the lock that keeps it from being written at the same time.
func (b *backup) file(name string, length int64, head *sync.Mutex) (err error) {
	from, err := b.t.disk.Open(name, store.FileOptions{MustExist: true, Reserve: 1 << 42})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if length < 0 {
		length = from.Size()
	}
	to, err := b.dst.Open(name, store.FileOptions{Reserve: 1 << 42})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if err := to.Allocate(length); err != nil {
		return err
	}
	const piece = 1 << 20
	for off := int64(store.PageSize); off < length; off += piece {
		if err := b.piece(from, to, off, min(off+piece, length)); err != nil {
			return err
		}
	}
	head.Lock()
	err = b.piece(from, to, 0, min(store.PageSize, length))
	head.Unlock()
	if err != nil {
		return err
	}
	return to.Sync()
}

// piece copies the bytes from off to end.
func (b *backup) piece(from, to store.File, off, end int64) error {
	b.buf = slices.Grow(b.buf[:0], int(end-off))[:end-off]
	store.LoadWords(b.buf, from.Mapping().Bytes()[off:end])
	if err := to.WriteAt(b.buf, off); err != nil {
		return err
	}
	b.done += end - off
	if b.progress != nil {
		b.progress(b.done, max(b.total, b.done))
	}
	return nil
}
