package utxo

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"stele/chain"
)

// TestRecordBytes compares each form with bytes that were put together from its drawing by hand.
func TestRecordBytes(t *testing.T) {
	id, a, b := strings.Repeat("11", 31), strings.Repeat("aa", 20), strings.Repeat("bb", 32)
	txid := chain.Hash{0: 0x77}
	for i := 1; i < len(txid); i++ {
		txid[i] = 0x11
	}
	script := func(s string) []byte { raw, _ := hex.DecodeString(s); return raw }
	pkh := Entry{Vout: 2, Value: 546, Script: script("76a914" + a + "88ac")}
	tr := Entry{Vout: 5, Value: 1_234_567, Script: script("5120" + b)}
	raw := Entry{Vout: 9, Value: 5_000_000_000, Script: script("6a")}
	far := Entry{Vout: 0x0102, Value: 0, Script: script("0014" + a)}
	keys := Entry{Vout: 7, Value: 700, Script: script(
		"51" + "21" + strings.Repeat("c1", 33) + "21" + strings.Repeat("c2", 33) + "21" + strings.Repeat("c3", 33) + "53ae")}
	// Height 500,000 and coinbase: code 0f4241. Number 0123456789.
	shared := "41420f" + "8967452301"
	for _, c := range []struct {
		what string
		outs []Entry
		want string
	}{
		// Tag: constant 1 (546) is class 18, 90 + template 1.
		{"single", []Entry{pkh}, "91" + id + "02" + shared + a},
		// Class 2 is three bytes of satoshis, template 5; 1,234,567 is 12d687.
		{"single of three bytes", []Entry{tr}, "15" + id + "05" + shared + "87d612" + b},
		// 50 coins: class 14 is one byte of coins.
		{"single that is raw", []Entry{raw}, "70" + id + "09" + shared + "32" + "01" + "6a"},
		// 700: class 1 is two bytes of satoshis, template 7.
		{"single of three keys", []Entry{keys}, "0f" + id + "07" + shared + "bc02" +
			strings.Repeat("c1", 33) + strings.Repeat("c2", 33) + strings.Repeat("c3", 33)},
		{"small", []Entry{pkh, tr}, "fe" + id + "02" + shared + "0205" + "9115" + a + "87d612" + b},
		{"multi", []Entry{pkh, raw}, "ff" + id + "02" + shared + "0209" + "9170" + a + "32" + "01" + "6a"},
		// 0 is constant 0, class 17, template 3.
		{"long", []Entry{pkh, far}, "fd" + id + "02" + shared + "00" + "02000201" + "918b" + a + a},
		{"long of one", []Entry{far}, "fd" + id + "01" + shared + "00" + "0201" + "8b" + a},
		{"wide", []Entry{raw, {Vout: 0x10000, Value: -1}}, "fc" + id + "02000000" + "41420f0000000000" +
			"8967452301000000" + "09000000" + "00f2052a01000000" + "01000000" + "6a" +
			"00000100" + "ffffffffffffffff" + "00000000"},
	} {
		r := Record{Txid: txid, Height: 500_000, Coinbase: true, First: 0x0123456789, Outs: c.outs}
		have, err := AppendRecord(nil, &r)
		if err != nil || hex.EncodeToString(have) != c.want {
			t.Errorf("%s: %x (%v), want %s", c.what, have, err, c.want)
		}
	}
}

// TestRecord: what was written is read back, output by output, by every reader, and nothing else is found. Every size
// is as the drawing has it, so none is larger than v5 but for what v5 does not have: its number of five bytes.
func TestRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := recordGen().Draw(t, "record")
		rec, err := AppendRecord(nil, &r)
		if err != nil {
			t.Fatal(err)
		}
		var have Record
		if _, err := DecodeRecord(r.Txid[0], rec, &have, nil); err != nil {
			t.Fatal(err)
		}
		if what, same := sameRecord(&r, &have); !same {
			t.Fatalf("%s differs: %+v, want %+v", what, have, r)
		}
		cell := padded(rec)
		if n := recordSize(unsafe.Pointer(unsafe.SliceData(cell))); int(n) != len(rec) {
			t.Fatalf("size %d of %d", n, len(rec))
		}
		checkFinds(t, &r, cell)
		checkOldForms(t, &r, rec)
	})
}

