package script

import (
	"crypto/sha256"
	"math"
	"slices"
	"testing"

	"stele/chain"
)

// inputCase is a whole input under flags.
type inputCase struct {
	name          string
	input, output []byte
	witness       [][]byte
	f             Flags
	err           Error
}

func checkInputs(t *testing.T, v Verifier, cases []inputCase) {
	t.Helper()
	for _, c := range cases {
		s := (&spending{version: 2, sequence: sequenceFinal, input: c.input, output: c.output, witness: c.witness}).ready(t)
		if err := NewEngine(v).Verify(&s.tx, 0, c.f); err != c.err {
			t.Errorf("%s: %s, not %s", c.name, err.Name(), c.err.Name())
		}
	}
}

func TestBareInputs(t *testing.T) {
	ifs := build(byte(opIf), 1, byte(opEndIf))
	checkInputs(t, yes{}, []inputCase{
		{"nothing", nil, nil, nil, Consensus, EvalFalse},
		{"true", nil, build(1), nil, Consensus, OK},
		{"false", nil, build(0), nil, Consensus, EvalFalse},
		{"the other zero", nil, build([]byte{0x80}), nil, Consensus, EvalFalse},
		{"true of the input's script", build(1), nil, nil, Consensus, OK},
		{"more than one", build(1), build(2), nil, Consensus, OK},
		{"more than one by policy", build(1), build(2), nil, Consensus | CleanStack, NotCleanStack},
		{"none is EVAL_FALSE even then", nil, build(1, byte(opDrop)), nil, Consensus | CleanStack, EvalFalse},
		{"input's script first", build(byte(opReturn)), build(byte(opCat)), nil, Consensus, OpReturn},
		{"opcodes in the input's script", build(1, byte(opDup), byte(opDrop)), build(1), nil, Consensus, OK},
		{"the same by policy", build(1, byte(opDup), byte(opDrop)), build(1), nil, SigPushOnly, NotPushOnly},
		{"policy asks before anything runs", build(byte(opReturn)), build(1), nil, SigPushOnly, NotPushOnly},
		{"cut push by policy", []byte{75}, build(1), nil, SigPushOnly, NotPushOnly},
		{"IF ends with its script", build(1, byte(opIf)), build(byte(opEndIf), 1), nil, Consensus, UnbalancedConditional},
		{"IF takes what the input's script left", build(1), ifs, nil, Consensus, OK},
		{"OP_RESERVED is a push that fails", build(byte(opReserved)), build(1), nil, SigPushOnly, BadOpcode},
	})
}

func TestScriptHashInputs(t *testing.T) {
	redeem := build(byte(opDepth), 1, byte(opEqual))
	out, one := payToHash(redeem), build(1)
	checkInputs(t, yes{}, []inputCase{
		{"right", build(7, []byte(redeem)), out, nil, Consensus, OK},
		{"redeem script is false", build([]byte(redeem)), out, nil, Consensus, EvalFalse},
		{"before BIP16", build([]byte(redeem)), out, nil, NoFlags, OK},
		{"other script", build(1, []byte(one)), out, nil, Consensus, EvalFalse},
		{"nothing", nil, out, nil, Consensus, InvalidStack},
		{"opcodes", build(7, byte(opNop), []byte(redeem)), out, nil, Consensus, NotPushOnly},
		{"the same before BIP16", build(7, byte(opNop), []byte(redeem)), out, nil, NoFlags, OK},
		{"a false hash before opcodes", build(7, byte(opNop), []byte{1}), out, nil, Consensus, EvalFalse},
		{"redeem script by OP_1", build(1), payToHash([]byte{1}), nil, Consensus, BadOpcode},
		{"empty redeem script", build(1, 0), payToHash(nil), nil, Consensus, OK},
		{"empty redeem script alone", build(0), payToHash(nil), nil, Consensus, EvalFalse},
		{"stack by policy", build(7, 7, []byte(one)), payToHash(one), nil, Consensus | CleanStack, NotCleanStack},
		{"clean by policy", build([]byte(one)), payToHash(one), nil, Consensus | CleanStack, OK},
		{"no recursion", build([]byte(one), []byte(payToHash(one))), payToHash(payToHash(one)), nil, Consensus, OK},
		{"a hash by OP_PUSHDATA1 is no P2SH", build(byte(opNop), []byte(redeem)),
			append([]byte{opHash160, opPushData1, 20}, append(hash160(redeem), opEqual)...), nil, Consensus, OK},
		{"1000 elements and one for the hash", build(repeat(999, op1), []byte(redeem)), out, nil, Consensus, StackSize},
		{"999 elements and one for the hash", build(repeat(997, op1), 7, []byte(one)), payToHash(one), nil, Consensus, OK},
	})
}

