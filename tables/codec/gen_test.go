package codec

import (
	"crypto/sha256"

	"pgregory.net/rapid"

	"stele/chain"
)

// What follows draws inputs and outputs near the shapes: most of them fit one, many miss it by a byte.

func drawBytes(t *rapid.T, n int, label string) []byte {
	return rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, label)
}

// drawNumber draws the big-endian bytes of a DER integer, often with leading zeros, a top bit, or both.
func drawNumber(t *rapid.T) []byte {
	v := drawBytes(t, 32, "number")
	for i := range rapid.SampledFrom([]int{0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 31, 32}).Draw(t, "zeros") {
		v[i] = 0
	}
	for len(v) > 1 && v[0] == 0 {
		v = v[1:]
	}
	if v[0] >= 0x80 {
		v = append([]byte{0}, v...)
	}
	return v
}

// drawDER draws a strict signature with its hash type.
func drawDER(t *rapid.T, hashTypes ...byte) []byte {
	r, s := drawNumber(t), drawNumber(t)
	sig := []byte{0x30, byte(4 + len(r) + len(s)), 2, byte(len(r))}
	sig = append(append(sig, r...), 2, byte(len(s)))
	sig = append(sig, s...)
	return append(sig, rapid.SampledFrom(hashTypes).Draw(t, "hash type"))
}

func drawKey(t *rapid.T) []byte {
	head := rapid.SampledFrom([]byte{2, 3, 2, 3, 2, 3, 4, 6}).Draw(t, "key form")
	if head < 4 {
		return append([]byte{head}, drawBytes(t, 32, "x")...)
	}
	return append([]byte{head}, drawBytes(t, 64, "x, y")...)
}

// drawMulti draws the items of m of n.
func drawMulti(t *rapid.T) [][]byte {
	n := rapid.IntRange(1, 16).Draw(t, "n")
	m := rapid.IntRange(1, n).Draw(t, "m")
	ms := []byte{byte(0x50 + m)}
	for range n {
		ms = append(ms, 33, rapid.SampledFrom([]byte{2, 3}).Draw(t, "key form"))
		ms = append(ms, drawBytes(t, 32, "x")...)
	}
	items := [][]byte{nil}
	for range m {
		items = append(items, drawDER(t, 1))
	}
	return append(items, append(ms, byte(0x50+n), 0xae))
}

func drawTapscript(t *rapid.T) [][]byte {
	control := append([]byte{0xc0 | byte(rapid.IntRange(0, 1).Draw(t, "parity"))}, drawBytes(t, 32, "internal key")...)
	hashes := rapid.SampledFrom([]int{0, 0, 1, 2, 6, 7, 31, 32}).Draw(t, "path")
	control = append(control, drawBytes(t, 32*hashes, "hashes")...)
	script := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "script")
	if rapid.Bool().Draw(t, "inscription") {
		script = append(append([]byte{32}, control[1:33]...), script...)
	}
	return [][]byte{drawBytes(t, rapid.SampledFrom([]int{64, 65, 63}).Draw(t, "signature"), "signature"), script, control}
}

// drawItems draws a list of items near one of the shapes.
func drawItems(t *rapid.T) [][]byte {
	switch rapid.IntRange(0, 6).Draw(t, "list") {
	case 0:
		return [][]byte{drawDER(t, 1, 1, 1, 2, 0x81, 0), drawKey(t)}
	case 1:
		return drawMulti(t)
	case 2:
		return [][]byte{drawBytes(t, rapid.IntRange(63, 66).Draw(t, "size"), "signature")}
	case 3:
		return drawTapscript(t)
	case 4:
		return [][]byte{drawDER(t, 1, 2)}
	case 5:
		var items [][]byte
		for range rapid.IntRange(0, 5).Draw(t, "items") {
			if rapid.Bool().Draw(t, "signature") {
				items = append(items, drawDER(t, 1, 3))
			} else {
				items = append(items, rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "item"))
			}
		}
		return items
	}
	return nil
}

