package tables

import (
	"crypto/rand"
	"encoding/binary"
	"errors"

	"stele/store"
)

// A process that is killed leaves everything that it wrote in the page cache; only the manifest, which waits for the
// disk, is behind. So each Publish also notes its cut in the disk's live record. The next open goes on from there,
// provided that the record is of the same boot and mount (the store's business) and of the run of this store that wrote
// the manifest, and that its cut lies at or beyond the manifest's. What lies between the two is first written and synced
// again, and checked, as if it had come from a stranger.
//
// The record is voided before anything is cut that it covers, and by the first failure after which memory and disk may
// differ.

// openLive opens the live record and returns what it holds.
func (t *Tables) openLive() (payload []byte, err error) {
	d, ok := t.disk.(store.LiveDisk)
	if !ok || t.disk.ReadOnly() {
		return nil, nil
	}
	r, err := d.OpenLive()
	if err != nil || r == nil {
		_, other := store.NoRoom(err) // without room for it there is no record, and nothing is lost by that
		return nil, other
	}
	t.kept = r
	payload, _ = r.Load()
	return payload, nil
}

// voidLive makes the record hold nothing.
func (t *Tables) voidLive() {
	if t.kept != nil {
		t.kept.Void()
	}
}

// keepLive notes the cut of now, which is flushed.
func (t *Tables) keepLive() {
	if t.kept == nil || t.broken != nil {
		return
	}
	m := t.image()
	t.kept.Store(m.encode()[:imageStates])
}

// withLive returns the image at the cut of a live record, if the record goes on from it.
func (m *image) withLive(payload []byte) (image, bool) {
	if len(payload) != imageStates {
		return image{}, false
	}
	l, err := decodeImage(append(payload, make([]byte, imageSize-imageStates)...))
	if err != nil || l.run != m.run || !l.cut.covers(&m.cut) || l.cut == m.cut {
		return image{}, false
	}
	next := *m
	next.cut, next.clean = l.cut, false
	if l.pendingGen == m.pendingGen && l.pendingLen >= m.pendingLen {
		next.pendingLen = l.pendingLen
	}
	return next, true
}

// covers reports whether everything that a cut holds lies within this one.
func (c *Cut) covers(x *Cut) bool {
	return c.Headers >= x.Headers && c.Txs >= x.Txs && c.Tx >= x.Tx && c.Outs >= x.Outs && c.Ins >= x.Ins &&
		c.OutSlab >= x.OutSlab && c.InSlab >= x.InSlab && c.Log >= x.Log
}

// resync makes what lies between a durable image and the lengths of now durable, by writing it again. The pending slab is
// opened for that alone: its records are listed when the headers can be found.
func (t *Tables) resync(m, durable *image) error {
	c := durable.cut
	from := []int64{
		int64(c.Headers) * headerWidth, int64(c.Txs) * txsWidth, int64(c.Tx) * txWidth, int64(c.Ins) * insWidth,
		samples(c.Outs) * outTxWidth, int64(c.OutSlab), int64(c.InSlab), int64(c.Log) * chainWidth,
	}
	for i, b := range t.bodies() {
		if err := b.Resync(from[i]); err != nil {
			return err
		}
	}
	slab := spec(pendingFile(m.pendingGen), "slab", 1, reserve.pending)
	b, err := store.OpenBody(t.disk, slab, t.manifest.Preamble().ID, int64(m.pendingLen))
	if err != nil {
		return err
	}
	return errors.Join(b.Resync(int64(durable.pendingLen)), b.Close(), t.disk.Sync())
}

// checkLog walks the log without its marks: does each record continue the chain that those before it made?
func (t *Tables) checkLog(c Cut) error {
	defer func() { t.members = members{} }()
	for i := range c.Log {
		l, pop := t.record(int64(i))
		if uint32(l) >= c.Headers {
			return damage(chainName, "a record names no header")
		}
		if err := t.replayRecord(l, pop, false); err != nil {
			return err
		}
	}
	return nil
}

// newRun draws the number of a run: one opening of a store for writing.
func newRun() (uint64, error) {
	var b [8]byte
	_, err := rand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

// damaged reports whether an error says that the store's bytes are wrong, and not that the disk failed.
func damaged(err error) bool {
	var d *store.Damaged
	return errors.As(err, &d)
}
