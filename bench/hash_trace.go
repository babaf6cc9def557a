package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	gen "stele/bench/chain"
	"stele/chain"
)

// trace is what the index of transactions is asked to do by a run of blocks: before each block its prevouts are looked
// up, but for those that it makes itself, then its transactions are entered.
type trace struct {
	ids    []key    // of all transactions; a transaction's index is its row
	spends []uint32 // rows that are looked up
	blocks []traced // where each block ends in the two
	every  int      // blocks between two merges

	keys  []key    // of the lookups in hand
	links []uint32 // their answers
}

type traced struct{ ids, spends int }

// traceMerges is how many merges a run has: some build new lines, the others fill those that there are.
const traceMerges = 12

// makeTrace takes the work from a generated chain.
func (o *Options) makeTrace(ctx context.Context) (*trace, error) {
	c := chainOptions(o.Scale)
	o.Note(fmt.Sprintf("taking the keys of %d blocks of %d transactions", c.Blocks, c.Txs))
	g, err := gen.New(c)
	if err != nil {
		return nil, err
	}
	t := &trace{every: max(1, int(c.Blocks)/traceMerges)}
	rows := map[uint64]uint32{} // by the first eight bytes of the key
	var b gen.Block
	var d chain.Block
	var ids []chain.Hash
	for g.Next(&b) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := d.Decode(b.Raw); err != nil {
			return nil, err
		}
		ids = d.Txids(ids)
		for n := int(d.Txs[0].Ins); n < len(d.Ins); n++ {
			txid, _ := d.Outpoint(n)
			if row, ok := rows[binary.LittleEndian.Uint64(txid[:])]; ok {
				t.spends = append(t.spends, row)
			}
		}
		for i := range ids {
			rows[binary.LittleEndian.Uint64(ids[i][:])] = uint32(len(t.ids))
			t.ids = append(t.ids, key(ids[i]))
		}
		t.blocks = append(t.blocks, traced{len(t.ids), len(t.spends)})
	}
	if len(rows) != len(t.ids) {
		return nil, fmt.Errorf("%d of %d transactions share eight bytes of their txid", len(t.ids)-len(rows), len(t.ids))
	}
	return t, nil
}

// start returns where a block starts.
func (t *trace) start(block int) traced {
	if block == 0 {
		return traced{}
	}
	return t.blocks[block-1]
}

// play does what a block asks for, in a table that has all before it, and checks the answers.
func (t *trace) play(x *table, block int) error {
	from, to := t.start(block), t.blocks[block]
	spends := t.spends[from.spends:to.spends]
	t.keys, t.links = t.keys[:0], slices.Grow(t.links[:0], len(spends))[:len(spends)]
	for _, row := range spends {
		t.keys = append(t.keys, t.ids[row]) // as a block brings them: side by side, and in the cache
	}
	var err error
	x.get += measured(func() { x.find(t.keys, t.links) })
	x.put += measured(func() { err = x.insert(t.ids[from.ids:to.ids]) })
	if err == nil && (block+1)%t.every == 0 {
		x.merge += measured(func() { err = x.mergeAll() })
	}
	if err == nil && !slices.Equal(t.links, spends) {
		err = fmt.Errorf("a lookup did not find its row")
	}
	return err
}

// measured returns the processor time of a call.
func measured(f func()) time.Duration {
	before := processorTime()
	f()
	return processorTime() - before
}
