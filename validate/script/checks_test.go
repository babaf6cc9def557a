package script

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
)

// listed answers by a list, keeps what it was asked, and says no when the list is at its end.
type listed struct {
	yes
	answers []bool
	asked   []string // first bytes of key and r
}

func (v *listed) ECDSA(key []byte, rs *[64]byte, hash *[32]byte) bool {
	v.asked = append(v.asked, fmt.Sprintf("%02x-%02x", key[1], rs[31]))
	if len(v.answers) == 0 {
		return false
	}
	a := v.answers[0]
	v.answers = v.answers[1:]
	return a
}

// sigOf is a strict signature with that r, and keyOf a compressed key, by which listed checks are told apart.
func sigOf(r byte) []byte { return []byte{0x30, 6, 2, 1, r, 2, 1, 1, 1} }
func keyOf(x byte) []byte { return append([]byte{2, x}, make([]byte, 31)...) }

// TestMultisigOrder: keys and signatures from the top, each key once, and an end as soon as signatures outnumber keys.
func TestMultisigOrder(t *testing.T) {
	for _, c := range []struct {
		sigs, keys int
		answers    string
		asked      string // signature and key numbers, the topmost is the highest
		good       bool
	}{
		{0, 0, "", "", true},
		{0, 3, "", "", true},
		{1, 1, "y", "11", true},
		{1, 1, "n", "11", false},
		{1, 3, "y", "31", true},
		{1, 3, "nny", "31 21 11", true},
		{1, 3, "nnn", "31 21 11", false},
		{2, 3, "yy", "32 21", true},
		{2, 3, "yny", "32 21 11", true},
		{2, 3, "nyy", "32 22 11", true},
		{2, 3, "nn", "32 22", false},
		{2, 3, "ynn", "32 21 11", false},
		{3, 3, "yyy", "33 22 11", true},
		{3, 3, "n", "33", false},
		{3, 3, "yn", "33 22", false},
	} {
		v := &listed{}
		for _, a := range c.answers {
			v.answers = append(v.answers, a == 'y')
		}
		stack := [][]byte{nil}
		for i := range c.sigs {
			stack = append(stack, sigOf(byte(i+1)))
		}
		stack = append(stack, numberBytes(int64(c.sigs)))
		for i := range c.keys {
			stack = append(stack, keyOf(byte(i+1)))
		}
		stack = append(stack, numberBytes(int64(c.keys)))
		after, err := newRig(t, v).run([]byte{opCheckMultisig}, witnessV0, Consensus, stack...)
		var asked []string
		for i := 0; i < len(c.asked); i += 3 {
			asked = append(asked, fmt.Sprintf("0%c-0%c", c.asked[i], c.asked[i+1]))
		}
		if err != OK || len(after) != 1 || truth(after[0]) != c.good || !slices.Equal(v.asked, asked) || len(v.answers) != 0 {
			t.Errorf("%d of %d, %s: asked %v, left %x, %s", c.sigs, c.keys, c.answers, v.asked, after, err.Name())
		}
	}
}

