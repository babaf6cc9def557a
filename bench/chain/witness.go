package chain

import (
	"sync"
	"sync/atomic"

	wire "stele/chain"
)

// chunkTxs is how many transactions a goroutine takes at a time.
const chunkTxs = 64

// chunk is the whole transactions of some of a block's, side by side; ends are their lengths, summed up.
type chunk struct {
	bytes []byte
	ends  []int
}

// witnesses makes the witnesses of the block's transactions, on as many goroutines as the source has signers, and puts
// the whole transactions into g.body. What a witness is depends on its transaction alone, so the bytes are the same
// whoever makes them.
func (g *Source) witnesses() {
	n := (len(g.txs) + chunkTxs - 1) / chunkTxs
	for len(g.chunks) < n {
		g.chunks = append(g.chunks, chunk{})
	}
	for len(g.wtxids) < 1+len(g.txs) {
		g.wtxids = append(g.wtxids, wire.Hash{})
	}
	if workers := min(len(g.signers), n); workers > 1 {
		var next atomic.Int32
		var all sync.WaitGroup
		for w := range workers {
			all.Go(func() {
				for i := next.Add(1) - 1; int(i) < n; i = next.Add(1) - 1 {
					g.complete(&g.signers[w], int(i))
				}
			})
		}
		all.Wait()
	} else {
		for i := range n {
			g.complete(&g.signers[0], i)
		}
	}
	for i := range n {
		c, from := &g.chunks[i], len(g.body)
		for _, end := range c.ends {
			g.ends = append(g.ends, from+end)
		}
		g.body = append(g.body, c.bytes...)
	}
}

// complete makes a chunk. It writes that, and the wtxids of its transactions, and nothing else.
func (g *Source) complete(s *signer, n int) {
	c := &g.chunks[n]
	b, ends := c.bytes[:0], c.ends[:0]
	for i := n * chunkTxs; i < min((n+1)*chunkTxs, len(g.txs)); i++ {
		m, start := &g.txs[i], len(b)
		plain := g.plain[m.at:m.end]
		if m.witness {
			b = g.appendWhole(b, s, m, plain)
			g.wtxids[1+i] = wire.DoubleSHA256(b[start:])
		} else {
			b = append(b, plain...)
			g.wtxids[1+i] = g.txids[1+i]
		}
		ends = append(ends, len(b))
	}
	c.bytes, c.ends = b, ends
}

func (g *Source) appendWhole(b []byte, s *signer, m *made, plain []byte) []byte {
	end := len(plain) - 4
	s.begin(le32(plain), le32(plain[end:]), g.spends[m.first:m.first+m.n], plain[m.outs-m.at:end], m.salt)
	b = append(b, plain[:4]...)
	b = append(b, 0, 1)
	b = append(b, plain[4:end]...)
	for i := range m.n {
		b = s.witness(b, i)
	}
	return append(b, plain[end:]...)
}

func le32(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}
