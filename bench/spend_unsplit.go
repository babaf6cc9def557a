package bench

import "encoding/binary"

// unsplit is a multimap whose rows are the inputs themselves: a spend lies in front of its script and its witness, in
// one slab, and a chain leads from input to input. Links and buckets have 5 bytes, as they count the slab's.
//
//	input  | next 5 | point 4, index 3 | spender 4 | sequence 4 | script, witness |
//	puts   | input 5 |
type unsplit struct {
	spendBase
	points points
	heads  []byte
	count  uint64 // buckets
	puts   []byte
}

const (
	linkWidth      = 5
	unsplitKey     = linkWidth
	unsplitSpender = unsplitKey + 7
	unsplitHead    = unsplitSpender + 8 // and the sequence
)

func newUnsplit(t *spendTrace) *unsplit {
	n := len(t.points)
	u := &unsplit{
		spendBase: spendBase{t: t, view: t.index.m.View()}, points: newPoints(t.countTxids()), count: uint64(buckets(n)),
		puts: make([]byte, 0, n*linkWidth),
	}
	u.inputs = make([]byte, 0, t.payloadBytes()+n*(unsplitHead-4)+8)
	u.heads = make([]byte, u.count*linkWidth+8)
	return u
}

func (u *unsplit) reset() {
	u.points.reset()
	clear(u.heads)
	u.puts, u.inputs, u.strong = u.puts[:0], u.inputs[:0], 0
}

// link40 reads a link, and 3 bytes more that are not its own.
func link40(b []byte) uint64 { return binary.LittleEndian.Uint64(b) & (1<<40 - 1) }

func (u *unsplit) head(k uint64) []byte { return u.heads[k%u.count*linkWidth:] }

func (u *unsplit) enter(b int) {
	t := u.t
	for tx := t.start(b); tx < t.ends[b]; tx++ {
		for i := t.firstIn[tx]; i < t.firstIn[tx+1]; i++ {
			p := &t.points[i]
			k := outpointKey(u.points.of(&p.txid), p.vout)
			head, at := u.head(k), uint64(len(u.inputs))
			var row [unsplitHead]byte
			copy(row[:], head[:linkWidth])
			binary.LittleEndian.PutUint64(row[unsplitKey:], k)
			binary.LittleEndian.PutUint64(row[unsplitSpender:], uint64(tx)|0xffffffff<<32)
			u.inputs = append(u.inputs, row[:]...)
			u.inputs = u.payload(u.inputs, t.sizes[i]-4)
			var link [8]byte
			binary.LittleEndian.PutUint64(link[:], at+1)
			copy(head, link[:linkWidth])
			binary.LittleEndian.PutUint64(link[:], at)
			u.puts = append(u.puts, link[:linkWidth]...)
		}
	}
}

func (u *unsplit) confirm(b int) error {
	t := u.t
	u.strong = uint32(b)
	var link [8]byte
	for tx := t.start(b); tx < t.ends[b]; tx++ {
		for i := t.firstIn[tx]; i < t.firstIn[tx+1]; i++ {
			copy(link[:], u.puts[i*linkWidth:][:linkWidth])
			own := link40(link[:])
			k := u.key(own)
			parent, ok := u.parent(u.points.txid(uint32(k)), tx)
			if !ok || t.firstOut[parent]+uint32(k>>32) >= t.firstOut[parent+1] || u.doubled(k, own) {
				return &badSpend{i}
			}
		}
	}
	return nil
}

func (u *unsplit) key(at uint64) uint64 {
	return binary.LittleEndian.Uint64(u.inputs[at+unsplitKey:]) & (1<<56 - 1)
}

func (u *unsplit) doubled(k, own uint64) bool {
	for at := link40(u.head(k)); at != 0; at = link40(u.inputs[at-1:]) {
		if at-1 < own && u.key(at-1) == k {
			if by := binary.LittleEndian.Uint32(u.inputs[at-1+unsplitSpender:]); u.t.blockOf[by] <= u.strong {
				return true
			}
		}
	}
	return false
}

func (u *unsplit) spender(of, vout uint32) (uint32, bool) {
	k := outpointKey(u.points.of(&u.t.txids[of]), vout)
	for at := link40(u.head(k)); at != 0; at = link40(u.inputs[at-1:]) {
		if u.key(at-1) == k {
			return binary.LittleEndian.Uint32(u.inputs[at-1+unsplitSpender:]), true
		}
	}
	return 0, false
}

// bytes leaves out what an input has in any form: its sequence, script and witness.
func (u *unsplit) bytes() (rows, buckets int) {
	n := len(u.t.points)
	return n*(unsplitHead-4) + len(u.points.rows), int(u.count)*linkWidth + 4*len(u.points.heads)
}