// TestMultisigStack: what fails before anything is verified, in Core's order.
func TestMultisigStack(t *testing.T) {
	s, k := someSig, someKey
	keys := func(n int) (list []any) {
		for range n {
			list = append(list, k)
		}
		return list
	}
	for _, c := range []struct {
		name  string
		stack [][]byte
		err   Error
	}{
		{"nothing", nil, InvalidStack},
		{"count of keys is no number", el(0, "0000000000"), ScriptNum},
		{"-1 keys", el(0, 0, -1), PubkeyCount},
		{"21 keys", el(0, 0, 21), PubkeyCount},
		{"20 keys", el(append(append([]any{0, 0}, keys(20)...), 20)...), OK},
		{"20 keys, one of which is not there", el(append(append([]any{}, keys(20)...), 20)...), InvalidStack},
		{"no count of signatures", el(0), InvalidStack},
		{"count of signatures is no number", el(0, "0000000000", 0), ScriptNum},
		{"-1 signatures", el(0, -1, 0), SigCount},
		{"more signatures than keys", el(0, s, 1, 0), SigCount},
		{"no signature", el(1, k, 1), InvalidStack},
		{"no dummy", el(0, 0), InvalidStack},
		{"no dummy, and a key of no form", el(s, 1, "00", 1), InvalidStack},
		{"dummy", el(0, 0, 0), OK},
		{"dummy that is not empty", el("00", 0, 0), SigNullDummy},
	} {
		for _, op := range []byte{opCheckMultisig, opCheckMultisigVerify} {
			after, err := newRig(t, yes{}).run([]byte{op}, legacy, Consensus, c.stack...)
			want := [][]byte{{1}}
			if op == opCheckMultisigVerify {
				want = nil
			}
			if err != c.err || err == OK && !sameStack(after, want) {
				t.Errorf("%s: %x, %s; want %s", c.name, after, err.Name(), c.err.Name())
			}
		}
	}
	if _, err := newRig(t, yes{}).run([]byte{opCheckMultisig}, legacy, NoFlags, el("00", 0, 0)...); err != OK {
		t.Errorf("a dummy before BIP147: %s", err.Name())
	}
	if _, err := newRig(t, yes{}).run([]byte{opCheckMultisig}, tapscript, NoFlags); err != TapscriptCheckMultisig {
		t.Errorf("in tapscript: %s", err.Name())
	}
}

// TestMultisigOpcodes: keys count as opcodes, at the time at which their number is read.
func TestMultisigOpcodes(t *testing.T) {
	r := newRig(t, yes{})
	for _, c := range []struct {
		nops, keys int
		err        Error
	}{{180, 20, OK}, {181, 20, OpCount}, {200, 0, OK}, {200, 1, OpCount}, {201, 0, OpCount}} {
		code := build(repeat(c.nops, opNop), 0, 0)
		for range c.keys {
			code = build(code, someKey)
		}
		code = build(code, c.keys, byte(opCheckMultisig))
		if _, err := r.run(code, legacy, NoFlags); err != c.err {
			t.Errorf("%d opcodes and %d keys: %s", c.nops, c.keys, err.Name())
		}
	}
}

// TestEncodings: which form of signature and key fails under which flags, and what is said where several do.
func TestEncodings(t *testing.T) {
	high := append([]byte{0x30, 69, 2, 32}, bytesOf(0x2b, 32)...)
	high = append(append(high, 2, 33, 0), bytesOf(0xcd, 32)...)
	high = append(high, 1)
	low := append([]byte{0x30, 68, 2, 32}, bytesOf(0x2b, 32)...)
	low = append(append(low, 2, 32), bytesOf(0x3d, 32)...)
	low = append(low, 1)
	odd := append(slices.Clone(low[:len(low)-1]), 0x50)
	loose := append(slices.Clone(low[:len(low)-1]), 0, 1) // a byte between s and the type
	long := append([]byte{4}, bytesOf(7, 64)...)
	hybrid := append([]byte{6}, bytesOf(7, 64)...)
	short := []byte{2, 1}
	const F = DerSig | LowS | StrictEnc
	for _, c := range []struct {
		name     string
		sig, key []byte
		f        Flags
		kind     rules
		err      Error
	}{
		{"strict", low, someKey, F | WitnessKeyType, witnessV0, OK},
		{"loose", loose, someKey, NoFlags, legacy, OK},
		{"loose under DERSIG", loose, someKey, DerSig, legacy, SigDER},
		{"loose under LOW_S", loose, someKey, LowS, legacy, SigDER},
		{"loose under STRICTENC", loose, someKey, StrictEnc, legacy, SigDER},
		{"high", high, someKey, DerSig | StrictEnc, legacy, OK},
		{"high under LOW_S", high, someKey, LowS, legacy, SigHighS},
		{"type 50", odd, someKey, DerSig | LowS, legacy, OK},
		{"type 50 under STRICTENC", odd, someKey, StrictEnc, legacy, SigHashType},
		{"short key", low, short, DerSig | LowS, legacy, OK},
		{"short key under STRICTENC", low, short, StrictEnc, legacy, PubkeyType},
		{"empty key under STRICTENC", low, nil, StrictEnc, legacy, PubkeyType},
		{"hybrid key", low, hybrid, DerSig, legacy, OK},
		{"hybrid key under STRICTENC", low, hybrid, StrictEnc, legacy, PubkeyType},
		{"uncompressed key", low, long, F, witnessV0, OK},
		{"uncompressed key in a witness under WITNESS_PUBKEYTYPE", low, long, WitnessKeyType, witnessV0, WitnessPubkeyType},
		{"the same outside of one", low, long, WitnessKeyType, legacy, OK},
		{"empty signature", nil, someKey, F, legacy, OK},
		{"empty signature and a key of no form", nil, short, F, legacy, PubkeyType},
		{"signature before key", loose, short, F, legacy, SigDER},
		{"type before key", odd, short, F, legacy, SigHashType},
		{"STRICTENC before WITNESS_PUBKEYTYPE", low, short, StrictEnc | WitnessKeyType, witnessV0, PubkeyType},
	} {
		r := newRig(t, yes{})
		if _, err := r.run([]byte{opCheckSig}, c.kind, c.f, c.sig, c.key); err != c.err {
			t.Errorf("%s: %s, not %s", c.name, err.Name(), c.err.Name())
		}
		if _, err := r.run([]byte{opCheckMultisig}, c.kind, c.f, nil, c.sig, []byte{1}, c.key, []byte{1}); err != c.err {
			t.Errorf("%s, in CHECKMULTISIG: %s, not %s", c.name, err.Name(), c.err.Name())
		}
	}
}

