package tables

import (
	"encoding/binary"
	"errors"
	"fmt"

	"stele/chain"
	"stele/internal/fault"
	"stele/store"
	"stele/tables/codec"
)

// Chain log record: 4 bytes, what confirm did, in order. The chain of any cut is the replay of the log up to it.
//
//	+0  header link plus one, 31 bits; bit 31 set: the block was popped, clear: it was pushed
const logPop = 1 << 31

// record reads record i of the chain log.
func (t *Tables) record(i int64) (l HeaderLink, pop bool) {
	rec := binary.LittleEndian.Uint32(t.log.At(i*chainWidth, chainWidth))
	return HeaderLink(rec&^logPop) - 1, rec&logPop != 0
}

// Spend cell: 4 bytes an output, by output number: the link plus one of the transaction that spends it; of the one
// that overwrote it (a repeated txid before BIP30); unspendable for what no transaction can ever spend; zero otherwise.
// A cell proves itself: it counts only in a view whose chain has its transaction's block.
const unspendable = ^uint32(0)

// ErrNotNext is returned for a push of a block that does not stand on the tip.
var ErrNotNext = errors.New("block does not stand on the tip")

// Push makes an archived block, whose parent is the tip, the new tip: one record, which makes all its transactions
// strong, and the marks of what it spends. Writer only.
func (t *Tables) Push(l HeaderLink) error {
	if err := t.writable(); err != nil {
		return err
	}
	s, ok := t.Archived(l)
	if !ok {
		return fmt.Errorf("push: block %v is not archived", t.Header(l).Hash())
	}
	if !t.continues(l, false) {
		return ErrNotNext
	}
	if err := t.log.Reserve(chainWidth); err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(t.log.Grow(chainWidth), uint32(l)+1)
	t.dirty = true
	return t.applyPush(l, s)
}

// Pop takes the tip off the chain. Its rows stay in the archive, and its marks where they are: they count in no view
// without the block. Writer only.
func (t *Tables) Pop() error {
	if err := t.writable(); err != nil {
		return err
	}
	if t.members.now.n < 2 {
		return errors.New("pop: genesis stays")
	}
	if err := t.log.Reserve(chainWidth); err != nil {
		return err
	}
	l, _ := t.live.Tip()
	binary.LittleEndian.PutUint32(t.log.Grow(chainWidth), uint32(l)+1|logPop)
	t.dirty = true
	return t.applyPop()
}

// applyPush does what a push record says to everything that is derived from the log. Replaying it is idempotent.
func (t *Tables) applyPush(l HeaderLink, s TxsLink) error {
	b := t.block(s)
	if err := t.markOverwritten(&b); err != nil { // by the chain below: before the block is a member of it
		return err
	}
	t.members.push(l)
	var m marks
	if err := t.eachMark(&b, func(o OutputLink, by TxLink) { m.add(t, o, by) }); err != nil {
		return err
	}
	m.set(t)
	if err := t.markUnspendable(&b); err != nil {
		return err
	}
	t.refresh()
	return nil
}

// marks is a group of spend cells that are about to be set: they lie anywhere, and their misses overlap.
type marks struct {
	outs [prevoutGroup]uint64
	by   [prevoutGroup]uint32
	n    int
}

func (m *marks) add(t *Tables, o OutputLink, by TxLink) {
	m.outs[m.n], m.by[m.n] = uint64(o), uint32(by)+1
	if m.n++; m.n == len(m.outs) {
		m.set(t)
	}
}

func (m *marks) set(t *Tables) {
	t.spend.Expect(m.outs[:m.n])
	for i, o := range m.outs[:m.n] {
		t.spend.Set(o, m.by[i])
	}
	m.n = 0
}

// applyPop moves the marks of the tip's block to conflict, where a spender stays findable after another one took its
// cell, and shortens the chain.
func (t *Tables) applyPop() error {
	l, _ := t.live.Tip()
	s, ok := t.Archived(l)
	if !ok {
		return damage(chainName, "it pops a block that is not archived")
	}
	b := t.block(s)
	if err := t.eachMark(&b, t.displace); err != nil {
		return err
	}
	if b.overwrites {
		t.live.eachRepeated(&b, t.live.Strong, func(o OutputLink, by TxLink) {
			if delta, base := t.spend.View().Get(uint64(o)); delta == uint32(by)+1 || delta == 0 && base == uint32(by)+1 {
				t.displace(o, by)
			}
		})
	}
	t.members.pop()
	t.refresh()
	return nil
}