func TestWitnessInputs(t *testing.T) {
	key, script := build(0, hash160(someKey)), build(7, byte(opEqual))
	hash := payToWitness(script)
	sig, seven := [][]byte{someSig, someKey}, [][]byte{{7}, script}
	zero, drop, none := build(0, make([]byte, 20)), build(byte(opDrop), 1), build(byte(opDrop))
	const discourage = Consensus | DiscourageWitnessProgram
	checkInputs(t, yes{}, []inputCase{
		{"key hash", nil, key, sig, Consensus, OK},
		{"key hash before BIP141", nil, key, nil, P2SH, OK},
		{"key hash, other key", nil, key, [][]byte{someSig, otherKey}, Consensus, EqualVerify},
		{"key hash, one element", nil, key, sig[:1], Consensus, WitnessMismatch},
		{"key hash, three elements", nil, key, [][]byte{nil, someSig, someKey}, Consensus, WitnessMismatch},
		{"key hash, no witness", nil, key, nil, Consensus, WitnessMismatch},
		{"key hash, empty signature", nil, key, [][]byte{nil, someKey}, Consensus, EvalFalse},
		{"key hash of 521 bytes", nil, build(0, hash160(bytesOf(2, 521))), [][]byte{someSig, bytesOf(2, 521)}, Consensus,
			PushSize},
		{"hash of zeros is false before it is a program", nil, zero, sig, Consensus, EvalFalse},
		{"input's script", build(0), key, sig, Consensus, WitnessMalleated},
		{"script hash", nil, hash, seven, Consensus, OK},
		{"script hash, no witness", nil, hash, nil, Consensus, WitnessEmpty},
		{"script hash, other script", nil, hash, [][]byte{{7}, build(7)}, Consensus, WitnessMismatch},
		{"script hash, false", nil, hash, [][]byte{{8}, script}, Consensus, EvalFalse},
		{"script hash, two left", nil, hash, [][]byte{{7}, {7}, script}, Consensus, NotCleanStack},
		{"two left and false", nil, hash, [][]byte{{7}, {8}, script}, Consensus, NotCleanStack},
		{"none left", nil, payToWitness(none), [][]byte{{7}, none}, Consensus, NotCleanStack},
		{"520 bytes", nil, payToWitness(drop), [][]byte{bytesOf(1, 520), drop}, Consensus, OK},
		{"521 bytes", nil, payToWitness(drop), [][]byte{bytesOf(1, 521), drop}, Consensus, PushSize},
		{"10,000 bytes", nil, payToWitness(clean(10_000)), [][]byte{clean(10_000)}, Consensus, OK},
		{"10,001 bytes", nil, payToWitness(clean(10_001)), [][]byte{clean(10_001)}, Consensus, ScriptSize},
		{"19 bytes", nil, build(0, bytesOf(1, 19)), nil, Consensus, WitnessWrongLength},
		{"33 bytes", nil, build(0, bytesOf(1, 33)), nil, Consensus, WitnessWrongLength},
		{"2 and 40 bytes", nil, build(0, bytesOf(1, 40)), nil, Consensus, WitnessWrongLength},
		{"1 byte is no program", nil, build(0, bytesOf(1, 1)), nil, Consensus, OK},
		{"41 bytes are no program", nil, build(0, bytesOf(1, 41)), nil, Consensus, OK},
		{"version 2", nil, build(2, bytesOf(1, 32)), nil, Consensus, OK},
		{"version 16", nil, build(16, bytesOf(1, 2)), [][]byte{{1}}, Consensus, OK},
		{"version 2 by policy", nil, build(2, bytesOf(1, 32)), nil, discourage, DiscouragedWitnessProgram},
		{"version 1 of 31 bytes", nil, build(1, bytesOf(1, 31)), nil, Consensus, OK},
		{"the same by policy", nil, build(1, bytesOf(1, 31)), nil, discourage, DiscouragedWitnessProgram},
		{"anchor by policy", nil, build(1, []byte{0x4e, 0x73}), nil, discourage, OK},
		{"policy of clean stacks", nil, build(2, bytesOf(1, 32)), nil, Consensus | CleanStack, OK},
		{"witness of a bare output", nil, build(1), [][]byte{nil}, Consensus, WitnessUnexpected},
		{"the same before BIP141", nil, build(1), [][]byte{nil}, P2SH, OK},
		{"stack before witness", build(1), build(1), [][]byte{nil}, Consensus | CleanStack, NotCleanStack},
	})
}

