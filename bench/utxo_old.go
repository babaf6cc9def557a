package bench

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"stele/chain"
	"stele/utxo"
)

// oldSet is a set of records v4 or v5, as good as they allow: 256 shards of open addressing whose places come from
// other bytes than the shard's, records in cells of their own size that are used again, spends sorted by record so that
// each is written once. It captures the coins that a block spends. It does less than the set that it is compared with:
// it is not atomic, checks no duplicates, and cannot be read meanwhile.
type oldSet struct {
	codec  oldCodec
	shards [256]oldShard

	spent   []utxo.OldOutput
	scripts []byte
	order   []oldSpend
	rec     utxo.OldRecord
	outs    []utxo.OldOutput
	buf     []byte
}

type oldCodec struct {
	append func([]byte, *utxo.OldRecord) ([]byte, error)
	decode func([]byte, *utxo.OldRecord) error
	find   func([]byte, uint32, *utxo.OldOutput) bool
}

var (
	codecV4 = oldCodec{utxo.AppendV4, utxo.DecodeV4, utxo.FindV4}
	codecV5 = oldCodec{utxo.AppendV5, utxo.DecodeV5, utxo.FindV5}
)

// oldShard has a slot for each record: eight bytes of its txid, and where it is. Cells begin with the record's length.
type oldShard struct {
	slots []oldSlot
	count int
	slab  []byte
	free  [oldSizes][]uint32
}

type oldSlot struct {
	key  uint64
	cell uint32 // plus one; 0: empty
}

// oldSizes are the sizes of cells, in steps of 16 bytes, that are used again.
const oldSizes = 1024

type oldSpend struct {
	shard byte
	key   uint64
	spend uint32
}

func oldKey(txid *chain.Hash) uint64 { return binary.LittleEndian.Uint64(txid[8:]) }

// find returns the slot of a txid, and its record; else an empty slot.
func (s *oldShard) find(txid *chain.Hash) (int, []byte) {
	key, mask := oldKey(txid), len(s.slots)-1
	at := int(key) & mask
	for ; s.slots[at].cell != 0; at = (at + 1) & mask {
		if s.slots[at].key == key {
			if rec := s.record(s.slots[at].cell); bytes.Equal(rec[:chain.HashSize], txid[:]) {
				return at, rec
			}
		}
	}
	return at, nil
}

func (s *oldShard) record(cell uint32) []byte {
	b := s.slab[cell-1:]
	n := binary.LittleEndian.Uint32(b)
	return b[4 : 4+n]
}

func oldSize(n int) int { return (n + 4 + 15) / 16 }

// put stores a record and returns its cell.
func (s *oldShard) put(rec []byte) uint32 {
	size := oldSize(len(rec))
	var cell uint32
	if size < oldSizes && len(s.free[size]) > 0 {
		list := s.free[size]
		cell = list[len(list)-1]
		s.free[size] = list[:len(list)-1]
	} else {
		cell = uint32(len(s.slab)) + 1
		s.slab = slices.Grow(s.slab, size*16)[:len(s.slab)+size*16]
	}
	b := s.slab[cell-1:]
	binary.LittleEndian.PutUint32(b, uint32(len(rec)))
	copy(b[4:], rec)
	return cell
}

func (s *oldShard) release(cell uint32) {
	if size := oldSize(len(s.record(cell))); size < oldSizes {
		s.free[size] = append(s.free[size], cell)
	}
}

func (s *oldShard) insert(txid *chain.Hash, cell uint32) {
	if 8*(s.count+1) > 7*len(s.slots) {
		old := s.slots
		s.slots = make([]oldSlot, max(16, 2*len(old)))
		for _, x := range old {
			if x.cell != 0 {
				at := int(x.key) & (len(s.slots) - 1)
				for s.slots[at].cell != 0 {
					at = (at + 1) & (len(s.slots) - 1)
				}
				s.slots[at] = x
			}
		}
	}
	at, _ := s.find(txid)
	s.slots[at] = oldSlot{oldKey(txid), cell}
	s.count++
}

