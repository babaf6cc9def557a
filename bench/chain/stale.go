package chain

import (
	"bytes"

	wire "stele/chain"
)

// Stale asks for branches off the chain: Depth blocks, from every height that Every divides. A branch stands in front
// of the blocks that outgrow it, so whoever reads the chain in order takes it first, and goes back when they have
// come.
//
// Its blocks have the transactions of those at their heights, so that they are valid on it, too; the last one has only
// the first half of them. Their coinbases differ.
type Stale struct{ Every, Depth uint32 }

// maxDepth keeps coinbases, which a branch does not share, from being spent on it: they mature after a hundred blocks.
const maxDepth = 50

func (s Stale) valid() bool { return s.Depth == 0 || s.Depth <= maxDepth && s.Every > s.Depth }

// staleNumber tells the coinbases of a branch from the chain's.
const staleNumber = 0x57a1e000

// branching holds the blocks of a branch, and those of the chain beside it, until all are made.
type branching struct {
	left  uint32 // blocks that are still to be made
	leads bool   // the branch is as long as the chain, and came first
	tip   wire.Hash
	stale []keptBlock
	main  []keptBlock
	ready []keptBlock // to be handed out, in order
}

type keptBlock struct {
	Block
	raw []byte
}

// hold takes the block that was made last, and makes its twin. parent is that of the first.
func (g *Source) hold(b *Block, parent wire.Hash) {
	r := &g.branch
	if r.left == 0 {
		r.left, r.leads, r.tip = g.o.Stale.Depth, true, parent
		r.stale, r.main = r.stale[:0], r.main[:0]
	}
	r.main = append(r.main, keptBlock{*b, bytes.Clone(b.Raw)})
	r.left--
	s := sealing{prev: r.tip, time: g.time() + 1, number: staleNumber + r.left, txs: len(g.txs), reward: g.reward()}
	if r.left == 0 {
		s.txs, s.reward = s.txs/2, s.reward-g.fees
	}
	twin := g.seal(s)
	r.tip = twin.Hash
	r.stale = append(r.stale, keptBlock{Block{Height: g.height, Hash: twin.Hash, Coinbase: twin.Coinbase, Stale: true},
		bytes.Clone(twin.Raw)})
	g.stats.Stale++
	g.stats.Bytes += uint64(len(twin.Raw))
	if r.left == 0 {
		r.ready = append(append(r.ready[:0], r.stale...), r.main...)
	}
}

// next hands out a block that was held back.
func (r *branching) next(b *Block) bool {
	if len(r.ready) == 0 {
		return false
	}
	*b = r.ready[0].Block
	b.Raw = r.ready[0].raw
	r.ready = r.ready[1:]
	return true
}
