package coinset

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"stele/chain"
	"stele/internal/chaintest"
	"stele/internal/crashdisk"
	"stele/internal/mainnet"
	"stele/internal/realdata"
	"stele/store"
	"stele/tables"
	"stele/utxo"
)

// rig is a store under test.
type rig struct {
	testing.TB
	d store.Disk
	p *chain.Params
	t *tables.Tables

	rows  tables.Rows
	block chain.Block
}

func newRig(tb testing.TB, d store.Disk, p *chain.Params) *rig {
	tb.Helper()
	t, err := tables.Create(d, p, tables.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return &rig{TB: tb, d: d, p: p, t: t}
}

func memRig(tb testing.TB, p *chain.Params, reserve int64) *rig {
	tb.Helper()
	d := store.NewMemDisk()
	d.SetReserveCap(reserve)
	tb.Cleanup(d.Discard)
	return newRig(tb, d, p)
}

// open opens the store that is on a disk.
func open(tb testing.TB, d store.Disk, p *chain.Params) *rig {
	tb.Helper()
	t, err := tables.Open(d, p, tables.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return &rig{TB: tb, d: d, p: p, t: t}
}

// archive appends the rows of a block. Whether it may be spent what it spends is the caller's to know.
func (r *rig) archive(raw []byte) tables.HeaderLink {
	r.Helper()
	l, err := r.tryArchive(raw)
	if err != nil {
		r.Fatal(err)
	}
	return l
}

func (r *rig) tryArchive(raw []byte) (tables.HeaderLink, error) {
	b := &r.block
	if err := b.Decode(raw); err != nil {
		return 0, err
	}
	ids, hash := b.Txids(nil), b.Header.Hash()
	if err := r.rows.Encode(b, ids); err != nil {
		return 0, err
	}
	parent, ok := r.t.FindHeader(&b.Header.Prev)
	if !ok {
		return 0, errors.New("the parent is not known")
	}
	l, err := r.t.PutHeader(&b.Header, &hash, parent, b.Header.Time)
	if err != nil {
		return 0, err
	}
	own := map[chain.Hash]tables.OutputLink{}
	repeats := false
	var prevouts []tables.OutputLink
	for i := range b.Txs {
		tx := &b.Txs[i]
		for n := tx.FirstIn; n < tx.FirstIn+tx.Ins; n++ {
			if i == 0 {
				prevouts = append(prevouts, tables.NoOutput)
				continue
			}
			txid, vout := b.Outpoint(int(n))
			first, ok := own[*txid]
			if !ok {
				found, ok := r.t.Live().FindTx(txid)
				if !ok {
					return 0, errors.New("a parent transaction is not known")
				}
				first = r.t.Live().Tx(found).FirstOut
			}
			prevouts = append(prevouts, first+tables.OutputLink(vout))
		}
		own[ids[i]] = r.t.NextOutput() + tables.OutputLink(tx.FirstOut)
		if _, ok := r.t.Live().FindStrong(&ids[i]); ok {
			repeats = true
		}
	}
	_, err = r.t.Archive(l, &r.rows, prevouts, repeats)
	return l, err
}

// push archives blocks and makes them the chain's tips.
func (r *rig) push(blocks ...[]byte) {
	r.Helper()
	for _, raw := range blocks {
		if err := r.t.Push(r.archive(raw)); err != nil {
			r.Fatal(err)
		}
	}
}

func (r *rig) checkpoint() {
	r.Helper()
	if err := r.t.Checkpoint(); err != nil {
		r.Fatal(err)
	}
}

// events is what a loader said.
type events struct {
	sync.Mutex
	steps   map[string]uint64 // the last done
	damaged []error
}

// options are for small sets on the heap, with notes of what the loader says.
func options() (Options, *events) {
	e := &events{steps: map[string]uint64{}}
	return Options{
		Salt: 7, Threads: 2, Heap: true, Reserve: 64 << 10, Roll: replay,
		Progress: func(step string, done, _ uint64) {
			e.Lock()
			defer e.Unlock()
			e.steps[step] = max(e.steps[step], done)
		},
		Damaged: func(_ string, why error) {
			e.Lock()
			defer e.Unlock()
			e.damaged = append(e.damaged, why)
		},
	}, e
}

// used says what the set was made from.
func (e *events) used() string {
	switch _, archive := e.steps["archive"]; {
	case archive:
		return "archive"
	case e.steps["image"] == utxo.Shards:
		return "image"
	}
	return "neither"
}

// load runs a loader to its end.
func (r *rig) load(o Options) (*utxo.Set, error) {
	r.Helper()
	l, err := Start(r.t.View(), r.d, o)
	if err != nil {
		r.Fatal(err)
	}
	defer l.Close()
	set, at, err := l.Result()
	if tip, _ := r.t.View().Tip(); at != tip {
		r.Fatalf("the set is as after header %d, want %d", at, tip)
	}
	return set, err
}

// mustLoad wants a set that is what the tables say, made from an image or the archive.
func (r *rig) mustLoad(from string) (*utxo.Set, *events) {
	r.Helper()
	o, e := options()
	set, err := r.load(o)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(set.Close)
	if e.used() != from {
		r.Fatalf("the set is from %s, want %s: %v", e.used(), from, e.damaged)
	}
	r.wantSet(set)
	return set, e
}

// wantSet compares a set with the tables, output by output.
func (r *rig) wantSet(set *utxo.Set) {
	r.Helper()
	n := uint64(0)
	var buf []byte
	err := r.t.View().EachUnspent(func(u *tables.Unspent) error {
		c, link, scripts, ok := set.Get(u.Txid, u.Vout, buf[:0])
		buf = scripts
		if n++; !ok || c.Value != u.Value || string(c.Script) != string(u.Script) || c.Height != u.Height ||
			c.Coinbase != u.Coinbase || link != uint64(u.Output) {
			r.Fatalf("%v:%d is %+v, number %d, %v; the tables say %+v", u.Txid, u.Vout, c, link, ok, u)
		}
		return nil
	})
	if err != nil || set.Len() != n {
		r.Fatalf("%d outputs, want %d; %v", set.Len(), n, err)
	}
}

func (r *rig) save(set *utxo.Set) {
	r.Helper()
	if err := Save(context.Background(), r.t.View(), r.d, set, 2, nil); err != nil {
		r.Fatal(err)
	}
}

// replay is a naive Options.Roll, for an image whose block is on the chain: block after block, rebuilt from its rows.
func replay(ctx context.Context, v *tables.View, s *utxo.Set, from tables.HeaderLink, told func(done, total uint32)) error {
	_, tip := v.Tip()
	if !v.Confirmed(from) {
		return errors.New("the image is of another branch")
	}
	base := v.Header(from).Height()
	var undo utxo.Undo
	for height := base + 1; height <= tip && ctx.Err() == nil; height++ {
		l, _ := v.HeaderAt(height)
		row, _ := v.Block(l)
		raw, _, err := v.AppendBlock(nil, l)
		if err != nil {
			return err
		}
		var b chain.Block
		if err := b.Decode(raw); err != nil {
			return err
		}
		var change utxo.Block
		change.Take(&b, b.Txids(nil), height, uint64(row.FirstOut))
		if err := s.Commit(&change, &undo); err != nil {
			return err
		}
		told(height-base, tip-base)
	}
	return ctx.Err()
}

// made are blocks of random transactions, each on the one before.
type made struct {
	tip  *chaintest.Block
	free []chaintest.Outpoint
	r    *rand.Rand
	salt uint32
}

func newMade(seed uint64) *made {
	return &made{tip: chaintest.Genesis(), r: rand.New(rand.NewPCG(seed, 3))}
}

// next makes a block of so many transactions that have some outputs each, and spend some.
func (m *made) next(txs int) []byte {
	var list []*chaintest.Tx
	for range txs {
		if len(m.free) == 0 {
			break
		}
		tx := &chaintest.Tx{Version: 2, LockTime: m.salt}
		for range 1 + m.r.IntN(2) {
			if len(m.free) > 0 {
				i := m.r.IntN(len(m.free))
				tx.Ins = append(tx.Ins, m.free[i])
				m.free[i] = m.free[len(m.free)-1]
				m.free = m.free[:len(m.free)-1]
			}
		}
		for n := range 2 + m.r.IntN(5) {
			script := append(append([]byte{0x76, 0xa9, 20}, make([]byte, 20)...), 0x88, 0xac)
			switch script[5], script[6] = byte(m.r.Uint32()), byte(m.r.Uint32()); {
			case n == 3:
				script = []byte{0x6a, 1}
			case m.r.IntN(4) == 0:
				script = []byte{0x51, byte(n)}
			}
			tx.Outs = append(tx.Outs, chaintest.Output{Value: int64(n), Script: script})
		}
		list = append(list, tx)
		_, txid := tx.Raw()
		for n := range tx.Outs {
			if n != 3 {
				m.free = append(m.free, chaintest.Outpoint{Txid: txid, Vout: uint32(n)})
			}
		}
	}
	m.salt++
	m.tip = m.tip.Next(m.salt, list...)
	m.free = append(m.free, chaintest.Outpoint{Txid: m.tip.Txids[0]})
	return m.tip.Raw
}

// blocks are n of them.
func (m *made) blocks(n, txs int) (all [][]byte) {
	for range n {
		all = append(all, m.next(txs))
	}
	return all
}

// crashRig is a small store on a disk that can lose power.
func crashRig(tb testing.TB, r *rand.Rand) (*rig, *crashdisk.Disk) {
	d := crashdisk.New(r, 128<<10)
	return newRig(tb, d, chain.Regtest()), d
}

// coreRig holds the regtest chain of the data folder, its stale blocks archived among the others, and what Bitcoin Core
// says of the outputs at its tip.
func coreRig(t *testing.T) (r *rig, outputs uint64, hash string) {
	blocks := realdata.Blocks(t, "core_regtest", "chain.blk.gz")
	var e struct {
		Blocks []struct{ Hash string }
		Final  struct {
			Txouts uint64
			Hash   string `json:"hash_serialized_3"`
		} `json:"utxo_final"`
	}
	if err := json.Unmarshal(realdata.Read(t, "core_regtest", "expected.json.gz"), &e); err != nil {
		t.Fatal(err)
	}
	r = memRig(t, chain.Regtest(), 1<<20)
	links := map[string]tables.HeaderLink{}
	for _, raw := range blocks {
		h, err := chain.ParseHeader(raw)
		if err != nil {
			t.Fatal(err)
		}
		if hash := h.Hash(); hash != r.p.GenesisHash {
			links[hash.String()] = r.archive(raw)
		}
	}
	for _, b := range e.Blocks[1:] {
		if err := r.t.Push(links[b.Hash]); err != nil {
			t.Fatal(err)
		}
	}
	r.checkpoint()
	return r, e.Final.Txouts, e.Final.Hash
}

// mainRig holds the embedded blocks of mainnet.
func mainRig(tb testing.TB, d store.Disk) *rig {
	file, err := mainnet.Blocks()
	if err != nil {
		tb.Fatal(err)
	}
	r := newRig(tb, d, chain.Main())
	r.push(realdata.Split(tb, file)[1:]...)
	r.checkpoint()
	return r
}
