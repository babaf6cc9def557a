package codec

import "stele/chain"

// What the shapes with parts of variable length store, and how it is sized, checked and written back.

// packedItem is the tag of a packed signature among items. As a CompactSize it would begin a length of 4 GiB or more,
// which no item has.
const (
	packedItem     = 0xff
	packedItemSize = 1 + packedSize + 1 // tag, r and s, hash type
)

// appendItems appends a witness stack: its count, and every item as on the wire or, where it can be packed, packed.
func appendItems(dst, witness []byte) []byte {
	items, at, _ := chain.CompactSize(witness)
	dst = append(dst, witness[:at]...)
	for ; items > 0; items-- {
		item, n, _ := bytesField(witness[at:])
		if packable(item) {
			dst = append(dst, packedItem)
			dst = appendPacked(dst, item)
			dst = append(dst, item[len(item)-1])
		} else {
			dst = append(dst, witness[at:at+n]...)
		}
		at += n
	}
	return dst
}

// nextItem returns the size of the stored item at the start of b, and whether it is a packed signature.
func nextItem(b []byte) (size int, packed, ok bool) {
	if len(b) > 0 && b[0] == packedItem {
		return packedItemSize, true, len(b) >= packedItemSize
	}
	_, size, ok = bytesField(b)
	return size, false, ok
}

func itemsSize(b []byte) (n int, ok bool) {
	items, n, ok := chain.CompactSize(b)
	for ; ok && items > 0; items-- {
		var size int
		size, _, ok = nextItem(b[n:])
		n += size
	}
	return n, ok
}

// itemsSound reports whether the encoder packs just these items, and returns the last of them, nil for a packed one. b
// has been sized.
func itemsSound(b []byte) (last []byte, ok bool) {
	items, at, _ := chain.CompactSize(b)
	for ; items > 0; items-- {
		size, packed, _ := nextItem(b[at:])
		last = nil
		if packed {
			if derSize(b[at+1:]) < minDER {
				return nil, false
			}
		} else if last, _, _ = bytesField(b[at:]); packable(last) {
			return nil, false
		}
		at += size
	}
	return last, true
}

// stackLen returns the length of the stack that stored items stand for.
func stackLen(b []byte) int {
	items, at, _ := chain.CompactSize(b)
	n := at
	for ; items > 0; items-- {
		size, packed, _ := nextItem(b[at:])
		if packed {
			n += 1 + derSize(b[at+1:])
		} else {
			n += size
		}
		at += size
	}
	return n
}

// appendStack appends the stack that stored items stand for.
func appendStack(dst, b []byte) []byte {
	items, at, _ := chain.CompactSize(b)
	dst = append(dst, b[:at]...)
	for ; items > 0; items-- {
		size, packed, _ := nextItem(b[at:])
		if packed {
			dst = appendDER(dst, b[at+1:at+1+packedSize], b[at+size-1])
		} else {
			dst = append(dst, b[at:at+size]...)
		}
		at += size
	}
	return dst
}

// m of n: (m-1)<<4 + n-1 | m × signature 64 | (n+7)/8 bytes, bit i: key i is odd | n × x 32

func multiParts(counts byte) (m, n int) { return int(counts>>4) + 1, int(counts&15) + 1 }

func multiSize(counts byte) int {
	m, n := multiParts(counts)
	return 1 + packedSize*m + (n+7)/8 + 32*n
}

func appendMulti(dst, sigs, ms []byte) []byte {
	n := (len(ms) - 3) / 34
	dst = append(dst, (ms[0]-0x51)<<4|byte(n-1))
	for len(sigs) > 0 {
		size := int(sigs[0])
		dst = appendPacked(dst, sigs[1:1+size])
		sigs = sigs[1+size:]
	}
	var odd uint16
	for i := range n {
		odd |= uint16(ms[2+34*i]&1) << i
	}
	dst = append(dst, byte(odd))
	if n > 8 {
		dst = append(dst, byte(odd>>8))
	}
	for i := range n {
		dst = append(dst, ms[3+34*i:35+34*i]...)
	}
	return dst
}

func multiSound(b []byte) bool {
	m, n := multiParts(b[0])
	if m > n {
		return false
	}
	for i := range m {
		if derSize(b[1+packedSize*i:]) < minDER {
			return false
		}
	}
	bits := b[1+packedSize*m:]
	return n%8 == 0 || bits[(n-1)/8]>>(n%8) == 0
}

