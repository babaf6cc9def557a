package validate

import (
	"fmt"
	"testing"

	"stele/chain"
	"stele/internal/realdata"
)

// BenchmarkCheck judges real blocks of 1.0, 1.4 and 1.6 MB by themselves; the merkle root is most of it.
func BenchmarkCheck(b *testing.B) {
	for _, name := range []string{"367891", "413567", "709632", "800000"} {
		var block chain.Block
		if err := block.Decode(realdata.Read(b, "mainnet", "blocks", name+".blk.gz")); err != nil {
			b.Fatal(err)
		}
		txids := block.Txids(nil)
		var scratch Scratch
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(block.Raw)))
			for b.Loop() {
				if !Check(chain.Main(), &block, txids, &scratch).OK() {
					b.Fatal("refused")
				}
			}
		})
		b.Run(name+"/merkle", func(b *testing.B) {
			for b.Loop() {
				if !checkMerkle(&block, txids, &scratch).OK() {
					b.Fatal("refused")
				}
			}
		})
		b.Run(name+"/sigops", func(b *testing.B) {
			for b.Loop() {
				if blockSigOps(&block) < 0 {
					b.Fatal("negative")
				}
			}
		})
	}
}

// BenchmarkRepeatedInput compares the two ways to look for a repeated outpoint; where they cross is the constant
// pairwise.
func BenchmarkRepeatedInput(b *testing.B) {
	for _, n := range []int{2, 4, 8, 12, 16, 100, 1000, 20_000} {
		block := sameSpec(n, -1).decode(b)
		var scratch Scratch
		if n <= pairwise {
			b.Run(fmt.Sprint("pairs/", n), func(b *testing.B) {
				for b.Loop() {
					repeatedByPairs(block.Raw, block.Ins)
				}
			})
		}
		b.Run(fmt.Sprint("hash/", n), func(b *testing.B) {
			for b.Loop() {
				repeatedByHash(block.Raw, block.Ins, &scratch)
			}
		})
	}
}

// BenchmarkHeader is one header in the middle of a period, its hash given.
func BenchmarkHeader(b *testing.B) {
	p := chain.Regtest()
	c := steady(300, 1_600_000_000, 600, p.PowLimitBits)
	h := chain.Header{Version: 4, Time: c.tip().Time + 600, Bits: p.PowLimitBits}
	hash, parent := mine(&h), c.tip()
	for b.Loop() {
		if !Header(p, &h, &hash, parent, c, int64(h.Time)).OK() {
			b.Fatal("refused")
		}
	}
}

// BenchmarkAccept is dominated by the hashes of transactions with a witness and the tree above them.
func BenchmarkAccept(b *testing.B) {
	for _, name := range []string{"367891", "413567", "709632", "800000"} {
		var block chain.Block
		if err := block.Decode(realdata.Read(b, "mainnet", "blocks", name+".blk.gz")); err != nil {
			b.Fatal(err)
		}
		var scratch Scratch
		txids, pl := block.Txids(nil), realPlace(b, name, &block)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(block.Raw)))
			for b.Loop() {
				if !Accept(pl, &block, txids, &scratch).OK() {
					b.Fatal("refused")
				}
			}
		})
	}
}

// BenchmarkConnect is all but scripts, over coins that are at hand.
func BenchmarkConnect(b *testing.B) {
	for _, x := range readReal(b) {
		if len(x.coins) < 1000 {
			continue
		}
		pl, at := x.place(), x.genesisMedian
		b.Run(x.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, v := Connect(pl, &x.block, x.txids, x.coins, at); !v.OK() {
					b.Fatal(v)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x.coins)), "ns/input")
		})
	}
}
