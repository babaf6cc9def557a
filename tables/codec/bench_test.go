package codec

import (
	"testing"

	"stele/chain"
)

// slabs are a block's transactions as runs.
type slabs struct {
	input, output []byte
	heads         []Head
}

func encodeBlock(s *slabs, b *chain.Block) {
	s.input, s.output, s.heads = s.input[:0], s.output[:0], s.heads[:0]
	for i := range b.Outs {
		s.output = AppendOutput(s.output, b.Outs[i].Value, b.Bytes(b.Outs[i].Script))
	}
	eachInput(b, func(tx *chain.Tx, in *chain.In, script, witness []byte) {
		s.heads = append(s.heads, Head{Witness: tx.Witness})
		s.input = AppendInput(s.input, in.Sequence, script, witness)
	})
}

// BenchmarkBlock times the codecs' part in a block: all its outputs and inputs written into slabs, rebuilt as wire
// bytes, and skipped.
func BenchmarkBlock(b *testing.B) {
	for _, name := range modern {
		realBlocks(b, "mainnet", func(_ string, blk *chain.Block) {
			var s slabs
			encodeBlock(&s, blk)
			b.Run(name+"/encode", func(b *testing.B) {
				for b.Loop() {
					encodeBlock(&s, blk)
				}
			})
			wire := make([]byte, 0, len(blk.Raw))
			b.Run(name+"/outputs", func(b *testing.B) {
				for b.Loop() {
					wire = wire[:0]
					for rest := s.output; len(rest) > 0; {
						var n int
						wire, n, _ = AppendWireOutput(wire, rest)
						rest = rest[n:]
					}
				}
			})
			b.Run(name+"/inputs", func(b *testing.B) {
				for b.Loop() {
					wire = wire[:0]
					rest := s.input
					for i := range s.heads {
						var n int
						wire, n, _ = AppendWireInput(wire, rest, s.heads[i].Witness)
						if s.heads[i].Witness {
							wire, _, _ = AppendWireStack(wire, rest)
						}
						rest = rest[n:]
					}
				}
			})
			b.Run(name+"/skip", func(b *testing.B) {
				for b.Loop() {
					for rest := s.output; len(rest) > 0; {
						n, _ := SkipOutput(rest)
						rest = rest[n:]
					}
					for rest := s.input; len(rest) > 0; {
						n, _ := SkipInput(rest)
						rest = rest[n:]
					}
				}
			})
		}, name)
	}
}