func checkFinds(t *rapid.T, r *Record, cell []byte) {
	var v View
	var buf ScriptBuffer
	present := map[uint32]bool{}
	for i, o := range r.Outs {
		present[o.Vout] = true
		if !FindRecord(cell, o.Vout, &v) || v.work.Values != uint32(i+1) {
			t.Fatalf("output %d: %d values decoded", o.Vout, v.work.Values)
		}
		if v.Value != o.Value || v.Height != r.Height || v.Coinbase != r.Coinbase || v.First != r.First {
			t.Fatalf("output %d is %+v, want %+v", o.Vout, v, o)
		}
		if s := v.Script(&buf); !bytes.Equal(s, o.Script) {
			t.Fatalf("script of output %d is %x, want %x", o.Vout, s, o.Script)
		}
		if s := v.appendScript([]byte("front")); string(s) != "front"+string(o.Script) {
			t.Fatalf("script of output %d is appended as %x", o.Vout, s)
		}
		var w View
		s, ok := FindScript(cell, o.Vout, &w, &buf)
		w.work, w.template, w.body = v.work, v.template, v.body
		if !ok || !bytes.Equal(s, o.Script) || w != v {
			t.Fatalf("output %d is %+v with its script, and %+v", o.Vout, w, v)
		}
	}
	v.work = Work{}
	near := rapid.SampledFrom(r.Outs).Draw(t, "near").Vout
	for _, vout := range []uint32{near - 1, near + 1, near + 256, near | 1<<16, 0, 255, rapid.Uint32().Draw(t, "other")} {
		if FindRecord(cell, vout, &v) != present[vout] {
			t.Fatalf("output %d: present %v", vout, present[vout])
		}
		if _, ok := FindScript(cell, vout, new(View), &buf); ok != present[vout] {
			t.Fatalf("output %d with its script: present %v", vout, present[vout])
		}
		if !present[vout] && v.work.Values > 0 {
			t.Fatalf("%d values decoded for an output that is not there", v.work.Values)
		}
		v.work = Work{}
	}
}

// checkOldForms compares the record with v4 and v5, field by field, and their sizes.
func checkOldForms(t *rapid.T, r *Record, rec []byte) {
	old := oldOf(r)
	v4, err4 := AppendV4(nil, old)
	v5, err5 := AppendV5(nil, old)
	if err4 != nil || err5 != nil {
		t.Fatal(err4, err5)
	}
	var from4, from5 OldRecord
	if err := DecodeV4(v4, &from4); err != nil {
		t.Fatal(err)
	}
	if err := DecodeV5(v5, &from5); err != nil {
		t.Fatal(err)
	}
	for i, o := range r.Outs {
		want := OldOutput{o.Vout, uint64(o.Value), r.Height, r.Coinbase, o.Script}
		var found4, found5 OldOutput
		if !FindV4(v4, o.Vout, &found4) || !FindV5(v5, o.Vout, &found5) {
			t.Fatalf("output %d is not found", o.Vout)
		}
		for j, have := range []OldOutput{from4.Outs[i], from5.Outs[i], found4, found5} {
			if !sameOld(have, want) {
				t.Fatalf("output %d by reader %d is %+v, want %+v", i, j, have, want)
			}
		}
	}
	noMoney := func(o Entry) bool { return o.Value > chain.MaxMoney }
	if rec[0] == formWide || slices.ContainsFunc(r.Outs, noMoney) {
		return // forms for what no chain has are larger
	}
	if len(rec)-5 > len(v5) {
		t.Fatalf("%d bytes without the number, v5 %d", len(rec)-5, len(v5))
	}
	if len(v5) > len(v4) {
		t.Fatalf("v5 %d bytes, v4 %d", len(v5), len(v4))
	}
}

func sameOld(a, b OldOutput) bool {
	return a.Vout == b.Vout && a.Value == b.Value && a.Height == b.Height && a.Coinbase == b.Coinbase &&
		bytes.Equal(a.Script, b.Script)
}