// clean is a script of n bytes that leaves truth alone, with fewer opcodes than are allowed.
func clean(n int) []byte {
	const push = 3 + 520 + 1 // and OP_DROP
	var s script
	for ; n > 2*push; n -= push {
		s = build(s, bytesOf(1, 520), byte(opDrop))
	}
	for n > 100 {
		size := min(75, n-100)
		s = build(s, bytesOf(1, size), byte(opDrop))
		n -= size + 2
	}
	for ; n > 1; n -= 2 {
		s = build(s, 1, byte(opDrop))
	}
	if n == 1 {
		return build(s, 1)
	}
	return build(s[:len(s)-2], byte(opNop), 1)
}

func TestNestedWitnessInputs(t *testing.T) {
	program := build(0, hash160(someKey))
	out, sig := payToHash(program), [][]byte{someSig, someKey}
	script := build(7, byte(opEqual))
	hash := payToWitness(script)
	longer := append([]byte{opPushData1, byte(len(program))}, program...)
	tap, one := build(1, bytesOf(2, 32)), build(1)
	const discourage = Consensus | DiscourageWitnessProgram
	checkInputs(t, yes{}, []inputCase{
		{"key hash", build([]byte(program)), out, sig, Consensus, OK},
		{"script hash", build([]byte(hash)), payToHash(hash), [][]byte{{7}, script}, Consensus, OK},
		{"one push more", build(1, []byte(program)), out, sig, Consensus, WitnessMalleatedP2SH},
		{"one push more of the same length", build(bytesOf(1, len(program)), []byte(program)), out, sig, Consensus,
			WitnessMalleatedP2SH},
		{"a longer push", longer, out, sig, Consensus, WitnessMalleatedP2SH},
		{"before BIP141", longer, out, nil, P2SH, OK},
		{"no witness", build([]byte(program)), out, nil, Consensus, WitnessMismatch},
		{"before BIP16 with a witness", build([]byte(program)), out, sig, NoFlags, OK},
		{"taproot is not nested", build([]byte(tap)), payToHash(tap), nil, Consensus, OK},
		{"the same by policy", build([]byte(tap)), payToHash(tap), nil, discourage, DiscouragedWitnessProgram},
		{"nor is the anchor", build([]byte{op1, 2, 0x4e, 0x73}), payToHash([]byte{op1, 2, 0x4e, 0x73}), nil,
			discourage, DiscouragedWitnessProgram},
		{"clean by policy", build([]byte(program)), out, sig, Consensus | CleanStack, OK},
		{"witness of a plain redeem script", build([]byte(one)), payToHash(one), [][]byte{nil}, Consensus, WitnessUnexpected},
	})
}

// control makes a control block for a leaf version and that many nodes.
func control(version byte, nodes int) []byte {
	return append([]byte{version}, bytesOf(0x77, 32+32*nodes)...)
}

