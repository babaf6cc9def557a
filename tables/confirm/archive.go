package confirm

import (
	"errors"
	"math/rand/v2"
	"unsafe"

	"stele/chain"
	"stele/hashmap"
	"stele/tables"
	"stele/validate"
)

// archive is the source that the tables alone are, with what the blocks in flight make and take laid over them. No
// input slab is read.
//
//	outpoint ──is it made in flight, or further up in this block?──▶ number, and the block's own bytes
//	         ──no──▶ tables.Prevouts, in groups ──▶ number, unspent in the tables' chain, and its coin
//	number ──does a block in flight, or this one, take it already?
type archive struct {
	c      *Confirmer
	flight []*Work // by the lower bits of their sequence numbers; a power of two
	made   txids
	taken  numbers

	// Inputs of the block in hand that are asked of the tables.
	keys  [][32]byte
	vouts []uint32
	ins   []uint32 // of Block.Ins
	found []tables.Prevout
	local []local
	known []bool // of its transactions: the tables have a row of that txid
}

func newArchive(c *Confirmer) *archive {
	return &archive{c: c, flight: make([]*Work, minSlots), made: txids{secret: rand.Uint64() | 1}}
}

// local is an input that spends what a block in flight, or this one, makes.
type local struct {
	by       *Work
	position int
	in, vout uint32
}

var errFlight = errors.New("confirm: too many blocks are in flight, or one has too many transactions")

func (s *archive) take(ws []*Work) (int, error) {
	for i, w := range ws {
		var ok bool
		var err error
		if s.enlist(w); w.archived {
			ok, err = true, s.again(w)
		} else {
			ok, err = s.one(w)
		}
		if err != nil || !ok {
			return i, err
		}
		s.c.enter(w)
	}
	return len(ws), nil
}

// enlist makes w findable by its sequence number.
func (s *archive) enlist(w *Work) {
	w.seq = s.c.entered
	if int(w.seq-s.c.puts) == len(s.flight) && len(s.flight) < maxFlight {
		flight := make([]*Work, 2*len(s.flight))
		for seq := s.c.puts; seq < w.seq; seq++ {
			flight[seq%uint64(len(flight))] = s.flight[seq%uint64(len(s.flight))]
		}
		s.flight = flight
	}
	s.flight[w.seq%uint64(len(s.flight))] = w
}

// one takes a block whose rows are not archived; false where it breaks a rule.
func (s *archive) one(w *Work) (ok bool, err error) {
	if w.seq-s.c.puts >= maxFlight || len(w.Txids) > maxPosition {
		return false, errFlight
	}
	if w.due || w.excepted {
		repeats, err := s.repeats(w)
		if err != nil || repeats && w.due {
			return false, err
		}
		w.overwrites = repeats
	}
	w.made = w.Txids
	s.enterTxids(w)
	if ok, err = s.resolve(w); ok && err == nil {
		if ok = s.takeNumbers(w); ok && !validate.Ripe(&w.Place, w.Block, w.Coins, s.c.at) {
			s.leaveNumbers(w.prevouts)
			ok = false
		}
	}
	if !ok {
		s.leaveTxids(w)
	}
	return ok, err
}

func (s *archive) enterTxids(w *Work) {
	s.made.room(len(w.made))
	for i := range w.made {
		s.made.add(&w.made[i], uint16(w.seq), i)
	}
}

func (s *archive) leaveTxids(w *Work) {
	for i := range w.made {
		s.made.remove(&w.made[i], uint16(w.seq), i)
	}
}

// takeNumbers takes what the inputs spend; false, and nothing is taken, where some of it is taken already.
func (s *archive) takeNumbers(w *Work) bool {
	s.taken.room(len(w.prevouts))
	for i, o := range w.prevouts {
		if o != tables.NoOutput && !s.taken.add(o) {
			s.leaveNumbers(w.prevouts[:i])
			return false
		}
	}
	return true
}

func (s *archive) leaveNumbers(prevouts []tables.OutputLink) {
	for _, o := range prevouts {
		if o != tables.NoOutput {
			s.taken.remove(o)
		}
	}
}

