package tables

import (
	"sort"

	"stele/chain"
	"stele/hashmap"
)

// View is one state of the store: a chain, the cut that its rows end at, and the indexes that find them. Two views of
// one store may differ in their tip and still be read side by side. A view that View or Down returned is immutable and
// may be read by any number of goroutines; a spend counts in it, and a transaction is strong, as its own chain says.
type View struct {
	t     *Tables
	cut   Cut
	chain membership

	txsOf    []uint32
	firstTx  []uint32
	guide    []uint32
	firstOut []OutputLink
	place    []place

	headers, txids hashmap.MapView
	spends         hashmap.CellsView
}

// Tip returns the header and the height of the view's best block.
func (v *View) Tip() (HeaderLink, uint32) {
	return v.chain.at(v.chain.n - 1), v.chain.n - 1
}

// Cut returns the lengths that the view ends at.
func (v *View) Cut() Cut { return v.cut }

// Down returns the view of the same chain as it was when the block at the given height was its tip. Heights above the
// tip give the view itself.
func (v *View) Down(height uint32) *View {
	low := *v
	low.chain.n = min(v.chain.n, height+1)
	return &low
}

// HeaderAt returns the confirmed header at a height.
func (v *View) HeaderAt(height uint32) (HeaderLink, bool) {
	if height >= v.chain.n {
		return 0, false
	}
	return v.chain.at(height), true
}

// Confirmed reports whether header l is in the view's chain.
func (v *View) Confirmed(l HeaderLink) bool {
	return uint32(l) < v.cut.Headers && v.chain.has(l, v.t.Header(l).Height())
}

// FindHeader returns the row of a block hash, of any chain.
func (v *View) FindHeader(hash *chain.Hash) (HeaderLink, bool) {
	l, ok := v.headers.Find((*[32]byte)(hash), v.cut.Headers)
	return HeaderLink(l), ok
}

// Header returns header row l.
func (v *View) Header(l HeaderLink) Header { return v.t.Header(l) }

// WireHeader returns the 80-byte header of row l as an object.
func (v *View) WireHeader(l HeaderLink) chain.Header { return v.t.WireHeader(l) }

// Block returns what header l owns in the archive; false when its block is not archived.
func (v *View) Block(l HeaderLink) (Block, bool) {
	s, ok := archived(v.txsOf, l, v.cut.Txs)
	if !ok {
		return Block{}, false
	}
	return v.t.block(s), true
}

// guideEvery is how many tx links lie between two entries of the guide: 4 bytes for each 42 KiB of rows.
const guideEvery = 1024

// fewBlocks is how many blocks are looked through one by one sooner than by halves.
const fewBlocks = 16

// blockOfTx returns the archived block that holds transaction l: the last interval that starts at or before it. The
// guide leaves one or two blocks to look at on a chain of full blocks. A search by halves through all of them misses
// the processor's predictions, which costs more than the loads do: lookups one after the other no longer overlap.
func (v *View) blockOfTx(l TxLink) TxsLink {
	first := v.firstTx
	k := min(int(l)/guideEvery, len(v.guide)-1)
	lo, hi := v.guide[k], uint32(len(first))
	if k+1 < len(v.guide) {
		hi = v.guide[k+1] + 1
	}
	for hi-lo > fewBlocks {
		if mid := lo + (hi-lo)/2; first[mid] <= uint32(l) {
			lo = mid
		} else {
			hi = mid
		}
	}
	for lo+1 < hi && first[lo+1] <= uint32(l) {
		lo++
	}
	return TxsLink(lo)
}

// blockOfOutput returns the archived block whose transactions own output o. Every block owns one or more.
func (v *View) blockOfOutput(o OutputLink) TxsLink {
	first := v.firstOut
	lo, hi := 0, len(first)
	for hi-lo > 1 {
		mid := int(uint(lo+hi) >> 1)
		if first[mid] <= o {
			lo = mid
		} else {
			hi = mid
		}
	}
	return TxsLink(lo)
}

// Strong reports whether transaction l is in the view's chain: its block's interval, and one read of the membership.
func (v *View) Strong(l TxLink) bool {
	if uint32(l) >= v.cut.Tx {
		return false
	}
	p := v.place[v.blockOfTx(l)]
	return v.chain.has(p.header, p.height)
}

// FindTx returns the row of a txid: the one in the view's chain (the newest, where BIP30 allowed two), else the newest
// archived one whose block is not invalid. Cost: one line and one row, in the usual case that there is one row.
func (v *View) FindTx(txid *chain.Hash) (TxLink, bool) {
	l, ok := v.txids.Find((*[32]byte)(txid), v.cut.Tx)
	if !ok || v.Strong(TxLink(l)) {
		return TxLink(l), ok // nearly always: the newest row is the one in the chain
	}
	if l, ok := v.FindStrong(txid); ok {
		return l, true
	}
	var buf [8]uint32
	for _, l := range v.txids.FindAll(buf[:0], (*[32]byte)(txid), v.cut.Tx) {
		if !v.t.State(v.place[v.blockOfTx(TxLink(l))].header).Invalid() {
			return TxLink(l), true
		}
	}
	return 0, false
}

// FindStrong returns the row of a txid in the view's chain, the newest where BIP30 allowed two.
func (v *View) FindStrong(txid *chain.Hash) (TxLink, bool) {
	var buf [8]uint32
	for _, l := range v.txids.FindAll(buf[:0], (*[32]byte)(txid), v.cut.Tx) {
		if v.Strong(TxLink(l)) {
			return TxLink(l), true
		}
	}
	return 0, false
}