func TestTaprootInputs(t *testing.T) {
	out, leaf := build(1, bytesOf(2, 32)), build(1)
	annex := []byte{annexTag, 1, 2}
	c0 := control(leafTapscript, 0)
	path := func(script []byte, block []byte, below ...[]byte) [][]byte { return append(below, script, block) }
	cases := []inputCase{
		{"key path", nil, out, [][]byte{schnorr64}, Consensus, OK},
		{"key path with an annex", nil, out, [][]byte{schnorr64, annex}, Consensus, OK},
		{"an annex alone is a signature", nil, out, [][]byte{annex}, Consensus, SchnorrSigSize},
		{"empty signature", nil, out, [][]byte{nil}, Consensus, SchnorrSigSize},
		{"63 bytes", nil, out, [][]byte{schnorr64[:63]}, Consensus, SchnorrSigSize},
		{"type 0 written", nil, out, [][]byte{append(slices.Clone(schnorr64), 0)}, Consensus, SchnorrSigHashType},
		{"type 80", nil, out, [][]byte{append(slices.Clone(schnorr64), 0x80)}, Consensus, SchnorrSigHashType},
		{"no witness", nil, out, nil, Consensus, WitnessEmpty},
		{"before BIP341", nil, out, nil, Consensus &^ Taproot, OK},
		{"input's script", build(0), out, [][]byte{schnorr64}, Consensus, WitnessMalleated},
		{"script path", nil, out, path(leaf, c0), Consensus, OK},
		{"script path with an annex", nil, out, append(path(leaf, c0), annex), Consensus, OK},
		{"a control block that begins with 50", nil, out, path(leaf, append([]byte{annexTag}, c0[1:]...)), Consensus,
			SchnorrSigSize},
		{"128 nodes", nil, out, path(leaf, control(leafTapscript, 128)), Consensus, OK},
		{"129 nodes", nil, out, path(leaf, control(leafTapscript, 129)), Consensus, TaprootControlSize},
		{"32 bytes", nil, out, path(leaf, c0[:32]), Consensus, TaprootControlSize},
		{"no bytes", nil, out, path(leaf, nil), Consensus, TaprootControlSize},
		{"34 bytes", nil, out, path(leaf, append(slices.Clone(c0), 0)), Consensus, TaprootControlSize},
		{"unknown leaf version", nil, out, path([]byte{opReturn}, control(0xc2, 1)), Consensus, OK},
		{"the same by policy", nil, out, path([]byte{opReturn}, control(0xc2, 1)), Consensus | DiscourageTaprootVersion,
			DiscouragedTaprootVersion},
		{"the low bit is no version", nil, out, path([]byte{opReturn}, control(0xc1, 1)), Consensus, OpReturn},
		{"false", nil, out, path(build(0), c0), Consensus, EvalFalse},
		{"two left", nil, out, path(leaf, c0, []byte{1}), Consensus, NotCleanStack},
		{"OP_SUCCESS", nil, out, path([]byte{opReserved}, c0), Consensus, OK},
		{"OP_SUCCESS by policy", nil, out, path([]byte{opReserved}, c0), Consensus | DiscourageOpSuccess,
			DiscouragedOpSuccess},
		{"OP_SUCCESS before a cut push", nil, out, path([]byte{opReturn, 0xbb, 75}, c0), Consensus, OK},
		{"OP_SUCCESS behind a cut push", nil, out, path([]byte{75, 0xbb}, c0), Consensus, BadOpcode},
		{"a cut push before anything runs", nil, out, path([]byte{opReturn, 75}, c0), Consensus, BadOpcode},
		{"OP_SUCCESS inside a push", nil, out, path([]byte{1, 0xbb}, c0), Consensus, OK},
		{"OP_SUCCESS in a dead branch", nil, out, path([]byte{0, opIf, 0xfe, opEndIf}, c0), Consensus, OK},
		{"OP_SUCCESS and 521 bytes", nil, out, path([]byte{0xbb}, c0, bytesOf(1, 521)), Consensus, OK},
		{"521 bytes", nil, out, path(leaf, c0, bytesOf(1, 521)), Consensus, PushSize},
		{"a push of 521 bytes behind OP_SUCCESS", nil, out, path(build(bytesOf(1, 521), byte(0xbb)), c0), Consensus, OK},
		{"1000 elements", nil, out, path(repeat(500, op2Drop), c0, make([][]byte, 1000)...), Consensus, NotCleanStack},
		{"1001 elements", nil, out, path(repeat(500, op2Drop), c0, make([][]byte, 1001)...), Consensus, StackSize},
		{"1001 elements and OP_SUCCESS", nil, out, path([]byte{0xbb}, c0, make([][]byte, 1001)...), Consensus, OK},
		{"1001 before 521", nil, out, path(leaf, c0, append(make([][]byte, 1000), bytesOf(1, 521))...), Consensus,
			StackSize},
		{"20,000 bytes and as many opcodes", nil, out, path(build(repeat(20_000, opNop), 1), c0), Consensus, OK},
	}
	checkInputs(t, yes{}, cases)
	checkInputs(t, no{}, []inputCase{
		{"wrong signature", nil, out, [][]byte{schnorr64}, Consensus, SchnorrSig},
		{"commitment before script", nil, out, path([]byte{opReturn}, c0), Consensus, WitnessMismatch},
		{"commitment of OP_SUCCESS", nil, out, path([]byte{0xbb}, c0), Consensus, WitnessMismatch},
		{"commitment of an unknown version", nil, out, path(leaf, control(0xc2, 0)), Consensus, WitnessMismatch},
	})
}