// find looks for a transaction among those of blocks in flight, the newest where BIP30 allows two, and those of w, not
// yet in flight, above position tx.
func (s *archive) find(txid *chain.Hash, w *Work, tx int) (by *Work, position int) {
	x := &s.made
	if x.used == 0 {
		return nil, 0
	}
	hash := x.hash(txid)
	mask := uint64(len(x.slots) - 1)
	for at := hash >> x.shift; x.slots[at] != 0; at = (at + 1) & mask {
		slot := x.slots[at]
		if slot>>32 != hash {
			continue
		}
		p := int(slot & 0xffff)
		at := s.flight[slot>>16&0xffff&uint64(len(s.flight)-1)]
		if at.made[p] == *txid && (at != w || p < tx) && (by == nil || at.seq > by.seq) {
			by, position = at, p
		}
	}
	return by, position
}

// resolve finds the number and the coin of what each input spends; false where one does not exist or is spent in the
// tables' chain.
func (s *archive) resolve(w *Work) (ok bool, err error) {
	b := w.Block
	w.Coins, w.prevouts = grown(w.Coins, len(b.Ins)), grown(w.prevouts, len(b.Ins))
	s.keys, s.vouts, s.ins, s.local = s.keys[:0], s.vouts[:0], s.ins[:0], s.local[:0]
	for tx := range b.Txs {
		t := &b.Txs[tx]
		for in := t.FirstIn; in < t.FirstIn+t.Ins; in++ {
			if tx == 0 {
				w.Coins[in], w.prevouts[in] = chain.Coin{}, tables.NoOutput
				continue
			}
			txid, vout := b.Outpoint(int(in))
			if by, position := s.find(txid, w, tx); by == nil {
				s.keys, s.vouts, s.ins = append(s.keys, *txid), append(s.vouts, vout), append(s.ins, in)
			} else {
				s.local = append(s.local, local{by, position, in, vout})
			}
		}
	}
	for all := s.local; len(all) > 0; {
		group := all[:min(localGroup, len(all))]
		all = all[len(group):]
		if ok, err = s.inFlight(w, group); !ok || err != nil {
			return false, err
		}
	}
	s.found = grown(s.found, len(s.keys))
	if w.scripts, err = s.c.t.Live().Prevouts(s.keys, s.vouts, s.found, w.scripts); err != nil {
		return false, err
	}
	for i, in := range s.ins {
		f := &s.found[i]
		if f.Output == tables.NoOutput {
			return false, nil
		}
		w.prevouts[in], w.Coins[in] = f.Output, f.Coin
	}
	return true, nil
}

// localGroup is how many inputs go through a phase together: the misses of a group overlap.
const localGroup = 16

