package utxo

import (
	"runtime"
	"sync"

	"stele/chain"
)

// Options of a set.
type Options struct {
	Salt    uint64 // a secret of the store: who knows it can make txids that slow the set down
	Records uint64 // that are expected; the indexes are made for them at once
	Reserve int    // bytes of address space for each shard's records; 0: DefaultReserve, or 1 MiB of the heap
	Heap    bool   // memory comes from the heap, where the race detector sees it
	Workers int    // goroutines of a commit; 0: as many as processors, 4 at most
}

// heapReserve is what a shard's slab is on the heap.
const heapReserve = 1 << 20

// Set is the set of unspent outputs in memory.
//
// It has one writer at a time and any number of readers. A commit prepares everything beside the readers: new records
// lie in cells that no index names. Then it takes the gate, for as long as it takes to change the index entries, and
// what they named before becomes free only after that. So readers see a block wholly or not at all, and wait for a
// small part of its commit. An index that grows and a slab that is packed are made beside the ones in use, and change
// places with them under the gate.
//
// Order of locks: writer, gate. What Get and Lookup return is the caller's own; nothing of the set's memory leaves it
// but to the function that Shard calls.
type Set struct {
	shards [shards]shard
	salt   uint64
	gate   sync.RWMutex // readers hold it shared
	writer sync.Mutex   // held by whoever changes the set or wants it to stay
	loads  [shards]loader
	commit committer
}

// New returns an empty set. It takes memory once there is something to keep.
func New(o Options) *Set {
	if o.Reserve <= 0 {
		o.Reserve = DefaultReserve
		if o.Heap {
			o.Reserve = heapReserve
		}
	}
	if o.Workers <= 0 {
		o.Workers = min(runtime.GOMAXPROCS(0), 4)
	}
	s := &Set{salt: o.Salt}
	for i := range s.shards {
		sh := &s.shards[i]
		sh.salt, sh.id, sh.heap, sh.reserve = o.Salt, uint32(i), o.Heap, max(o.Reserve, 2*RecordSlack)
		sh.expected = o.Records/shards + o.Records/shards/64
	}
	s.commit.workers, s.commit.parallel = make([]worker, o.Workers), parallelOps
	return s
}

// Close gives the memory back. Nothing may use the set any more.
func (s *Set) Close() {
	s.writer.Lock()
	defer s.writer.Unlock()
	s.gate.Lock()
	defer s.gate.Unlock()
	for i := range s.shards {
		s.shards[i].close()
	}
}

// Hold keeps the set as it is until release is called: Commit, CommitAll, Undo, Report and Close wait, readers do not.
func (s *Set) Hold() (release func()) {
	s.writer.Lock()
	return s.writer.Unlock
}

// Get looks for an unspent output. The script is appended to dst, which is returned, and the coin's is a view of it.
// link is the number of the output. It allocates nothing where dst has room, and reads one index line and one record
// in nearly all cases; a whole block is looked up in less time by Lookup.
func (s *Set) Get(txid *chain.Hash, vout uint32, dst []byte) (c chain.Coin, link uint64, scripts []byte, ok bool) {
	var v View
	s.gate.RLock()
	if ok = s.view(txid, vout, &v); ok {
		dst = v.coin(&c, dst)
	}
	s.gate.RUnlock()
	return c, v.First + uint64(vout), dst, ok
}

// view finds an output. The gate is held.
func (s *Set) view(txid *chain.Hash, vout uint32, v *View) bool {
	sh := &s.shards[txid[0]]
	at := sh.find(txid, hashOf(txid, s.salt), &v.work)
	return at.handle != 0 && find(sh.record(at.handle), vout, v)
}

// coin makes a coin of a view, its script appended to dst.
func (v *View) coin(c *chain.Coin, dst []byte) []byte {
	n := len(dst)
	dst = v.appendScript(dst)
	*c = chain.Coin{Value: v.Value, Script: dst[n:len(dst):len(dst)], Height: v.Height, Coinbase: v.Coinbase}
	return dst
}

// Shard calls f with every record of a shard, in no order; what f gets is good for that call only. A shard is the txids
// that begin with its byte. It ends with the first error of f and returns it. Each call sees the set between two
// commits, which wait for it; who needs several shards of one state holds the set (see Hold). f must not use the set.
func (s *Set) Shard(shard int, f func(*Record) error) error {
	s.gate.RLock()
	defer s.gate.RUnlock()
	sh := &s.shards[shard]
	var r Record
	var scripts []byte
	for i := range sh.index.lines {
		line := sh.index.line(i)
		for slot := range uintptr(lineSlots) {
			h := handleAt(line, slot)
			if h == 0 {
				continue
			}
			scripts = decode(byte(shard), sh.record(h), &r, scripts[:0])
			if err := f(&r); err != nil {
				return err
			}
		}
	}
	return nil
}

// loader is what a load of one shard keeps from record to record.
type loader struct {
	sync.Mutex
	buf []byte
}

// Load adds a record to a set that nobody reads yet. Several goroutines may load, best of all each its own shards. What
// r refers to is copied. A record of a txid that is there is a *DuplicateError; one that cannot be is an error of
// AppendRecord.
func (s *Set) Load(r *Record) (err error) {
	l := &s.loads[r.Txid[0]]
	l.Lock()
	defer l.Unlock()
	if l.buf, err = AppendRecord(l.buf[:0], r); err != nil {
		return err
	}
	sh := &s.shards[r.Txid[0]]
	hash := hashOf(&r.Txid, s.salt)
	var w Work
	if sh.find(&r.Txid, hash, &w).handle != 0 {
		return &DuplicateError{Txid: r.Txid}
	}
	if err := sh.openSlab(); err != nil {
		return err
	}
	if err := sh.room(1); err != nil {
		return err
	}
	h := sh.slab.alloc(uint32(len(l.buf)))
	if h == 0 {
		return &FullError{Shard: int(r.Txid[0])}
	}
	sh.slab.write(h, l.buf)
	sh.index.insert(hash, h)
	sh.slab.gather()
	sh.count(1, len(r.Outs), len(l.buf))
	sh.weigh()
	return nil
}