// TestFalseChecks: what a check leaves where it fails, with the two opcodes and NULLFAIL.
func TestFalseChecks(t *testing.T) {
	for _, c := range []struct {
		name     string
		sig, key []byte
		v        Verifier
		nullFail Error
	}{
		{"wrong", someSig, someKey, no{}, SigNullFail},
		{"empty", nil, someKey, yes{}, OK},
		{"not DER", []byte{1, 2, 3}, someKey, yes{}, SigNullFail},
		{"key of no length", someSig, []byte{2, 1}, yes{}, SigNullFail},
		{"key of no kind", someSig, append([]byte{5}, make([]byte, 32)...), yes{}, SigNullFail},
		{"empty key", someSig, nil, yes{}, SigNullFail},
		{"both empty", nil, nil, yes{}, OK},
	} {
		r := newRig(t, c.v)
		for _, kind := range []rules{legacy, witnessV0} {
			if after, err := r.run([]byte{opCheckSig}, kind, NoFlags, c.sig, c.key); err != OK || !sameStack(after, el(0)) {
				t.Errorf("%s: %x, %s", c.name, after, err.Name())
			}
			if _, err := r.run([]byte{opCheckSigVerify}, kind, NoFlags, c.sig, c.key); err != CheckSigVerify {
				t.Errorf("%s, with VERIFY: %s", c.name, err.Name())
			}
			if _, err := r.run([]byte{opCheckSig}, kind, NullFail, c.sig, c.key); err != c.nullFail {
				t.Errorf("%s, under NULLFAIL: %s", c.name, err.Name())
			}
			multi := [][]byte{nil, c.sig, {1}, c.key, {1}}
			if after, err := r.run([]byte{opCheckMultisig}, kind, NoFlags, multi...); err != OK || !sameStack(after, el(0)) {
				t.Errorf("%s, in CHECKMULTISIG: %x, %s", c.name, after, err.Name())
			}
			if _, err := r.run([]byte{opCheckMultisigVerify}, kind, NoFlags, multi...); err != CheckMultisigVerify {
				t.Errorf("%s, in CHECKMULTISIGVERIFY: %s", c.name, err.Name())
			}
			if _, err := r.run([]byte{opCheckMultisig}, kind, NullFail, multi...); err != c.nullFail {
				t.Errorf("%s, in CHECKMULTISIG under NULLFAIL: %s", c.name, err.Name())
			}
		}
	}
	// NULLFAIL asks all signatures of a CHECKMULTISIG, also those that were not reached, and before NULLDUMMY.
	r := newRig(t, no{})
	stack := [][]byte{{9}, someSig, nil, {2}, someKey, otherKey, {2}}
	if _, err := r.run([]byte{opCheckMultisig}, legacy, NullFail|NullDummy, stack...); err != SigNullFail {
		t.Errorf("a signature that was not reached: %s", err.Name())
	}
	stack[1] = nil
	if _, err := r.run([]byte{opCheckMultisig}, legacy, NullFail|NullDummy, stack...); err != SigNullDummy {
		t.Errorf("a dummy: %s", err.Name())
	}
}

