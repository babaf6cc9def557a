package chain

import (
	"encoding/binary"
	"fmt"
)

// DecodeError says where bytes stop being a block or a transaction, and why. It is about form only; Core drops such a
// message without judging the block that it claims to be.
type DecodeError struct {
	Off int // byte of the input at which the part that failed begins
	Why string
}

func (e *DecodeError) Error() string { return fmt.Sprintf("decode: byte %d: %s", e.Off, e.Why) }

// Shortest encodings of the things that a count can announce, in bytes. A count that the bytes present cannot hold is
// refused before anything is allocated for it.
const (
	minTx   = 4 + 1 + 1 + 4                  // version, no inputs, no outputs, lock time
	minIn   = outpointSize + 1 + 4           // outpoint, empty script, sequence
	minOut  = valueSize + 1                  // value, empty script
	minReal = 4 + 1 + minIn + 1 + minOut + 4 // a transaction with one input and one output
)

// maxRaw keeps every position, plus the length that may follow it, inside 31 bits.
const maxRaw = 1 << 30

// Bytes a row of an array that starts empty is made for, near the densest of ordinary blocks. Fuller ones grow by
// doubling.
const (
	guessIn   = 160
	guessOut  = 160
	guessItem = 96
)

// Decode parses exactly one block out of raw, which the Block keeps and views. It allows what Core's deserialisation
// allows, no more and no less: canonical CompactSizes of at most MaxSize, a witness only where at least one stack is
// not empty, flag 1 only, no byte after the last transaction. No consensus rule is checked, and no cap beyond the
// bytes present is put on witnesses. A failure is a *DecodeError and leaves the Block without transactions.
func (b *Block) Decode(raw []byte) error {
	b.reset(raw)
	if len(raw) > maxRaw {
		return b.fail(0, "longer than offsets reach")
	}
	if len(raw) < HeaderSize {
		return b.fail(0, sizeWhy(sizeCut))
	}
	b.Header.parse((*[HeaderSize]byte)(raw))
	n, p := readSize(raw, HeaderSize)
	if p < 0 {
		return b.fail(HeaderSize, sizeWhy(p))
	}
	if n > (len(raw)-p)/minTx {
		return b.fail(HeaderSize, "more transactions than bytes can hold")
	}
	if cap(b.Txs) < n {
		// Only zero-input transactions are shorter than minReal; where they abound append grows the array.
		b.Txs = make([]Tx, 0, min(n, (len(raw)-p)/minReal+1))
	}
	for ; n > 0; n-- {
		next, err := b.decodeTx(p)
		if err != nil {
			return err
		}
		p = next
	}
	if p != len(raw) {
		return b.fail(p, "bytes after the last transaction")
	}
	return nil
}

// DecodeTx parses exactly one transaction out of raw, with or without witness, by the rules of Decode. The Block then
// holds that one transaction and a zero Header.
func (b *Block) DecodeTx(raw []byte) error {
	b.reset(raw)
	if len(raw) > maxRaw {
		return b.fail(0, "longer than offsets reach")
	}
	p, err := b.decodeTx(0)
	if err != nil {
		return err
	}
	if p != len(raw) {
		return b.fail(p, "bytes after the transaction")
	}
	return nil
}

func (b *Block) reset(raw []byte) {
	b.Raw, b.Header = raw, Header{}
	b.Txs, b.Ins, b.Outs, b.Items = b.Txs[:0], b.Ins[:0], b.Outs[:0], b.Items[:0]
}

// fail empties the Block, so that nothing half decoded can be taken for a block. It stays out of line to keep the
// decoder's own code small.
//
//go:noinline
func (b *Block) fail(off int, why string) error {
	b.reset(nil)
	return &DecodeError{Off: off, Why: why}
}

func sizeWhy(failure int) string {
	switch failure {
	case sizeNotCanonical:
		return "non-canonical CompactSize"
	case sizeTooLarge:
		return "CompactSize above 32 MiB"
	}
	return "the bytes end too early"
}