// Spend is one spending of an output: the transaction and the index of the input in it.
type Spend struct {
	Tx    TxLink
	Index uint32
}

// Spent reports whether output o is gone in the view's chain: spent, overwritten by a repeated txid, or never spendable
// at all. Only confirmation needs it: who is asked by people wants Spender.
func (v *View) Spent(o OutputLink) bool {
	_, spent := v.spentBy(o)
	return spent
}

// spentBy returns the transaction in the view's chain whose mark output o bears; NoTx for one that is unspendable.
//
// The cell and its newer value in memory are read first and conflict after them: a pop enters a mark into conflict
// before anything can displace it from the cell, so whoever does not find it in the cell any more finds it there.
func (v *View) spentBy(o OutputLink) (TxLink, bool) {
	delta, base := v.spends.Get(uint64(o))
	return v.spentMarks(o, delta, base)
}

// spentMarks is spentBy for an output whose cell was read.
func (v *View) spentMarks(o OutputLink, delta, base uint32) (TxLink, bool) {
	for _, mark := range [2]uint32{delta, base} {
		switch {
		case mark == 0:
		case mark == unspendable:
			return NoTx, true
		case v.Strong(TxLink(mark - 1)):
			return TxLink(mark - 1), true
		}
	}
	if delta == 0 && base == 0 {
		return 0, false // nothing ever marked it, so nothing was displaced
	}
	return v.displacedBy(o)
}

// displacedBy looks among the spenders that were displaced from the cell of output o for one in the view's chain. Each
// candidate proves itself: it spends o, or else it repeats the txid of the transaction that owns o.
func (v *View) displacedBy(o OutputLink) (TxLink, bool) {
	var buf [8]uint64
	repeat, ok := NoTx, false
	for _, by := range v.t.conflict.View().All(buf[:0], uint64(o)) {
		l := TxLink(by)
		if !v.Strong(l) {
			continue
		}
		if _, spends := v.inputOf(l, o); spends {
			return l, true
		}
		if v.repeats(l, o) {
			repeat, ok = l, true
		}
	}
	return repeat, ok
}

// marks reports whether transaction l can have marked output o.
func (v *View) marks(l TxLink, o OutputLink) bool {
	_, ok := v.inputOf(l, o)
	return ok || v.repeats(l, o)
}

// repeats reports whether transaction l has the txid of an earlier one that owns output o.
func (v *View) repeats(l TxLink, o OutputLink) bool {
	owner, _ := v.OutputTx(o)
	return owner < l && *v.t.txid(owner) == *v.t.txid(l)
}

// Spender returns the input that spends output o in the view's chain. An output that a repeated txid overwrote (BIP30)
// has none.
//
// Cost: a cell, the interval of the spender's block, its membership, the spender's tx row and its row of inputs.
func (v *View) Spender(o OutputLink) (Spend, bool) {
	l, ok := v.spentBy(o)
	if !ok || l == NoTx {
		return Spend{}, false
	}
	index, ok := v.inputOf(l, o)
	return Spend{Tx: l, Index: index}, ok
}

// SpenderTx is Spender with the spender's whole place: the interval of its block and its row are looked at once for both.
func (v *View) SpenderTx(o OutputLink) (tx Tx, index uint32, ok bool) {
	l, ok := v.spentBy(o)
	if !ok || l == NoTx {
		return Tx{}, 0, false
	}
	s := v.blockOfTx(l)
	b := v.t.block(s)
	span := v.t.span(&b, l)
	if index, ok = v.t.inputIn(&b, span, o); !ok {
		return Tx{}, 0, false
	}
	return v.txIn(l, s, &b, span), index, true
}

// Spenders appends every spender of output o that was ever archived, those of displaced branches included, in archive
// order.
func (v *View) Spenders(dst []Spend, o OutputLink) []Spend {
	delta, base := v.spends.Get(uint64(o))
	var buf [16]uint64
	all := v.t.conflict.View().All(buf[:0], uint64(o))
	for _, mark := range [2]uint32{delta, base} {
		if mark != 0 && mark != unspendable {
			all = append(all, uint64(mark-1))
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	for i, by := range all {
		if i > 0 && by == all[i-1] || by >= uint64(v.cut.Tx) {
			continue
		}
		if index, ok := v.inputOf(TxLink(by), o); ok {
			dst = append(dst, Spend{Tx: TxLink(by), Index: index})
		}
	}
	return dst
}

// inputOf returns the index of the input of transaction l that spends output o.
func (v *View) inputOf(l TxLink, o OutputLink) (uint32, bool) {
	if uint32(l) >= v.cut.Tx {
		return 0, false
	}
	b := v.t.block(v.blockOfTx(l))
	return v.t.inputIn(&b, v.t.span(&b, l), o)
}

// inputIn returns the index, in a transaction of block b, of the input that spends output o.
func (t *Tables) inputIn(b *Block, s txSpan, o OutputLink) (uint32, bool) {
	if s.start.ins > s.end.ins || s.end.ins > b.Ins {
		return 0, false
	}
	n := s.end.ins - s.start.ins
	run := t.ins.At((int64(b.FirstIn)+int64(s.start.ins))*insWidth, int(n)*insWidth)
	for i := range n {
		if uint40(run[i*insWidth:]) == uint64(o)+1 {
			return i, true
		}
	}
	return 0, false
}
