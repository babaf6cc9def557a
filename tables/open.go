package tables

import (
	"crypto/rand"
	"errors"
	"fmt"

	"stele/chain"
	"stele/internal/fault"
	"stele/store"
)

// Create makes a new store on an empty disk, with the genesis block archived and pushed, and leaves it open.
func Create(d store.Disk, p *chain.Params, o Options) (*Tables, error) {
	pre := store.Preamble{Format: Format, Network: p.Magic}
	for _, b := range [][]byte{pre.ID[:], pre.Secret[:]} {
		if _, err := rand.Read(b); err != nil {
			return nil, err
		}
	}
	m, err := store.CreateManifest(d, pre)
	if err != nil {
		return nil, err
	}
	t := &Tables{disk: d, params: p, manifest: m, options: o.withDefaults()}
	if t.run, err = newRun(); err != nil {
		return nil, err
	}
	if _, err := t.openLive(); err != nil {
		return nil, errors.Join(err, t.manifest.Close())
	}
	if err := t.openFiles(pre, &image{}); err != nil {
		return nil, errors.Join(err, t.closeFiles())
	}
	if err := t.putGenesis(); err != nil {
		return nil, errors.Join(err, t.closeFiles())
	}
	if err := t.Checkpoint(); err != nil {
		return nil, errors.Join(err, t.closeFiles())
	}
	return t, nil
}

// putGenesis archives the first block of the network. Its output enters no set of unspent outputs (Core never connects
// it), which Encode and markUnspendable know by its having no parent.
func (t *Tables) putGenesis() error {
	var b chain.Block
	if err := b.Decode(t.params.GenesisBlock); err != nil {
		return err
	}
	var r Rows
	ids := b.Txids(nil)
	if err := r.Encode(&b, ids); err != nil {
		return err
	}
	hash := b.Header.Hash()
	l, err := t.PutHeader(&b.Header, &hash, NoHeader, b.Header.Time)
	if err != nil {
		return err
	}
	if _, err := t.Archive(l, &r, []OutputLink{NoOutput}, false); err != nil {
		return err
	}
	return t.Push(l)
}

// Open opens the store on a disk, however it was left: it adopts the newest valid manifest, cuts everything to it,
// rebuilds what is kept in memory, and reads what is newer than an index's watermark into that index's delta. On a
// read-only disk nothing is written; then the store must have been closed cleanly, else ErrUnclean is returned.
//
// Errors: fs.ErrNotExist where there is no store, *store.Foreign for one of another network or format, *store.Damaged.
func Open(d store.Disk, p *chain.Params, o Options) (*Tables, error) {
	m, err := store.OpenManifest(d, Format, p.Magic)
	if err != nil {
		return nil, err
	}
	t := &Tables{disk: d, params: p, manifest: m, options: o.withDefaults()}
	if err := t.open(); err != nil {
		return nil, errors.Join(err, t.closeFiles())
	}
	return t, nil
}

// ErrUnclean says that a store cannot be read without being recovered first, which needs a writable folder.
var ErrUnclean = errors.New("the store was not closed cleanly and cannot be written: open it once where it can be")

func (t *Tables) open() error {
	_, payload, ok := t.manifest.Latest()
	if !ok {
		return damage("manifest", "no slot of it is valid")
	}
	m, err := decodeImage(payload)
	if err != nil {
		return err
	}
	if t.disk.ReadOnly() && !m.clean {
		return ErrUnclean
	}
	if payload, err = t.openLive(); err != nil {
		return err
	}
	if live, ok := m.withLive(payload); ok {
		err := t.openAt(live, m)
		if !damaged(err) {
			return err
		}
		// The record promised what is not there; the manifest still holds.
		if err := t.again(); err != nil {
			return err
		}
	}
	t.voidLive() // what lies beyond the manifest is cut now
	return t.openAt(m, m)
}

// again leaves t as it was before anything but the manifest and the live record was opened.
func (t *Tables) again() error {
	m, kept := t.manifest, t.kept
	t.manifest, t.kept = nil, nil
	err := t.closeFiles()
	*t = Tables{disk: t.disk, params: t.params, options: t.options, manifest: m, kept: kept}
	return err
}

// openAt opens the store at the cut of an image, of which everything up to that of the durable one is covered by a
// manifest.
func (t *Tables) openAt(m, durable image) error {
	pre := t.manifest.Preamble()
	if err := t.openFiles(pre, &m); err != nil {
		return err
	}
	if err := t.readIntervals(m.cut); err != nil {
		return err
	}
	if m.cut != durable.cut {
		if err := errors.Join(t.checkLog(m.cut), t.resync(&m, &durable)); err != nil {
			return err
		}
	}
	if err := t.adopt(m); err != nil {
		return err
	}
	t.voidLive() // it is of another run than the manifest now
	if err := t.derive(&m); err != nil {
		return err
	}
	if err := t.openPending(m.pendingGen, m.pendingLen, pre.ID); err != nil {
		return err
	}
	return t.Publish()
}

