package confirm_test

import (
	"flag"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	generate "stele/bench/chain"
	"stele/chain"
	"stele/store"
	"stele/tables"
	"stele/tables/confirm"
	"stele/utxo"
	"stele/validate"
)

var (
	benchBlocks = flag.Uint("confirm.blocks", 300, "blocks of the chain that benchmarks confirm")
	benchTxs    = flag.Int("confirm.txs", 1000, "transactions of a block of it")
	benchWindow = flag.Int("confirm.window", 8, "blocks that are taken together")
)

// BenchmarkConfirm confirms a generated chain on one goroutine, and reports what an input of its last third cost, in
// processor time: in Take (with a set, that is mostly the set's own commit), in Put, and in both as inputs a second.
func BenchmarkConfirm(b *testing.B) {
	mixes := []struct {
		name string
		mix  generate.Mix
	}{{"plain", generate.Plain}, {"mainnet", generate.Mainnet}}
	for _, m := range mixes {
		for _, mode := range []string{"set", "tables"} {
			b.Run(m.name+"/"+mode, func(b *testing.B) {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				for range b.N {
					benchChain(b, m.mix, mode == "set")
				}
			})
		}
	}
}

// bencher confirms a chain in windows and adds up times.
type bencher struct {
	*testing.B
	t         *tables.Tables
	c         *confirm.Confirmer
	works     []*confirm.Work
	blocks    []chain.Block
	raws      [][]byte
	rows      []tables.Rows
	times     []uint32
	take, put time.Duration
	inputs    int
	set       bool
}

// processor is the time that the thread has had.
func processor() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano())
}

func benchChain(b *testing.B, mix generate.Mix, set bool) {
	src, err := generate.New(generate.Options{Seed: 1, Blocks: uint32(*benchBlocks), Txs: *benchTxs, Mix: mix})
	if err != nil {
		b.Fatal(err)
	}
	d, err := store.OpenDir(b.TempDir(), store.DirOptions{Create: true, Verb: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	x := &bencher{B: b, times: []uint32{0}, set: set}
	if x.t, err = tables.Create(d, chain.Regtest(), tables.Options{}); err != nil {
		b.Fatal(err)
	}
	defer x.t.Close()
	x.c = confirm.New(x.t)
	if set {
		s := utxo.New(utxo.Options{Salt: 1, Workers: 1})
		defer s.Close()
		x.c.Use(s)
	}
	for range *benchWindow {
		x.works = append(x.works, new(confirm.Work))
	}
	x.blocks, x.rows = make([]chain.Block, *benchWindow), make([]tables.Rows, *benchWindow)
	x.raws = make([][]byte, *benchWindow)
	var block generate.Block
	n := 0
	for src.Next(&block) {
		x.prepare(n, &block)
		if n++; n == *benchWindow {
			x.confirm(n, block.Height > uint32(*benchBlocks)*2/3)
			n = 0
		}
	}
	perInput := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(x.inputs) }
	b.ReportMetric(perInput(x.take), "take-ns/input")
	b.ReportMetric(perInput(x.put), "put-ns/input")
	b.ReportMetric(1000/perInput(x.take+x.put), "Minputs/s")
	b.ReportMetric(float64(x.inputs), "inputs")
	b.ReportMetric(0, "ns/op")
}

// prepare is what workers do beside the confirmer.
func (x *bencher) prepare(n int, block *generate.Block) {
	w, d := x.works[n], &x.blocks[n]
	x.raws[n] = append(x.raws[n][:0], block.Raw...)
	if err := d.Decode(x.raws[n]); err != nil {
		x.Fatal(err)
	}
	w.Txids = d.Txids(w.Txids[:0])
	if err := x.rows[n].Encode(d, w.Txids); err != nil {
		x.Fatal(err)
	}
	parent, ok := x.t.FindHeader(&d.Header.Prev)
	if !ok {
		x.Fatal("no parent")
	}
	x.times = append(x.times, d.Header.Time)
	mtp := medianTime(x.times)
	l, err := x.t.PutHeader(&d.Header, &block.Hash, parent, mtp)
	if err != nil {
		x.Fatal(err)
	}
	w.Link, w.Block, w.MTP = l, d, mtp
	w.Place = validate.NewPlace(x.t.Params(), &d.Header, &block.Hash, validate.Parent{
		Height: block.Height - 1, MTP: x.t.Header(parent).MTP(),
	})
	if x.set {
		w.Prepare()
	}
}

func (x *bencher) confirm(n int, counts bool) {
	start := processor()
	taken, err := x.c.Take(x.works[:n])
	took := processor() - start
	if taken != n || err != nil {
		x.Fatal(taken, err)
	}
	start = processor()
	for i, w := range x.works[:n] {
		if err := x.c.Put(w, &x.rows[i]); err != nil {
			x.Fatal(err)
		}
	}
	put := processor() - start
	if !counts {
		return
	}
	x.take, x.put = x.take+took, x.put+put
	for i := range n {
		x.inputs += len(x.blocks[i].Ins)
	}
}
