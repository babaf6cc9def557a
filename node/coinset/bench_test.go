package coinset

import (
	"context"
	"fmt"
	"testing"

	"stele/chain"
	"stele/store"
	"stele/utxo"
)

// benchRig is a store in a folder with a million outputs, most of them unspent, and its set.
func benchRig(b *testing.B) (*rig, *utxo.Set) {
	d, err := store.OpenDir(b.TempDir(), store.DirOptions{Create: true, Verb: "test"})
	if err != nil {
		b.Fatal(err)
	}
	r := newRig(b, d, chain.Regtest())
	for m := newMade(1); r.t.NextOutput() < 1_000_000; {
		r.push(m.next(3000))
	}
	r.checkpoint()
	b.Cleanup(func() {
		if err := r.t.Close(); err != nil {
			b.Error(err)
		}
		if err := d.Close(); err != nil {
			b.Error(err)
		}
	})
	set, err := r.load(Options{Salt: 1})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(set.Close)
	return r, set
}

// BenchmarkLoad measures both ways to a set, by goroutines, with all files in the page cache; unspent outputs a second,
// and all outputs that the pass over the archive looked at.
func BenchmarkLoad(b *testing.B) {
	r, set := benchRig(b)
	outputs := float64(set.Len())
	run := func(b *testing.B, threads int) {
		for b.Loop() {
			got, err := r.load(Options{Salt: 1, Threads: threads})
			if err != nil || got.Len() != set.Len() {
				b.Fatal(err)
			}
			got.Close()
		}
		b.ReportMetric(outputs*float64(b.N)/b.Elapsed().Seconds(), "unspent/s")
	}
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("archive/%d", threads), func(b *testing.B) {
			run(b, threads)
			b.ReportMetric(float64(r.t.View().Cut().Outs)*float64(b.N)/b.Elapsed().Seconds(), "outputs/s")
		})
	}
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("save/%d", threads), func(b *testing.B) {
			for b.Loop() {
				if err := Save(context.Background(), r.t.View(), r.d, set, threads, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(outputs*float64(b.N)/b.Elapsed().Seconds(), "unspent/s")
		})
	}
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("image/%d", threads), func(b *testing.B) { run(b, threads) })
	}
}

// BenchmarkArchiveOrder measures the digest of the archive's order, which each save and each start with an image makes.
func BenchmarkArchiveOrder(b *testing.B) {
	d := store.NewMemDisk()
	defer d.Discard()
	r := mainRig(b, d)
	blocks := uint64(r.t.View().Cut().Txs)
	for b.Loop() {
		r.t.View().ArchiveOrder(blocks)
	}
	b.ReportMetric(float64(blocks)*float64(b.N)/b.Elapsed().Seconds(), "blocks/s")
}