// TestRecordLimits: counts and lengths at the edges of the forms.
func TestRecordLimits(t *testing.T) {
	for _, c := range []struct {
		n    int
		form byte
	}{
		{8, formSmall}, {9, formMulti}, {255, formMulti}, {256, formLong}, {65535, formLong},
		{65536, formWide}, {65537, formWide}, // the count takes two bytes and has no 65,536
	} {
		r := Record{First: 1<<40 - 1, Height: 1<<23 - 1}
		for i := range c.n {
			script := append([]byte{0, 0x14}, make([]byte, 20)...)
			r.Outs = append(r.Outs, Entry{Vout: uint32(i), Value: int64(i), Script: script})
		}
		rec, err := AppendRecord(nil, &r)
		if err != nil {
			t.Fatal(err)
		}
		if rec[0] != c.form {
			t.Errorf("%d outputs: form %02x, want %02x", c.n, rec[0], c.form)
		}
		var v View
		cell := padded(rec)
		if !FindRecord(cell, uint32(c.n-1), &v) || v.Value != int64(c.n-1) || FindRecord(cell, uint32(c.n), &v) {
			t.Errorf("%d outputs: the last one is not found, or one more is", c.n)
		}
		var have Record
		if _, err := DecodeRecord(0, rec, &have, nil); err != nil || len(have.Outs) != c.n {
			t.Errorf("%d outputs: %d decoded (%v)", c.n, len(have.Outs), err)
		}
	}
	for _, c := range []struct {
		r    Record
		want error
	}{
		{Record{}, ErrNoOutputs},
		{Record{Outs: []Entry{{Vout: 1}, {Vout: 1}}}, ErrVoutOrder},
		{Record{Outs: []Entry{{Vout: 2}, {Vout: 1}}}, ErrVoutOrder},
	} {
		if b, err := AppendRecord([]byte{1}, &c.r); !errors.Is(err, c.want) || len(b) != 1 {
			t.Errorf("%+v: %v, %d bytes", c.r, err, len(b))
		}
	}
}

// TestRecordSpelling: other spellings of a record are refused.
func TestRecordSpelling(t *testing.T) {
	fixed := func(form byte, n byte, rest ...byte) []byte {
		b := append([]byte{form}, make([]byte, 31)...)
		b = append(b, n, 0, 0, 0, 0, 0, 0, 0, 0)
		return append(b, rest...)
	}
	wide := func(rest ...[]byte) []byte {
		return append([]byte{formWide}, slices.Concat(append([][]byte{make([]byte, 31)}, rest...)...)...)
	}
	single := []byte{1, 0, 0, 0}
	h := make([]byte, 20)
	pkh := byte(classConstants<<3 | templatePKH)
	for what, b := range map[string][]byte{
		"nothing":                         {},
		"a head and no payload":           fixed(pkh, 0),
		"a form that is none":             fixed(0xf8, 1, h...),
		"no outputs":                      fixed(formSmall, 0),
		"one output as small":             fixed(formSmall, 1, slices.Concat([]byte{0, pkh}, h)...),
		"one output as multi":             fixed(formMulti, 1, slices.Concat([]byte{0, pkh}, h)...),
		"two that fit small":              fixed(formMulti, 2, slices.Concat([]byte{0, 1, pkh, pkh}, h, h)...),
		"vouts in reverse":                fixed(formSmall, 2, slices.Concat([]byte{1, 0, pkh, pkh}, h, h)...),
		"vouts that are equal":            fixed(formSmall, 2, slices.Concat([]byte{1, 1, pkh, pkh}, h, h)...),
		"low vouts as long":               fixed(formLong, 1, slices.Concat([]byte{0, 5, 0, pkh}, h)...),
		"an amount in too many bytes":     fixed(1<<3|templatePKH, 0, slices.Concat([]byte{7, 0}, h)...),
		"a constant in bytes":             fixed(1<<3|templatePKH, 0, slices.Concat([]byte{0x22, 2}, h)...),
		"a round sum in satoshis":         fixed(2<<3|templatePKH, 0, slices.Concat([]byte{0x70, 0x11, 1}, h)...),
		"a template's script as raw":      fixed(classConstants<<3, 0, slices.Concat([]byte{22, 0, 0x14}, h)...),
		"a length in too many bytes":      fixed(classConstants<<3, 0, 0x81, 0, 0x51),
		"a byte more":                     fixed(pkh, 0, append(h, 0)...),
		"a byte less":                     fixed(pkh, 0, h[:19]...),
		"a length beyond the end":         fixed(classConstants<<3, 0, 9, 1),
		"a length that does not end":      fixed(classConstants<<3, 0, 0x80),
		"a tag that is none":              fixed(formMulti, 2, slices.Concat([]byte{0, 1, pkh, 0xfe}, h, h)...),
		"wide and all fits":               wide(single, make([]byte, 16+16)),
		"wide of too many":                wide([]byte{255, 255, 255, 255}, make([]byte, 16)),
		"wide and height beyond 32 bits":  wide(single, bytes.Repeat([]byte{255}, 16), make([]byte, 16)),
		"wide and a script that is short": wide(single, make([]byte, 28), []byte{9, 0, 0, 0}),
	} {
		var r Record
		if _, err := DecodeRecord(0, b, &r, nil); !errors.As(err, new(*RecordError)) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestClasses: an amount has the class of fewest bytes, of several the first, by a plain search of the table.
func TestClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := uint64(valueGen().Draw(t, "value")) & (1<<56 - 1)
		best, width := -1, uintptr(math.MaxInt)
		for c := range classes {
			k := &classTable[c]
			fits := k.width == 0 && k.constant == v || k.width > 0 && v%k.unit == 0 && v/k.unit <= k.mask
			if fits && k.width < width {
				best, width = c, k.width
			}
		}
		if have := classOf(v); int(have) != best {
			t.Fatalf("%d: class %d, want %d", v, have, best)
		}
	})
	for i, c := range constants {
		if have := classOf(c); int(have) != classConstants+i {
			t.Errorf("constant %d: class %d", c, have)
		}
	}
}