// decodeTx parses the transaction at raw[p:] and gives the position after it.
//
// A first byte of zero after the version is an empty input list or the marker of BIP144; the byte after decides, as in
// Core's UnserializeTransaction: 0 is an empty output list too (and the transaction has neither), 1 announces inputs,
// outputs and stacks, and any other flag is unknown.
func (b *Block) decodeTx(p int) (next int, err error) {
	raw := b.Raw
	if len(raw)-p < minTx {
		return 0, b.fail(p, sizeWhy(sizeCut))
	}
	off, body, ins, outs := p, p+4, len(b.Ins), len(b.Outs)
	witness := raw[p+4] == 0 && raw[p+5] != 0
	if witness {
		if raw[p+5] != 1 {
			return 0, b.fail(p+5, "unknown transaction optional data")
		}
		body += 2
	}
	if p, err = b.decodeIns(body); err != nil {
		return 0, err
	}
	if p, err = b.decodeOuts(p); err != nil {
		return 0, err
	}
	wit := p
	if witness {
		items := len(b.Items)
		if p, err = b.decodeStacks(p, b.Ins[ins:]); err != nil {
			return 0, err
		}
		if len(b.Items) == items {
			return 0, b.fail(wit, "superfluous witness record")
		}
	}
	if len(raw)-p < 4 {
		return 0, b.fail(p, sizeWhy(sizeCut))
	}
	n := len(b.Txs)
	if n == cap(b.Txs) {
		b.Txs = grow(b.Txs, 1, 0)
	}
	b.Txs = b.Txs[:n+1]
	t := &b.Txs[n]
	t.Off, t.Body, t.Wit, t.End, t.Witness = uint32(off), uint32(body), uint32(wit), uint32(p+4), witness
	t.FirstIn, t.Ins = uint32(ins), uint32(len(b.Ins)-ins)
	t.FirstOut, t.Outs = uint32(outs), uint32(len(b.Outs)-outs)
	t.Version, t.LockTime = binary.LittleEndian.Uint32(raw[off:]), binary.LittleEndian.Uint32(raw[p:])
	return p + 4, nil
}

// decodeIns appends the counted inputs at raw[p:] to Ins.
func (b *Block) decodeIns(p int) (next int, err error) {
	n, q := readSize(b.Raw, p)
	if q < 0 {
		return 0, b.fail(p, sizeWhy(q))
	}
	if n > (len(b.Raw)-q)/minIn {
		return 0, b.fail(p, "more inputs than bytes can hold")
	}
	first := len(b.Ins)
	if cap(b.Ins)-first < n {
		b.Ins = grow(b.Ins, n, len(b.Raw)/guessIn)
	}
	b.Ins = b.Ins[:first+n]
	if p, q = parseIns(b.Raw, q, b.Ins[first:]); q < 0 {
		return 0, b.fail(p, sizeWhy(q))
	}
	return p, nil
}

// How a list is read quickly. The next row's place depends on the length read in this one, so a list is a chain of
// loads that wait for each other, and that wait is most of what decoding costs. Two things shorten it. A row so far
// from raw's end that lengths of one byte cannot lead beyond it is checked once; and a length that equals a likely
// value is replaced by that value in a branch of its own, so that the processor, having predicted the branch, goes on
// to the next row before the load has come. All other rows go through parseIn, parseOut and parseStack.
const (
	reachIn    = minIn + compact2 - 1
	reachOut   = minOut + compact2 - 1
	reachStack = 1 + 1 + compact2 - 1 + 1 + keySize
	keySize    = 33 // a compressed public key
)

// parseIns fills ins from the inputs at raw[p:] and gives the position after them; a negative failure comes with the
// position of the input that failed. The likely length is zero: a native witness spend.
func parseIns(raw []byte, p int, ins []In) (next, failure int) {
	for i := range ins {
		if len(raw)-p >= reachIn {
			if size := int(raw[p+outpointSize]); size == 0 {
				ins[i].set(p, p+outpointSize+1, 0, binary.LittleEndian.Uint32(raw[p+outpointSize+1:]))
				p += minIn
				continue
			} else if size < compact2 {
				ins[i].set(p, p+outpointSize+1, size, binary.LittleEndian.Uint32(raw[p+outpointSize+1+size:]))
				p += minIn + size
				continue
			}
		}
		if next = parseIn(raw, p, &ins[i]); next < 0 {
			return p, next
		}
		p = next
	}
	return p, 0
}

// parseIn reads any one input at raw[p:]; a negative result is a failure.
func parseIn(raw []byte, p int, in *In) (next int) {
	size, script := readSize(raw, p+outpointSize)
	if script < 0 {
		return script
	}
	end := script + size
	if len(raw)-end < 4 {
		return sizeCut
	}
	in.set(p, script, size, binary.LittleEndian.Uint32(raw[end:]))
	return end + 4
}

// set fills a row that has no witness stack yet, field by field: a composite value is put together on the stack first,
// and loading it from there in wider pieces than it was stored in makes the processor wait.
func (in *In) set(prevout, script, size int, sequence uint32) {
	in.Prevout, in.Script.Off, in.Script.Len = uint32(prevout), uint32(script), uint32(size)
	in.Sequence, in.FirstItem, in.Items = sequence, 0, 0
}

