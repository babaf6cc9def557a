package utxo

import (
	"cmp"
	"slices"

	"stele/chain"
	"stele/internal/offheap"
)

// ownSpend is a spend of an output that the window makes.
type ownSpend struct {
	event
	add uint32
}

// hitRecord is a record of which the window spends outputs.
type hitRecord struct {
	hash        uint64
	at          place
	first, last uint32 // of its spends in worker.hits
}

// hit is a spend of a hitRecord.
type hit struct {
	event
	next uint32 // the next one's place in worker.hits; zero: none
}

// spendOwn spends what the window itself makes, in order. What turns out to be another transaction of the same hash
// joins the spends of what is in the set.
func (w *worker) spendOwn() {
	own := w.own
	for i := range len(own) + ahead {
		if i < len(own) {
			w.touchSpend(&own[i].event)
		}
		if at := i - ahead; at >= 0 {
			w.spendOwnOne(&own[at])
		}
	}
}

func (w *worker) spendOwnOne(e *ownSpend) {
	b, a := w.blocks[e.block], &w.adds[e.add]
	p := &b.Spends[e.at]
	m := w.madeOf(a)
	if m.Txid != p.Txid {
		if a = w.addOf(&p.Txid, e.hash); a == nil {
			w.far = append(w.far, e.event)
			return
		}
		m = w.madeOf(a)
	}
	i, ok := outputOf(m.Outs, p.Vout)
	if !ok || e.block < a.block {
		w.miss(&e.event)
		return
	}
	bits := &w.spent[int(a.spent)+i/64]
	own := e.block == a.block
	if *bits>>(i%64)&1 != 0 || own && len(b.Before) > 0 && m.First+uint64(p.Vout) >= b.Before[e.at] {
		w.miss(&e.event)
		return
	}
	*bits |= 1 << (i % 64)
	a.left--
	u := w.undos[e.block]
	if own {
		u.made[a.made].outs--
	}
	o := &m.Outs[i]
	buf := &u.scripts[w.id]
	n := len(*buf)
	*buf = append(*buf, o.Script...)
	to := &u.Spent[e.at]
	to.Point, to.First, to.Own = *p, m.First, own
	to.Coin = chain.Coin{
		Value: o.Value, Script: (*buf)[n:len(*buf):len(*buf)], Height: w.blocks[a.block].Height, Coinbase: m.Coinbase,
	}
}

// addOf returns what the window makes of a txid, or nil.
func (w *worker) addOf(txid *chain.Hash, hash uint64) *add {
	for slot := w.slot(hash); w.table[slot] != 0; slot = w.next(slot) {
		if a := &w.adds[w.table[slot]-1]; a.hash == hash && w.madeOf(a).Txid == *txid {
			return a
		}
	}
	return nil
}

// outputOf finds an output by its vout, which mostly is its place.
func outputOf(outs []Entry, vout uint32) (i int, ok bool) {
	if int(vout) < len(outs) && outs[vout].Vout == vout {
		return int(vout), true
	}
	return slices.BinarySearchFunc(outs, vout, func(o Entry, vout uint32) int { return cmp.Compare(o.Vout, vout) })
}

// lookUp finds the records of the spends in w.far, and gathers the spends of each. It asks for index lines first, then
// for the records that they name, then looks at what has arrived.
func (w *worker) lookUp(sh *shard) {
	w.hits, w.recs = w.hits[:0], w.recs[:0]
	w.clearTable(len(w.far))
	far := w.far
	if sh.index.lines == 0 {
		for i := range far {
			w.miss(&far[i])
		}
		return
	}
	for i := range len(far) + 2*ahead {
		if i < len(far) {
			offheap.Prefetch(sh.index.line(sh.index.home(far[i].hash)))
			w.touchSpend(&far[i])
		}
		if at := i - ahead; uint(at) < uint(len(far)) {
			if h := sh.index.candidate(far[at].hash); h != 0 {
				prefetchRecord(sh.record(h))
			}
		}
		if at := i - 2*ahead; uint(at) < uint(len(far)) {
			w.lookUpOne(sh, &far[at])
		}
	}
}

func (w *worker) lookUpOne(sh *shard, e *event) {
	at := sh.find(&w.blocks[e.block].Spends[e.at].Txid, e.hash, &w.view.work)
	if at.handle == 0 {
		w.miss(e)
		return
	}
	this := uint32(len(w.hits))
	w.hits = append(w.hits, hit{event: *e})
	slot := w.slot(e.hash)
	for ; w.table[slot] != 0; slot = w.next(slot) {
		if r := &w.recs[w.table[slot]-1]; r.at.handle == at.handle {
			w.hits[r.last].next = this
			r.last = this
			return
		}
	}
	w.recs = append(w.recs, hitRecord{e.hash, at, this, this})
	w.table[slot] = uint32(len(w.recs))
}

// spendFar takes outputs out of their records, each record once.
func (w *worker) spendFar(sh *shard) {
	for i := range w.recs {
		r := &w.recs[i]
		if load8(sh.record(r.at.handle), 0) < formWide {
			w.spendSingle(sh, r)
		} else {
			w.spendRecord(sh, r)
		}
	}
}

// spendRecord takes outputs out of one record.
func (w *worker) spendRecord(sh *shard, r *hitRecord) {
	w.edit.open(sh.record(r.at.handle))
	outs := w.edit.left
	first := &w.hits[r.first]
	txid := &w.blocks[first.block].Spends[first.at].Txid
	for i := r.first; ; i = w.hits[i].next {
		e := &w.hits[i].event
		if w.edit.take(w.blocks[e.block].Spends[e.at].Vout, &w.view) {
			w.capture(e)
		} else {
			w.miss(e)
		}
		if i == r.last {
			break
		}
	}
	x := sh.replaced(r.hash, r.at, outs)
	w.enc = w.enc[:0]
	if w.edit.left > 0 {
		w.enc = w.edit.appendRest(w.enc, txid)
	}
	w.change(sh, x, w.edit.left)
}

// spendSingle takes the only output of a record.
func (w *worker) spendSingle(sh *shard, r *hitRecord) {
	spent := false
	for i := r.first; ; i = w.hits[i].next {
		e := &w.hits[i].event
		if !spent && find(sh.record(r.at.handle), w.blocks[e.block].Spends[e.at].Vout, &w.view) {
			spent = true
			w.capture(e)
		} else {
			w.miss(e)
		}
		if i == r.last {
			break
		}
	}
	if spent {
		w.change(sh, sh.replaced(r.hash, r.at, 1), 0)
	}
}

// capture fills the undo data of a spend with what w.view shows.
func (w *worker) capture(e *event) {
	u := w.undos[e.block]
	to, buf := &u.Spent[e.at], &u.scripts[w.id]
	to.Point, to.First, to.Own = w.blocks[e.block].Spends[e.at], w.view.First, false
	*buf = w.view.coin(&to.Coin, *buf)
}
