package utxo

import (
	"cmp"
	"math/bits"
	"slices"
	"unsafe"

	"stele/chain"
	"stele/internal/offheap"
)

// prepare does a shard's part of the block.
func (w *worker) prepare(shard int) {
	c := &w.s.commit
	spends, made := c.spends.of(shard), c.made.of(shard)
	if len(spends) == 0 && len(made) == 0 {
		return
	}
	sh := &w.s.shards[shard]
	if len(made) > 0 {
		// Before anything is looked up: places of entries are those of the index that is changed.
		if err := w.s.room(sh, uint64(len(made))); err != nil {
			w.fail(err)
			return
		}
	}
	w.enter(made)
	w.own = w.own[:0]
	w.lookUp(sh, spends)
	w.sortOwn()
	w.spend(sh)
	w.make(sh)
}

// enter makes the shard's transactions findable for its spends, and finds those that come twice.
func (w *worker) enter(made []uint32) {
	w.adds = w.adds[:0]
	size := 1 << bits.Len(uint(2*len(made)))
	w.table = slices.Grow(w.table[:0], size)[:size]
	clear(w.table)
	for _, i := range made {
		a := add{hashOf(&w.b.Made[i].Txid, w.s.salt), i}
		at, twice := w.slot(&w.b.Made[i].Txid, a.hash)
		if twice {
			w.fail(&DuplicateError{Txid: w.b.Made[i].Txid})
			continue
		}
		w.adds = append(w.adds, a)
		w.table[at] = uint32(len(w.adds))
	}
}

// slot returns where a txid is in the table, or would be.
func (w *worker) slot(txid *chain.Hash, hash uint64) (at int, ok bool) {
	mask := len(w.table) - 1
	for at = int(hash>>16) & mask; w.table[at] != 0; at = (at + 1) & mask {
		a := &w.adds[w.table[at]-1]
		if a.hash == hash && w.b.Made[a.made].Txid == *txid {
			return at, true
		}
	}
	return at, false
}

// madeIndex returns which transaction of the block has a txid, or -1.
func (w *worker) madeIndex(txid *chain.Hash, hash uint64) int {
	at, ok := w.slot(txid, hash)
	if !ok {
		return -1
	}
	return int(w.adds[w.table[at]-1].made)
}

// lookUp finds the records of the shard's spends, in groups (see Lookup), into w.hits.
func (w *worker) lookUp(sh *shard, spends []uint32) {
	w.hits = w.hits[:0]
	if sh.index.lines == 0 {
		for _, i := range spends {
			w.spendOwn(i, hashOf(&w.b.Spends[i].Txid, w.s.salt))
		}
		return
	}
	var hash [groupSize]uint64
	for len(spends) > 0 {
		n := min(groupSize, len(spends))
		for i, spend := range spends[:n] {
			hash[i] = hashOf(&w.b.Spends[spend].Txid, w.s.salt)
			offheap.Prefetch(sh.index.line(sh.index.home(hash[i])))
			spent := unsafe.Pointer(&w.u.Spent[spend])
			offheap.Prefetch(spent)
			offheap.Prefetch(unsafe.Add(spent, lineSize))
		}
		for i := range n {
			if h := sh.index.candidate(hash[i]); h != 0 {
				prefetchRecord(sh.record(h))
			}
		}
		for i, spend := range spends[:n] {
			w.lookUpOne(sh, spend, hash[i])
		}
		spends = spends[n:]
	}
}

func (w *worker) lookUpOne(sh *shard, spend uint32, hash uint64) {
	txid := &w.b.Spends[spend].Txid
	if w.b.Overwrites && w.madeIndex(txid, hash) >= 0 {
		w.spendOwn(spend, hash) // what the block makes hides what it overwrites
		return
	}
	at := sh.find(txid, hash, &w.view.work)
	if at.handle == 0 {
		w.spendOwn(spend, hash)
		return
	}
	w.hits = append(w.hits, hit{hash, at, spend})
}

// spendOwn spends what the block itself makes. Whether it is spent twice is seen once all of the shard's are known.
func (w *worker) spendOwn(spend uint32, hash uint64) {
	p := &w.b.Spends[spend]
	made := w.madeIndex(&p.Txid, hash)
	if made < 0 {
		w.miss(spend)
		return
	}
	m := &w.b.Made[made]
	i, ok := slices.BinarySearchFunc(m.Outs, p.Vout, func(o Entry, vout uint32) int { return cmp.Compare(o.Vout, vout) })
	if !ok {
		w.miss(spend)
		return
	}
	w.own = append(w.own, ownSpend{uint32(made), p.Vout, spend})
	o := &m.Outs[i]
	n := len(*w.buf)
	*w.buf = append(*w.buf, o.Script...)
	coin := chain.Coin{
		Value: o.Value, Script: (*w.buf)[n:len(*w.buf):len(*w.buf)], Height: w.b.Height, Coinbase: m.Coinbase,
	}
	w.u.Spent[spend] = Spent{Point: *p, Coin: coin, First: m.First, Own: true}
}

func compareOwn(a, b ownSpend) int {
	return cmp.Or(cmp.Compare(a.made, b.made), cmp.Compare(a.vout, b.vout), cmp.Compare(a.spend, b.spend))
}

// sortOwn orders the spends of what the block itself makes, and finds those that come twice.
func (w *worker) sortOwn() {
	slices.SortFunc(w.own, compareOwn)
	for i := 1; i < len(w.own); i++ {
		if w.own[i].made == w.own[i-1].made && w.own[i].vout == w.own[i-1].vout {
			w.miss(w.own[i].spend)
		}
	}
}

