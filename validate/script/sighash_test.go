package script

import (
	"encoding/hex"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
)

// TestLegacyHashModel: all inputs of random transactions, under random codes and types, in random order, so that states
// are kept, taken up and replaced, against the definition.
func TestLegacyHashModel(t *testing.T) {
	var tx Tx
	var h hashCache
	rapid.Check(t, func(t *rapid.T) {
		m := drawTx(t)
		m.ready(t, &tx)
		h.reset(&tx, 0)
		codes := [][]byte{nil, make([]byte, 2000), thick.Draw(t, "code"), thick.Draw(t, "other code")}
		for range 30 {
			in := rapid.IntRange(0, len(m.ins)-1).Draw(t, "in")
			for range rapid.IntRange(1, 3).Draw(t, "times") {
				code := codes[rapid.IntRange(0, 3).Draw(t, "code")]
				hashType := drawType(t)
				if got, want := *h.legacy(&tx, in, code, hashType), m.legacy(in, code, hashType); got != want {
					t.Fatalf("input %d of %d, type %x: %x, want %x", in, len(m.ins), hashType, got, [32]byte(want))
				}
			}
		}
	})
}

func drawType(t *rapid.T) uint32 {
	usual := rapid.SampledFrom([]uint32{0, 1, 2, 3, 0x81, 0x82, 0x83, 0x50, 0xa8, 0x1f, 0x23})
	return rapid.OneOf(usual, rapid.Uint32()).Draw(t, "type")
}

// TestWitnessHashModel is the same for BIP143 and BIP341, of those transactions that have such inputs.
func TestWitnessHashModel(t *testing.T) {
	var tx Tx
	var h hashCache
	rapid.Check(t, func(t *rapid.T) {
		m := drawTx(t)
		m.ready(t, &tx)
		h.reset(&tx, 0)
		codes := [][]byte{nil, make([]byte, 2000), thick.Draw(t, "code")}
		for range 20 {
			in := rapid.IntRange(0, len(m.ins)-1).Draw(t, "in")
			code, hashType := codes[rapid.IntRange(0, 2).Draw(t, "code")], drawType(t)
			if tx.shared.has&needWitness != 0 {
				if got, want := *h.witness(&tx, in, code, hashType), m.witness(in, code, hashType); got != want {
					t.Fatalf("witness, input %d of %d, type %x: %x, want %x", in, len(m.ins), hashType, got, [32]byte(want))
				}
			}
			x := &tapContext{script: rapid.Bool().Draw(t, "script"), annex: rapid.Bool().Draw(t, "annex"),
				leaf: [32]byte{1, 31: 2}, annexHash: [32]byte{3, 31: 4}, separator: rapid.Uint32().Draw(t, "separator")}
			if tx.shared.has&needTaproot != 0 {
				got, ok := h.taproot(&tx, in, x, byte(hashType))
				want, wantOK := m.taproot(in, x, byte(hashType))
				if ok != wantOK || ok && *got != want {
					t.Fatalf("taproot, input %d of %d, type %x: %x %v, want %x %v",
						in, len(m.ins), byte(hashType), got, ok, [32]byte(want), wantOK)
				}
			}
		}
	})
}

