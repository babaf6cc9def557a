package bench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	gen "stele/bench/chain"
	"stele/chain"
	"stele/hashmap"
	"stele/store"
	"stele/tables"
)

// unsynced is a disk that waits for no medium: while stores are filled for a comparison, none of them does.
type unsynced struct{ store.Disk }

func (d unsynced) Sync() error { return nil }

func (d unsynced) Open(name string, o store.FileOptions) (store.File, error) {
	f, err := d.Disk.Open(name, o)
	if err != nil {
		return nil, err
	}
	return unsyncedFile{f}, nil
}

type unsyncedFile struct{ store.File }

func (unsyncedFile) Sync() error { return nil }

// feeder makes blocks and archives them. What a node does on other cores (decoding, encoding rows) or decides before
// (which outputs are spent) is not on its clock.
type feeder struct {
	l        *lookups
	source   *gen.Source
	made     gen.Block
	block    chain.Block
	txids    []chain.Hash
	rows     tables.Rows
	own      map[chain.Hash]uint32 // tx link of what this block has
	prevouts []tables.OutputLink
	tip      tables.HeaderLink
	used     time.Duration
}

func (l *lookups) newFeeder() (*feeder, error) {
	// Enough blocks for the beginning of the chain, with its few coins, to be over at any scale.
	txs := max(10, min(fullTxs, l.rows/leastBlocks))
	g, err := gen.New(gen.Options{Seed: seed, Blocks: gen.MaxBlocks, Txs: txs})
	if err != nil {
		return nil, err
	}
	f := &feeder{l: l, source: g, own: map[chain.Hash]uint32{}}
	f.tip, _ = l.t.Tip()
	l.keys = append(make([]chain.Hash, 0, l.rows+gen.MaxTxs), *l.t.View().Txid(0)) // genesis
	l.firstOut = append(make([]uint64, 0, l.rows+gen.MaxTxs), 0)
	l.spends = make([]spending, 0, l.rows+gen.MaxTxs)
	return f, nil
}

// next makes a block, and archives and pushes it.
func (f *feeder) next() error {
	if !f.source.Next(&f.made) {
		return errors.New("the chain has no further block")
	}
	if err := f.block.Decode(f.made.Raw); err != nil {
		return err
	}
	f.txids = f.block.Txids(f.txids[:0])
	if err := f.rows.Encode(&f.block, f.txids); err != nil {
		return err
	}
	if err := f.number(); err != nil {
		return err
	}
	t := f.l.t
	start := processorTime()
	h, err := t.PutHeader(&f.block.Header, &f.made.Hash, f.tip, f.block.Header.Time)
	if err != nil {
		return err
	}
	if _, err := t.Archive(h, &f.rows, f.prevouts, false); err != nil {
		return err
	}
	if err := t.Push(h); err != nil {
		return err
	}
	f.used += processorTime() - start
	f.tip = h
	return nil
}

// number enters the block's transactions, numbers its outputs, and finds what its inputs spend.
func (f *feeder) number() error {
	l, b := f.l, &f.block
	base, out := uint32(len(l.keys)), uint64(l.t.NextOutput())
	clear(f.own)
	for i := range b.Txs {
		f.own[f.txids[i]] = base + uint32(i)
		l.keys = append(l.keys, f.txids[i])
		l.firstOut = append(l.firstOut, out+uint64(b.Txs[i].FirstOut))
	}
	f.prevouts = append(f.prevouts[:0], tables.NoOutput) // the coinbase's
	for i := 1; i < len(b.Txs); i++ {
		for n := b.Txs[i].FirstIn; n < b.Txs[i].FirstIn+b.Txs[i].Ins; n++ {
			txid, vout := b.Outpoint(int(n))
			of, ok := f.own[*txid]
			if !ok {
				row, found := l.t.Live().FindTx(txid)
				if of = uint32(row); !found || l.keys[of] != *txid {
					return fmt.Errorf("transaction %v is not found any more", txid)
				}
			}
			s := spending{by: base + uint32(i), of: of, vout: vout}
			if n == b.Txs[i].FirstIn {
				l.spends = append(l.spends, s)
			}
			f.prevouts = append(f.prevouts, l.output(s))
		}
	}
	return nil
}

// fill fills our tables, the map alone, and bbolt in turns of equal parts of the rows. The others, which go on working
// when nothing is asked of them, come after it, one by one.
func (l *lookups) fill() error {
	f, err := l.newFeeder()
	if err != nil {
		return err
	}
	from, spent := 0, 0
	for turn := range l.o.Runs {
		wanted := l.rows * (turn + 1) / l.o.Runs
		l.o.Note(fmt.Sprintf("filling to %d transactions", wanted))
		f.used = 0
		for len(l.keys) < wanted {
			if err := errors.Join(l.ctx.Err(), f.next()); err != nil {
				return err
			}
		}
		start := processorTime()
		if err := l.t.Checkpoint(); err != nil {
			return err
		}
		l.clocked("insert.tables", len(l.keys)-from, f.used+processorTime()-start)
		start = processorTime()
		if err := l.bare.put(l.keys[from:]); err != nil {
			return err
		}
		l.clocked("insert.map", len(l.keys)-from, processorTime()-start)
		for _, r := range l.peers {
			if r.kind.inTurns {
				if err := l.fillPeer(r, from, spent); err != nil {
					return err
				}
			}
		}
		from, spent = len(l.keys), len(l.spends)
	}
	for _, r := range l.peers {
		if !r.kind.inTurns {
			l.o.Note("filling " + r.name)
			if err := l.fillPeer(r, 0, 0); err != nil {
				return err
			}
		}
	}
	l.tellInserts()
	return nil
}