// inFlight gives inputs the outputs that transactions in flight make; false where one does not. Scripts are copied: the
// other block may be done with before this one is.
func (s *archive) inFlight(w *Work, group []local) (ok bool, err error) {
	for i := range group {
		if x := &group[i]; !x.by.archived {
			if b := x.by.Block; x.vout < b.Txs[x.position].Outs {
				hashmap.Prefetch(unsafe.Pointer(&b.Outs[b.Txs[x.position].FirstOut+x.vout]))
			}
		}
	}
	for i := range group {
		if x := &group[i]; !x.by.archived {
			if b := x.by.Block; x.vout < b.Txs[x.position].Outs {
				script := b.Bytes(b.Outs[b.Txs[x.position].FirstOut+x.vout].Script)
				hashmap.Prefetch(unsafe.Pointer(unsafe.SliceData(script)))
			}
		}
	}
	for i := range group {
		if ok, err = s.oneInFlight(w, &group[i]); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (s *archive) oneInFlight(w *Work, x *local) (ok bool, err error) {
	if x.by.archived {
		return s.archivedInFlight(w, x.in, x.by.firstTx+tables.TxLink(x.position), x.vout)
	}
	number, c, ok := x.by.output(x.position, x.vout)
	if !ok {
		return false, nil
	}
	at := len(w.scripts)
	w.scripts = append(w.scripts, c.Script...)
	c.Script = w.scripts[at:len(w.scripts):len(w.scripts)]
	w.prevouts[x.in], w.Coins[x.in] = number, c
	return true, nil
}

// archivedInFlight is oneInFlight for a transaction of a block whose rows are archived: no block of the tables' chain spends
// its outputs, but they may be unspendable.
func (s *archive) archivedInFlight(w *Work, in uint32, l tables.TxLink, vout uint32) (ok bool, err error) {
	w.prevouts[in], w.Coins[in], w.scripts, ok, err = s.rowCoin(l, vout, w.scripts)
	return ok, err
}

// rowCoin is output vout of an archived transaction, if it is unspent in the tables' chain. Its script is appended to dst.
func (s *archive) rowCoin(l tables.TxLink, vout uint32, dst []byte) (
	o tables.OutputLink, c chain.Coin, scripts []byte, ok bool, err error,
) {
	v := s.c.t.Live()
	tx := v.Tx(l)
	o = tx.FirstOut + tables.OutputLink(vout)
	if vout >= tx.Outs || v.Spent(o) {
		return o, c, dst, false, nil
	}
	c, scripts, err = v.Coin(l, vout, dst)
	return o, c, scripts, err == nil, err
}

// repeats reports whether a transaction of w has the txid of outputs that are unspent in the chain below (BIP30).
func (s *archive) repeats(w *Work) (bool, error) {
	s.known = grown(s.known, len(w.Txids))
	s.c.t.Live().HasAny(w.Txids, s.known)
	for i := range w.Txids {
		if by, _ := s.find(&w.Txids[i], nil, 0); by == nil && !s.known[i] {
			continue // nearly always
		}
		for vout := range w.Block.Txs[i].Outs { // as many as the other's
			unspent, known, err := s.unspent(&w.Txids[i], vout)
			if unspent || err != nil {
				return unspent, err
			}
			if !known {
				break
			}
		}
	}
	return false, nil
}

// unspent reports whether an output of the chain below is unspent, and whether its transaction is known at all.
func (s *archive) unspent(txid *chain.Hash, vout uint32) (unspent, known bool, err error) {
	v := s.c.t.Live()
	by, position := s.find(txid, nil, 0)
	if by != nil && !by.archived {
		number, _, ok := by.output(position, vout)
		return ok && !s.taken.has(number), true, nil
	}
	var l tables.TxLink
	if by != nil {
		l = by.firstTx + tables.TxLink(position)
	} else if l, known = v.FindStrong(txid); !known {
		return false, false, nil
	}
	o := v.Tx(l).FirstOut + tables.OutputLink(vout)
	return !v.Spent(o) && !s.taken.has(o), true, nil
}

// again takes a block whose rows are archived. What it makes and spends is in its rows.
func (s *archive) again(w *Work) error {
	v := s.c.t.Live()
	b, ok := v.Block(w.Link)
	if !ok || b.FirstOut != w.FirstOut {
		return errors.New("confirm: a block is said to be archived, and is not, or elsewhere")
	}
	if w.seq-s.c.puts >= maxFlight || b.Txs > maxPosition {
		return errFlight
	}
	w.firstTx, w.own = b.FirstTx, w.own[:0]
	for i := range b.Txs {
		w.own = append(w.own, *v.Txid(b.FirstTx + tables.TxLink(i)))
	}
	w.made = w.own
	for i := range b.Ins {
		o, ok := v.Prevout(b.FirstIn + tables.InputLink(i))
		if !ok {
			o = tables.NoOutput
		}
		w.prevouts = append(w.prevouts, o)
	}
	s.enterTxids(w)
	s.takeNumbers(w)
	return nil
}

// put takes what a block makes and spends off the overlay: the tables have it now.
func (s *archive) put(w *Work) {
	s.leaveTxids(w)
	s.leaveNumbers(w.prevouts)
}

func (s *archive) drop(w *Work) error {
	s.put(w)
	return nil
}

func (s *archive) pop() error { return s.c.t.Pop() }

func (s *archive) coin(txid *chain.Hash, vout uint32) (c chain.Coin, ok bool, err error) {
	l, ok := s.c.t.Live().FindStrong(txid)
	if !ok {
		return c, false, nil
	}
	_, c, _, ok, err = s.rowCoin(l, vout, nil)
	return c, ok, err
}
