package utxo

import (
	"bytes"
	"math"
	"slices"

	"pgregory.net/rapid"

	"stele/chain"
)

// scripts are of every template, near to one, and of any bytes.
func scriptGen(longest int) *rapid.Generator[[]byte] {
	hash := rapid.SliceOfN(rapid.Byte(), 99, 99)
	return rapid.Custom(func(t *rapid.T) []byte {
		h := hash.Draw(t, "hash")
		forms := [][]byte{
			slices.Concat([]byte{0x76, 0xa9, 0x14}, h[:20], []byte{0x88, 0xac}),
			slices.Concat([]byte{0xa9, 0x14}, h[:20], []byte{0x87}),
			slices.Concat([]byte{0x00, 0x14}, h[:20]),
			slices.Concat([]byte{0x00, 0x20}, h[:32]),
			slices.Concat([]byte{0x51, 0x20}, h[:32]),
			slices.Concat([]byte{0x21}, h[:33], []byte{0xac}),
			slices.Concat([]byte{0x51, 0x21}, h[:33], []byte{0x21}, h[33:66], []byte{0x21}, h[66:], []byte{0x53, 0xae}),
			nil,
			bytes.Repeat([]byte{h[0]}, rapid.SampledFrom([]int{1, 105, 127, 128, 300, longest}).Draw(t, "length")),
		}
		s := rapid.SampledFrom(forms).Draw(t, "form")
		if len(s) > 0 && rapid.IntRange(0, 4).Draw(t, "near") == 0 {
			s = slices.Clone(s)
			s[rapid.IntRange(0, len(s)-1).Draw(t, "at")] ^= rapid.ByteMin(1).Draw(t, "flip")
		}
		if rapid.IntRange(0, 9).Draw(t, "cut") == 0 && len(s) > 0 {
			s = s[:len(s)-1]
		}
		return s
	})
}

// valueGen draws amounts around every width and unit, the constants, and such as no chain has.
func valueGen() *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.Custom(func(t *rapid.T) int64 {
			v := int64(1) << rapid.IntRange(0, 62).Draw(t, "bit")
			return v + rapid.Int64Range(-1, 1).Draw(t, "near")
		}),
		rapid.Custom(func(t *rapid.T) int64 {
			unit := rapid.SampledFrom([]int64{1, 10, 1000, 100_000, 100_000_000}).Draw(t, "unit")
			return unit * rapid.Int64Range(0, 1<<25).Draw(t, "count")
		}),
		rapid.Custom(func(t *rapid.T) int64 { return int64(rapid.SampledFrom(constants[:]).Draw(t, "constant")) }),
		rapid.Int64(),
		rapid.Int64Range(0, chain.MaxMoney),
	)
}

// recordGen draws records of every form.
func recordGen() *rapid.Generator[Record] { return recordsOf(40, 10_000) }

// recordsOf draws records of every form with at most so many outputs, whose scripts have at most so many bytes.
func recordsOf(outputs, longest int) *rapid.Generator[Record] {
	scripts := scriptGen(longest)
	return rapid.Custom(func(t *rapid.T) Record {
		r := Record{
			Height:   rapid.OneOf(rapid.Uint32Range(0, 1<<23-1), rapid.Just(uint32(1<<23)), rapid.Uint32()).Draw(t, "height"),
			Coinbase: rapid.Bool().Draw(t, "coinbase"),
			First:    rapid.OneOf(rapid.Uint64Range(0, 1<<40-1), rapid.Just(uint64(1<<40)), rapid.Uint64()).Draw(t, "first"),
		}
		copy(r.Txid[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "txid"))
		usual := rapid.IntRange(0, 3).Draw(t, "usual") > 0
		if usual {
			r.Height, r.First = r.Height%(1<<23), r.First%(1<<40)
		}
		n := rapid.OneOf(rapid.Just(1), rapid.IntRange(2, 8), rapid.IntRange(9, outputs)).Draw(t, "outputs")
		most := rapid.SampledFrom([]uint32{uint32(n) - 1, 255, 300, 65535, 65536, math.MaxUint32}).Draw(t, "most")
		vouts := rapid.SliceOfNDistinct(rapid.Uint32Range(0, max(most, uint32(n))), n, n, rapid.ID).Draw(t, "vouts")
		slices.Sort(vouts)
		for _, vout := range vouts {
			o := Entry{Vout: vout, Value: valueGen().Draw(t, "value"), Script: scripts.Draw(t, "script")}
			if usual {
				o.Value &= 1<<55 - 1
			}
			r.Outs = append(r.Outs, o)
		}
		return r
	})
}

// sameRecord tells whether two records say the same, and what differs first.
func sameRecord(a, b *Record) (what string, same bool) {
	switch {
	case a.Txid != b.Txid:
		return "txid", false
	case a.Height != b.Height || a.Coinbase != b.Coinbase:
		return "height", false
	case a.First != b.First:
		return "first", false
	case len(a.Outs) != len(b.Outs):
		return "number of outputs", false
	}
	for i := range a.Outs {
		x, y := &a.Outs[i], &b.Outs[i]
		if x.Vout != y.Vout || x.Value != y.Value || !bytes.Equal(x.Script, y.Script) {
			return "an output", false
		}
	}
	return "", true
}

// padded returns the record's bytes with readable bytes behind them.
func padded(rec []byte) []byte {
	return append(make([]byte, 0, len(rec)+RecordSlack), rec...)
}

// oldOf is the same record as v4 and v5 take it.
func oldOf(r *Record) *OldRecord {
	var outs []OldOutput
	for _, o := range r.Outs {
		outs = append(outs, OldOutput{o.Vout, uint64(o.Value), r.Height, r.Coinbase, o.Script})
	}
	return NewOldRecord(&r.Txid, outs)
}
