package tables

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"stele/store"
)

// Ins row: 5 bytes an input, by input number: the number of the output that it spends, plus one; zero for a coinbase
// input. Outtx row: 4 bytes, one for every 64th output: the link of the transaction that owns it, plus one.

// Archived returns the txs row of a header whose block is archived.
func (t *Tables) Archived(l HeaderLink) (TxsLink, bool) {
	return archived(t.txsOf, l, uint32(len(t.place)))
}

// archived looks a header up in txsOf as far as a cut of the given txs rows goes.
func archived(txsOf []uint32, l HeaderLink, below uint32) (TxsLink, bool) {
	if int(l) >= len(txsOf) {
		return 0, false
	}
	s := atomic.LoadUint32(&txsOf[l])
	if s == 0 || s > below {
		return 0, false
	}
	return TxsLink(s - 1), true
}

// Archive appends the block of header l and returns its row. prevouts holds, for every input of the block in order,
// the output that it spends, NoOutput for the coinbase's; they may name outputs of the block itself, which are numbered
// from NextOutput. overwrites says that a transaction of the block repeats the txid of unspent outputs, which Push then
// marks. The block is not in any chain until it is pushed. Writer only.
//
// Space is taken in every file first, the chain log's for the push included, so an error leaves nothing half written:
// *store.DiskFull (resumable), *store.Fault, ErrFull.
func (t *Tables) Archive(l HeaderLink, r *Rows, prevouts []OutputLink, overwrites bool) (TxsLink, error) {
	if err := t.writable(); err != nil {
		return 0, err
	}
	if _, ok := t.Archived(l); ok {
		return 0, fmt.Errorf("block %v is archived already", t.Header(l).Hash())
	}
	if len(prevouts) != int(r.ins) {
		return 0, errors.New("archive: prevouts do not fit the block's inputs")
	}
	b := Block{
		Header: l, Txs: r.txs, Outs: r.outs, Ins: r.ins,
		FirstTx: TxLink(t.tx.Len() / txWidth), FirstOut: t.NextOutput(), FirstIn: InputLink(t.ins.Len() / insWidth),
		outBase: t.output.Len(), inBase: t.input.Len(),
		outBytes: uint32(len(r.output)), inBytes: uint32(len(r.input)),
		Size: r.size, Weight: r.weight, overwrites: overwrites,
	}
	if uint64(b.FirstTx)+uint64(r.txs) > maxTx || uint64(b.FirstOut)+uint64(r.outs) > maxNumber {
		return 0, ErrFull
	}
	if err := t.reserveBlock(&b); err != nil {
		return 0, err
	}
	if err := t.appendBlock(&b, r, prevouts); err != nil {
		return 0, t.fail(err)
	}
	for _, body := range []*store.Body{t.txs, t.tx, t.ins, t.outTx, t.output, t.input} {
		if err := body.FlushIfLarge(); err != nil {
			return 0, t.fail(err)
		}
	}
	return TxsLink(len(t.place) - 1), nil
}

// NextOutput returns the number that the first output of the next archived block gets.
func (t *Tables) NextOutput() OutputLink { return OutputLink(t.live.cut.Outs) }

// samples returns how many outtx rows there are for n outputs.
func samples(n uint64) int64 { return int64((n + outTxEvery - 1) / outTxEvery) }

func (t *Tables) reserveBlock(b *Block) error {
	end := uint64(b.FirstOut) + uint64(b.Outs)
	return store.ReserveAll(
		store.Need{Body: t.txs, Bytes: txsWidth},
		store.Need{Body: t.tx, Bytes: int64(b.Txs) * txWidth},
		store.Need{Body: t.ins, Bytes: int64(b.Ins) * insWidth},
		store.Need{Body: t.outTx, Bytes: samples(end)*outTxWidth - t.outTx.Len()},
		store.Need{Body: t.output, Bytes: int64(b.outBytes)},
		store.Need{Body: t.input, Bytes: int64(b.inBytes)},
		store.Need{Body: t.log, Bytes: chainWidth},
	)
}

// appendBlock writes the rows of a block for which space was reserved, and enters them into what is kept in memory.
func (t *Tables) appendBlock(b *Block, r *Rows, prevouts []OutputLink) error {
	t.output.Append(r.output)
	t.input.Append(r.input)
	ins := t.ins.Grow(len(prevouts) * insWidth)
	for i, o := range prevouts {
		putUint40(ins[i*insWidth:], uint64(o+1)&(1<<40-1)) // NoOutput plus one is zero
	}
	t.tx.Append(r.tx)
	t.appendSamples(b, r)
	putBlock(t.txs.Grow(txsWidth), b)
	for i := range b.Txs {
		if err := t.txMap.Insert(uint32(b.FirstTx) + i); err != nil {
			return err
		}
	}
	t.enter(b)
	t.dirty = true
	t.refresh()
	return nil
}

// appendSamples adds the outtx rows that fall among the outputs of a block.
func (t *Tables) appendSamples(b *Block, r *Rows) {
	next := uint64(t.outTx.Len()/outTxWidth) * outTxEvery
	for i := range r.txs {
		end := b.Outs
		if i+1 < r.txs {
			end = getTxOffset(r.tx[(i+1)*txWidth+txOffsets:]).outs
		}
		for ; next < uint64(b.FirstOut)+uint64(end); next += outTxEvery {
			binary.LittleEndian.PutUint32(t.outTx.Grow(outTxWidth), uint32(b.FirstTx)+i+1)
		}
	}
}

// enter adds an archived block to the arrays that are kept in memory.
func (t *Tables) enter(b *Block) {
	for next := uint32(len(t.guide)) * guideEvery; next < uint32(b.FirstTx)+b.Txs; next += guideEvery {
		t.guide = append(t.guide, uint32(len(t.firstTx)))
	}
	t.firstTx = append(t.firstTx, uint32(b.FirstTx))
	t.firstOut = append(t.firstOut, b.FirstOut)
	t.place = append(t.place, place{header: b.Header, height: t.Header(b.Header).Height()})
	atomic.StoreUint32(&t.txsOf[b.Header], uint32(len(t.place)))
}
