package utxo

import (
	"slices"
	"sync"
	"sync/atomic"

	"stele/chain"
)

// A commit has four steps.
//
//	sort      spends and made transactions by shard
//	prepare   each shard by itself: spent coins are looked up and captured, new records written into free cells
//	apply     under the gate: index entries are added, changed and removed
//	clean     cells that nobody names any more become free; what grew sparse is packed
//
// All that can fail is in prepare, which changes nothing that a reader sees and can be taken back.

// op is one change of an index entry.
type op struct {
	hash  uint64
	at    place // the entry to change; at.handle 0: a new one
	fresh uint32
	shard uint8 // with fresh 0 the entry is removed

	oldSize, freshSize uint32
	outputs            int32 // difference
	payload            int32 // difference
}

// worker prepares shards, one after another.
type worker struct {
	s    *Set
	b    *Block
	u    *Undo
	buf  *[]byte // of scripts in u
	ops  []op
	over []Spent
	made []madeTrace

	adds  []add
	table []uint32 // of the places in adds plus one, by hash; as long as a power of two
	hits  []hit
	runs  []uint64
	own   []ownSpend
	kept  []Entry
	edit  editor
	rec   Record
	enc   []byte
	view  View

	missing int // least index of a spend that is missing; len(Spends): none
	err     error
}

// add is a made transaction of the shard at hand.
type add struct {
	hash uint64
	made uint32
}

// hit is a spend and the entry of its record.
type hit struct {
	hash  uint64
	at    place
	spend uint32
}

// ownSpend is a spend of an output that the block itself made.
type ownSpend struct{ made, vout, spend uint32 }

// committer is the memory that commits use one after another.
type committer struct {
	workers []worker
	spends  sorting
	made    sorting
}

// sorting is numbers by shard: those of shard i are order[start[i]:start[i+1]].
type sorting struct {
	start [shards + 1]uint32
	order []uint32
}

// sort counts n things by the shards that of names.
func (s *sorting) sort(n int, of func(i int) byte) {
	clear(s.start[:])
	for i := range n {
		s.start[int(of(i))+1]++
	}
	for i := range shards {
		s.start[i+1] += s.start[i]
	}
	s.order = slices.Grow(s.order[:0], n)[:n]
	next := s.start
	for i := range n {
		at := &next[of(i)]
		s.order[*at] = uint32(i)
		*at++
	}
}

func (s *sorting) of(shard int) []uint32 { return s.order[s.start[shard]:s.start[shard+1]] }

// parallelOps is how many spends and outputs a commit needs before it is worth several goroutines.
const parallelOps = 4096

// Commit takes a block in and fills u with the coins that it spent. It is atomic: an error leaves the set as it was,
// and readers see either all of the block or nothing. Outputs that the block itself spends never reach the set; whether
// a transaction comes before its spender is for the caller to know. The error is the first of these that is there: a
// *DuplicateError; a *MissingError for the first spend that finds nothing; one of AppendRecord for outputs that are no
// record; a *FullError.
//
// Where u was used before, a commit on one goroutine allocates nothing.
func (s *Set) Commit(b *Block, u *Undo) error {
	s.writer.Lock()
	defer s.writer.Unlock()
	c := &s.commit
	c.spends.sort(len(b.Spends), func(i int) byte { return b.Spends[i].Txid[0] })
	c.made.sort(len(b.Made), func(i int) byte { return b.Made[i].Txid[0] })
	workers := c.workers[:1]
	if b.size() >= parallelOps {
		workers = c.workers
	}
	u.reset(b, len(workers))
	for i := range workers {
		workers[i].begin(s, b, u, &u.scripts[i])
	}
	s.prepare(workers)
	if err := firstError(workers, b); err != nil {
		s.abandon(workers)
		return err
	}
	s.apply(workers)
	for i := range workers {
		u.Overwritten = append(u.Overwritten, workers[i].over...)
		u.made = append(u.made, workers[i].made...)
	}
	return nil
}

func (b *Block) size() int {
	n := len(b.Spends)
	for i := range b.Made {
		n += len(b.Made[i].Outs)
	}
	return n
}

func (u *Undo) reset(b *Block, workers int) {
	u.Height = b.Height
	u.Spent = slices.Grow(u.Spent[:0], len(b.Spends))[:len(b.Spends)]
	u.Overwritten, u.made = u.Overwritten[:0], u.made[:0]
	for len(u.scripts) < workers {
		u.scripts = append(u.scripts, nil)
	}
}

func (w *worker) begin(s *Set, b *Block, u *Undo, buf *[]byte) {
	w.s, w.b, w.u, w.buf = s, b, u, buf
	*buf = (*buf)[:0]
	w.ops, w.over, w.made = w.ops[:0], w.over[:0], w.made[:0]
	w.missing, w.err = len(b.Spends), nil
}

