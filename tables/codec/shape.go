package codec

import (
	"crypto/sha256"

	"stele/chain"
)

// form is an input's shape and the parts that it is made of, as views of script and stack.
type form struct {
	shape   byte
	sig     []byte // signature; for m of n the m signatures, each behind its length
	key     []byte // key; for m of n their script; for a tapscript the script
	control []byte // control block of a tapscript
}

// Pushes of a nested program: what precedes the hash in the script (BIP141).
const (
	nestedWPKH = "\x16\x00\x14"
	nestedWSH  = "\x22\x00\x20"
)

// classify finds the shape of an input. It is the one place that decides it: the encoder stores what it says, and the
// decoder refuses a general shape where it says another. witness is a stack in its BIP144 form, or empty.
func classify(script, witness []byte) form {
	items, at, _ := chain.CompactSize(witness)
	if items == 0 {
		return classifyScript(script)
	}
	stack := witness[at:]
	if len(script) == 0 {
		return classifyStack(items, stack)
	}
	switch {
	case len(script) == 23 && string(script[:3]) == nestedWPKH && items == 2:
		if sig, key, form, ok := signatureAndKey(stack); ok && chain.Hash160(key) == [20]byte(script[3:]) {
			return formKeyed(placeNested, form, sig, key)
		}
	case len(script) == 35 && string(script[:3]) == nestedWSH:
		last := lastItem(items, stack)
		if packable(last) || sha256.Sum256(last) != [32]byte(script[3:]) {
			break
		}
		if sigs, ms, ok := multisig(stack, false); ok {
			return form{shape: shapeMultiNested, sig: sigs, key: ms}
		}
		return form{shape: shapeNestedStack}
	}
	return form{shape: shapeVerbatim}
}

func formKeyed(place, keyForm int, sig, key []byte) form {
	return form{shape: keyed(place, keyForm, sig[len(sig)-1] == hashAll), sig: sig, key: key}
}

// classifyScript finds the shape of an input without witness items. A direct push and an item below 76 bytes are spelt
// alike: length, bytes.
func classifyScript(script []byte) form {
	if len(script) < 1+minDER {
		return form{shape: shapeScript}
	}
	if script[0] == 0 {
		if sigs, ms, ok := multisig(script, true); ok {
			return form{shape: shapeMulti, sig: sigs, key: ms}
		}
		return form{shape: shapeScript}
	}
	if sig, key, form, ok := signatureAndKey(script); ok {
		return formKeyed(placeScript, form, sig, key)
	}
	if sig := script[1:]; int(script[0]) == len(sig) && packable(sig) {
		if sig[len(sig)-1] == hashAll {
			return form{shape: shapePK, sig: sig}
		}
		return form{shape: shapePKType, sig: sig}
	}
	return form{shape: shapeScript}
}

// classifyStack finds the shape of an input without script. stack follows the item count.
func classifyStack(items uint64, stack []byte) form {
	switch items {
	case 1:
		switch stack[0] {
		case packedSize:
			return form{shape: shapeTaproot, sig: stack[1:]}
		case packedSize + 1:
			return form{shape: shapeTaprootType, sig: stack[1:]}
		}
	case 2:
		if sig, key, form, ok := signatureAndKey(stack); ok {
			return formKeyed(placeStack, form, sig, key)
		}
	case 3:
		if f, ok := tapscript(stack); ok {
			return f
		}
	}
	if sigs, ms, ok := multisig(stack, false); ok {
		return form{shape: shapeMultiWSH, sig: sigs, key: ms}
	}
	return form{shape: shapeStack}
}

// signatureAndKey takes apart a string that is a signature and a key, each behind a byte with its length, and nothing
// else.
func signatureAndKey(b []byte) (sig, key []byte, keyForm int, ok bool) {
	n := int(b[0])
	if n < minDER || n > maxDER || len(b) < n+2+33 {
		return nil, nil, 0, false
	}
	sig, key = b[1:1+n], b[n+2:]
	if int(b[n+1]) != len(key) {
		return nil, nil, 0, false
	}
	switch {
	case len(key) == 33 && key[0]&^1 == 2:
		keyForm = int(key[0] & 1)
	case len(key) == 65 && key[0] == 4:
		keyForm = keyFull
	default:
		return nil, nil, 0, false
	}
	return sig, key, keyForm, packable(sig)
}

// multisig takes apart a script, or the items of a stack, that are nothing else than an empty item, m signatures of
// type ALL and a script of m of n compressed keys. The signatures and the first item stand alike in both; the script is
// pushed in one and an item of the other.
func multisig(b []byte, pushed bool) (sigs, ms []byte, ok bool) {
	if b[0] != 0 {
		return nil, nil, false
	}
	at, m := 1, 0
	for at < len(b) && b[at] >= minDER && b[at] <= maxDER && len(b)-at > int(b[at]) {
		sig := b[at+1 : at+1+int(b[at])]
		if sig[len(sig)-1] != hashAll || !packable(sig) {
			break
		}
		at += 1 + len(sig)
		m++
	}
	if m == 0 || m > 16 {
		return nil, nil, false
	}
	sigs = b[1:at]
	if pushed {
		ms, ok = lastPush(b[at:])
	} else {
		var size int
		ms, size, ok = bytesField(b[at:])
		ok = ok && at+size == len(b)
	}
	return sigs, ms, ok && multisigKeys(ms, m)
}

// lastPush returns the data of a script that is one push of 1 to 65,535 bytes by the shortest of the opcodes that carry
// a length.
func lastPush(b []byte) (data []byte, ok bool) {
	switch {
	case len(b) < 2:
		return nil, false
	case b[0] <= maxDirectPush:
		return b[1:], int(b[0]) == len(b)-1
	case b[0] == 0x4c:
		return b[2:], int(b[1]) == len(b)-2 && len(b)-2 > maxDirectPush
	case b[0] == 0x4d && len(b) > 3+0xff:
		return b[3:], int(b[1])|int(b[2])<<8 == len(b)-3
	}
	return nil, false
}

// multisigKeys reports whether ms is the script `m, keys, n, OP_CHECKMULTISIG` of compressed keys, m <= n <= 16.
func multisigKeys(ms []byte, m int) bool {
	n := (len(ms) - 3) / 34
	if n < m || n > 16 || len(ms) != 3+34*n || int(ms[0]) != 0x50+m || int(ms[1+34*n]) != 0x50+n || ms[2+34*n] != 0xae {
		return false
	}
	for at := 1; at < 1+34*n; at += 34 {
		if ms[at] != 33 || ms[at+1]&^1 != 2 {
			return false
		}
	}
	return true
}

// tapscript takes apart three items that are a Schnorr signature, a script and a control block (BIP341) of leaf version
// c0 and no more than 31 hashes.
func tapscript(stack []byte) (form, bool) {
	sig, n, ok := bytesField(stack)
	if !ok || len(sig) != packedSize && len(sig) != packedSize+1 {
		return form{}, false
	}
	script, m, ok := bytesField(stack[n:])
	if !ok {
		return form{}, false
	}
	control, _, ok := bytesField(stack[n+m:])
	if !ok || len(control) < 33 || (len(control)-33)%32 != 0 || len(control) > 33+31*32 || control[0]&^1 != 0xc0 {
		return form{}, false
	}
	return form{shape: shapeTapscript, sig: sig, key: script, control: control}, true
}

// lastItem returns the last of the items that stack holds.
func lastItem(items uint64, stack []byte) (item []byte) {
	for ; items > 0; items-- {
		var n int
		item, n, _ = bytesField(stack)
		stack = stack[n:]
	}
	return item
}
