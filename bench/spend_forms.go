package bench

import (
	"encoding/binary"
	"slices"

	"stele/hashmap"
)

// spendForm keeps what is spent, in one form. A block is entered, then confirmed; blocks come in order, and a confirmed
// one is strong from then on.
type spendForm interface {
	reset()
	enter(b int)         // what needs no order
	confirm(b int) error // every prevout is strong and unspent, or *badSpend for the first that is not
	spender(of uint32, vout uint32) (by uint32, ok bool)
	bytes() (rows, buckets int) // of the spends alone
}

// spendBase is what all forms have in common: the index of transactions, which of them are strong, and the bytes of
// inputs. A block is strong when all below a height are: one word, for every form.
type spendBase struct {
	t      *spendTrace
	view   hashmap.MapView
	strong uint32 // blocks
	inputs []byte
}

func newSpendBase(t *spendTrace) spendBase {
	return spendBase{t: t, view: t.index.m.View(), inputs: make([]byte, 0, t.payloadBytes())}
}

// parent finds a transaction that is strong, or one further up in the block in hand.
func (s *spendBase) parent(txid *key, tx uint32) (uint32, bool) {
	link, ok := s.view.Find(txid, uint32(len(s.t.txids)))
	return link, ok && link < tx && s.t.blockOf[link] <= s.strong
}

// payload appends the bytes of an input to a slab.
func (s *spendBase) payload(slab []byte, size uint32) []byte {
	return append(slab, s.t.payload[:size]...)
}

// cells is our form: a cell of 4 bytes an output, a number of 5 bytes an input. Both are found without a key.
//
//	cell  | spender 4 |        transaction plus one, by output number
//	ins   | output 5 |         by input number
type cells struct {
	spendBase
	cell []uint32
	ins  []byte
}

const insNumber = 5

func newCells(t *spendTrace) *cells {
	return &cells{
		spendBase: newSpendBase(t), cell: make([]uint32, t.outputs()), ins: make([]byte, 0, insNumber*len(t.points)),
	}
}

func (c *cells) reset() {
	clear(c.cell)
	c.ins, c.inputs, c.strong = c.ins[:0], c.inputs[:0], 0
}

// enter appends what the inputs have besides: all that depends on order is for confirm.
func (c *cells) enter(b int) {
	from, to := c.t.inputs(b)
	for _, size := range c.t.sizes[from:to] {
		c.inputs = c.payload(c.inputs, size)
	}
}

func (c *cells) confirm(b int) error {
	t := c.t
	c.strong = uint32(b)
	for tx := t.start(b); tx < t.ends[b]; tx++ {
		for i := t.firstIn[tx]; i < t.firstIn[tx+1]; i++ {
			p := &t.points[i]
			parent, ok := c.parent(&p.txid, tx)
			if !ok {
				return &badSpend{i}
			}
			o := t.firstOut[parent] + p.vout
			if o >= t.firstOut[parent+1] || c.spent(o) {
				return &badSpend{i}
			}
			c.cell[o] = tx + 1
			var number [8]byte
			binary.LittleEndian.PutUint64(number[:], uint64(o))
			c.ins = append(c.ins, number[:insNumber]...)
		}
	}
	return nil
}

// spent reads a cell; what it names counts if its block is strong, or is the one in hand.
func (c *cells) spent(o uint32) bool {
	by := c.cell[o]
	return by != 0 && c.t.blockOf[by-1] <= c.strong
}

func (c *cells) spender(of, vout uint32) (uint32, bool) {
	by := c.cell[c.t.firstOut[of]+vout]
	return by - 1, by != 0
}

func (c *cells) bytes() (rows, buckets int) { return 4 * len(c.cell), 0 }

// Rows of a multimap as the original kept it in 2023: a row for each txid that is spent from, and a row for each
// spend, both chained from buckets by links stored plus one. A bucket is the key modulo their number; there are two for
// three rows.
//
//	point  | next 4 | txid 32 |
//	spend  | next 4 | point 4, index 3 | spender 4 | sequence 4 | input 5 |
//	puts   | spend 4 |                           by input: how a transaction finds its spends
const (
	pointWidth = 36
	spendWidth = 24
	putWidth   = 4

	spendKey      = 4
	spendSpender  = 11
	spendSequence = 15
	spendInput    = 19

	bucketLoad = 1.515
)

func buckets(rows int) int { return int(float64(rows)/bucketLoad) + 1 }

// points are the txids that are spent from.
type points struct {
	heads []uint32
	rows  []byte
}

func newPoints(most int) points {
	return points{heads: make([]uint32, buckets(most)), rows: make([]byte, 0, most*pointWidth)}
}

func (p *points) reset() {
	clear(p.heads)
	p.rows = p.rows[:0]
}

