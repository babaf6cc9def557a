package utxo

import (
	"math/bits"
	"slices"
	"unsafe"

	"stele/internal/offheap"
)

// add is a transaction of the shard at hand that the window makes.
type add struct {
	hash  uint64
	block uint32
	made  uint32
	left  uint32 // outputs that the window does not spend
	spent uint32 // where in worker.spent its bits are, one an output
	at    place  // the record that it overwrites
}

// madeOf returns what the block says of it.
func (w *worker) madeOf(a *add) *Made { return &w.blocks[a.block].Made[a.made] }

// prepare does a shard's part of the window. What it looks at is used several times and fits into the second cache,
// with a window of some dozens of blocks; each step asks for what the next one needs.
func (w *worker) prepare(shard int) {
	c := &w.s.commit
	spends, made := c.spends.of(shard), c.made.of(shard)
	if len(spends) == 0 && len(made) == 0 {
		return
	}
	sh := &w.s.shards[shard]
	sh.slab.touch()
	if len(made) > 0 {
		// Before anything is looked up: places of entries are those of the index that is changed.
		if err := w.s.room(sh, uint64(len(made))); err != nil {
			w.full(err)
			return
		}
	}
	w.enter(sh, made)
	w.divide(spends)
	w.spendOwn()
	w.lookUp(sh)
	w.spendFar(sh)
	w.make(sh)
}

// clearTable empties the table and makes it large enough for n.
func (w *worker) clearTable(n int) {
	size := 1 << bits.Len(uint(2*n))
	w.table = slices.Grow(w.table[:0], size)[:size]
	clear(w.table)
}

// ahead is how many steps lie between asking for memory and using it. A core waits for 10 to 16 lines at once, and one
// takes some hundred nanoseconds to come.
const ahead = 16

// enter makes the window's transactions findable for its spends, and looks for those that are there already. What they
// consist of lies scattered in the blocks, so it is asked for ahead of time: first what the block says of one, then its
// outputs, then their scripts.
func (w *worker) enter(sh *shard, made []event) {
	w.adds, w.spent = w.adds[:0], w.spent[:0]
	w.clearTable(len(made))
	for i := range len(made) + 2*ahead {
		if i < len(made) {
			e := &made[i]
			offheap.Prefetch(sh.index.line(sh.index.home(e.hash)))
			m := unsafe.Pointer(&w.blocks[e.block].Made[e.at])
			offheap.Prefetch(m)
			offheap.Prefetch(unsafe.Add(m, unsafe.Sizeof(Made{})-1))
		}
		if at := i - ahead; uint(at) < uint(len(made)) {
			w.enterOne(sh, &made[at])
		}
		if at := i - 2*ahead; uint(at) < uint(len(made)) {
			w.touchScripts(&made[at])
		}
	}
}

func (w *worker) enterOne(sh *shard, e *event) {
	b := w.blocks[e.block]
	m := &b.Made[e.at]
	for i := 0; i < len(m.Outs); i += 2 {
		offheap.Prefetch(unsafe.Pointer(&m.Outs[i]))
	}
	a := add{hash: e.hash, block: e.block, made: e.at, left: uint32(len(m.Outs)), spent: uint32(len(w.spent))}
	slot := w.slot(e.hash)
	for ; w.table[slot] != 0; slot = w.next(slot) {
		if x := &w.adds[w.table[slot]-1]; x.hash == e.hash && w.madeOf(x).Txid == m.Txid {
			w.fail(failure{int(e.block), failDuplicate, int(e.at), nil})
			return
		}
	}
	a.at = sh.find(&m.Txid, e.hash, &w.view.work)
	if a.at.handle != 0 && (!b.Overwrites || len(w.blocks) > 1) {
		w.fail(failure{int(e.block), failDuplicate, int(e.at), nil})
		return
	}
	w.adds = append(w.adds, a)
	w.table[slot] = uint32(len(w.adds))
	for n := len(m.Outs); n > 0; n -= 64 {
		w.spent = append(w.spent, 0)
	}
}

// slot returns where in the table a hash is looked for first, and next where after that.
func (w *worker) slot(hash uint64) int { return int(hash>>16) & (len(w.table) - 1) }

func (w *worker) next(slot int) int { return (slot + 1) & (len(w.table) - 1) }

// touchScripts asks for the scripts of a transaction, and sees to it that its outputs are in order.
func (w *worker) touchScripts(e *event) {
	outs := w.blocks[e.block].Made[e.at].Outs
	for i := range outs {
		offheap.Prefetch(unsafe.Pointer(unsafe.SliceData(outs[i].Script)))
		if i > 0 && outs[i-1].Vout >= outs[i].Vout {
			w.fail(failure{int(e.block), failRecord, int(e.at), ErrVoutOrder})
		}
	}
}

// divide sorts out which spends are of what the window itself makes, by their hashes for now.
func (w *worker) divide(spends []event) {
	w.own, w.far = w.own[:0], w.far[:0]
	for i := range spends {
		e := &spends[i]
		slot := w.slot(e.hash)
		for w.table[slot] != 0 && w.adds[w.table[slot]-1].hash != e.hash {
			slot = w.next(slot)
		}
		if at := w.table[slot]; at != 0 {
			w.own = append(w.own, ownSpend{*e, at - 1})
		} else {
			w.far = append(w.far, *e)
		}
	}
}

// touchSpend asks for what a spend reads and where its coin goes.
func (w *worker) touchSpend(e *event) {
	point := unsafe.Pointer(&w.blocks[e.block].Spends[e.at])
	offheap.Prefetch(point)
	offheap.Prefetch(unsafe.Add(point, unsafe.Sizeof(Outpoint{})-1))
	u := w.undos[e.block]
	spent := unsafe.Pointer(&u.Spent[e.at])
	offheap.Prefetch(spent)
	offheap.Prefetch(unsafe.Add(spent, unsafe.Sizeof(Spent{})-1))
	if buf := u.scripts[w.id]; cap(buf)-len(buf) >= lineSize {
		offheap.Prefetch(unsafe.Pointer(&buf[:cap(buf)][len(buf)+lineSize-1]))
	}
}

func (w *worker) miss(e *event) { w.fail(failure{int(e.block), failMissing, int(e.at), nil}) }
