package tables

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"stele/chain"
	"stele/hashmap"
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
	t := &Tables{disk: d, params: p, manifest: m, options: o}
	if err := t.openFiles(pre, image{}); err != nil {
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
	t := &Tables{disk: d, params: p, manifest: m, options: o}
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
	if err := t.openFiles(t.manifest.Preamble(), m); err != nil {
		return err
	}
	if err := t.rebuild(&m); err != nil {
		return err
	}
	if err := t.openPending(m.pendingGen, m.pendingLen, t.manifest.Preamble().ID); err != nil {
		return err
	}
	t.durable = m
	if !t.disk.ReadOnly() {
		// Adopted by rewriting: from now on the newest manifest is one that this process wrote, with its clean flag
		// off, and the older slot is the one that a torn write may hit.
		t.durable.clean = false
		if _, err := t.manifest.Write(t.durable.encode()); err != nil {
			return err
		}
	}
	return t.Publish()
}

// openFiles opens every body at the length that the cut gives it, and every index at the state that the image gives it.
func (t *Tables) openFiles(pre store.Preamble, m image) error {
	c := m.cut
	for _, f := range []struct {
		body   **store.Body
		spec   store.BodySpec
		length int64
	}{
		{&t.header, spec(headerName, "body", headerWidth, reserve.header), int64(c.Headers) * headerWidth},
		{&t.txs, spec(txsName, "body", txsWidth, reserve.txs), int64(c.Txs) * txsWidth},
		{&t.tx, spec(txName, "body", txWidth, reserve.tx), int64(c.Tx) * txWidth},
		{&t.ins, spec(insName, "array", insWidth, reserve.ins), int64(c.Ins) * insWidth},
		{&t.outTx, spec(outTxName, "array", outTxWidth, reserve.outTx), samples(c.Outs) * outTxWidth},
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
	if err := t.openIndexes(pre, &m); err != nil {
		return err
	}
	t.refresh()
	if c.Headers == 0 {
		return t.openPending(m.pendingGen, m.pendingLen, pre.ID)
	}
	return nil
}

func (t *Tables) openIndexes(pre store.Preamble, m *image) (err error) {
	secret := binary.LittleEndian.Uint64(pre.Secret[:])
	headers := hashmap.Spec{Name: headerName, UniformBits: 160, Window: hashmap.DrawWindow(160, secret)}
	txids := hashmap.Spec{Name: txName, UniformBits: 256, Window: hashmap.DrawWindow(256, secret>>32)}
	if t.headerMap, err = hashmap.OpenMap(t.disk, pre.ID, headers,
		hashmap.Rows{Body: t.header, Width: headerWidth, KeyOff: headerHash}, m.headerMap); err != nil {
		return err
	}
	if t.txMap, err = hashmap.OpenMap(t.disk, pre.ID, txids,
		hashmap.Rows{Body: t.tx, Width: txWidth, KeyOff: txTxid}, m.txMap); err != nil {
		return err
	}
	spend := hashmap.CellsSpec{Name: spendName, Reserve: reserve.cells}
	if t.spend, err = hashmap.OpenCells(t.disk, pre.ID, spend, m.spend); err != nil {
		return err
	}
	states := hashmap.CellsSpec{Name: stateName, Reserve: reserve.states}
	if t.states, err = hashmap.OpenCells(t.disk, pre.ID, states, m.mark); err != nil {
		return err
	}
	t.conflict, err = hashmap.OpenMultimap(t.disk, pre.ID, hashmap.MultimapSpec{
		Name: confName, Reserve: reserve.conflict, Mixed: true, Secret: pre.Secret, // output numbers are not uniform
	}, m.conf)
	return err
}

// rebuild makes what is kept in memory: header → txs row and the intervals from the txs rows, the chain from the log,
// and the deltas from what is newer than the watermarks. Every interval is checked against its neighbours, so that no
// row can lead a reader out of the files.
func (t *Tables) rebuild(m *image) error {
	c := m.cut
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
	if err := refill(t.headerMap, m.headerMap.Watermark, c.Headers); err != nil {
		return err
	}
	if err := refill(t.txMap, m.txMap.Watermark, c.Tx); err != nil {
		return err
	}
	t.refresh()
	return t.replay(c, m.spend.Watermark)
}

// refill enters the rows from a map's watermark to the cut into its delta.
func refill(m *hashmap.Map, from uint64, to uint32) error {
	for l := from; l < uint64(to); l++ {
		if err := m.Insert(uint32(l)); err != nil {
			return err
		}
	}
	return nil
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

// replay rebuilds the chain from the log, and the spend and conflict deltas from where their watermark left off. Both
// have one watermark, a length of the log; what the log says before it is in their files.
func (t *Tables) replay(c Cut, mark uint64) error {
	for i := range c.Log {
		rec := binary.LittleEndian.Uint32(t.log.At(int64(i)*chainWidth, chainWidth))
		l := HeaderLink(rec&^logPop) - 1
		if uint32(l) >= c.Headers {
			return damage(chainName, fmt.Sprintf("record %d names no header", i))
		}
		if err := t.replayRecord(l, rec&logPop != 0, i >= mark); err != nil {
			return err
		}
	}
	if t.members.now.n == 0 {
		return damage(chainName, "it holds no chain")
	}
	t.refresh()
	return nil
}

func (t *Tables) replayRecord(l HeaderLink, pop, marks bool) error {
	s, ok := t.Archived(l)
	switch {
	case !ok || !t.continues(l, pop):
		return damage(chainName, "a record does not continue the chain before it")
	case pop && marks:
		t.refresh()
		return t.applyPop()
	case pop:
		t.members.pop()
		return nil
	case marks:
		t.refresh()
		return t.applyPush(l, s)
	default:
		t.members.push(l)
		return nil
	}
}

// continues reports whether a record fits the chain that the records before it made.
func (t *Tables) continues(l HeaderLink, pop bool) bool {
	n := t.members.now.n
	if pop {
		return n > 1 && t.members.now.at(n-1) == l
	}
	parent, ok := t.Header(l).Parent()
	return ok == (n > 0) && (n == 0 || parent == t.members.now.at(n-1))
}
