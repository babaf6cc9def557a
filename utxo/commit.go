package utxo

import (
	"slices"
	"sync"
	"sync/atomic"

	"stele/internal/offheap"
)

// A window of blocks is taken in by four steps, each on all workers. A commit is the window of one block.
//
//	sort      spends and made transactions by shard, in the order of the blocks (commit_sort.go)
//	prepare   each shard by itself: spent coins are looked up and captured, new records written into free cells
//	          (commit_shard.go, commit_spend.go, commit_make.go)
//	apply     under the gate: index entries are added, changed and removed
//	clean     cells that nobody names any more become free; what grew sparse is packed
//
// All that can fail is in prepare, which changes nothing that a reader sees and can be taken back.
//
// An output that is made and spent within a window never reaches the set: records are written as they are at its end.
// A window of several blocks is refused, too, where a transaction that it makes is in the set, or is made twice. That is
// a matter of BIP30 and depends on the blocks between; so those before it are taken in, and then it alone.

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
	s      *Set
	id     int
	team   int // workers of the window
	blocks []*Block
	undos  []*Undo
	ops    []op
	over   []Spent

	count [2][shards]uint32 // of its blocks' spends and made transactions; then where the next one goes

	adds  []add
	spent []uint64 // bits of outputs of adds that the window spends
	table []uint32 // of the places in adds, or in recs, plus one, by hash; as long as a power of two
	own   []ownSpend
	far   []event
	recs  []hitRecord
	hits  []hit
	kept  []Entry
	back  []*Spent
	edit  editor
	rec   Record
	text  []byte // of scripts in rec
	enc   []byte
	view  View

	bad failure
}

// committer is the memory that commits use one after another.
type committer struct {
	workers  []worker
	parallel int // spends and outputs of a window for which they all work
	spends   sorting
	made     sorting
	one      [1]*Block
	oneUndo  [1]*Undo
}

// failure is what is wrong with a window: the first thing in the order of blocks, then of kinds, then of places.
type failure struct {
	block int
	kind  failureKind
	at    int // of a spend or a made transaction
	err   error
}

// failureKind puts what a block did wrong in front of what the store could not do.
type failureKind int

const (
	failDuplicate failureKind = iota
	failMissing
	failRecord
	failStore
	failNothing
)

func (f *failure) before(g *failure) bool {
	if f.block != g.block {
		return f.block < g.block
	}
	if f.kind != g.kind {
		return f.kind < g.kind
	}
	return f.at < g.at
}

// error is that of a window of one block.
func (f *failure) error(b *Block) error {
	switch f.kind {
	case failDuplicate:
		return &DuplicateError{Txid: b.Made[f.at].Txid}
	case failMissing:
		return &MissingError{Spend: f.at, Point: b.Spends[f.at]}
	}
	return f.err
}

func (w *worker) fail(f failure) {
	if f.before(&w.bad) {
		w.bad = f
	}
}

// full notes that there is no memory. A window of half as many blocks may find enough.
func (w *worker) full(err error) { w.fail(failure{len(w.blocks) / 2, failStore, 0, err}) }

// parallelOps is how many spends and made transactions, these twice, a window needs before it is worth several
// goroutines: about a millisecond of work.
const parallelOps = 2048

// Commit takes a block in and fills u with the coins that it spent. It is atomic: an error leaves the set as it was,
// and readers see either all of the block or nothing. Outputs that the block itself spends never reach the set; that a
// transaction comes before its spender is seen to where the block says so (see Block.Before). The error is the first of
// these that is there: a *DuplicateError for the first transaction that has unspent outputs already; a *MissingError
// for the first spend that finds nothing; ErrVoutOrder or ErrTooLarge for outputs that are no record; a *FullError.
//
// Where u was used before, a commit on one goroutine allocates nothing.
func (s *Set) Commit(b *Block, u *Undo) error {
	s.writer.Lock()
	defer s.writer.Unlock()
	c := &s.commit
	c.one[0], c.oneUndo[0] = b, u
	_, err := s.commitAll(c.one[:], c.oneUndo[:])
	c.one[0], c.oneUndo[0] = nil, nil
	return err
}

// CommitAll takes blocks in, one after the other, and fills undos, which must be as many and all different: set, undos
// and error are what commits one by one give, in less time. n is how many it took; where they are fewer than all, err is
// what a commit of blocks[n] says, and the set is as after blocks[:n]. Readers see the set as it is after some of the
// blocks, mostly before the first and after the last.
//
// Nothing of blocks is kept. Where undos were used before, it allocates nothing on one goroutine.
func (s *Set) CommitAll(blocks []*Block, undos []*Undo) (n int, err error) {
	s.writer.Lock()
	defer s.writer.Unlock()
	return s.commitAll(blocks, undos[:len(blocks)])
}

func (s *Set) commitAll(blocks []*Block, undos []*Undo) (n int, err error) {
	for n < len(blocks) {
		end := len(blocks)
		for {
			bad := s.window(blocks[n:end], undos[n:end])
			if bad.kind == failNothing {
				break
			}
			if end == n+1 {
				return n, bad.error(blocks[n])
			}
			end = n + max(bad.block, 1)
		}
		n = end
	}
	return n, nil
}