// decodeOuts appends the counted outputs at raw[p:] to Outs.
func (b *Block) decodeOuts(p int) (next int, err error) {
	n, q := readSize(b.Raw, p)
	if q < 0 {
		return 0, b.fail(p, sizeWhy(q))
	}
	if n > (len(b.Raw)-q)/minOut {
		return 0, b.fail(p, "more outputs than bytes can hold")
	}
	first := len(b.Outs)
	if cap(b.Outs)-first < n {
		b.Outs = grow(b.Outs, n, len(b.Raw)/guessOut)
	}
	b.Outs = b.Outs[:first+n]
	if p, q = parseOuts(b.Raw, q, b.Outs[first:]); q < 0 {
		return 0, b.fail(p, sizeWhy(q))
	}
	return p, nil
}

// parseOuts is parseIns for outputs. The likely length is that of the output before.
func parseOuts(raw []byte, p int, outs []Out) (next, failure int) {
	last := 0
	for i := range outs {
		if len(raw)-p >= reachOut {
			if size := int(raw[p+valueSize]); size == last {
				outs[i] = Out{
					Value:  int64(binary.LittleEndian.Uint64(raw[p:])),
					Script: Span{uint32(p + minOut), uint32(last)},
				}
				p += minOut + last
				continue
			} else if size < compact2 {
				outs[i] = Out{
					Value:  int64(binary.LittleEndian.Uint64(raw[p:])),
					Script: Span{uint32(p + minOut), uint32(size)},
				}
				p += minOut + size
				last = size
				continue
			}
		}
		if next = parseOut(raw, p, &outs[i]); next < 0 {
			return p, next
		}
		p = next
	}
	return p, 0
}

// parseOut reads any one output at raw[p:]; a negative result is a failure.
func parseOut(raw []byte, p int, out *Out) (next int) {
	size, script := readSize(raw, p+valueSize)
	if script < 0 {
		return script
	}
	if size > len(raw)-script {
		return sizeCut
	}
	*out = Out{
		Value:  int64(binary.LittleEndian.Uint64(raw[p:])),
		Script: Span{uint32(script), uint32(size)},
	}
	return script + size
}

// decodeStacks appends the items of one witness stack for each of ins, from raw[p:] on, to Items.
func (b *Block) decodeStacks(p int, ins []In) (next int, err error) {
	if cap(b.Items) == 0 {
		b.Items = make([]Span, 0, len(b.Raw)/guessItem+1)
	}
	items, p, q := parseStacks(b.Raw, p, ins, b.Items)
	if q < 0 {
		return 0, b.fail(p, sizeWhy(q))
	}
	b.Items = items
	return p, nil
}

// parseStacks is parseIns for witness stacks; it appends to items. The likely stack is that of a key hash: a signature
// and a compressed key.
func parseStacks(raw []byte, p int, ins []In, items []Span) (all []Span, next, failure int) {
	for i := range ins {
		first := len(items)
		if len(raw)-p >= reachStack && cap(items)-first >= 2 {
			if size := int(raw[p+1]); raw[p] == 2 && size < compact2 && raw[p+2+size] == keySize {
				items = items[:first+2]
				items[first] = Span{uint32(p + 2), uint32(size)}
				items[first+1] = Span{uint32(p + 2 + size + 1), keySize}
				ins[i].FirstItem, ins[i].Items = uint32(first), 2
				p += 2 + size + 1 + keySize
				continue
			}
		}
		if items, next, failure = parseStack(raw, p, items); failure < 0 {
			return items, next, failure
		}
		ins[i].FirstItem, ins[i].Items = uint32(first), uint32(len(items)-first)
		p = next
	}
	return items, p, 0
}

// parseStack appends any one stack at raw[p:]. Items grow as they are read and not as they are announced: one byte of
// input can be an item, which takes eight here.
func parseStack(raw []byte, p int, items []Span) (all []Span, next, failure int) {
	n, q := readSize(raw, p)
	if q < 0 {
		return items, p, q
	}
	for p = q; n > 0; n-- {
		size, item := 0, p+1
		if item <= len(raw) && raw[p] < compact2 {
			size = int(raw[p])
		} else if size, item = readSize(raw, p); item < 0 {
			return items, p, item
		}
		if size > len(raw)-item {
			return items, p, sizeCut
		}
		items = append(items, Span{uint32(item), uint32(size)})
		p = item + size
	}
	return items, p, 0
}

// grow moves rows to a larger array with room for n more: guess rows at first, then double.
func grow[T any](rows []T, n, guess int) []T {
	larger := make([]T, len(rows), max(len(rows)+n, 2*cap(rows), guess))
	copy(larger, rows)
	return larger
}