// prepare shares the shards out among the workers.
func (s *Set) prepare(workers []worker) {
	if len(workers) == 1 {
		for i := range shards {
			workers[0].prepare(i)
		}
		return
	}
	var next atomic.Int32
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() {
			for {
				shard := int(next.Add(1)) - 1
				if shard >= shards {
					return
				}
				workers[i].prepare(shard)
			}
		})
	}
	all.Wait()
}

// firstError returns what is wrong with a block, the same however its shards were shared out.
func firstError(workers []worker, b *Block) error {
	missing := len(b.Spends)
	var err error
	for i := range workers {
		w := &workers[i]
		missing = min(missing, w.missing)
		if w.err != nil && (err == nil || rank(w.err) < rank(err)) {
			err = w.err
		}
	}
	if err != nil && rank(err) == 0 {
		return err
	}
	if missing < len(b.Spends) {
		return &MissingError{Spend: missing, Point: b.Spends[missing]}
	}
	return err
}

// rank puts what a block did wrong in front of what the store could not do.
func rank(err error) int {
	switch err.(type) {
	case *DuplicateError:
		return 0
	case *FullError:
		return 2
	}
	return 1
}

// abandon frees the cells of a block that is not taken in.
func (s *Set) abandon(workers []worker) {
	for i := range workers {
		for j := range workers[i].ops {
			if x := &workers[i].ops[j]; x.fresh != 0 {
				s.shards[x.shard].slab.release(x.fresh, x.freshSize)
			}
		}
	}
}

// apply changes the indexes under the gate, and cleans up behind it.
func (s *Set) apply(workers []worker) {
	s.gate.Lock()
	for i := range workers {
		for j := range workers[i].ops {
			x := &workers[i].ops[j]
			s.shards[x.shard].apply(x)
		}
	}
	s.gate.Unlock()
	for i := range workers {
		for j := range workers[i].ops {
			x := &workers[i].ops[j]
			b := &s.shards[x.shard].slab
			if x.at.handle != 0 {
				b.release(x.at.handle, x.oldSize)
			}
			b.gather()
		}
	}
	s.pack()
}

func (s *shard) apply(x *op) {
	records := 0
	switch {
	case x.at.handle == 0:
		s.index.insert(x.hash, x.fresh)
		records = 1
	case x.fresh == 0:
		s.index.remove(x.hash, x.at)
		records = -1
	default:
		s.index.replace(x.at, x.fresh)
	}
	s.count(records, int(x.outputs), int(x.payload))
}

// pack packs the shard with the largest part free, if one is worth it. One a commit keeps commits short.
func (s *Set) pack() {
	var worst *shard
	for i := range s.shards {
		sh := &s.shards[i]
		if sh.sparse() && (worst == nil || sh.slab.hole > worst.slab.hole) {
			worst = sh
		}
	}
	if worst == nil {
		return
	}
	b, x, err := worst.packed()
	if err != nil {
		return // there is no memory for a second slab: the first one serves on
	}
	s.gate.Lock()
	worst.slab, b = b, worst.slab
	worst.index, x = x, worst.index
	s.gate.Unlock()
	worst.giveBack(b.mem)
	worst.giveBack(x.mem)
	worst.slab.gather()
}

// room makes the shard ready for that many new entries, beside its readers.
func (s *Set) room(sh *shard, more uint64) error {
	if err := sh.openSlab(); err != nil {
		return err
	}
	if sh.records+more <= sh.index.capacity() {
		return nil
	}
	x, err := sh.grown(max(sh.records+more, sh.expected))
	if err != nil {
		return err
	}
	s.gate.Lock()
	sh.index, x = x, sh.index
	s.gate.Unlock()
	if x.mem != nil {
		sh.giveBack(x.mem)
	}
	return nil
}

// put notes the change x of an entry, whose new record of so many outputs, if there are any, is w.enc.
func (w *worker) put(sh *shard, x op, outs int) {
	x.shard = uint8(sh.id)
	if outs > 0 {
		x.freshSize = uint32(len(w.enc))
		if x.fresh = sh.slab.alloc(x.freshSize); x.fresh == 0 {
			w.fail(&FullError{Shard: int(sh.id)})
			return
		}
		sh.slab.write(x.fresh, w.enc)
		x.payload += int32(len(w.enc))
	}
	x.outputs += int32(outs)
	w.ops = append(w.ops, x)
}

// replaced begins the change of an entry: its record, of so many outputs, goes.
func (sh *shard) replaced(hash uint64, at place, outs int) op {
	size := recordSize(sh.record(at.handle))
	return op{hash: hash, at: at, oldSize: uint32(size), outputs: -int32(outs), payload: -int32(size)}
}

func (w *worker) fail(err error) {
	if w.err == nil || rank(err) < rank(w.err) {
		w.err = err
	}
}

// capture fills an entry of the undo data with what w.view shows.
func (w *worker) capture(to *Spent, txid *chain.Hash, vout uint32) {
	to.Point, to.First, to.Own = Outpoint{*txid, vout}, w.view.First, false
	*w.buf = w.view.coin(&to.Coin, *w.buf)
}