// TestBudget: 50 and the whole witness as it is on the wire, of which each signature that is not empty takes 50.
func TestBudget(t *testing.T) {
	out := build(1, bytesOf(2, 32))
	unknown := build(byte(opDup), []byte{1}, byte(opCheckSigVerify)) // 5 bytes; takes 50 of the budget
	for _, annex := range []int{0, 1, 252, 253, 300} {
		for checks := 1; checks < 40; checks++ {
			var code script
			for range checks {
				code = append(code, unknown...)
			}
			for pad := range 64 {
				leaf := build(code, repeat(pad, opNop))
				witness := [][]byte{{9}, leaf, control(leafTapscript, 0)}
				if annex > 0 {
					witness = append(witness, append([]byte{annexTag}, make([]byte, annex-1)...))
				}
				size := chain.CompactSizeLen(uint64(len(witness)))
				for _, item := range witness {
					size += chain.CompactSizeLen(uint64(len(item))) + len(item)
				}
				want := OK
				if 50*checks > 50+size {
					want = TapscriptWeight
				}
				if pad%7 != 0 && 50*checks-50-size != 0 && 50*checks-50-size != 1 {
					continue
				}
				s := (&spending{version: 2, output: out, witness: witness}).ready(t)
				if err := NewEngine(yes{}).Verify(&s.tx, 0, Consensus); err != want {
					t.Fatalf("%d checks, %d bytes of witness: %s, not %s", checks, size, err.Name(), want.Name())
				}
			}
		}
	}
}

// committing keeps what it is asked about tweaks.
type committing struct {
	yes
	output, internal, tweak [32]byte
	odd                     bool
}

func (v *committing) Tweak(output, internal, tweak *[32]byte, odd bool) bool {
	v.output, v.internal, v.tweak, v.odd = *output, *internal, *tweak, odd
	return true
}

// TestCommitment: the tweak, from the text of BIP341, for paths of several lengths and nodes on both sides.
func TestCommitment(t *testing.T) {
	tagged := func(tag string, parts ...[]byte) []byte {
		name := sha256.Sum256([]byte(tag))
		h := sha256.Sum256(slices.Concat(append([][]byte{name[:], name[:]}, parts...)...))
		return h[:]
	}
	internal := bytesOf(0x21, 32)
	for _, size := range []int{1, 252, 253, 70_000} {
		for nodes := range 5 {
			leaf := bytesOf(op1, size)
			leaf[0] = opReserved // OP_SUCCESS: it need not run
			block := append([]byte{0xc1}, internal...)
			k := tagged("TapLeaf", []byte{0xc0}, chain.AppendCompactSize(nil, uint64(size)), leaf)
			for i := range nodes {
				node := bytesOf(byte(255*(i&1)), 32)
				block = append(block, node...)
				if i&1 == 1 {
					k = tagged("TapBranch", k, node) // ff.. is the larger one
				} else {
					k = tagged("TapBranch", node, k)
				}
			}
			v := &committing{}
			s := (&spending{version: 2, output: build(1, bytesOf(2, 32)), witness: [][]byte{leaf, block}}).ready(t)
			if err := NewEngine(v).Verify(&s.tx, 0, Consensus); err != OK {
				t.Fatal(err)
			}
			want := tagged("TapTweak", internal, k)
			if string(v.tweak[:]) != string(want) || string(v.internal[:]) != string(internal) || !v.odd || v.output[0] != 2 {
				t.Errorf("leaf of %d bytes, %d nodes: tweak %x, not %x", size, nodes, v.tweak, want)
			}
		}
	}
}

