package bench

import (
	"fmt"
	"path/filepath"

	gen "stele/bench/chain"
)

// The chain of scale 1: about 1.1 GB of blocks and of archive, which import in half a minute. A smaller one keeps
// enough blocks for its beginning to be over (see gen) and has fewer transactions in each; a larger one has more
// blocks.
const (
	fullBlocks  = 1_400
	leastBlocks = 240
	fullTxs     = 2_000
	seed        = 1
)

func chainOptions(scale float64) gen.Options {
	total := fullBlocks * fullTxs * scale
	blocks := max(leastBlocks, fullBlocks*scale)
	return gen.Options{Seed: seed, Blocks: uint32(blocks), Txs: max(10, min(fullTxs, int(total/blocks)))}
}

// makeChain writes a chain into the experiment's folder.
func (o *Options) makeChain(name string, c gen.Options) (*gen.File, error) {
	o.Note(fmt.Sprintf("making %d blocks of %d transactions", c.Blocks, c.Txs))
	return gen.Write(filepath.Join(o.Dir, name), c)
}
