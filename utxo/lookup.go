package utxo

import (
	"unsafe"

	"stele/chain"
	"stele/internal/offheap"
)

// Outpoint names an output.
type Outpoint struct {
	Txid chain.Hash
	Vout uint32
}

// Found is what a lookup found. Link is the number of the output.
type Found struct {
	Coin chain.Coin
	Link uint64
	OK   bool
}

// groupSize is the number of lookups whose cache misses overlap: a core has buffers for 10 to 16.
const groupSize = 16

// group is the state of a group of lookups between its phases.
type group struct {
	hash [groupSize]uint64
}

// Lookup is Get for many outputs, which it sees in one state of the set: found[i] becomes that of points[i]. found must
// be as long as points. The scripts are appended to dst, which is returned. Lookups go in groups, so that a group waits
// for memory about twice: all index lines are asked for, then all records that they name, then the answers are taken
// from what has arrived. It allocates nothing where dst has room.
func (s *Set) Lookup(points []Outpoint, found []Found, dst []byte) []byte {
	found = found[:len(points)]
	var g group
	var v View
	s.gate.RLock()
	defer s.gate.RUnlock()
	for len(points) > 0 {
		n := min(groupSize, len(points))
		s.touch(&g, points[:n])
		for i := range points[:n] {
			p, f := &points[i], &found[i]
			sh := &s.shards[p.Txid[0]]
			at := sh.find(&p.Txid, g.hash[i], &v.work)
			f.OK = at.handle != 0 && find(sh.record(at.handle), p.Vout, &v)
			if f.OK {
				dst = v.coin(&f.Coin, dst)
				f.Link = v.First + uint64(p.Vout)
			}
		}
		points, found = points[n:], found[n:]
	}
	return dst
}

// Probe looks an output up as Get does and adds what that took to w.
func (s *Set) Probe(p *Outpoint, w *Work) bool {
	v := View{work: *w}
	s.gate.RLock()
	ok := s.view(&p.Txid, p.Vout, &v)
	s.gate.RUnlock()
	*w = v.work
	return ok
}

// touch asks for the index lines of a group, then for the records that they name first; few keys have another.
func (s *Set) touch(g *group, points []Outpoint) {
	for i := range points {
		txid := &points[i].Txid
		g.hash[i] = hashOf(txid, s.salt)
		x := &s.shards[txid[0]].index
		offheap.Prefetch(x.line(x.home(g.hash[i])))
	}
	for i := range points {
		sh := &s.shards[points[i].Txid[0]]
		if h := sh.index.candidate(g.hash[i]); h != 0 {
			prefetchRecord(sh.record(h))
		}
	}
}

// prefetchRecord asks for the two cache lines that most records lie in.
func prefetchRecord(p unsafe.Pointer) {
	offheap.Prefetch(p)
	offheap.Prefetch(unsafe.Add(p, lineSize))
}
