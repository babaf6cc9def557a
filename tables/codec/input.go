package codec

import (
	"encoding/binary"

	"stele/chain"
)

// Codes of a sequence number. An input's kind is shape*seqCodes + code.
const (
	seqExplicit = iota // 4 bytes after the kind
	seqFinal           // ffffffff
	seqLocked          // fffffffe: the lock time counts (BIP65)
	seqReplace         // fffffffd: may be replaced (BIP125)
	seqZero
	seqCodes
)

// Shapes of an input: what its script and its witness stack are made of. Nothing is stored of what a shape implies.
const (
	shapeVerbatim    = iota // script, and a stack of items
	shapeScript             // script, and no items; coinbases too
	shapeStack              // no script; items, signatures packed
	shapeNestedStack        // the same, and the script pushes 00 20 SHA256(last item)
	shapeMulti              // P2SH m of n: 00, m signatures, their script
	shapeMultiWSH           // the same as items
	shapeMultiNested        // the same as items, and the script pushes 00 20 SHA256(last item)
	shapeTaproot            // P2TR by key: one item of 64 bytes
	shapeTaprootType        // one item of 65 bytes, a hash type the last
	shapeTapscript          // P2TR by script: signature, script, control block
	shapePK                 // P2PK: the script pushes a signature
	shapePKType             // the same, and not of type ALL
	shapeKeyed              // the first of 18: a signature and its key, by place, hash type and form of the key
	shapes           = shapeKeyed + keyPlaces*2*keyForms
)

// Where a signature and its key stand, and how the key begins.
const (
	placeScript = iota // P2PKH: both pushed
	placeStack         // P2WPKH: both items
	placeNested        // both items, and the script pushes 00 14 HASH160(key)
	keyPlaces

	keyEven  = 0 // 02, and x follows
	keyOdd   = 1 // 03
	keyFull  = 2 // 04, and x and y follow
	keyForms = 3
)

// keyed returns the shape of a signature and its key.
func keyed(place, form int, all bool) byte {
	half := 1
	if all {
		half = 0
	}
	return byte(shapeKeyed + (place*2+half)*keyForms + form)
}

// keyedParts is the inverse of keyed.
func keyedParts(shape byte) (place, form int, all bool) {
	n := int(shape) - shapeKeyed
	return n / (2 * keyForms), n % keyForms, n/keyForms%2 == 0
}

// sequences gives the number of each code but seqExplicit.
var sequences = [seqCodes]uint32{seqFinal: ^uint32(0), seqLocked: ^uint32(1), seqReplace: ^uint32(2), seqZero: 0}

func seqCode(sequence uint32) byte {
	switch sequence {
	case ^uint32(0):
		return seqFinal
	case ^uint32(1):
		return seqLocked
	case ^uint32(2):
		return seqReplace
	case 0:
		return seqZero
	}
	return seqExplicit
}

// inputKind is what a kind byte says about its input.
type inputKind struct {
	shape uint8
	code  uint8
	body  uint8 // offset of what the shape stores: kind and sequence number precede it
	size  uint8 // bytes of the whole input where the kind fixes them, else zero
}

// inputKinds has an entry for every kind in use, 4 bytes each.
var inputKinds = func() (all [shapes * seqCodes]inputKind) {
	for i := range all {
		k := inputKind{shape: uint8(i / seqCodes), code: uint8(i % seqCodes), body: 1}
		if k.code == seqExplicit {
			k.body = 5
		}
		if size := shapeSize(k.shape); size != 0 {
			k.size = k.body + size
		}
		all[i] = k
	}
	return all
}()

// shapeSize returns how many bytes a shape stores, or zero when that is told by the bytes.
func shapeSize(shape byte) uint8 {
	switch {
	case shape >= shapeKeyed:
		_, form, all := keyedParts(shape)
		size := uint8(packedSize + 32)
		if form == keyFull {
			size += 32
		}
		if !all {
			size++
		}
		return size
	case shape == shapeTaproot || shape == shapePK:
		return packedSize
	case shape == shapeTaprootType || shape == shapePKType:
		return packedSize + 1
	}
	return 0
}

// Input is one decoded input. Script and Witness are views of the slab or of the buffer that they were rebuilt in:
// Witness is the stack in its BIP144 form, the item count included, empty when the transaction has no witness.
type Input struct {
	Sequence uint32
	Script   []byte
	Witness  []byte
	buf      []byte // kept from one Decode to the next
}

// AppendInput appends the slab form of an input. witness is the stack in its BIP144 form, or empty in a transaction
// without witness.
func AppendInput(dst []byte, sequence uint32, script, witness []byte) []byte {
	f := classify(script, witness)
	code := seqCode(sequence)
	dst = append(dst, f.shape*seqCodes+code)
	if code == seqExplicit {
		dst = binary.LittleEndian.AppendUint32(dst, sequence)
	}
	switch f.shape {
	case shapeVerbatim, shapeScript:
		dst = chain.AppendCompactSize(dst, uint64(len(script)))
		dst = append(dst, script...)
		if f.shape == shapeVerbatim {
			dst = append(dst, witness...)
		}
		return dst
	case shapeStack, shapeNestedStack:
		return appendItems(dst, witness)
	case shapeMulti, shapeMultiWSH, shapeMultiNested:
		return appendMulti(dst, f.sig, f.key)
	case shapeTaproot, shapeTaprootType:
		return append(dst, f.sig...)
	case shapeTapscript:
		return appendTapscript(dst, f.sig, f.key, f.control)
	}
	dst = appendPacked(dst, f.sig)
	if hashType := f.sig[len(f.sig)-1]; hashType != hashAll {
		dst = append(dst, hashType)
	}
	if f.shape >= shapeKeyed {
		dst = append(dst, f.key[1:]...)
	}
	return dst
}

// SkipInput returns the length of the input at the start of b: for the usual shapes from the kind alone, else from the
// length fields behind it. It accepts more than Decode does.
func SkipInput(b []byte) (n int, ok bool) {
	if len(b) == 0 || int(b[0]) >= len(inputKinds) {
		return 0, false
	}
	k := &inputKinds[b[0]]
	if k.size != 0 {
		return int(k.size), int(k.size) <= len(b)
	}
	if len(b) < int(k.body)+1 {
		return 0, false
	}
	n, ok = bodySize(k.shape, b[k.body:])
	return int(k.body) + n, ok
}

// bodySize returns the length of what a shape without a fixed size stores at the start of b, which is not empty.
func bodySize(shape byte, b []byte) (n int, ok bool) {
	switch shape {
	case shapeScript:
		_, n, ok = bytesField(b)
		return n, ok
	case shapeVerbatim:
		_, n, ok = bytesField(b)
		if !ok {
			return 0, false
		}
		size, ok := stackSize(b[n:])
		return n + size, ok
	case shapeStack, shapeNestedStack:
		return itemsSize(b)
	case shapeTapscript:
		return tapscriptSize(b)
	}
	n = multiSize(b[0])
	return n, n <= len(b)
}

// stackSize returns the bytes of the witness stack at the start of b.
func stackSize(b []byte) (n int, ok bool) {
	items, n, ok := chain.CompactSize(b)
	if !ok {
		return 0, false
	}
	for ; items > 0; items-- {
		_, size, ok := bytesField(b[n:])
		if !ok {
			return 0, false
		}
		n += size
	}
	return n, true
}
