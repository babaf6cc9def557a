package script

import (
	"encoding/hex"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

var order, _ = new(big.Int).SetString("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141", 16)

// TestOrder: the constants are the order and half of it.
func TestOrder(t *testing.T) {
	if n := new(big.Int).SetBytes(curveOrder[:]); n.Cmp(order) != 0 {
		t.Errorf("order %x", n)
	}
	if half := new(big.Int).SetBytes(halfOrder[:]); half.Cmp(new(big.Int).Rsh(order, 1)) != 0 {
		t.Errorf("half %x", half)
	}
}

// modelLax is ecdsa_signature_parse_der_lax as it walks: by position, with every check that it has. r and s are
// unreduced.
func modelLax(input []byte) (r, s []byte, ok bool) {
	pos, size := 0, len(input)
	if pos == size || input[pos] != 0x30 {
		return nil, nil, false
	}
	pos++
	if pos == size {
		return nil, nil, false
	}
	lenbyte := int(input[pos])
	pos++
	if lenbyte&0x80 != 0 {
		lenbyte -= 0x80
		if lenbyte > size-pos {
			return nil, nil, false
		}
		pos += lenbyte
	}
	var parts [2][]byte
	for i := range parts {
		if pos == size || input[pos] != 0x02 {
			return nil, nil, false
		}
		pos++
		if pos == size {
			return nil, nil, false
		}
		length := int(input[pos])
		pos++
		if length&0x80 != 0 {
			lenbyte := length - 0x80
			if lenbyte > size-pos {
				return nil, nil, false
			}
			for lenbyte > 0 && input[pos] == 0 {
				pos++
				lenbyte--
			}
			if lenbyte >= 4 {
				return nil, nil, false
			}
			length = 0
			for ; lenbyte > 0; lenbyte-- {
				length = length<<8 + int(input[pos])
				pos++
			}
		}
		if length > size-pos {
			return nil, nil, false
		}
		parts[i] = input[pos : pos+length]
		pos += length
	}
	return parts[0], parts[1], true
}

// checkLax compares parseDERLax and isLowS with the model and big numbers.
func checkLax(t interface{ Fatalf(string, ...any) }, sig []byte) {
	var rs, want [64]byte
	for i := range rs {
		rs[i] = 0xee // what an earlier signature left
	}
	got := parseDERLax(sig, &rs)
	rBytes, sBytes, ok := modelLax(sig)
	r, s := new(big.Int).SetBytes(rBytes), new(big.Int).SetBytes(sBytes)
	low := true
	if r.Cmp(order) < 0 && s.Cmp(order) < 0 {
		if s.Cmp(new(big.Int).Rsh(order, 1)) > 0 {
			s.Sub(order, s)
			low = false
		}
		r.FillBytes(want[:32])
		s.FillBytes(want[32:])
	}
	if got != ok || ok && rs != want {
		t.Fatalf("%x: %v %x, want %v %x", sig, got, rs, ok, want)
	}
	if got := isLowS(append(sig[:len(sig):len(sig)], 1)); got != (ok && low) {
		t.Fatalf("%x: low is %v, want %v", sig, got, ok && low)
	}
}

// modelStrict is IsValidSignatureEncoding.
func modelStrict(sig []byte) bool {
	if len(sig) < 9 || len(sig) > 73 || sig[0] != 0x30 || int(sig[1]) != len(sig)-3 {
		return false
	}
	lenR := int(sig[3])
	if 5+lenR >= len(sig) {
		return false
	}
	lenS := int(sig[5+lenR])
	if lenR+lenS+7 != len(sig) || sig[2] != 0x02 || lenR == 0 || sig[4]&0x80 != 0 {
		return false
	}
	if lenR > 1 && sig[4] == 0 && sig[5]&0x80 == 0 {
		return false
	}
	if sig[lenR+4] != 0x02 || lenS == 0 || sig[lenR+6]&0x80 != 0 {
		return false
	}
	return lenS <= 1 || sig[lenR+6] != 0 || sig[lenR+7]&0x80 != 0
}

// drawSignature draws what looks like a signature, well formed or in one of the ways that occur not quite.
func drawSignature(t *rapid.T) []byte {
	length := func(dst []byte, n int) []byte {
		switch rapid.IntRange(0, 9).Draw(t, "length form") {
		case 0:
			return append(dst, 0x81, byte(n))
		case 1:
			return append(dst, 0x84, 0, 0, byte(n>>8), byte(n))
		case 2:
			return append(dst, 0x85, 1, 0, 0, 0, byte(n)) // too long
		case 3:
			return append(dst, byte(n)+1)
		}
		return append(dst, byte(n))
	}
	edges := [][]byte{{}, {0}, {1}, {0x7f}, {0x80}, {0, 0x80}, {0, 0x7f}, curveOrder[:], halfOrder[:],
		append([]byte{0}, curveOrder[:]...), new(big.Int).Sub(order, big.NewInt(1)).Bytes(),
		new(big.Int).Add(new(big.Int).Rsh(order, 1), big.NewInt(1)).Bytes(), make([]byte, 40)}
	integer := rapid.OneOf(rapid.SampledFrom(edges), rapid.SliceOfN(rapid.Byte(), 30, 34))
	var body []byte
	for _, name := range []string{"r", "s"} {
		digits := integer.Draw(t, name)
		body = append(length(append(body, 2), len(digits)), digits...)
	}
	sig := append(length([]byte{0x30}, len(body)), body...)
	sig = append(sig, rapid.SliceOfN(rapid.Byte(), 0, 2).Draw(t, "more")...)
	if rapid.IntRange(0, 3).Draw(t, "spoil") == 0 {
		sig[rapid.IntRange(0, len(sig)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
	}
	return sig[:len(sig)-rapid.SampledFrom([]int{0, 0, 0, 1, 2, len(sig)}).Draw(t, "cut")]
}

// TestTrap23DERModel: lax and strict parsing against walks written as Core's, over strange signatures.
func TestTrap23DERModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sig := drawSignature(t)
		checkLax(t, sig)
		for _, typed := range [][]byte{sig, append(sig[:len(sig):len(sig)], 1)} {
			if got, want := isStrictDER(typed), modelStrict(typed); got != want {
				t.Fatalf("%x: strict is %v, want %v", typed, got, want)
			}
		}
	})
}

