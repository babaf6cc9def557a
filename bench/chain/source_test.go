package chain

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2/ecdsa"

	wire "stele/chain"
	"stele/node"
	"stele/store"
	"stele/tables"
	"stele/validate"
)

// small has warm-up, fan-outs and full blocks in a megabyte or two; mixed has them in today's mix.
var (
	small = Options{Seed: 7, Blocks: 160, Txs: 60}
	mixed = Options{Seed: 7, Blocks: 160, Txs: 60, Mix: Mainnet}
)

func source(tb testing.TB, o Options) *Source {
	tb.Helper()
	g, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func stream(tb testing.TB, o Options) []byte {
	tb.Helper()
	b, err := io.ReadAll(NewReader(source(tb, o)))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// The same options make the same bytes however many threads sign, other seeds others, and a longer chain begins like a
// shorter one.
func TestSourceDeterministic(t *testing.T) {
	for _, o := range []Options{small, mixed, {Seed: 9, Blocks: 140, Txs: 150, Mix: Mainnet, Signed: true}} {
		o.Threads = 1
		deterministic(t, o)
	}
}

func deterministic(t *testing.T, o Options) {
	a := stream(t, o)
	for _, threads := range []int{1, 2, 5} {
		same := o
		same.Threads = threads
		if !bytes.Equal(a, stream(t, same)) {
			t.Fatalf("%d threads make another chain than one", threads)
		}
	}
	longer, other := o, o
	longer.Blocks++
	other.Seed++
	if b := stream(t, longer); len(b) == len(a) || !bytes.HasPrefix(b, a) {
		t.Fatal("a chain of one more block does not begin like the one without it")
	}
	if bytes.Equal(a, stream(t, other)) {
		t.Fatal("the seed makes no difference")
	}
}

// What Write writes is what Reader reads, and every Place holds the block of its height.
func TestFile(t *testing.T) {
	f, err := Write(filepath.Join(t.TempDir(), "chain.blk"), small)
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	g := source(t, small)
	var b Block
	for h := uint32(1); h <= small.Blocks; h++ {
		if !g.Next(&b) || b.Height != h {
			t.Fatalf("block %d is missing", h)
		}
		rec, err := f.Record(h)
		if err != nil || !bytes.Equal(rec[RecordHead:], b.Raw) || f.Places[h-1].Coinbase != b.Coinbase {
			t.Fatalf("the record of height %d is not its block (%v)", h, err)
		}
		all = append(all, rec...)
	}
	if !bytes.Equal(all, stream(t, small)) {
		t.Fatal("the reader's bytes differ from the file's")
	}
	if f.Stats != g.Stats() {
		t.Fatalf("the file counts %+v, the source %+v", f.Stats, g.Stats())
	}
	if f.Size() != int64(len(all)) {
		t.Errorf("the file has %d bytes, it says %d", len(all), f.Size())
	}
	end := f.Places[41].Off + int64(f.Places[41].Len)
	for bytes, want := range map[int64]uint32{0: 0, end: 42, end - 1: 41, 1 << 40: small.Blocks} {
		if h := f.HeightAt(bytes); h != want {
			t.Errorf("%d bytes reach height %d, not %d", bytes, h, want)
		}
	}
}

// An import takes every block of the chain, the fullest ones too.
func TestImport(t *testing.T) {
	for _, o := range []Options{
		small, {Seed: 1, Blocks: 400}, {Seed: 2, Blocks: 110, Txs: MaxTxs}, mixed,
		{Seed: 4, Blocks: 200, Txs: 40, Mix: Mainnet, Stale: Stale{Every: 30, Depth: 4}},
	} {
		d := store.NewMemDisk()
		d.SetReserveCap(64 << 20)
		ta, err := tables.Create(d, wire.Regtest(), tables.Options{})
		if err != nil {
			t.Fatal(err)
		}
		g := source(t, o)
		r, err := node.Import(context.Background(), ta, node.ImportOptions{
			Paths: []string{"-"}, Stdin: NewReader(g), StopHeight: -1, Verifier: Trusting{},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Rejected) != 0 || r.Tip.Height != o.Blocks || r.Tip.Hash != g.tip || r.Blocks < uint64(o.Blocks) {
			t.Fatalf("%+v: tip %d %v, %d blocks, rejected %v", o, r.Tip.Height, r.Tip.Hash, r.Blocks, r.Rejected)
		}
		if s := g.Stats(); s.Stale == 0 && (r.Txs != s.Txs+s.FanOuts+s.Coinbases || r.WireBytes != s.Bytes) {
			t.Fatalf("%+v: the import counts %d transactions and %d bytes, the source %+v", o, r.Txs, r.WireBytes, s)
		}
		if err := ta.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// ledger follows a chain and knows what may be spent.
type ledger struct {
	t       *testing.T
	b       wire.Block
	txids   []wire.Hash
	outputs map[outpoint]held
	height  uint32
	parent  wire.Header
	plain   bool
}

type outpoint struct {
	txid wire.Hash
	vout uint32
}

type held struct {
	value    int64
	height   uint32
	coinbase bool
}

// Values, maturity, lock times, heights, commitments, weights and headers hold, judged from the bytes alone.
func TestRules(t *testing.T) {
	for _, o := range []Options{small, mixed} {
		testRules(t, o)
	}
}

func testRules(t *testing.T, o Options) {
	l := &ledger{t: t, outputs: map[outpoint]held{}, plain: o.Mix == Plain}
	h, err := wire.ParseHeader(wire.Regtest().GenesisBlock)
	if err != nil {
		t.Fatal(err)
	}
	l.parent = h
	g := source(t, o)
	var b Block
	for g.Next(&b) {
		l.height = b.Height
		l.block(b.Raw)
	}
}

func (l *ledger) block(raw []byte) {
	t := l.t
	if err := l.b.Decode(raw); err != nil {
		t.Fatal(err)
	}
	h := l.b.Header
	if h.Prev != l.parent.Hash() || h.Time <= l.parent.Time {
		t.Fatalf("height %d does not follow its parent", l.height)
	}
	hash := h.Hash()
	if v := validate.ProofOfWork(wire.Regtest(), h.Bits, &hash); !v.OK() {
		t.Fatalf("height %d: %v", l.height, v)
	}
	if v := validate.Weight(&l.b); !v.OK() {
		t.Fatalf("height %d: %v", l.height, v)
	}
	l.parent = h
	l.txids = l.b.Txids(l.txids)
	fees := int64(0)
	for tx := 1; tx < len(l.b.Txs); tx++ {
		fees += l.transaction(tx)
	}
	l.coinbase(fees)
}

// transaction takes what it spends, gives what it makes, and returns the fee.
func (l *ledger) transaction(tx int) (fee int64) {
	x := &l.b.Txs[tx]
	for i := range int(x.Ins) {
		in := &l.b.Ins[int(x.FirstIn)+i]
		txid, vout := l.b.Outpoint(int(x.FirstIn) + i)
		o, ok := l.outputs[outpoint{*txid, vout}]
		if !ok || o.coinbase && l.height-o.height < 100 {
			l.t.Fatalf("height %d: transaction %d may not spend %v:%d", l.height, tx, *txid, vout)
		}
		delete(l.outputs, outpoint{*txid, vout})
		fee += o.value
		if l.plain && in.Items != 2 {
			l.t.Fatalf("height %d: transaction %d has a witness of %d items", l.height, tx, in.Items)
		}
		if in.Items == 2 {
			l.signature(l.b.Bytes(l.b.Items[in.FirstItem]))
		}
	}
	if x.LockTime >= l.height {
		l.t.Fatalf("height %d: transaction %d is not final", l.height, tx)
	}
	l.give(tx)
	for i := range x.Outs {
		fee -= l.b.Outs[x.FirstOut+i].Value
	}
	if fee < 0 {
		l.t.Fatalf("height %d: transaction %d makes money", l.height, tx)
	}
	return fee
}

// signature asks the parser of btcd, which is strict about DER and about the ranges of both numbers.
func (l *ledger) signature(sig []byte) {
	if _, err := ecdsa.ParseDERSignature(sig[:len(sig)-1]); err != nil || sig[len(sig)-1] != 1 || len(sig) > 72 {
		l.t.Fatalf("height %d: signature %x: %v", l.height, sig, err)
	}
}

func (l *ledger) give(tx int) {
	x := &l.b.Txs[tx]
	for i := range x.Outs {
		l.outputs[outpoint{l.txids[tx], i}] = held{l.b.Outs[x.FirstOut+i].Value, l.height, tx == 0}
	}
}

func (l *ledger) coinbase(fees int64) {
	x := &l.b.Txs[0]
	script := l.b.Bytes(l.b.Ins[0].Script)
	if n := scriptNumber(script); n != l.height {
		l.t.Fatalf("the coinbase of height %d names %d: %x", l.height, n, script)
	}
	if v := l.b.Outs[0].Value; v != validate.Subsidy(wire.Regtest(), l.height)+fees {
		l.t.Fatalf("the coinbase of height %d takes %d, with fees of %d", l.height, v, fees)
	}
	wtxids := l.b.Wtxids(nil)
	wtxids[0] = wire.Hash{}
	root, _ := wire.MerkleRoot(wtxids)
	reserved := l.b.Bytes(l.b.Items[l.b.Ins[0].FirstItem])
	want := wire.DoubleSHA256(append(root[:], reserved...))
	out := l.b.Bytes(l.b.Outs[x.FirstOut+x.Outs-1].Script)
	if !bytes.Equal(out, append([]byte{0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed}, want[:]...)) {
		l.t.Fatalf("height %d: %x is no commitment to the witnesses", l.height, out)
	}
	l.give(0)
}

// scriptNumber is the number that a script pushes first: OP_1 to OP_16, or bytes.
func scriptNumber(s []byte) (n uint32) {
	if s[0] > 0x50 {
		return uint32(s[0]) - 0x50
	}
	for i := range int(s[0]) {
		n |= uint32(s[1+i]) << (8 * i)
	}
	return n
}

// The averages are the stated ones, within what chance does to some ten thousand transactions.
func TestStatistics(t *testing.T) {
	g := source(t, Options{Seed: 3, Blocks: 400, Txs: 200})
	var b Block
	for g.Next(&b) {
	}
	s := g.Stats()
	txs, ins := float64(s.Txs), float64(s.Ins)
	for _, x := range []struct {
		what           string
		have, low, top float64
	}{
		{"transactions", txs, 40_000, 60_000},
		{"inputs a transaction", ins / txs, 2.35, 2.45},
		{"outputs a transaction", float64(s.Outs) / txs, 2.65, 2.75},
		{"share of inputs that spend their own block", float64(s.Own) / ins, 0.05, 0.15},
		{"share of inputs that spend a far older block", float64(s.Old) / ins, 0.005, 0.10},
		{"bytes a transaction", float64(s.Bytes) / txs, 430, 480},
	} {
		if x.have < x.low || x.have > x.top {
			t.Errorf("%s: %.3f, expected %.3f to %.3f", x.what, x.have, x.low, x.top)
		}
	}
}

// A full block of the size that was asked for costs no memory but for what the pool grows by.
func TestSourceAllocatesNothing(t *testing.T) {
	g := source(t, Options{Seed: 1, Blocks: 300, Txs: 200, Mix: Mainnet, Signed: true, Threads: 1})
	var b Block
	for range 200 {
		g.Next(&b)
	}
	if n := testing.AllocsPerRun(20, func() { g.Next(&b) }); n > 1 {
		t.Errorf("%v allocations a block", n)
	}
}

func TestOptionsBounded(t *testing.T) {
	for _, o := range []Options{
		{Blocks: MaxBlocks + 1}, {Txs: MaxTxs + 1}, {Txs: -1}, {Mix: Mainnet + 1}, {Threads: -1},
		{Stale: Stale{Every: 3, Depth: 3}}, {Stale: Stale{Every: 1000, Depth: maxDepth + 1}},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

// A chain ends at the block that reaches the bytes that were asked for.
func TestBytes(t *testing.T) {
	o := mixed
	o.Bytes = 400_000
	g := source(t, o)
	total := uint64(0)
	var b, last Block
	for g.Next(&b) {
		if last = b; total >= o.Bytes {
			t.Fatalf("block %d is begun after %d bytes", b.Height, total)
		}
		total += uint64(len(b.Raw))
	}
	if total < o.Bytes || total != g.Stats().Bytes || last.Height == o.Blocks {
		t.Errorf("%d bytes in %d blocks, %d counted", total, last.Height, g.Stats().Bytes)
	}
}

// BenchmarkSource makes full blocks of nearly a megabyte: plain ones, and today's mix made up and signed.
func BenchmarkSource(b *testing.B) {
	for name, o := range map[string]Options{
		"plain": {}, "mainnet": {Mix: Mainnet}, "mainnet/signed": {Mix: Mainnet, Signed: true},
	} {
		b.Run(name, func(b *testing.B) {
			o.Seed, o.Blocks, o.Txs = 1, MaxBlocks, 2_000
			g := source(b, o)
			var x Block
			for range 200 {
				g.Next(&x)
			}
			before := g.Stats()
			for b.Loop() {
				g.Next(&x)
			}
			s := g.Stats()
			b.SetBytes(int64(s.Bytes-before.Bytes) / int64(b.N))
			b.ReportMetric(float64(s.Ins-before.Ins)/b.Elapsed().Seconds(), "inputs/s")
		})
	}
}
