package codec

import (
	"crypto/sha256"
	"encoding/binary"

	"stele/chain"
)

// run is an input taken apart, its parts bounded by its kind and its length fields.
type run struct {
	shape    byte
	sequence uint32
	body     []byte // what the shape stores
}

// parse reads the input at the start of b and its length. It finds every misspelling that shows without the script and
// the stack being rebuilt.
func parse(b []byte) (r run, n int, ok bool) {
	n, ok = SkipInput(b)
	if !ok {
		return run{}, 0, false
	}
	k := &inputKinds[b[0]]
	r = run{shape: k.shape, sequence: sequences[k.code], body: b[k.body:n:n]}
	if k.code == seqExplicit {
		r.sequence = binary.LittleEndian.Uint32(b[1:])
		ok = seqCode(r.sequence) == seqExplicit
	}
	return r, n, ok && r.sound()
}

// sound reports whether the stored bytes are ones that the encoder writes for this shape.
func (r *run) sound() bool {
	switch r.shape {
	case shapeStack:
		_, ok := itemsSound(r.body)
		return ok
	case shapeNestedStack:
		last, ok := itemsSound(r.body)
		return ok && last != nil
	case shapeMulti, shapeMultiWSH, shapeMultiNested:
		return multiSound(r.body)
	case shapeTapscript:
		return tapSound(r.body)
	case shapeVerbatim, shapeScript, shapeTaproot, shapeTaprootType:
		return true
	}
	return derSize(r.body) >= minDER && (r.hashAll() || r.body[packedSize] != hashAll)
}

// hashAll reports whether the signature of a shape with one is of type ALL by its kind.
func (r *run) hashAll() bool {
	if r.shape < shapeKeyed {
		return r.shape == shapePK
	}
	_, _, all := keyedParts(r.shape)
	return all
}

// single returns the parts of a shape with one signature: its 64 bytes, its type, and the key's bytes but the first.
func (r *run) single() (packed []byte, hashType byte, key []byte) {
	if r.hashAll() {
		return r.body[:packedSize], hashAll, r.body[packedSize:]
	}
	return r.body[:packedSize], r.body[packedSize], r.body[packedSize+1:]
}

// keyHead is the first byte of a key, by its form.
var keyHead = [keyForms]byte{keyEven: 2, keyOdd: 3, keyFull: 4}

// appendKeyed appends a signature and its key, each behind its length: as pushes, or as items.
func (r *run) appendKeyed(dst []byte) []byte {
	packed, hashType, key := r.single()
	_, form, _ := keyedParts(r.shape)
	dst = appendDER(dst, packed, hashType)
	dst = append(dst, byte(1+len(key)), keyHead[form])
	return append(dst, key...)
}

func (r *run) keyedLen() int {
	packed, _, key := r.single()
	return 1 + derSize(packed) + 2 + len(key)
}

// place says where a shape's signatures stand.
func (r *run) place() int {
	switch {
	case r.shape >= shapeKeyed:
		place, _, _ := keyedParts(r.shape)
		return place
	case r.shape == shapeNestedStack || r.shape == shapeMultiNested:
		return placeNested
	case r.shape == shapeScript || r.shape == shapeMulti || r.shape == shapePK || r.shape == shapePKType:
		return placeScript
	}
	return placeStack
}

// hasItems reports whether the input has witness items.
func (r *run) hasItems() bool { return r.place() != placeScript }

// scriptLen returns the length of the input's script.
func (r *run) scriptLen() int {
	switch r.shape {
	case shapeVerbatim, shapeScript:
		script, _, _ := bytesField(r.body)
		return len(script)
	case shapeMulti:
		sigs, ms := multiLen(r.body)
		return sigs + pushLen(ms) + ms
	case shapePK, shapePKType:
		return 1 + derSize(r.body)
	case shapeNestedStack, shapeMultiNested:
		return len(nestedWSH) + 32
	}
	switch {
	case r.shape < shapeKeyed || r.place() == placeStack:
		return 0
	case r.place() == placeNested:
		return len(nestedWPKH) + 20
	}
	return r.keyedLen()
}

// appendScript appends the input's script.
func (r *run) appendScript(dst []byte) []byte {
	switch r.shape {
	case shapeVerbatim, shapeScript:
		script, _, _ := bytesField(r.body)
		return append(dst, script...)
	case shapeMulti:
		dst = appendMultiSigs(dst, r.body)
		_, ms := multiLen(r.body)
		return appendMultiKeys(appendPush(dst, ms), r.body)
	case shapePK, shapePKType:
		packed, hashType, _ := r.single()
		return appendDER(dst, packed, hashType)
	case shapeNestedStack, shapeMultiNested:
		return r.appendNestedWSH(dst)
	}
	switch {
	case r.shape < shapeKeyed || r.place() == placeStack:
		return dst
	case r.place() == placeNested:
		_, _, key := r.single()
		_, form, _ := keyedParts(r.shape)
		var whole [65]byte
		whole[0] = keyHead[form]
		program := chain.Hash160(whole[:1+copy(whole[1:], key)])
		return append(append(dst, nestedWPKH...), program[:]...)
	}
	return r.appendKeyed(dst)
}