// fillPeer gives a peer the transactions and spends from the given places on.
func (l *lookups) fillPeer(r *rival, from, spent int) error {
	n := len(l.keys) - from
	used, err := l.put(r.tx, n, func(i int, key []byte) uint64 {
		copy(key, l.keys[from+i][:])
		return txAnswer(uint32(from + i))
	})
	if err != nil {
		return err
	}
	l.clocked(r.name+".insert.tx", n, used)
	spends := l.spends[spent:]
	used, err = l.put(r.spend, len(spends), func(i int, key []byte) uint64 {
		copy(key, l.outpoint(spends[i]))
		return spendAnswer(spends[i])
	})
	l.clocked(r.name+".insert.spend", len(spends), used)
	return err
}

// What a peer keeps of a transaction (its link, and as much again for its block) and of a spend (link and input).
func txAnswer(link uint32) uint64   { return uint64(link) | 1<<32 }
func spendAnswer(s spending) uint64 { return uint64(s.by) }

// outpoint returns the 36 bytes that name the output which is spent.
func (l *lookups) outpoint(s spending) []byte {
	return binary.LittleEndian.AppendUint32(append(make([]byte, 0, 36), l.keys[s.of][:]...), s.vout)
}

// put inserts n rows in batches and lets the peer come to rest. Making the rows is not on the clock.
func (l *lookups) put(t *peerTable, n int, row func(i int, key []byte) uint64) (used time.Duration, err error) {
	keys, values := make([]byte, peerBatch*t.width), make([]uint64, peerBatch)
	for at := 0; at < n; at += peerBatch {
		if err := l.ctx.Err(); err != nil {
			return 0, err
		}
		size := min(peerBatch, n-at)
		for i := range size {
			values[i] = row(at+i, keys[i*t.width:(i+1)*t.width])
		}
		start := processorTime()
		if err := t.put(keys[:size*t.width], t.width, values[:size]); err != nil {
			return 0, err
		}
		used += processorTime() - start
	}
	start := processorTime()
	err = t.settle()
	t.rows += n
	return used + processorTime() - start, err
}

// bareMap is the transactions' table without what belongs to it: rows of the same width, and the lines that find them.
type bareMap struct {
	disk *store.Dir
	body *store.Body
	m    *hashmap.Map
	rows uint32
}

const bareWidth = 42

func newBareMap(dir string) (*bareMap, error) {
	d, err := store.OpenDir(dir, store.DirOptions{Create: true, Verb: "bench"})
	if err != nil {
		return nil, err
	}
	id := [16]byte{1}
	b := &bareMap{disk: d}
	spec := store.BodySpec{Name: "rows", Kind: "bench", Width: bareWidth, Reserve: bareWidth << 30}
	if b.body, err = store.OpenBody(unsynced{d}, spec, id, 0); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	lines := hashmap.Spec{Name: "rows", UniformBits: 256, Window: 77}
	b.m, err = hashmap.OpenMap(unsynced{d}, id, lines, hashmap.Rows{Body: b.body, Width: bareWidth}, hashmap.State{})
	if err != nil {
		return nil, errors.Join(err, b.body.Close(), d.Close())
	}
	return b, nil
}

// put appends rows, inserts them, and merges what was inserted.
func (b *bareMap) put(keys []chain.Hash) error {
	for i := range keys {
		if err := b.body.Reserve(bareWidth); err != nil {
			return err
		}
		copy(b.body.Grow(bareWidth), keys[i][:])
		if err := b.body.FlushIfLarge(); err != nil {
			return err
		}
		if err := b.m.Insert(b.rows); err != nil {
			return err
		}
		b.rows++
	}
	if err := b.body.Flush(); err != nil {
		return err
	}
	if err := b.m.Merge(b.rows); err != nil {
		return err
	}
	b.m.State()
	return b.m.Retire()
}

func (b *bareMap) close() error { return errors.Join(b.m.Close(), b.body.Close(), b.disk.Close()) }

// rival is a peer with its two tables.
type rival struct {
	name      string
	kind      peerKind
	tx, spend *peerTable
}

type peerTable struct {
	peer
	dir   string
	width int // of a key
	rows  int
}

func newRival(kind peerKind, dir string) (*rival, error) {
	r := &rival{name: kind.name, kind: kind}
	var err error
	if r.tx, err = newPeerTable(kind, filepath.Join(dir, kind.name+"-tx"), 32); err != nil {
		return nil, err
	}
	if r.spend, err = newPeerTable(kind, filepath.Join(dir, kind.name+"-spend"), 36); err != nil {
		return nil, errors.Join(err, r.tx.close())
	}
	return r, nil
}

func newPeerTable(kind peerKind, dir string, width int) (*peerTable, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	p, err := kind.open(dir)
	if err != nil {
		return nil, err
	}
	return &peerTable{peer: p, dir: dir, width: width}, nil
}

func (r *rival) close() error { return errors.Join(r.tx.close(), r.spend.close()) }