// TestConstScriptCode: under the policy flag separators fail wherever they stand in legacy scripts, and so does a
// signature that its script holds. Blocks may have both.
func TestConstScriptCode(t *testing.T) {
	dead := build(0, byte(opIf), byte(opCodeSeparator), byte(opEndIf))
	own := build([]byte(someSig), byte(opDrop), byte(opCheckSig))
	all := build([]byte(someSig), byte(opDrop), byte(opCheckMultisig))
	for _, c := range []struct {
		code  []byte
		stack [][]byte
		err   Error
	}{
		{build(byte(opCodeSeparator)), nil, OpCodeSeparator},
		{dead, nil, OpCodeSeparator},
		{own, [][]byte{someSig, someKey}, SigFindAndDelete},
		{all, [][]byte{nil, someSig, {1}, someKey, {1}}, SigFindAndDelete},
		{all, [][]byte{nil, someSig, {1}, {}, {1}}, SigFindAndDelete}, // before forms are looked at
		{own, [][]byte{sigOf(1), someKey}, OK},
	} {
		r := newRig(t, yes{})
		if _, err := r.run(c.code, legacy, ConstScriptCode, c.stack...); err != c.err {
			t.Errorf("%x: %s, not %s", c.code, err.Name(), c.err.Name())
		}
		for kind, f := range map[rules]Flags{legacy: NoFlags, witnessV0: ConstScriptCode, tapscript: ConstScriptCode} {
			if kind == tapscript && bytes.Contains(c.code, []byte{opDrop}) {
				continue
			}
			if _, err := r.run(c.code, kind, f, c.stack...); err != OK {
				t.Errorf("%x, kind %d: %s", c.code, kind, err.Name())
			}
		}
	}
}

// TestSeparator: where the code that is signed begins, and the place that tapscript commits to.
func TestSeparator(t *testing.T) {
	const sep = opCodeSeparator
	for _, c := range []struct {
		code  []byte
		from  int
		place uint32
	}{
		{build(1, 2), 0, noSeparator},
		{build(byte(sep), 1), 1, 0},
		{build(1, byte(sep), 2), 2, 1},
		{build(bytesOf(9, 30), byte(sep), byte(sep), 5), 33, 2},
		{build(0, byte(opIf), byte(sep), byte(opEndIf), 1), 0, noSeparator}, // one that did not run
		{build(1, byte(opIf), byte(sep), byte(opEndIf), 1), 3, 2},
		{build(1, byte(sep)), 2, 1},
	} {
		r := newRig(t, yes{})
		if _, err := r.run(c.code, tapscript, NoFlags); err != OK {
			t.Fatalf("%x: %s", c.code, err.Name())
		}
		if !bytes.Equal(r.e.code, c.code[c.from:]) || r.e.tap.separator != c.place {
			t.Errorf("%x: %x is signed, place %d", c.code, r.e.code, r.e.tap.separator)
		}
	}
	r := newRig(t, yes{})
	r.run(build(byte(sep)), legacy, NoFlags)
	if r.run(build(1), legacy, NoFlags); len(r.e.code) != 1 || r.e.tap.separator != noSeparator {
		t.Error("a separator of the script before counts")
	}
}

