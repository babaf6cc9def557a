package addrbook

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// The file, all numbers little-endian, times in seconds since 1970:
//
//	 0        8         12        16                48         52        56         60
//	 +--------+---------+---------+-----------------+----------+---------+----------+---------+---------+----------+
//	 | mark   | version | network | key             | lastGood | entries | pending  | entries | pending | SHA-256  |
//	 | 8 B    | u32     | magic   | 32 B            | u32      | u32     | u32      | ...     | ...     | of all   |
//	 +--------+---------+---------+-----------------+----------+---------+----------+---------+---------+----------+
//
//	an address          an entry
//	+-----+------+---+  +---------+--------+----------+------+--------+---------+----------+----------+------+--------+
//	| net | port | h |  | address | source | services | seen | called | counted | answered | attempts | refs | slots  |
//	| u8  | u16  |   |  |         | likewise| u64     | u32  | u32    | u32     | u32      | u32      | u8   | u16 .. |
//	+-----+------+---+  +---------+--------+----------+------+--------+---------+----------+----------+------+--------+
//
// h is the host, as long as its network's addresses are; of a name, 10 bytes. refs 0 stands for table tried, whose slot
// follows from the key and is not written; else refs slots of table new follow. The order of entries is that in memory,
// so that a book which was saved and opened again goes on as the old one would have.
const (
	fileMark    = "steleadr"
	fileVersion = 1
	headSize    = 60
	sumSize     = sha256.Size
	maxAddress  = 3 + 32
	maxEntry    = 2*maxAddress + 8 + 5*4 + 1 + 2*maxRefs
	maxFile     = headSize + maxEntries*maxEntry + maxPending*maxAddress + sumSize // 9.4 MB
)

var (
	// ErrDamaged is what errors.Is finds in the error of Open where the file is not what Save wrote.
	ErrDamaged = errors.New("address book is damaged")
	// ErrForeign is what it finds where the file is another network's.
	ErrForeign = errors.New("address book is of another network")
	// ErrNewer is what it finds where a later version wrote the file.
	ErrNewer = errors.New("address book is of a newer version")
)

func damage(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, args...)...)
}

// encode appends the whole book as a file.
func (b *Book) encode(dst []byte) []byte {
	le := binary.LittleEndian
	start := len(dst)
	dst = append(dst, fileMark...)
	dst = le.AppendUint32(dst, fileVersion)
	dst = le.AppendUint32(dst, b.magic)
	dst = append(dst, b.key[:]...)
	dst = le.AppendUint32(dst, b.lastGood)
	dst = le.AppendUint32(dst, uint32(len(b.entries)))
	dst = le.AppendUint32(dst, uint32(len(b.pending)))
	for i := range b.entries {
		e := &b.entries[i]
		dst = appendAddress(appendAddress(dst, e.addr), e.source)
		dst = le.AppendUint64(dst, e.services)
		for _, v := range [...]uint32{e.seen, e.called, e.counted, e.answered, e.attempts} {
			dst = le.AppendUint32(dst, v)
		}
		dst = append(dst, e.refs)
		for _, slot := range e.slots[:e.refs] {
			dst = le.AppendUint16(dst, slot)
		}
	}
	for _, a := range b.pending {
		dst = appendAddress(dst, a)
	}
	sum := sha256.Sum256(dst[start:])
	return append(dst, sum[:]...)
}

func appendAddress(dst []byte, a Address) []byte {
	dst = binary.LittleEndian.AppendUint16(append(dst, byte(a.Net)), a.Port)
	return append(dst, a.Host[:storedSize(a.Net)]...)
}

func storedSize(n Network) int {
	if n == Unknown {
		return namedSize
	}
	return n.Size()
}

// decode fills an empty book from a file. Where it fails the book must be thrown away; errors are one of the three above.
func (b *Book) decode(raw []byte) error {
	le := binary.LittleEndian
	if len(raw) < headSize+sumSize || string(raw[:8]) != fileMark {
		return damage("it does not begin as one")
	}
	body := raw[:len(raw)-sumSize]
	if sum := sha256.Sum256(body); string(sum[:]) != string(raw[len(body):]) {
		return damage("its checksum is wrong")
	}
	if v := le.Uint32(raw[8:]); v > fileVersion {
		return fmt.Errorf("%w: %d, this program knows %d", ErrNewer, v, fileVersion)
	} else if v != fileVersion {
		return damage("version %d", v)
	}
	if m := le.Uint32(raw[12:]); m != b.magic {
		return fmt.Errorf("%w: magic %08x, this is %08x", ErrForeign, m, b.magic)
	}
	copy(b.key[:], raw[16:48])
	b.lastGood = le.Uint32(raw[48:])
	entries, pending := le.Uint32(raw[52:]), le.Uint32(raw[56:])
	if entries > maxEntries || pending > maxPending {
		return damage("%d entries, %d waiting", entries, pending)
	}
	r := reader{left: body[headSize:]}
	for i := range entries {
		if err := b.decodeEntry(&r); err != nil {
			return fmt.Errorf("%w (entry %d)", err, i)
		}
	}
	for range pending {
		a := r.address()
		if i, ok := b.index[a]; !ok || b.entries[i].inTried {
			return damage("an address waits that is not in new")
		}
		if slices.Contains(b.pending, a) {
			return damage("an address waits twice")
		}
		b.pending = append(b.pending, a)
	}
	if r.bad || len(r.left) != 0 {
		return damage("its length is not that of its entries")
	}
	return nil
}

func (r *reader) address() Address {
	n := Network(r.take(1)[0])
	port := binary.LittleEndian.Uint16(r.take(2))
	if n != Unknown && n.Size() == 0 {
		r.bad = true
		return Address{}
	}
	return fromBytes(n, r.take(storedSize(n)), port)
}

// decodeEntry reads an entry and puts it where it says, which must be where the key allows.
func (b *Book) decodeEntry(r *reader) error {
	e := entry{addr: r.address(), source: r.address()}
	e.services = binary.LittleEndian.Uint64(r.take(8))
	for _, v := range [...]*uint32{&e.seen, &e.called, &e.counted, &e.answered, &e.attempts} {
		*v = binary.LittleEndian.Uint32(r.take(4))
	}
	refs := r.take(1)[0]
	if r.bad || refs > maxRefs {
		return damage("it is cut or has %d places", refs)
	}
	if !e.addr.Routable() || e.source.Port != 0 {
		return damage("an address that cannot be called, or a source with a port")
	}
	i := uint32(len(b.entries))
	if _, twice := b.index[e.addr]; twice {
		return damage("it stands there twice")
	}
	b.index[e.addr] = i
	b.entries = append(b.entries, e)
	if refs == 0 {
		slot := b.triedSlot(e.addr)
		if b.tried[slot] != 0 {
			return damage("two in one place of tried")
		}
		b.tried[slot] = cellOf(i, e.addr.Net)
		b.count[e.addr.Net][1]++
		b.entries[i].inTried, b.entries[i].slots[0] = true, slot
		return nil
	}
	b.count[e.addr.Net][0]++
	for range refs {
		slot := binary.LittleEndian.Uint16(r.take(2))
		if r.bad || b.fresh[slot] != 0 || slot != b.slotIn(tagNewSlot, slot/bucketSlots, e.addr) {
			return damage("a place in new that is taken or not its own")
		}
		b.putNew(i, slot)
	}
	return nil
}