// of returns the row of a txid, and makes one if there is none.
func (p *points) of(txid *key) uint32 {
	head := &p.heads[truncate(txid)%uint64(len(p.heads))]
	for at := *head; at != 0; {
		row := p.rows[int(at-1)*pointWidth:][:pointWidth]
		if key(row[4:]) == *txid {
			return at - 1
		}
		at = binary.LittleEndian.Uint32(row)
	}
	n := uint32(len(p.rows) / pointWidth)
	p.rows = binary.LittleEndian.AppendUint32(p.rows, *head)
	p.rows = append(p.rows, txid[:]...)
	*head = n + 1
	return n
}

func (p *points) txid(row uint32) *key { return (*key)(p.rows[int(row)*pointWidth+4:]) }

// countTxids counts the different transactions that are spent from.
func (t *spendTrace) countTxids() int {
	seen := map[key]struct{}{}
	for i := range t.points {
		seen[t.points[i].txid] = struct{}{}
	}
	return len(seen)
}

// outpointKey is a multimap's key: 7 bytes.
func outpointKey(point, vout uint32) uint64 { return uint64(point) | uint64(vout)<<32 }

// split is the original's form: spends in rows of their own, apart from the inputs.
type split struct {
	spendBase
	points points
	heads  []uint32
	rows   []byte
	puts   []byte
}

func newSplit(t *spendTrace) *split {
	n := len(t.points)
	return &split{
		spendBase: newSpendBase(t), points: newPoints(t.countTxids()), heads: make([]uint32, buckets(n)),
		rows: make([]byte, 0, n*spendWidth), puts: make([]byte, 0, n*putWidth),
	}
}

func (s *split) reset() {
	s.points.reset()
	clear(s.heads)
	s.rows, s.puts, s.inputs, s.strong = s.rows[:0], s.puts[:0], s.inputs[:0], 0
}

func (s *split) enter(b int) {
	t := s.t
	for tx := t.start(b); tx < t.ends[b]; tx++ {
		for i := t.firstIn[tx]; i < t.firstIn[tx+1]; i++ {
			p := &t.points[i]
			k := outpointKey(s.points.of(&p.txid), p.vout)
			head := &s.heads[k%uint64(len(s.heads))]
			n := uint32(len(s.rows) / spendWidth)
			row := slices.Grow(s.rows, spendWidth)[:len(s.rows)+spendWidth][len(s.rows):]
			binary.LittleEndian.PutUint64(row[spendKey:], k)
			binary.LittleEndian.PutUint32(row, *head)
			binary.LittleEndian.PutUint32(row[spendSpender:], tx)
			binary.LittleEndian.PutUint64(row[spendSequence:], uint64(len(s.inputs))<<32|0xffffffff)
			row[spendInput+4] = byte(len(s.inputs) >> 32)
			s.rows = s.rows[:len(s.rows)+spendWidth]
			*head = n + 1
			s.puts = binary.LittleEndian.AppendUint32(s.puts, n)
			s.inputs = s.payload(s.inputs, t.sizes[i]-4) // the sequence is in the row
		}
	}
}

func (s *split) confirm(b int) error {
	t := s.t
	s.strong = uint32(b)
	for tx := t.start(b); tx < t.ends[b]; tx++ {
		for i := t.firstIn[tx]; i < t.firstIn[tx+1]; i++ {
			n := binary.LittleEndian.Uint32(s.puts[i*putWidth:])
			k := spendRowKey(s.rows[int(n)*spendWidth:])
			parent, ok := s.parent(s.points.txid(uint32(k)), tx)
			if !ok || t.firstOut[parent]+uint32(k>>32) >= t.firstOut[parent+1] || s.doubled(k, n) {
				return &badSpend{i}
			}
		}
	}
	return nil
}

func spendRowKey(row []byte) uint64 { return binary.LittleEndian.Uint64(row[spendKey:]) & (1<<56 - 1) }

// doubled looks for another spend of the same output, that is older and strong or of the block in hand.
func (s *split) doubled(k uint64, own uint32) bool {
	for at := s.heads[k%uint64(len(s.heads))]; at != 0; {
		row := s.rows[int(at-1)*spendWidth:][:spendWidth]
		if at-1 < own && spendRowKey(row) == k {
			if by := binary.LittleEndian.Uint32(row[spendSpender:]); s.t.blockOf[by] <= s.strong {
				return true
			}
		}
		at = binary.LittleEndian.Uint32(row)
	}
	return false
}

func (s *split) spender(of, vout uint32) (uint32, bool) {
	k := outpointKey(s.points.of(&s.t.txids[of]), vout)
	for at := s.heads[k%uint64(len(s.heads))]; at != 0; {
		row := s.rows[int(at-1)*spendWidth:][:spendWidth]
		if spendRowKey(row) == k {
			return binary.LittleEndian.Uint32(row[spendSpender:]), true
		}
		at = binary.LittleEndian.Uint32(row)
	}
	return 0, false
}

func (s *split) bytes() (rows, buckets int) {
	return len(s.rows) + len(s.points.rows), 4 * (len(s.heads) + len(s.points.heads))
}