// appendNestedWSH appends the push of a P2WSH program, which the last item implies.
func (r *run) appendNestedWSH(dst []byte) []byte {
	var program [32]byte
	if r.shape == shapeNestedStack {
		last, _ := itemsSound(r.body)
		program = sha256.Sum256(last)
	} else {
		var ms [3 + 34*16]byte
		program = sha256.Sum256(appendMultiKeys(ms[:0], r.body))
	}
	return append(append(dst, nestedWSH...), program[:]...)
}

// pushLen returns the bytes that precede n bytes of pushed data.
func pushLen(n int) int {
	switch {
	case n <= maxDirectPush:
		return 1
	case n <= 0xff:
		return 2
	}
	return 3
}

func appendPush(dst []byte, n int) []byte {
	switch pushLen(n) {
	case 1:
		return append(dst, byte(n))
	case 2:
		return append(dst, 0x4c, byte(n))
	}
	return append(dst, 0x4d, byte(n), byte(n>>8))
}

// stackLen returns the length of the input's stack in its BIP144 form; 1 where there are no items.
func (r *run) stackLen() int {
	switch r.shape {
	case shapeVerbatim:
		_, n, _ := bytesField(r.body)
		return len(r.body) - n
	case shapeStack, shapeNestedStack:
		return stackLen(r.body)
	case shapeMultiWSH, shapeMultiNested:
		sigs, ms := multiLen(r.body)
		return 1 + sigs + chain.CompactSizeLen(uint64(ms)) + ms
	case shapeTaproot, shapeTaprootType:
		return 2 + len(r.body)
	case shapeTapscript:
		return tapLen(r.body)
	}
	if r.hasItems() {
		return 1 + r.keyedLen()
	}
	return 1
}

// appendStack appends the input's stack in its BIP144 form; a zero where there are no items.
func (r *run) appendStack(dst []byte) []byte {
	switch r.shape {
	case shapeVerbatim:
		_, n, _ := bytesField(r.body)
		return append(dst, r.body[n:]...)
	case shapeStack, shapeNestedStack:
		return appendStack(dst, r.body)
	case shapeMultiWSH, shapeMultiNested:
		m, _ := multiParts(r.body[0])
		_, ms := multiLen(r.body)
		dst = appendMultiSigs(append(dst, byte(m+2)), r.body)
		return appendMultiKeys(chain.AppendCompactSize(dst, uint64(ms)), r.body)
	case shapeTaproot, shapeTaprootType:
		return append(append(dst, 1, byte(len(r.body))), r.body...)
	case shapeTapscript:
		return appendTapStack(dst, r.body)
	}
	if r.hasItems() {
		return r.appendKeyed(append(dst, 2))
	}
	return append(dst, 0)
}

// Decode reads the input at the start of b, of a transaction with or without witness, and its length n. It reports
// false for bytes that AppendInput cannot have made. Script and stack stay valid until the next Decode into the same
// Input.
func (in *Input) Decode(b []byte, witness bool) (n int, ok bool) {
	r, n, ok := parse(b)
	if !ok || r.hasItems() && !witness {
		return 0, false
	}
	in.Sequence, in.Witness = r.sequence, nil
	if r.shape == shapeVerbatim || r.shape == shapeScript {
		script, size, _ := bytesField(r.body)
		in.Script = script
		switch {
		case r.shape == shapeVerbatim:
			in.Witness = r.body[size:]
		case witness:
			in.buf = append(in.buf[:0], 0)
			in.Witness = in.buf
		}
	} else {
		in.buf = r.appendScript(in.buf[:0])
		split := len(in.buf)
		if witness {
			in.buf = r.appendStack(in.buf)
		}
		in.Script, in.Witness = in.buf[:split:split], in.buf[split:]
	}
	// The other shapes are exact: what they stand for is never classified as anything else.
	if r.shape <= shapeNestedStack && classify(in.Script, in.Witness).shape != r.shape {
		return 0, false
	}
	return n, true
}

// AppendWireInput appends what follows the outpoint of the input at the start of b on the wire: the script behind its
// CompactSize, and the sequence number. n is the input's length in the slab. It reports false, and leaves dst as it
// was, for bytes that name no input of a transaction with or without witness; a misspelling that only classifying what
// they stand for would show is left to Decode.
func AppendWireInput(dst, b []byte, witness bool) (out []byte, n int, ok bool) {
	r, n, ok := parse(b)
	if !ok || r.hasItems() && !witness {
		return dst, 0, false
	}
	dst = chain.AppendCompactSize(dst, uint64(r.scriptLen()))
	dst = r.appendScript(dst)
	return binary.LittleEndian.AppendUint32(dst, r.sequence), n, true
}

// AppendWireStack appends the witness stack of the input at the start of b, in its BIP144 form. For n and ok see
// AppendWireInput.
func AppendWireStack(dst, b []byte) (out []byte, n int, ok bool) {
	r, n, ok := parse(b)
	if !ok {
		return dst, 0, false
	}
	return r.appendStack(dst), n, true
}

// InputSize returns the lengths of the script and of the stack, in its BIP144 form, of the input at the start of b, and
// its length n in the slab, without rebuilding them. The stack of a transaction without witness counts as nothing.
func InputSize(b []byte, witness bool) (script, stack, n int, ok bool) {
	r, n, ok := parse(b)
	if !ok || r.hasItems() && !witness {
		return 0, 0, 0, false
	}
	if witness {
		stack = r.stackLen()
	}
	return r.scriptLen(), stack, n, true
}
