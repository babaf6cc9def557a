package chain_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"stele/chain"
)

// refused wants a DecodeError for which why is the reason, at a place inside the input, and a Block left empty.
func refused(t *testing.T, name string, b *chain.Block, err error, size int, why string) {
	t.Helper()
	var bad *chain.DecodeError
	if !errors.As(err, &bad) {
		t.Errorf("%s: error is %v, want a DecodeError", name, err)
		return
	}
	if text := fmt.Sprintf("byte %d: %s", bad.Off, bad.Why); !strings.HasSuffix(err.Error(), text) {
		t.Errorf("%s: reads %q, want it to end in %q", name, err, text)
	}
	if bad.Off < 0 || bad.Off > size || !strings.Contains(bad.Why, why) {
		t.Errorf("%s: %v; want %q within %d bytes", name, err, why, size)
	}
	if len(b.Txs)+len(b.Ins)+len(b.Outs)+len(b.Items)+len(b.Raw) != 0 {
		t.Errorf("%s: a failed decode left rows behind", name)
	}
}

// TestTruncation cuts a segwit block at every byte.
func TestTruncation(t *testing.T) {
	raw := encode(smallBlock(), true)
	var b chain.Block
	for n := range raw {
		err := b.Decode(raw[:n:n])
		refused(t, fmt.Sprintf("cut to %d", n), &b, err, n, "")
	}
	if err := b.Decode(raw); err != nil {
		t.Errorf("whole block: %v", err)
	}
	longer := append(bytes.Clone(raw), 0)
	refused(t, "one more byte", &b, b.Decode(longer), len(longer), "after the last transaction")
}

// TestLongForms spells every length of a block, one at a time, in each form that is too long for it.
func TestLongForms(t *testing.T) {
	var b chain.Block
	places := map[string]bool{}
	for at := 0; ; at++ {
		for _, form := range []int{3, 5, 9} {
			w, seen, place := newWriter(), 0, ""
			w.size = func(name string, n int) []byte {
				if seen++; seen == at+1 {
					place = name
					return longForm(uint64(n), form)
				}
				return shortest(uint64(n))
			}
			w.block(smallBlock(), true)
			if place == "" {
				if want := 7; len(places) != want {
					t.Errorf("%d kinds of places met, want %d", len(places), want)
				}
				return
			}
			places[place] = true
			err := b.Decode(w.Bytes())
			refused(t, fmt.Sprintf("%s, place %d, %d bytes", place, at, form), &b, err, w.Len(), "non-canonical")
		}
	}
}

// TestLengthBeyondEnd lets every length of a block announce what lies beyond its end, or beyond Core's MAX_SIZE.
func TestLengthBeyondEnd(t *testing.T) {
	var b chain.Block
	for at := 0; ; at++ {
		for claim, why := range map[int]string{
			1 << 16: "", 0x0200_0000: "", 0x0200_0001: "above 32 MiB", 1<<32 - 1: "above 32 MiB",
		} {
			w, seen, met := newWriter(), 0, false
			w.size = func(_ string, n int) []byte {
				if seen++; seen == at+1 {
					met, n = true, claim
				}
				return shortest(uint64(n))
			}
			w.block(smallBlock(), true)
			if !met {
				return
			}
			refused(t, fmt.Sprintf("place %d claims %d", at, claim), &b, b.Decode(w.Bytes()), w.Len(), why)
		}
	}
}

// TestMarker follows the byte after a zero input count through all its meanings (Core: UnserializeTransaction).
func TestMarker(t *testing.T) {
	m := smallBlock().txs[1] // without witness
	var b chain.Block
	spell := func(flag byte, stacks bool) []byte {
		w := newWriter()
		w.u32(m.version)
		w.Write([]byte{0, flag})
		w.body(&m)
		if stacks {
			w.stacks(&m)
		}
		w.u32(m.lockTime)
		return w.Bytes()
	}
	raw := spell(1, true)
	refused(t, "all stacks empty", &b, b.DecodeTx(raw), len(raw), "superfluous witness")
	for flag := 2; flag < 256; flag++ {
		for _, stacks := range []bool{false, true} {
			raw := spell(byte(flag), stacks)
			refused(t, fmt.Sprintf("flag %d", flag), &b, b.DecodeTx(raw), len(raw), "unknown transaction optional data")
		}
	}
	none := []byte{1, 0, 0, 0, 0, 1, 0, 0, 9, 9, 9, 9}
	refused(t, "witness without inputs", &b, b.DecodeTx(none), len(none), "superfluous witness")

	empty := []byte{1, 0, 0, 0, 0, 0, 9, 8, 7, 6}
	if err := b.DecodeTx(empty); err != nil {
		t.Fatalf("no inputs, no outputs: %v", err)
	}
	if tx := b.Txs[0]; tx.Ins != 0 || tx.Outs != 0 || tx.Witness || tx.LockTime != 0x06070809 {
		t.Errorf("no inputs, no outputs: %+v", tx)
	}
	if got := b.AppendTx(nil, 0, true); !bytes.Equal(got, empty) {
		t.Errorf("no inputs, no outputs: encodes to %x", got)
	}
	// Outputs behind an empty input list are not reachable: their count reads as the flag.
	one := []byte{1, 0, 0, 0, 0, 1, 5, 0, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9}
	if err := b.DecodeTx(one); err == nil {
		t.Error("outputs without inputs were decoded")
	}
}

// TestTransactionAlone refuses a block's remainder behind a transaction.
func TestTransactionAlone(t *testing.T) {
	w := newWriter()
	m := smallBlock().txs[0]
	w.tx(&m, true)
	w.WriteByte(0)
	var b chain.Block
	refused(t, "one more byte", &b, b.DecodeTx(w.Bytes()), w.Len(), "after the transaction")
	for n := range w.Len() - 1 {
		refused(t, fmt.Sprintf("cut to %d", n), &b, b.DecodeTx(w.Bytes()[:n:n]), n, "")
	}
}

// TestNoWitnessCaps decodes what parsers with caps of their own refused on mainnet: half a million items in one
// stack, and one item of nearly a whole block.
func TestNoWitnessCaps(t *testing.T) {
	many := modelTx{ins: []modelIn{{stack: make([][]byte, 500_003)}}}
	for i := range many.ins[0].stack {
		many.ins[0].stack[i] = []byte{byte(i)}[:i%2]
	}
	large := modelTx{ins: []modelIn{{stack: [][]byte{make([]byte, 3_990_000), {1}}}}}
	var b chain.Block
	for _, m := range []modelTx{many, large} {
		w := newWriter()
		w.tx(&m, true)
		if err := b.DecodeTx(w.Bytes()); err != nil {
			t.Fatal(err)
		}
		matchTx(t, &b, 0, &m)
		if !bytes.Equal(b.AppendTx(nil, 0, true), w.Bytes()) {
			t.Error("does not encode to its own bytes")
		}
	}
}