// window takes all of the blocks in or none of them.
func (s *Set) window(blocks []*Block, undos []*Undo) failure {
	c := &s.commit
	size := 0
	for _, b := range blocks {
		size += len(b.Spends) + 2*len(b.Made)
	}
	workers := c.workers[:1]
	if size >= c.parallel {
		workers = c.workers
	}
	for i := range workers {
		workers[i].begin(s, i, len(workers), blocks, undos)
	}
	s.sort(workers)
	s.prepare(workers)
	bad := workers[0].bad
	for i := range workers {
		if workers[i].bad.before(&bad) {
			bad = workers[i].bad
		}
	}
	if bad.kind == failNothing {
		s.apply(workers)
		s.pack(len(blocks))
		for i := range workers {
			undos[0].Overwritten = append(undos[0].Overwritten, workers[i].over...)
		}
	} else {
		s.abandon(workers)
	}
	for i := range workers {
		workers[i].blocks, workers[i].undos = nil, nil
	}
	return bad
}

func (w *worker) begin(s *Set, id, team int, blocks []*Block, undos []*Undo) {
	w.s, w.id, w.team, w.blocks, w.undos = s, id, team, blocks, undos
	w.ops, w.over = w.ops[:0], w.over[:0]
	w.bad = failure{block: len(blocks), kind: failNothing}
}

// eachWorker calls f on all workers at once.
func eachWorker(workers []worker, f func(w *worker)) {
	if len(workers) == 1 {
		f(&workers[0])
		return
	}
	var all sync.WaitGroup
	for i := range workers[1:] {
		all.Go(func() { f(&workers[i+1]) })
	}
	f(&workers[0])
	all.Wait()
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
	eachWorker(workers, func(w *worker) {
		for {
			shard := int(next.Add(1)) - 1
			if shard >= shards {
				return
			}
			w.prepare(shard)
		}
	})
}

// abandon frees the cells of blocks that are not taken in.
func (s *Set) abandon(workers []worker) {
	for i := range workers {
		for j := range workers[i].ops {
			if x := &workers[i].ops[j]; x.fresh != 0 {
				s.shards[x.shard].slab.release(x.fresh, x.freshSize)
			}
		}
	}
}

// apply changes the indexes under the gate, and cleans up behind it. All changes of a shard are one worker's.
func (s *Set) apply(workers []worker) {
	s.gate.Lock()
	eachWorker(workers, (*worker).apply)
	s.gate.Unlock()
	eachWorker(workers, (*worker).clean)
}

func (w *worker) apply() {
	for i := range w.ops {
		if i+ahead < len(w.ops) {
			x := &w.ops[i+ahead]
			index := &w.s.shards[x.shard].index
			if x.at.handle != 0 {
				offheap.Prefetch(index.line(uint64(x.at.line)))
			} else {
				offheap.Prefetch(index.line(index.home(x.hash)))
			}
		}
		x := &w.ops[i]
		w.s.shards[x.shard].apply(x)
	}
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

// clean frees the cells that no index names any more.
func (w *worker) clean() {
	for i := range w.ops {
		if i+ahead < len(w.ops) {
			x := &w.ops[i+ahead]
			offheap.Prefetch(w.s.shards[x.shard].record(x.at.handle))
		}
		x := &w.ops[i]
		sh := &w.s.shards[x.shard]
		if x.at.handle != 0 {
			sh.slab.release(x.at.handle, x.oldSize)
		}
		if i+1 == len(w.ops) || w.ops[i+1].shard != x.shard {
			sh.slab.gather()
			sh.weigh()
		}
	}
}

// pack packs the shards with the largest part free, if they are worth it. One a block keeps commits short.
func (s *Set) pack(most int) {
	for range most {
		var worst *shard
		for i := range s.shards {
			sh := &s.shards[i]
			if sh.sparse() && (worst == nil || sh.slab.hole > worst.slab.hole) {
				worst = sh
			}
		}
		if worst == nil || !s.packOne(worst) {
			return
		}
	}
}

// packOne tells whether there was memory for a second slab; the first one serves on where there was none.
func (s *Set) packOne(sh *shard) bool {
	b, x, err := sh.packed()
	if err != nil {
		return false
	}
	s.gate.Lock()
	sh.slab, b = b, sh.slab
	sh.index, x = x, sh.index
	s.gate.Unlock()
	sh.giveBack(b.mem)
	sh.giveBack(x.mem)
	sh.slab.gather()
	sh.weigh()
	return true
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
	sh.weigh()
	return nil
}

// reset makes u ready for the coins of a block.
func (u *Undo) reset(b *Block, workers int) {
	u.Height = b.Height
	u.Spent = slices.Grow(u.Spent[:0], len(b.Spends))[:len(b.Spends)]
	u.made = slices.Grow(u.made[:0], len(b.Made))[:len(b.Made)]
	u.Overwritten = u.Overwritten[:0]
	for len(u.scripts) < workers {
		u.scripts = append(u.scripts, nil)
	}
	for i := range u.scripts {
		u.scripts[i] = u.scripts[i][:0]
	}
}