// TestTapContext: what a signature is told to commit to, on both paths and with an annex, whatever came before.
func TestTapContext(t *testing.T) {
	out, leaf := build(1, bytesOf(2, 32)), build(byte(opCodeSeparator), bytesOf(3, 32), byte(opCheckSig))
	annex := append([]byte{annexTag}, bytesOf(4, 300)...)
	annexHash := sha256.Sum256(append([]byte{0xfd, 0x2d, 0x01}, annex...))
	e := NewEngine(yes{})
	for _, c := range []struct {
		witness       [][]byte
		script, annex bool
		separator     uint32
	}{
		{[][]byte{schnorr64, leaf, control(leafTapscript, 1), annex}, true, true, 0},
		{[][]byte{schnorr64}, false, false, 0},
		{[][]byte{schnorr64, annex}, false, true, 0},
		{[][]byte{schnorr64, leaf[1:], control(leafTapscript, 1)}, true, false, noSeparator},
	} {
		s := (&spending{version: 2, output: out, witness: c.witness}).ready(t)
		err := e.Verify(&s.tx, 0, Consensus)
		x := &e.tap
		if err != OK || x.script != c.script || x.annex != c.annex {
			t.Errorf("%d elements: %s, script %v, annex %v", len(c.witness), err.Name(), x.script, x.annex)
		}
		if c.script && x.separator != c.separator || c.annex && x.annexHash != annexHash {
			t.Errorf("%d elements: separator %d, annex %x", len(c.witness), x.separator, x.annexHash)
		}
	}
}

// TestLongWitness: stacks far over the limit are seen whole, and not kept.
func TestLongWitness(t *testing.T) {
	script := build(byte(opDepth), byte(opPick))
	witness := append(make([][]byte, 50_000), script)
	s := (&spending{version: 2, output: payToWitness(script), witness: witness}).ready(t)
	e := NewEngine(yes{})
	if err := e.Verify(&s.tx, 0, Consensus); err != StackSize {
		t.Errorf("50,000 elements: %s", err.Name())
	}
	small := (&spending{version: 2, output: build(1)}).ready(t)
	if err := e.Verify(&small.tx, 0, Consensus); err != OK || cap(e.stack) > keepStack {
		t.Errorf("then %s, with room for %d elements", err.Name(), cap(e.stack))
	}
}

func TestFlagsAt(t *testing.T) {
	always := P2SH | Witness | Taproot
	main, test3, regtest := chain.Main(), chain.Testnet3(), chain.Regtest()
	other := chain.Hash{1}
	first, second := main.ScriptExceptions[0].Hash, main.ScriptExceptions[1].Hash
	for _, c := range []struct {
		p      *chain.Params
		height uint32
		hash   chain.Hash
		want   Flags
	}{
		{main, 0, main.GenesisHash, always},
		{main, 170_060, first, NoFlags},
		{main, 170_060, other, always}, // a fork at that height
		{main, 170_059, other, always},
		{main, 170_061, other, always},
		{main, 363_724, other, always},
		{main, 363_725, other, always | DerSig},
		{main, 388_380, other, always | DerSig},
		{main, 388_381, other, always | DerSig | CLTV},
		{main, 419_327, other, always | DerSig | CLTV},
		{main, 419_328, other, always | DerSig | CLTV | CSV},
		{main, 481_823, other, always | DerSig | CLTV | CSV},
		{main, 481_824, other, Consensus},
		{main, 692_261, second, Consensus &^ Taproot},
		{main, 692_261, other, Consensus},
		{main, 692_260, other, Consensus},
		{main, math.MaxUint32, other, Consensus},
		{test3, 330_775, other, always},
		{test3, 330_776, other, always | DerSig},
		{test3, 581_885, other, always | DerSig | CLTV},
		{test3, 770_112, other, always | DerSig | CLTV | CSV},
		{test3, 834_624, other, Consensus},
		{test3, 394, test3.ScriptExceptions[0].Hash, NoFlags},
		{regtest, 0, other, always | NullDummy}, // segwit from the genesis block on, the others from the next
		{regtest, 1, other, Consensus},
		{chain.Signet(), 1, other, Consensus},
		{chain.Testnet4(), 1, other, Consensus},
	} {
		if got := FlagsAt(c.p, c.height, &c.hash); got != c.want {
			t.Errorf("%s %d %s: %v, not %v", c.p.Name, c.height, c.hash, got.Names(), c.want.Names())
		}
	}
	if first.String() != "00000000000002dc756eebf4f49723ed8d30cc28a5f108eb94b1ba88ac4f9c22" ||
		second.String() != "0000000000000000000f14c35b2d841e986ab5441de8c585d5ffe55ea1e395ad" {
		t.Errorf("exceptions are %s and %s", first, second)
	}
}