// adopt writes the manifest that was found again, with its clean flag off: from here on the newest manifest is one that
// this process wrote and synced, the older slot is the one that a torn write may hit, and merges may rely on its cut.
func (t *Tables) adopt(m image) error {
	if !t.disk.ReadOnly() && !fault.On(fault.AdoptNotRewritten) {
		var err error
		if t.run, err = newRun(); err != nil {
			return err
		}
		m.clean, m.run = false, t.run
		return t.putManifest(&m)
	}
	t.durable.Store(&m)
	return nil
}

// openFiles opens every body at the length that the cut gives it, and every index at the state that the image gives it.
func (t *Tables) openFiles(pre store.Preamble, m *image) error {
	c := m.cut
	for _, f := range []struct {
		body   **store.Body
		spec   store.BodySpec
		length int64
	}{
		{&t.header, spec(headerName, "body", headerWidth, reserve.header), int64(c.Headers) * headerWidth},
		{&t.txs, spec(txsName, "body", txsWidth, reserve.txs), int64(c.Txs) * txsWidth},
		{&t.tx, random(spec(txName, "body", txWidth, reserve.tx)), int64(c.Tx) * txWidth},
		{&t.ins, random(spec(insName, "array", insWidth, reserve.ins)), int64(c.Ins) * insWidth},
		{&t.outTx, random(spec(outTxName, "array", outTxWidth, reserve.outTx)), samples(c.Outs) * outTxWidth},
		{&t.output, spec(outputName, "slab", 1, reserve.output), int64(c.OutSlab)},
		{&t.input, spec(inputName, "slab", 1, reserve.input), int64(c.InSlab)},
		{&t.log, spec(chainName, "log", chainWidth, reserve.chain), int64(c.Log) * chainWidth},
	} {
		b, err := store.OpenBody(t.disk, f.spec, pre.ID, f.length)
		if err != nil {
			return err
		}
		*f.body = b
	}
	if err := t.openIndexes(pre, m); err != nil {
		return err
	}
	t.refresh()
	if c.Headers == 0 {
		return t.openPending(m.pendingGen, m.pendingLen, pre.ID)
	}
	return nil
}

// readIntervals reads the txs rows into what is kept in memory: header → txs row, and the starts of the intervals. Every
// interval is checked against its neighbours, so that no row can lead a reader out of the files.
func (t *Tables) readIntervals(c Cut) error {
	t.txsOf = make([]uint32, c.Headers)
	end := Block{}
	for s := range c.Txs {
		b := t.block(TxsLink(s))
		if err := t.checkInterval(&b, &end, c); err != nil {
			return err
		}
		t.enter(&b)
		end = b
	}
	if ends(&end) != c.archive() {
		return damage(txsName, "its last row ends elsewhere than the manifest says")
	}
	return nil
}

// derive rebuilds the rest of what is kept in memory: the deltas of what is newer than the watermarks, and the chain.
func (t *Tables) derive(m *image) error {
	c := m.cut
	if err := t.refill(t.headerMap, m.headerMap.Watermark, c.Headers); err != nil {
		return err
	}
	if err := t.refill(t.txMap, m.txMap.Watermark, c.Tx); err != nil {
		return err
	}
	t.refresh()
	mark := min(m.spend.Watermark, m.conf.Watermark)
	if fault.On(fault.ReplayFromHigher) {
		mark = max(m.spend.Watermark, m.conf.Watermark)
	}
	if fault.On(fault.ReplayFromCut) {
		mark = c.Log
	}
	return t.replay(c, mark)
}

// archive leaves of a cut what the archived blocks add up to.
func (c Cut) archive() Cut {
	return Cut{Tx: c.Tx, Outs: c.Outs, Ins: c.Ins, OutSlab: c.OutSlab, InSlab: c.InSlab}
}

// ends returns the lengths at which a block's intervals end.
func ends(b *Block) Cut {
	return Cut{
		Tx: uint32(b.FirstTx) + b.Txs, Outs: uint64(b.FirstOut) + uint64(b.Outs), Ins: uint64(b.FirstIn) + uint64(b.Ins),
		OutSlab: uint64(b.outBase) + uint64(b.outBytes), InSlab: uint64(b.inBase) + uint64(b.inBytes),
	}
}

// checkInterval says whether a txs row starts where the one before it ended, owns something, and names a header.
func (t *Tables) checkInterval(b, before *Block, c Cut) error {
	starts := Cut{
		Tx: uint32(b.FirstTx), Outs: uint64(b.FirstOut), Ins: uint64(b.FirstIn),
		OutSlab: uint64(b.outBase), InSlab: uint64(b.inBase),
	}
	if starts != ends(before) || b.Txs == 0 || b.Outs == 0 || b.Ins == 0 {
		return damage(txsName, fmt.Sprintf("row %d does not start where the one before it ends", len(t.place)))
	}
	if uint32(b.Header) >= c.Headers || t.txsOf[b.Header] != 0 {
		return damage(txsName, fmt.Sprintf("row %d names no header of its own", len(t.place)))
	}
	return nil
}

func random(s store.BodySpec) store.BodySpec {
	s.Random = true
	return s
}