// TestTrap4SingleWithoutOutput: without an output of the input's index, the legacy hash is the number one,
// little-endian, with ANYONECANPAY or without; BIP143 commits to zero; taproot has no hash.
func TestTrap4SingleWithoutOutput(t *testing.T) {
	m := &modelTx{ins: make([]modelIn, 2), outs: make([]modelOut, 1)}
	m.ins[0].witness, m.ins[0].coin.Script = [][]byte{{1}}, append([]byte{0x51, 32}, make([]byte, 32)...)
	m.ins[1].witness = [][]byte{{1}}
	var tx Tx
	m.ready(t, &tx)
	var h hashCache
	for _, hashType := range []uint32{3, 0x83, 0x43, 0xffffff23} {
		if got := *h.legacy(&tx, 1, []byte{1}, hashType); got != [32]byte{1} {
			t.Errorf("legacy, type %x: %x", hashType, got)
		}
		if got := *h.legacy(&tx, 0, []byte{1}, hashType); got == [32]byte{1} {
			t.Errorf("legacy, type %x, with an output: the number one", hashType)
		}
		if got, want := *h.witness(&tx, 1, nil, hashType), m.witness(1, nil, hashType); got != want {
			t.Errorf("witness, type %x: %x, want %x", hashType, got, [32]byte(want))
		}
	}
	for _, hashType := range []byte{3, 0x83} {
		if _, ok := h.taproot(&tx, 0, new(tapContext), hashType); !ok {
			t.Errorf("taproot, type %x: no hash with an output", hashType)
		}
		if _, ok := h.taproot(&tx, 1, new(tapContext), hashType); ok {
			t.Errorf("taproot, type %x: a hash without an output", hashType)
		}
	}
}

// TestTaprootTypes: seven of 256 (BIP341).
func TestTaprootTypes(t *testing.T) {
	var types []int
	for hashType := range 256 {
		if taprootType(byte(hashType)) {
			types = append(types, hashType)
		}
	}
	if want := []int{0, 1, 2, 3, 0x81, 0x82, 0x83}; !slices.Equal(types, want) {
		t.Errorf("%x, want %x", types, want)
	}
}