// remove empties a slot, and moves those behind it up that would not be found any more.
func (s *oldShard) remove(at int) {
	mask := len(s.slots) - 1
	s.count--
	for next := (at + 1) & mask; s.slots[next].cell != 0; next = (next + 1) & mask {
		if home := int(s.slots[next].key) & mask; (next-home)&mask >= (next-at)&mask {
			s.slots[at] = s.slots[next]
			at = next
		}
	}
	s.slots[at] = oldSlot{}
}

// commit takes a block in.
func (s *oldSet) commit(b *utxo.Block) error {
	s.order, s.scripts = s.order[:0], s.scripts[:0]
	s.spent = slices.Grow(s.spent[:0], len(b.Spends))[:len(b.Spends)]
	for i := range b.Spends {
		txid := &b.Spends[i].Txid
		s.order = append(s.order, oldSpend{txid[0], oldKey(txid), uint32(i)})
	}
	slices.SortFunc(s.order, func(a, b oldSpend) int {
		return cmp.Or(cmp.Compare(a.shard, b.shard), cmp.Compare(a.key, b.key), cmp.Compare(a.spend, b.spend))
	})
	for i := 0; i < len(s.order); {
		j := i + 1
		for j < len(s.order) && s.order[j].key == s.order[i].key && s.order[j].shard == s.order[i].shard {
			j++
		}
		if err := s.spend(b, s.order[i:j]); err != nil {
			return err
		}
		i = j
	}
	for i := range b.Made {
		if err := s.make(b.Height, &b.Made[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *oldSet) make(height uint32, m *utxo.Made) error {
	s.outs = s.outs[:0]
	for _, o := range m.Outs {
		s.outs = append(s.outs, utxo.OldOutput{
			Vout: o.Vout, Value: uint64(o.Value), Height: height, Coinbase: m.Coinbase, Script: o.Script,
		})
	}
	r := utxo.OldRecord{Txid: m.Txid, Inline: min(8, len(s.outs)), Outs: s.outs}
	var err error
	if s.buf, err = s.codec.append(s.buf[:0], &r); err != nil {
		return err
	}
	sh := &s.shards[m.Txid[0]]
	sh.insert(&m.Txid, sh.put(s.buf))
	return nil
}

// spend takes outputs of one record.
func (s *oldSet) spend(b *utxo.Block, run []oldSpend) error {
	txid := &b.Spends[run[0].spend].Txid
	sh := &s.shards[run[0].shard]
	at, rec := sh.find(txid)
	if rec == nil {
		return fmt.Errorf("record %v is missing", txid)
	}
	cell := sh.slots[at].cell
	left := int(binary.LittleEndian.Uint32(rec[chain.HashSize:])) - len(run)
	if left == 0 && len(run) == 1 {
		if err := s.capture(rec, b, run[0].spend); err != nil {
			return err
		}
	} else {
		if err := s.codec.decode(rec, &s.rec); err != nil {
			return err
		}
		for _, x := range run {
			if err := s.take(b, x.spend); err != nil {
				return err
			}
		}
	}
	if left == 0 {
		sh.remove(at)
		sh.release(cell)
		return nil
	}
	var err error
	if s.buf, err = s.codec.append(s.buf[:0], &s.rec); err != nil {
		return err
	}
	sh.release(cell)
	sh.slots[at].cell = sh.put(s.buf)
	return nil
}

func (s *oldSet) capture(rec []byte, b *utxo.Block, spend uint32) error {
	o := &s.spent[spend]
	if !s.codec.find(rec, b.Spends[spend].Vout, o) {
		return fmt.Errorf("output %v is missing", b.Spends[spend])
	}
	s.keep(o)
	return nil
}

func (s *oldSet) take(b *utxo.Block, spend uint32) error {
	o, ok := s.rec.Remove(b.Spends[spend].Vout)
	if !ok {
		return fmt.Errorf("output %v is missing", b.Spends[spend])
	}
	s.spent[spend] = o
	s.keep(&s.spent[spend])
	return nil
}

// keep copies the script of a spent output, whose record goes.
func (s *oldSet) keep(o *utxo.OldOutput) {
	n := len(s.scripts)
	s.scripts = append(s.scripts, o.Script...)
	o.Script = s.scripts[n:len(s.scripts):len(s.scripts)]
}
