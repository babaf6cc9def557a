package validate

import "stele/chain"

// Place is where a block stands: all that the rules ask of the headers below it. Times are Unix seconds.
type Place struct {
	Params      *chain.Params
	Height      uint32
	Time        uint32      // the block's own
	ParentMTP   uint32      // median time past of its parent
	Deployments Deployments // that hold for it
	Hash        chain.Hash  // the block's own; exceptions go by it
}

// NewPlace is the place of a block whose header is h, of that hash, as a child of parent.
func NewPlace(p *chain.Params, h *chain.Header, hash *chain.Hash, parent Parent) Place {
	height := parent.Height + 1
	return Place{
		Params: p, Height: height, Time: h.Time, ParentMTP: parent.MTP,
		Deployments: DeploymentsAt(p, height), Hash: *hash,
	}
}

// programs tells whether P2SH and witness programs are looked into: always, since they were laid over the whole chain,
// but in the blocks that are excepted by hash (Core: script_flag_exceptions).
func (pl *Place) programs() (p2sh, witness bool) {
	for i := range pl.Params.ScriptExceptions {
		if x := &pl.Params.ScriptExceptions[i]; x.Hash == pl.Hash {
			return x.P2SH, x.Witness
		}
	}
	return true, true
}

// clock is what lock times that are times are compared with: the parent's median time past since BIP113, before that
// the block's own time.
func (pl *Place) clock() uint32 {
	if pl.Deployments.Has(CSV) {
		return pl.ParentMTP
	}
	return pl.Time
}