// TestTrap23LaxForms: forms that mainnet had before BIP66, each with r = 1 and s = 2.
func TestTrap23LaxForms(t *testing.T) {
	for _, x := range []struct {
		name, sig string
		lax       bool
	}{
		{"strict", "3006020101020102", true},
		{"padded r", "3008020300000102" + "0102", true},
		{"wrong length of the sequence", "30ff020101020102", false}, // ff: 127 bytes of length
		{"short length of the sequence", "3000020101020102", true},
		{"long length of the sequence", "308300000602010102" + "0102", true},
		{"long length of r", "30080281010102" + "0102", true},
		{"padded long length of r", "300c028600000000000101" + "020102", true},
		{"four digits of length", "300b0284010000010102" + "0102", false},
		{"bytes behind", "3006020101020102" + "0000", true},
		{"no s", "3003020101", false},
		{"cut", "30060201010201", false},
		{"other tag", "3006030101020102", false},
		{"empty", "", false},
		{"two bytes", "3000", false},
	} {
		sig, err := hex.DecodeString(x.sig)
		if err != nil {
			t.Fatal(err)
		}
		var rs [64]byte
		if got := parseDERLax(sig, &rs); got != x.lax || got && (rs[31] != 1 || rs[63] != 2) {
			t.Errorf("%s: %v %x, want %v", x.name, got, rs, x.lax)
		}
		checkLax(t, sig)
		if got, want := isStrictDER(append(sig, 1)), x.name == "strict"; got != want {
			t.Errorf("%s: strict is %v", x.name, got)
		}
	}
}

// FuzzDER: lax and strict against the models over any bytes.
func FuzzDER(f *testing.F) {
	for _, seed := range []string{"", "30", "3006020101020102", "308300000602010102" + "0102", "300c028600000000000101020102"} {
		sig, _ := hex.DecodeString(seed)
		f.Add(sig)
	}
	f.Fuzz(func(t *testing.T, sig []byte) {
		checkLax(t, sig)
		if got, want := isStrictDER(sig), modelStrict(sig); got != want {
			t.Fatalf("%x: strict is %v, want %v", sig, got, want)
		}
		if isStrictDER(sig) && !parseDERLax(sig[:len(sig)-1], new([64]byte)) {
			t.Fatalf("%x: strict, but not lax", sig)
		}
	})
}

// TestHashTypeOfSignature: STRICTENC knows six.
func TestHashTypeOfSignature(t *testing.T) {
	count := 0
	for b := range 256 {
		if validHashType([]byte{0x30, byte(b)}) {
			count++
			if base := b & 0x7f; base < 1 || base > 3 {
				t.Errorf("%x passes", b)
			}
		}
	}
	if count != 6 || validHashType(nil) {
		t.Errorf("%d types pass, want 6; none: %v", count, validHashType(nil))
	}
}

// TestKeyForms: every first byte with every length near the right ones.
func TestKeyForms(t *testing.T) {
	if keyValid(nil) || compressed(nil) || compressedOrUncompressed(nil) {
		t.Error("no key passes")
	}
	for first := range 256 {
		for _, size := range []int{1, 32, 33, 34, 64, 65, 66, 255} {
			key := make([]byte, size)
			key[0] = byte(first)
			short := size == 33 && (first == 2 || first == 3)
			long := size == 65 && first == 4
			hybrid := size == 65 && (first == 6 || first == 7)
			if got := keyValid(key); got != (short || long || hybrid) {
				t.Errorf("%x, %d bytes: valid is %v", first, size, got)
			}
			if got := compressed(key); got != short {
				t.Errorf("%x, %d bytes: compressed is %v", first, size, got)
			}
			if got := compressedOrUncompressed(key); got != (short || long) {
				t.Errorf("%x, %d bytes: compressed or uncompressed is %v", first, size, got)
			}
		}
	}
}
