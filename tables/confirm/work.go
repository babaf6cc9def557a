package confirm

import (
	"stele/chain"
	"stele/tables"
	"stele/utxo"
	"stele/validate"
)

// Work is one block on its way from Take to Put or Drop, and what was found out about it. Between the two it, and all
// that it refers to, belongs to the Confirmer, and Block must stay as it is: later blocks spend what it makes. A Work
// that came out may be filled anew for the next block, which reuses its memory.
type Work struct {
	Link  tables.HeaderLink
	Block *chain.Block // not needed where Archived, with the tables alone
	Txids []chain.Hash // of its transactions; as Block
	Place validate.Place
	MTP   uint32 // of the header, its own time included: what blocks above it ask for

	// Archived says that the block's rows are in the archive already: it was confirmed before, on a branch that was left
	// and is taken again. All that it spends was decided by its ancestors, which are the same, so nothing is looked up.
	// FirstOut is then the number of its first output, as its row says.
	Archived bool
	FirstOut tables.OutputLink

	// Coins is what Take finds: one for each of Block.Ins, that of the coinbase zero; none where Archived. They are good
	// until this Work is taken again.
	Coins []chain.Coin

	prevouts   []tables.OutputLink // one an input, as the archive wants them; with the tables alone, of archived blocks too
	scripts    []byte              // of Coins, with the tables alone
	overwrites bool                // it repeats the txid of unspent outputs, as one of the blocks that may (BIP30)

	seq      uint64 // counts blocks in flight: Take gives them, Put and Drop take them back
	inFlight bool
	archived bool              // what Archived was at Take
	first    tables.OutputLink // number of its first output
	excepted bool              // it may overwrite
	due      bool              // it must not (BIP30)

	change   utxo.Block // with a set
	undo     utxo.Undo
	prepared chain.Hash // change is of this block, its outputs numbered from 0

	made    []chain.Hash // with the tables alone: Txids, or those that the archive has
	own     []chain.Hash // memory of made
	firstTx tables.TxLink
}

// Prepare does what a set needs of the block and that asks for no order. Who fills a Work may call it, on any goroutine,
// when Block, Txids and Place are there; Take then has less to do.
func (w *Work) Prepare() {
	w.change.Take(w.Block, w.Txids, w.Place.Height, 0)
	w.prepared = w.Place.Hash
}

// output is what a transaction of the block makes, by its position; false where it makes none of that index, or one that can
// never be spent. number is that of the output.
func (w *Work) output(position int, vout uint32) (number tables.OutputLink, c chain.Coin, ok bool) {
	t := &w.Block.Txs[position]
	if vout >= t.Outs {
		return 0, c, false
	}
	o := &w.Block.Outs[t.FirstOut+vout]
	c = chain.Coin{
		Value: o.Value, Script: w.Block.Bytes(o.Script), Height: w.Place.Height, Coinbase: position == 0,
	}
	return w.first + tables.OutputLink(t.FirstOut+vout), c, !chain.Unspendable(c.Script)
}

// begin readies a Work for being taken as the block whose first output has that number, and returns the number that
// the next block's has.
func (w *Work) begin(next tables.OutputLink) tables.OutputLink {
	w.archived, w.inFlight, w.overwrites = w.Archived, false, false
	w.Coins, w.prevouts, w.scripts = w.Coins[:0], w.prevouts[:0], w.scripts[:0]
	if w.archived {
		w.first = w.FirstOut
		return next
	}
	w.first = next
	return next + tables.OutputLink(len(w.Block.Outs))
}