// TestEdit: what is left of a record after some outputs were taken has the bytes of a record that never had them.
func TestEdit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := recordGen().Draw(t, "record")
		rec, err := AppendRecord(nil, &r)
		if err != nil {
			t.Fatal(err)
		}
		cell := padded(rec)
		var e editor
		var v View
		e.open(unsafe.Pointer(unsafe.SliceData(cell)))
		rest := r
		rest.Outs = nil
		for _, o := range r.Outs {
			if rapid.Bool().Draw(t, "kept") {
				rest.Outs = append(rest.Outs, o)
				continue
			}
			if !e.take(o.Vout, &v) || v.Value != o.Value || v.First != r.First || e.take(o.Vout, &v) {
				t.Fatalf("output %d cannot be taken once", o.Vout)
			}
		}
		if e.left != len(rest.Outs) {
			t.Fatalf("%d left of %d", e.left, len(rest.Outs))
		}
		if e.left == 0 {
			return
		}
		want, _ := AppendRecord(nil, &rest)
		if have := e.appendRest(nil, &r.Txid); !bytes.Equal(have, want) {
			t.Fatalf("left %x, want %x", have, want)
		}
	})
}

// FuzzRecord: any bytes are refused or are the one spelling of what they say, which all readers agree on.
func FuzzRecord(f *testing.F) {
	gen := recordGen()
	for i := range 24 {
		r := gen.Example(i)
		rec, _ := AppendRecord(nil, &r)
		f.Add(rec)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Record
		if _, err := DecodeRecord(7, b, &r, nil); err != nil {
			if !errors.As(err, new(*RecordError)) {
				t.Fatal(err)
			}
			return
		}
		again, err := AppendRecord(nil, &r)
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%x becomes %x (%v)", b, again, err)
		}
		cell := padded(b)
		var v View
		var buf ScriptBuffer
		for _, o := range r.Outs {
			if !FindRecord(cell, o.Vout, &v) || v.Value != o.Value || !bytes.Equal(v.Script(&buf), o.Script) {
				t.Fatalf("output %d is %+v", o.Vout, v)
			}
		}
	})
}

// TestFindDoesNotAllocate: neither writing into a buffer that is large enough nor looking something up.
func TestFindDoesNotAllocate(t *testing.T) {
	r := recordGen().Example(3)
	buf := make([]byte, 0, 1<<20)
	rec, _ := AppendRecord(buf, &r)
	cell := padded(rec)
	var v View
	var script ScriptBuffer
	n := testing.AllocsPerRun(100, func() {
		_, _ = AppendRecord(buf, &r)
		if FindRecord(cell, r.Outs[0].Vout, &v) {
			v.Script(&script)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