func (t *Tables) displace(o OutputLink, by TxLink) {
	if !fault.On(fault.PopKeepsNothing) {
		t.conflict.Add(uint64(o), uint64(by))
	}
}

// eachMark calls f for every output that a block's inputs spend, with the spending transaction.
func (t *Tables) eachMark(b *Block, f func(OutputLink, TxLink)) error {
	run := t.ins.At(int64(b.FirstIn)*insWidth, int(b.Ins)*insWidth)
	for i := range b.Txs {
		tx := b.FirstTx + TxLink(i)
		s := t.span(b, tx)
		if s.start.ins > s.end.ins || s.end.ins > b.Ins {
			return damage(txName, "the inputs of a transaction end before they start")
		}
		for n := s.start.ins; n < s.end.ins; n++ {
			if o := uint40(run[n*insWidth:]); o != 0 {
				f(OutputLink(o-1), tx)
			}
		}
	}
	return nil
}

// markUnspendable gives the reserved value to the outputs of a block that no transaction can spend. Only transactions
// whose row says that they have one are looked into.
func (t *Tables) markUnspendable(b *Block) error {
	for i := range b.Txs {
		s := t.span(b, b.FirstTx+TxLink(i))
		if !s.start.unspendable {
			continue
		}
		all := b.FirstOut == 0 // genesis
		var buf codec.ScriptBuffer
		run, ok := t.outputRun(b, s)
		for n := s.start.outs; ok && n < s.end.outs; n++ {
			o, size, good := codec.DecodeOutput(run, &buf)
			if ok = good; ok {
				run = run[size:]
				if all || chain.Unspendable(o.Script) {
					t.spend.Set(uint64(b.FirstOut)+uint64(n), unspendable)
				}
			}
		}
		if !ok {
			return damage(outputName, "an output does not decode")
		}
	}
	return nil
}

// markOverwritten marks, with the transaction that repeats their txid, the outputs that are unspent in the chain below
// block b. Such blocks say so in their row; mainnet has two (91,842 and 91,880).
func (t *Tables) markOverwritten(b *Block) error {
	if b.overwrites {
		t.live.eachRepeated(b, t.live.Strong, func(o OutputLink, by TxLink) {
			if !t.live.Spent(o) {
				t.spend.Set(uint64(o), uint32(by)+1)
			}
		})
	}
	return nil
}

// eachRepeated calls f for every output of the earlier transactions, among those that are wanted, whose txid a block
// repeats; by is the transaction that does.
func (v *View) eachRepeated(b *Block, wanted func(TxLink) bool, f func(o OutputLink, by TxLink)) {
	var buf [8]uint32
	for i := range b.Txs {
		by := b.FirstTx + TxLink(i)
		for _, old := range v.txids.FindAll(buf[:0], (*[32]byte)(v.t.txid(by)), uint32(by)) {
			if !wanted(TxLink(old)) {
				continue
			}
			tx := v.Tx(TxLink(old))
			for n := range tx.Outs {
				f(tx.FirstOut+OutputLink(n), by)
			}
		}
	}
}

// outputRun returns the output slab bytes of a transaction.
func (t *Tables) outputRun(b *Block, s txSpan) ([]byte, bool) {
	if s.end.outBytes < s.start.outBytes || s.end.outBytes > b.outBytes {
		return nil, false
	}
	return t.output.At(b.outBase+int64(s.start.outBytes), int(s.end.outBytes-s.start.outBytes)), true
}

// inputRun returns the input slab bytes of a transaction.
func (t *Tables) inputRun(b *Block, s txSpan) ([]byte, bool) {
	if s.end.inBytes < s.start.inBytes || s.end.inBytes > b.inBytes {
		return nil, false
	}
	return t.input.At(b.inBase+int64(s.start.inBytes), int(s.end.inBytes-s.start.inBytes)), true
}

// damage names what is wrong with a file of the store.
func damage(name, what string) error { return &store.Damaged{Name: name, What: what} }