// TestTapscriptChecks: keys by their length, empty signatures, the budget, and the order of what is asked.
func TestTapscriptChecks(t *testing.T) {
	key, odd := bytesOf(2, 32), bytesOf(2, 33)
	typed := append(bytesOf(3, 64), 0x83)
	for _, c := range []struct {
		name     string
		sig, key []byte
		v        Verifier
		f        Flags
		budget   int64
		err      Error
		good     bool
	}{
		{"right", schnorr64, key, yes{}, 0, 50, OK, true},
		{"right, with a type", typed, key, yes{}, 0, 50, SchnorrSigHashType, false}, // SINGLE of an input without output
		{"wrong", schnorr64, key, no{}, 0, 50, SchnorrSig, false},
		{"budget", schnorr64, key, yes{}, 0, 49, TapscriptWeight, false},
		{"budget before key", schnorr64, nil, yes{}, 0, 49, TapscriptWeight, false},
		{"empty costs nothing", nil, key, yes{}, 0, 0, OK, false},
		{"empty and empty", nil, nil, yes{}, 0, 0, TapscriptEmptyPubkey, false},
		{"empty key", schnorr64, nil, yes{}, 0, 50, TapscriptEmptyPubkey, false},
		{"63 bytes", schnorr64[:63], key, yes{}, 0, 50, SchnorrSigSize, false},
		{"66 bytes", append(bytesOf(1, 65), 1), key, yes{}, 0, 50, SchnorrSigSize, false},
		{"65 bytes of type 0", append(bytesOf(1, 64), 0), key, yes{}, 0, 50, SchnorrSigHashType, false},
		{"65 bytes of type 4", append(bytesOf(1, 64), 4), key, yes{}, 0, 50, SchnorrSigHashType, false},
		{"65 bytes of type 1", append(bytesOf(1, 64), 1), key, yes{}, 0, 50, OK, true},
		{"unknown key", []byte{7}, odd, no{}, 0, 50, OK, true},
		{"unknown key is paid for", []byte{7}, odd, no{}, 0, 49, TapscriptWeight, false},
		{"unknown key and nothing", nil, odd, no{}, 0, 0, OK, false},
		{"unknown key of one byte", []byte{7}, []byte{0}, no{}, 0, 50, OK, true},
		{"unknown key by policy", []byte{7}, odd, yes{}, DiscourageKeyType, 50, DiscouragedKeyType, false},
		{"unknown key by policy, and nothing", nil, odd, yes{}, DiscourageKeyType, 50, DiscouragedKeyType, false},
	} {
		r := newRig(t, c.v)
		for _, op := range []byte{opCheckSig, opCheckSigVerify, opCheckSigAdd} {
			stack, want := [][]byte{c.sig, c.key}, el(int(toNumber(c.good)))
			wantErr := c.err
			switch op {
			case opCheckSigVerify:
				if want = nil; c.err == OK && !c.good {
					wantErr = CheckSigVerify
				}
			case opCheckSigAdd:
				stack, want = [][]byte{c.sig, numberBytes(most), c.key}, el(most+int(toNumber(c.good)))
			}
			r.s.tx.outs = r.s.tx.outs[:0] // so that SINGLE has none
			after, err := r.runBudget([]byte{op}, c.f, c.budget, stack...)
			if err != wantErr || err == OK && !sameStack(after, want) {
				t.Errorf("%s, %s: %x, %s; want %s", c.name, operations[op].name, after, err.Name(), wantErr.Name())
			}
		}
	}
	for _, stack := range [][][]byte{nil, {schnorr64}, {schnorr64, key}} {
		if _, err := newRig(t, yes{}).run([]byte{opCheckSigAdd}, tapscript, NoFlags, stack...); err != InvalidStack {
			t.Errorf("CHECKSIGADD on %d elements: %s", len(stack), err.Name())
		}
	}
	large := [][]byte{schnorr64, numberBytes(most1), key}
	if _, err := newRig(t, no{}).run([]byte{opCheckSigAdd}, tapscript, NoFlags, large...); err != ScriptNum {
		t.Errorf("CHECKSIGADD to 2^31: %s", err.Name())
	}
}

// runBudget is run in tapscript with a budget.
func (r *rig) runBudget(code []byte, f Flags, budget int64, stack ...[]byte) ([][]byte, Error) {
	r.run(nil, tapscript, f, stack...)
	r.e.budget = budget
	err := r.e.run(code, tapscript)
	return r.e.stack, err
}