// multiLen returns the lengths of the item 00 and the signatures, each behind its length, and of the script.
func multiLen(b []byte) (sigs, ms int) {
	m, n := multiParts(b[0])
	sigs = 1
	for i := range m {
		sigs += 1 + derSize(b[1+packedSize*i:])
	}
	return sigs, 3 + 34*n
}

// appendMultiSigs appends the empty item and the signatures, in the form that pushes and items share.
func appendMultiSigs(dst, b []byte) []byte {
	m, _ := multiParts(b[0])
	dst = append(dst, 0)
	for i := range m {
		dst = appendDER(dst, b[1+packedSize*i:1+packedSize*(i+1)], hashAll)
	}
	return dst
}

// appendMultiKeys appends the script of m of n.
func appendMultiKeys(dst, b []byte) []byte {
	m, n := multiParts(b[0])
	odd := b[1+packedSize*m:]
	keys := odd[(n+7)/8:]
	dst = append(dst, byte(0x50+m))
	for i := range n {
		dst = append(dst, 33, 2|odd[i/8]>>(i%8)&1)
		dst = append(dst, keys[32*i:32*i+32]...)
	}
	return append(dst, byte(0x50+n), 0xae)
}

// Tapscript: flags | signature 64 or 65 | CompactSize n | script n [| internal key 32] | hash 32 × flags>>3
const (
	tapOdd  = 1 << 0 // the control block starts with c1, else c0
	tapKey  = 1 << 1 // the internal key is not stored: the script starts by pushing it, as inscriptions do
	tapType = 1 << 2 // the signature has 65 bytes
	tapPath = 3      // shift of the number of hashes in the control block
)

// pushesKey reports whether a script starts with a push of an internal key.
func pushesKey(script, key []byte) bool {
	return len(script) >= 33 && script[0] == 32 && string(script[1:33]) == string(key)
}

func appendTapscript(dst, sig, script, control []byte) []byte {
	hashes := (len(control) - 33) / 32
	flags := control[0]&tapOdd | byte(hashes)<<tapPath
	path := control[1:]
	if pushesKey(script, control[1:33]) {
		flags |= tapKey
		path = control[33:]
	}
	if len(sig) == packedSize+1 {
		flags |= tapType
	}
	dst = append(dst, flags)
	dst = append(dst, sig...)
	dst = chain.AppendCompactSize(dst, uint64(len(script)))
	dst = append(dst, script...)
	return append(dst, path...)
}

// tapPathSize returns the stored bytes behind a tapscript.
func tapPathSize(flags byte) int {
	n := 32 * int(flags>>tapPath)
	if flags&tapKey == 0 {
		n += 32
	}
	return n
}

func tapSigSize(flags byte) int { return packedSize + int(flags/tapType&1) }

func tapscriptSize(b []byte) (n int, ok bool) {
	n = 1 + tapSigSize(b[0])
	if len(b) < n {
		return 0, false
	}
	_, size, ok := bytesField(b[n:])
	n += size + tapPathSize(b[0])
	return n, ok && n <= len(b)
}

// tapParts takes apart what a tapscript stores; path is the internal key, unless the script has it, and the hashes.
func tapParts(b []byte) (sig, sized, script, path []byte) {
	at := 1 + tapSigSize(b[0])
	script, size, _ := bytesField(b[at:])
	return b[1:at], b[at : at+size], script, b[at+size:]
}

func tapSound(b []byte) bool {
	_, _, script, path := tapParts(b)
	if b[0]&tapKey != 0 {
		return len(script) >= 33 && script[0] == 32
	}
	return !pushesKey(script, path[:32])
}

func tapLen(b []byte) int {
	sig, sized, _, _ := tapParts(b)
	control := 33 + 32*int(b[0]>>tapPath)
	return 1 + 1 + len(sig) + len(sized) + chain.CompactSizeLen(uint64(control)) + control
}

func appendTapStack(dst, b []byte) []byte {
	sig, sized, script, path := tapParts(b)
	dst = append(dst, 3, byte(len(sig)))
	dst = append(dst, sig...)
	dst = append(dst, sized...)
	dst = chain.AppendCompactSize(dst, uint64(33+32*int(b[0]>>tapPath)))
	dst = append(dst, 0xc0|b[0]&tapOdd)
	if b[0]&tapKey != 0 {
		dst = append(dst, script[1:33]...)
	}
	return append(dst, path...)
}
