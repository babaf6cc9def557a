package bench

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"path/filepath"

	"stele/chain"
	"stele/store"
	"stele/tables"
)

// bareTx is a transaction of which an archive holds no more than what spending it needs: its txid, and outputs, all of
// them empty.
type bareTx struct {
	txid chain.Hash
	outs uint32
}

// bareArchive is a store into which real blocks are put without their history: over the rows of their parents alone.
type bareArchive struct {
	disk  *store.Dir
	t     *tables.Tables
	first map[chain.Hash]tables.OutputLink // of every bare transaction
	rows  tables.Rows
	block chain.Block
	raw   []byte
	ids   []chain.Hash
	nonce uint32
}

func newBareArchive(dir string) (*bareArchive, error) {
	d, err := store.OpenDir(dir, store.DirOptions{Create: true, Verb: "bench"})
	if err != nil {
		return nil, err
	}
	t, err := tables.Create(d, chain.Main(), tables.Options{})
	if err != nil {
		_ = d.Close()
		return nil, err
	}
	return &bareArchive{disk: d, t: t, first: map[chain.Hash]tables.OutputLink{}}, nil
}

func (a *bareArchive) close() {
	_ = a.t.Close()
	_ = a.disk.Close()
}

// parents lists what blocks spend from outside of themselves, once each and with as many outputs as that needs, in the
// order in which they do.
func parents(blocks []*chain.Block) []bareTx {
	var all []bareTx
	at := map[chain.Hash]int{}
	for _, b := range blocks {
		own := positions(b)
		for n := int(b.Txs[0].Ins); n < len(b.Ins); n++ {
			txid, vout := b.Outpoint(n)
			if _, inside := own[*txid]; inside {
				continue
			}
			i, known := at[*txid]
			if !known {
				i = len(all)
				at[*txid] = i
				all = append(all, bareTx{txid: *txid})
			}
			all[i].outs = max(all[i].outs, vout+1)
		}
	}
	return all
}

// positions maps the txids of a block to the positions of its transactions.
func positions(b *chain.Block) map[chain.Hash]int {
	at := map[chain.Hash]int{}
	for i, id := range b.Txids(nil) {
		at[id] = i
	}
	return at
}

// scatter mixes transactions with others that nobody spends, of two outputs each, in random order.
func scatter(txs []bareTx, others int) []bareTx {
	r := rand.New(rand.NewPCG(seed, 0))
	all := append([]bareTx{}, txs...)
	for range others {
		t := bareTx{outs: 2}
		for at := 0; at < len(t.txid); at += 8 {
			binary.LittleEndian.PutUint64(t.txid[at:], r.Uint64())
		}
		all = append(all, t)
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// Wire bytes of a bare transaction, and how many a block of them may have by its weight.
const (
	bareTxBytes  = 4 + 1 + 41 + 5 + 4
	bareOutBytes = 8 + 1
	bareMost     = chain.MaxBlockWeight/chain.WitnessScale - 1_000
)

// putBare archives bare transactions, that many a block and no more than a block may have.
func (a *bareArchive) putBare(txs []bareTx, perBlock int) error {
	for len(txs) > 0 {
		n, size := 0, 0
		for n < len(txs) && n < perBlock {
			if size += bareTxBytes + int(txs[n].outs)*bareOutBytes; size > bareMost && n > 0 {
				break
			}
			n++
		}
		if err := a.putBareBlock(txs[:n]); err != nil {
			return err
		}
		txs = txs[n:]
	}
	return nil
}

func (a *bareArchive) putBareBlock(txs []bareTx) error {
	a.nonce++
	h := chain.Header{Nonce: a.nonce}
	raw := chain.AppendCompactSize(h.Append(a.raw[:0]), uint64(len(txs)))
	a.ids = a.ids[:0]
	for _, t := range txs {
		raw = binary.LittleEndian.AppendUint32(raw, 1)
		raw = append(append(raw, 1), make([]byte, 32)...)
		raw = binary.LittleEndian.AppendUint32(raw, math.MaxUint32) // the null outpoint
		raw = append(raw, 0, 0xff, 0xff, 0xff, 0xff)                // script and sequence
		raw = chain.AppendCompactSize(raw, uint64(t.outs))
		raw = append(raw, make([]byte, t.outs*bareOutBytes)...)
		raw = append(raw, 0, 0, 0, 0)
		a.ids = append(a.ids, t.txid)
	}
	a.raw = raw
	if err := a.block.Decode(raw); err != nil {
		return err
	}
	for i, t := range txs {
		a.first[t.txid] = a.t.NextOutput() + tables.OutputLink(a.block.Txs[i].FirstOut)
	}
	prevouts := make([]tables.OutputLink, len(txs))
	for i := range prevouts {
		prevouts[i] = tables.NoOutput
	}
	hash := h.Hash()
	_, err := a.put(&a.block, a.ids, prevouts, 0, &hash)
	return err
}

// putReal archives a real block over the bare transactions that it spends. Its header's parent is there with its hash
// alone.
func (a *bareArchive) putReal(b *chain.Block) (tables.HeaderLink, error) {
	own := positions(b)
	prevouts := []tables.OutputLink{tables.NoOutput}
	for n := int(b.Txs[0].Ins); n < len(b.Ins); n++ {
		txid, vout := b.Outpoint(n)
		first := a.first[*txid]
		if i, inside := own[*txid]; inside {
			first = a.t.NextOutput() + tables.OutputLink(b.Txs[i].FirstOut)
		}
		prevouts = append(prevouts, first+tables.OutputLink(vout))
	}
	parent, err := a.putParent(b)
	if err != nil {
		return 0, err
	}
	hash := b.Header.Hash()
	return a.put(b, b.Txids(nil), prevouts, parent, &hash)
}

// putParent stores the header before a block's: nothing of it is known but its hash.
func (a *bareArchive) putParent(b *chain.Block) (tables.HeaderLink, error) {
	return a.t.PutHeader(&chain.Header{}, &b.Header.Prev, 0, 0)
}

func (a *bareArchive) put(
	b *chain.Block, ids []chain.Hash, prevouts []tables.OutputLink, parent tables.HeaderLink, hash *chain.Hash,
) (tables.HeaderLink, error) {
	if err := a.rows.Encode(b, ids); err != nil {
		return 0, err
	}
	l, err := a.t.PutHeader(&b.Header, hash, parent, b.Header.Time)
	if err != nil {
		return 0, err
	}
	_, err = a.t.Archive(l, &a.rows, prevouts, false)
	return l, err
}

// bareStore makes a store of real blocks in the experiment's folder, and returns where each one is. Parents that are
// spread lie among others at random, in small blocks, as they do in a whole archive; else they lie side by side in the
// order in which they are spent.
func (o *Options) bareStore(name string, blocks []*chain.Block, others int) (*bareArchive, []tables.HeaderLink, error) {
	a, err := newBareArchive(filepath.Join(o.Dir, name))
	if err != nil {
		return nil, nil, err
	}
	txs, perBlock := parents(blocks), math.MaxInt
	if others > 0 {
		txs, perBlock = scatter(txs, others), 20
	}
	err = a.putBare(txs, perBlock)
	links := make([]tables.HeaderLink, len(blocks))
	for i := range blocks {
		if err == nil {
			links[i], err = a.putReal(blocks[i])
		}
	}
	if err == nil {
		err = a.t.Checkpoint() // so that rows are read from their files
	}
	if err != nil {
		a.close()
		return nil, nil, err
	}
	return a, links, nil
}