func (w *worker) miss(spend uint32) { w.missing = min(w.missing, int(spend)) }

// spend takes the outputs of w.hits out of their records, each record once.
func (w *worker) spend(sh *shard) {
	w.runs = w.runs[:0]
	for i := range w.hits {
		w.runs = append(w.runs, uint64(w.hits[i].at.handle)<<32|uint64(i))
	}
	slices.Sort(w.runs)
	for i := 0; i < len(w.runs); {
		j := i + 1
		for j < len(w.runs) && w.runs[j]>>32 == w.runs[i]>>32 {
			j++
		}
		w.spendRun(sh, w.runs[i:j])
		i = j
	}
}

// spendRun takes outputs out of one record.
func (w *worker) spendRun(sh *shard, run []uint64) {
	first := &w.hits[uint32(run[0])]
	p := sh.record(first.at.handle)
	txid := &w.b.Spends[first.spend].Txid
	if load8(p, 0) < formWide {
		w.spendSingle(sh, first, run)
		return
	}
	w.edit.open(p)
	outs := w.edit.left
	for _, x := range run {
		spend := w.hits[uint32(x)].spend
		vout := w.b.Spends[spend].Vout
		if !w.edit.take(vout, &w.view) {
			w.miss(spend)
			continue
		}
		w.capture(&w.u.Spent[spend], txid, vout)
	}
	x := sh.replaced(first.hash, first.at, outs)
	w.enc = w.enc[:0]
	if w.edit.left > 0 {
		w.enc = w.edit.appendRest(w.enc, txid)
	}
	w.put(sh, x, w.edit.left)
}

// spendSingle takes the only output of a record.
func (w *worker) spendSingle(sh *shard, first *hit, run []uint64) {
	spent := false
	for _, x := range run {
		spend := w.hits[uint32(x)].spend
		point := &w.b.Spends[spend]
		if spent || !find(sh.record(first.at.handle), point.Vout, &w.view) {
			w.miss(spend)
			continue
		}
		spent = true
		w.capture(&w.u.Spent[spend], &point.Txid, point.Vout)
	}
	if spent {
		w.put(sh, sh.replaced(first.hash, first.at, 1), 0)
	}
}

// make adds the records of the shard's transactions, in groups: what they consist of lies scattered in the block.
func (w *worker) make(sh *shard) {
	for adds := w.adds; len(adds) > 0; {
		group := adds[:min(groupSize, len(adds))]
		adds = adds[len(group):]
		for _, a := range group {
			offheap.Prefetch(sh.index.line(sh.index.home(a.hash)))
			offheap.Prefetch(unsafe.Pointer(unsafe.SliceData(w.b.Made[a.made].Outs)))
		}
		for _, a := range group {
			if outs := w.b.Made[a.made].Outs; len(outs) > 0 {
				offheap.Prefetch(unsafe.Pointer(unsafe.SliceData(outs[0].Script)))
			}
		}
		for _, a := range group {
			if !w.makeOne(sh, a) {
				return
			}
		}
	}
}

// makeOne adds a record, and tells whether that went well.
func (w *worker) makeOne(sh *shard, a add) bool {
	m := &w.b.Made[a.made]
	at := sh.find(&m.Txid, a.hash, &w.view.work)
	x := op{hash: a.hash}
	if at.handle != 0 {
		if !w.b.Overwrites {
			w.fail(&DuplicateError{Txid: m.Txid})
			return false
		}
		x = w.overwrite(sh, m, a.hash, at)
	}
	w.rec.Txid, w.rec.Height, w.rec.Coinbase, w.rec.First = m.Txid, w.b.Height, m.Coinbase, m.First
	w.rec.Outs = w.unspentOf(a.made, m)
	outs := len(w.rec.Outs)
	if outs == 0 && at.handle == 0 {
		return true
	}
	w.enc = w.enc[:0]
	if outs > 0 {
		var err error
		if w.enc, err = AppendRecord(w.enc, &w.rec); err != nil {
			w.fail(err)
			return false
		}
		w.made = append(w.made, madeTrace{m.Txid, uint32(outs)})
	}
	w.put(sh, x, outs)
	return true
}

// unspentOf returns the outputs of a made transaction that the block does not spend. It is good until the next call.
func (w *worker) unspentOf(made uint32, m *Made) []Entry {
	if len(w.own) == 0 {
		return m.Outs
	}
	from, _ := slices.BinarySearchFunc(w.own, ownSpend{made: made}, compareOwn)
	own := w.own[from:]
	if len(own) == 0 || own[0].made != made {
		return m.Outs
	}
	outs := w.kept[:0]
	for i := range m.Outs {
		if len(own) > 0 && own[0].made == made && own[0].vout == m.Outs[i].Vout {
			own = own[1:]
			continue
		}
		outs = append(outs, m.Outs[i])
	}
	w.kept = outs
	return outs
}

// overwrite captures all outputs of a record that is made again, and begins the change of its entry.
func (w *worker) overwrite(sh *shard, m *Made, hash uint64, at place) op {
	outs := 0
	each(sh.record(at.handle), &w.view, func(vout uint32, _ *View) bool {
		var s Spent
		w.capture(&s, &m.Txid, vout)
		w.over = append(w.over, s)
		outs++
		return true
	})
	return sh.replaced(hash, at, outs)
}