func stackOf(items [][]byte) []byte {
	b := chain.AppendCompactSize(nil, uint64(len(items)))
	for _, item := range items {
		b = chain.AppendCompactSize(b, uint64(len(item)))
		b = append(b, item...)
	}
	return b
}

func pushesOf(items [][]byte) (b []byte) {
	for _, item := range items {
		b = append(appendPush(b, len(item)), item...)
	}
	return b
}

// drawnInput is an input as the wire has it. witness is empty in a transaction without.
type drawnInput struct {
	sequence        uint32
	script, witness []byte
}

// damaged changes a byte of b, or its length, now and then.
func damaged(t *rapid.T, b []byte) []byte {
	switch rapid.IntRange(0, 7).Draw(t, "damage") {
	case 0:
		if len(b) > 0 {
			b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
	case 1:
		b = append(b, rapid.Byte().Draw(t, "more"))
	case 2:
		b = b[:max(0, len(b)-1)]
	}
	return b
}

// drawInput draws an input of a transaction with or without witness.
func drawInput(t *rapid.T, witness bool) (in drawnInput) {
	numbers := []uint32{1<<32 - 1, 1<<32 - 2, 1<<32 - 3, 1<<32 - 4, 0, 1, 1 << 31}
	in.sequence = rapid.SampledFrom(numbers).Draw(t, "sequence")
	items := drawItems(t)
	where := rapid.IntRange(0, 3).Draw(t, "where")
	switch {
	case where == 0 || !witness:
		in.script = damaged(t, pushesOf(items))
		if items = nil; rapid.IntRange(0, 9).Draw(t, "both") == 0 {
			items = drawItems(t)
		}
	case where == 1 && len(items) > 0:
		last := damaged(t, items[len(items)-1])
		items[len(items)-1] = last
		sum := sha256.Sum256(last)
		in.script = damaged(t, append([]byte(nestedWSH), sum[:]...))
	case where == 2 && len(items) > 0:
		program := chain.Hash160(items[len(items)-1])
		in.script = damaged(t, append([]byte(nestedWPKH), program[:]...))
	case len(items) > 0:
		i := rapid.IntRange(0, len(items)-1).Draw(t, "item")
		items[i] = damaged(t, items[i])
	}
	if witness {
		in.witness = stackOf(items)
	}
	return in
}

// drawScript draws an output script near a template.
func drawScript(t *rapid.T) []byte {
	if i := rapid.IntRange(0, outTemplates+len(carriers)).Draw(t, "template"); i > 0 && i < outTemplates {
		f := &templates[i]
		s := append([]byte(f.head), drawBytes(t, int(f.data), "data")...)
		return damaged(t, append(s, f.tail...))
	} else if i >= outTemplates && i < outTemplates+len(carriers) {
		n := rapid.IntRange(0, 90).Draw(t, "size")
		s := append([]byte(carriers[i-outTemplates]), byte(n))
		return damaged(t, append(s, drawBytes(t, n, "data")...))
	}
	return rapid.SliceOfN(rapid.Byte(), 0, 600).Draw(t, "script")
}

// drawValue draws an amount near the bounds of the classes.
func drawValue(t *rapid.T) int64 {
	if rapid.IntRange(0, 4).Draw(t, "any") == 0 {
		return rapid.Int64().Draw(t, "amount")
	}
	c := amounts[rapid.IntRange(0, amountClasses-1).Draw(t, "class")]
	x := amountMask[c.width] - uint64(rapid.IntRange(0, 3).Draw(t, "below"))
	if rapid.Bool().Draw(t, "inside") {
		x = rapid.Uint64().Draw(t, "number") & amountMask[c.width]
	}
	return int64(x*uint64(c.unit)+uint64(c.add)) + rapid.Int64Range(-1, 1).Draw(t, "off")
}
