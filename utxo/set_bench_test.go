package utxo

import (
	"math/rand/v2"
	"testing"

	"stele/chain"
)

// BenchmarkCommit commits blocks that spend 10,000 outputs and make as many, of all shards or of one. Time is by block.
func BenchmarkCommit(b *testing.B) {
	for _, arm := range []struct {
		name  string
		shard func(r *rand.Rand) byte
	}{
		{"uniform", func(r *rand.Rand) byte { return byte(r.Uint32()) }},
		{"concentrated", func(*rand.Rand) byte { return 0x5a }},
	} {
		b.Run(arm.name, func(b *testing.B) {
			s := New(Options{Workers: 1, Salt: 7})
			defer s.Close()
			random := rand.New(rand.NewPCG(1, 1))
			made := func(n int) (all []Made) {
				for range n {
					script := append([]byte{0x51, 32}, make([]byte, 32)...)
					all = append(all, Made{
						Txid: randomTxid(random, arm.shard(random)), Outs: []Entry{{0, random.Int64N(1 << 36), script}},
					})
				}
				return all
			}
			var live []chain.Hash
			var u Undo
			commit := func(block *Block) {
				for i := range block.Made {
					live = append(live, block.Made[i].Txid)
				}
				b.StartTimer()
				err := s.Commit(block, &u)
				b.StopTimer()
				if err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			commit(&Block{Made: made(150_000)})
			b.ResetTimer()
			for range b.N {
				block := Block{Made: made(10_000)}
				for range 10_000 {
					i := random.IntN(len(live))
					block.Spends = append(block.Spends, Outpoint{live[i], 0})
					live[i] = live[len(live)-1]
					live = live[:len(live)-1]
				}
				commit(&block)
			}
		})
	}
}