// TestBIP143Example is the native P2WPKH example of BIP143.
func TestBIP143Example(t *testing.T) {
	unhex := func(s string) []byte {
		b, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := new(chain.Block)
	if err := b.DecodeTx(unhex("0100000000010" +
		"2fff7f7881a8099afa6940d42d1e7f6362bec38171ea3edf433541db4e4ad969f0000000000eeffffff" +
		"ef51e1b804cc89d182d279655c3aa89e815b1b309fe287d9b2b55d57b90ec68a0100000000ffffffff02" +
		"202cb206000000001976a9148280b37df378db99f66f85c95a783a76ac7a6d5988ac" +
		"9093510d000000001976a9143bde42dbee7e4dbe6a21b2d50ce2f0167faa815988ac" +
		"00" + "0101ff" + "11000000")); err != nil { // with a witness of one byte for the second input
		t.Fatal(err)
	}
	var tx Tx
	tx.Reset(b, 0, bothCoins(unhex("00141d0f172a0ecb48aee1be1f2687d2963ae33f71a1"), 600_000_000))
	code := unhex("76a9141d0f172a0ecb48aee1be1f2687d2963ae33f71a188ac")
	want := "c37af31116d1b27caf68aae9e3ac82f1477929014d5b917657d0eb49478cb670"
	if got := hex.EncodeToString(new(hashCache).witness(&tx, 1, code, 1)[:]); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func bothCoins(script []byte, value int64) []chain.Coin {
	return []chain.Coin{{}, {Script: script, Value: value}}
}

// TestNeeds: which hashes are made ready, by coin, input script and witness.
func TestNeeds(t *testing.T) {
	hash20, hash32 := make([]byte, 20), make([]byte, 32)
	keyProgram, tapProgram := sized([]byte{0}, hash20), sized([]byte{0x51}, hash32)
	p2sh := append(sized([]byte{0xa9}, hash20), 0x87)
	stack := [][]byte{{1}}
	for _, x := range []struct {
		name         string
		coin, script []byte
		witness      [][]byte
		want         needs
	}{
		{"bare", []byte{0xac}, []byte{1, 1}, nil, needLegacy},
		{"P2WPKH", keyProgram, nil, stack, needWitness},
		{"P2WPKH with an input script", keyProgram, []byte{0xac}, stack, needWitness | needLegacy},
		{"P2WPKH without witness", keyProgram, nil, nil, 0},
		{"P2TR", tapProgram, nil, stack, needTaproot},
		{"P2TR with an input script", tapProgram, []byte{0x51}, stack, needTaproot | needLegacy},
		{"P2SH-P2WPKH", p2sh, sized(nil, keyProgram), stack, needWitness},
		{"P2SH-P2WPKH, pushed otherwise", p2sh, append([]byte{0x4c}, sized(nil, keyProgram)...), stack, needWitness | needLegacy},
		{"P2SH-P2TR", p2sh, sized(nil, tapProgram), stack, needWitness},
		{"P2SH", p2sh, []byte{1, 0xac}, nil, needLegacy},
		{"a program pushed for no P2SH", []byte{0xac}, sized(nil, keyProgram), nil, needLegacy},
		{"anyone's", []byte{0x51}, nil, nil, needLegacy},
	} {
		in := modelIn{script: x.script, witness: x.witness, coin: chain.Coin{Script: x.coin}}
		m := &modelTx{ins: []modelIn{in}, outs: make([]modelOut, 1)}
		var tx Tx
		m.ready(t, &tx)
		if tx.shared.has != x.want {
			t.Errorf("%s: %b, want %b", x.name, tx.shared.has, x.want)
		}
	}
}

// TestSharedTx: several goroutines hash inputs of one Tx (a test for the race detector).
func TestSharedTx(t *testing.T) {
	m := rapid.Custom(drawTx).Filter(func(m *modelTx) bool { return len(m.ins) > 100 }).Example(1)
	var tx Tx
	m.ready(t, &tx)
	code := []byte{0xab, 0xac}
	var all sync.WaitGroup
	for first := range 4 {
		all.Go(func() {
			var h hashCache
			for in := first; in < len(m.ins); in += 4 {
				if got, want := *h.legacy(&tx, in, code, 1), m.legacy(in, code, 1); got != want {
					t.Errorf("input %d: %x, want %x", in, got, [32]byte(want))
				}
			}
		})
	}
	all.Wait()
}

// TestHashAllocs: nothing is allocated once buffers have grown; neither for 2 inputs and 2 outputs nor for a large one.
func TestHashAllocs(t *testing.T) {
	code := append(append([]byte{0x76, 0xa9, 20}, make([]byte, 20)...), 0x88, 0xac)
	for _, inputs := range []int{2, 500} {
		m := &modelTx{outs: []modelOut{{1, code}, {2, code}}}
		for i := range inputs {
			m.ins = append(m.ins, modelIn{prevout: [36]byte{byte(i), byte(i >> 8)}, script: make([]byte, 107),
				coin: chain.Coin{Script: code}})
		}
		m.ins[0].witness = [][]byte{{1}}
		m.ins[1].witness, m.ins[1].coin.Script = [][]byte{{1}}, append([]byte{0x51, 32}, make([]byte, 32)...)
		var tx Tx
		m.ready(t, &tx)
		block, coins := tx.block, tx.coins
		var h hashCache
		scratch := make([]byte, 0, len(code))
		for name, call := range map[string]func(){
			"Reset":            func() { tx.Reset(block, 0, coins) },
			"legacy":           func() { h.reset(&tx, 1); h.legacy(&tx, 1, code, 1) },
			"legacy, again":    func() { h.legacy(&tx, 1, code, 0x41) },
			"legacy, single":   func() { h.reset(&tx, 1); h.legacy(&tx, 1, code, 0x83) },
			"witness":          func() { h.reset(&tx, 1); h.witness(&tx, 1, code, 1) },
			"witness, single":  func() { h.reset(&tx, 1); h.witness(&tx, 1, code, 3) },
			"taproot":          func() { h.reset(&tx, 1); h.taproot(&tx, 1, &tapContext{}, 0) },
			"findAndDelete":    func() { findAndDelete(nil, code, code) },
			"findAndDelete, 1": func() { _, _ = findAndDelete(scratch, code, code[3:23]) },
		} {
			if n := testing.AllocsPerRun(20, call); n != 0 {
				t.Errorf("%s of %d inputs: %v allocations", name, inputs, n)
			}
		}
	}
}
