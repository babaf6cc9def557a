//go:build unix

package chain_test

import (
	"bytes"
	"syscall"
	"testing"
	"time"

	"github.com/btcsuite/btcd/wire/v2"

	"stele/chain"
	"stele/internal/realdata"
)

// timed are the blocks that decode times are stated for: 0.3, 1.0 and 1.8 MB.
var timed = []struct{ name, net, height string }{
	{"0.3MB", "mainnet", "300025"},
	{"1.0MB", "mainnet", "426884"},
	{"1.8MB", "testnet3", "928831"},
}

// BenchmarkDecode runs the same block through the decoder with arrays kept, with arrays made anew, and through btcd's
// wire.
func BenchmarkDecode(b *testing.B) {
	for _, block := range timed {
		raw := realdata.Read(b, block.net, "blocks", block.height+".blk.gz")
		b.Run(block.name+"/reused", func(b *testing.B) {
			var blk chain.Block
			measure(b, raw, func() error { return blk.Decode(raw) })
		})
		b.Run(block.name+"/fresh", func(b *testing.B) {
			measure(b, raw, func() error { return new(chain.Block).Decode(raw) })
		})
		b.Run(block.name+"/wire", func(b *testing.B) {
			measure(b, raw, func() error { return new(wire.MsgBlock).Deserialize(bytes.NewReader(raw)) })
		})
	}
}

// BenchmarkTxids hashes every transaction, against wire's own TxHash over a parsed block.
func BenchmarkTxids(b *testing.B) {
	for _, block := range timed {
		raw := realdata.Read(b, block.net, "blocks", block.height+".blk.gz")
		b.Run(block.name+"/chain", func(b *testing.B) {
			var blk chain.Block
			if err := blk.Decode(raw); err != nil {
				b.Fatal(err)
			}
			var ids []chain.Hash
			measure(b, raw, func() error {
				ids = blk.Txids(ids)
				return nil
			})
		})
		b.Run(block.name+"/wire", func(b *testing.B) {
			var blk wire.MsgBlock
			if err := blk.Deserialize(bytes.NewReader(raw)); err != nil {
				b.Fatal(err)
			}
			measure(b, raw, func() error {
				for _, tx := range blk.Transactions {
					tx.TxHash()
				}
				return nil
			})
		})
	}
}

// BenchmarkEncode writes a block from its parsed fields into a buffer that is kept.
func BenchmarkEncode(b *testing.B) {
	for _, block := range timed {
		raw := realdata.Read(b, block.net, "blocks", block.height+".blk.gz")
		b.Run(block.name, func(b *testing.B) {
			var blk chain.Block
			if err := blk.Decode(raw); err != nil {
				b.Fatal(err)
			}
			buf := make([]byte, 0, len(raw))
			measure(b, raw, func() error {
				buf = blk.Append(buf[:0])
				return nil
			})
		})
	}
}

// measure also reports processor time, of all threads: unlike wall time it holds the garbage collector's share and does
// not hold what other processes took.
func measure(b *testing.B, raw []byte, f func() error) {
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	before := processorTime(b)
	for b.Loop() {
		if err := f(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
}

func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func BenchmarkMerkleRoot(b *testing.B) {
	leaves := make([]chain.Hash, 2000)
	for i := range leaves {
		leaves[i] = chain.DoubleSHA256([]byte{byte(i), byte(i >> 8)})
	}
	level := make([]chain.Hash, len(leaves))
	b.ReportAllocs()
	for b.Loop() {
		copy(level, leaves)
		chain.MerkleRoot(level)
	}
}

// BenchmarkBlockWork is what a header costs in 256-bit arithmetic: unpacking, a comparison with its hash, and its work.
func BenchmarkBlockWork(b *testing.B) {
	var hash chain.Hash
	var sum chain.Work
	b.ReportAllocs()
	for b.Loop() {
		target, _, _ := chain.CompactToTarget(0x1701_e51c)
		if chain.HashMeetsTarget(&hash, target) {
			sum = sum.Add(chain.BlockWork(0x1701_e51c))
		}
	}
}

// BenchmarkArena copies a megabyte, the fate of a block that outlives its buffer, and gives it back.
func BenchmarkArena(b *testing.B) {
	raw := make([]byte, 1_000_000)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		var arena chain.Arena
		arena.Copy(raw)
		arena.Release()
	}
}
