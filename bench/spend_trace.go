package bench

import (
	"context"
	"fmt"

	gen "stele/bench/chain"
	"stele/chain"
)

// spendTrace is what the blocks of a chain make and spend, without the blocks. Numbers are of the whole chain; genesis
// is left out, and so are coinbase inputs.
//
//	transaction t   outputs firstOut[t] .. firstOut[t+1], inputs firstIn[t] .. firstIn[t+1]
//	block b         transactions ends[b-1] .. ends[b]
//	input i         spends points[i], and has sizes[i] bytes besides: sequence, script, witness
type spendTrace struct {
	txids    []key
	blockOf  []uint32
	firstOut []uint32
	firstIn  []uint32
	points   []spentPoint
	sizes    []uint32
	ends     []uint32

	index   *table // of the transactions, full: the same for every form of spends
	payload []byte // that inputs are made of: what the bytes are plays no part
}

// spentPoint is an outpoint as an input has it.
type spentPoint struct {
	txid key
	vout uint32
}

func (t *spendTrace) outputs() int { return int(t.firstOut[len(t.txids)]) }

// start returns the first transaction of a block.
func (t *spendTrace) start(b int) uint32 {
	if b == 0 {
		return 0
	}
	return t.ends[b-1]
}

// inputs returns the inputs of a block.
func (t *spendTrace) inputs(b int) (from, to uint32) {
	return t.firstIn[t.start(b)], t.firstIn[t.ends[b]]
}

// makeSpendTrace takes the spends of a generated chain, and enters its transactions into an index.
func (o *Options) makeSpendTrace(ctx context.Context, c gen.Options) (*spendTrace, error) {
	o.Note(fmt.Sprintf("taking the spends of %d blocks of %d transactions", c.Blocks, c.Txs))
	g, err := gen.New(c)
	if err != nil {
		return nil, err
	}
	t := &spendTrace{firstOut: []uint32{0}, firstIn: []uint32{0}, payload: make([]byte, 1<<22)}
	var made gen.Block
	var b chain.Block
	var ids []chain.Hash
	for g.Next(&made) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := b.Decode(made.Raw); err != nil {
			return nil, err
		}
		ids = b.Txids(ids[:0])
		t.take(&b, ids)
	}
	if t.index, err = newTable(functions()[0], len(t.txids)); err != nil {
		return nil, err
	}
	if err := t.index.insert(t.txids); err != nil {
		return nil, err
	}
	return t, t.index.mergeAll()
}

func (t *spendTrace) take(b *chain.Block, ids []chain.Hash) {
	outs := t.firstOut[len(t.txids)]
	for i := range b.Txs {
		tx := &b.Txs[i]
		t.txids = append(t.txids, key(ids[i]))
		t.blockOf = append(t.blockOf, uint32(len(t.ends)))
		outs += tx.Outs
		t.firstOut = append(t.firstOut, outs)
		for n := tx.FirstIn; n < tx.FirstIn+tx.Ins && i > 0; n++ {
			txid, vout := b.Outpoint(int(n))
			in := &b.Ins[n]
			size := 4 + 1 + in.Script.Len + 1
			for _, item := range b.Items[in.FirstItem : in.FirstItem+in.Items] {
				size += 1 + item.Len
			}
			t.points = append(t.points, spentPoint{key(*txid), vout})
			t.sizes = append(t.sizes, size)
		}
		t.firstIn = append(t.firstIn, uint32(len(t.points)))
	}
	t.ends = append(t.ends, uint32(len(t.txids)))
}

// payloadBytes is what all inputs take.
func (t *spendTrace) payloadBytes() (sum int) {
	for _, n := range t.sizes {
		sum += int(n)
	}
	return sum
}

// badSpend says that an input may not spend what it names: it is not there, or is spent already.
type badSpend struct{ input uint32 }

func (e *badSpend) Error() string { return fmt.Sprintf("input %d spends what is not unspent", e.input) }
