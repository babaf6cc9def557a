package script

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"testing"

	//lint:ignore SA1019 what OP_RIPEMD160 is compared with
	"golang.org/x/crypto/ripemd160"
)

// rig runs scripts on stacks of a test's choice, as input 0 of a transaction.
type rig struct {
	e *Engine
	s *spending
}

func newRig(tb testing.TB, v Verifier) *rig {
	tb.Helper()
	s := (&spending{version: 2, sequence: 0, output: []byte{op1}}).ready(tb)
	return &rig{NewEngine(v), s}
}

// run gives the stack from the bottom.
func (r *rig) run(code []byte, kind rules, f Flags, stack ...[]byte) ([][]byte, Error) {
	e := r.e
	e.tx, e.in, e.flags, e.minimal = &r.s.tx, 0, f, f.Has(MinimalData)
	e.row, e.input = r.s.tx.row, &r.s.tx.ins[0]
	e.scratch, e.budget = e.scratch[:0], math.MaxInt64
	e.hashes.reset(&r.s.tx, 0)
	e.stack = append(e.stack[:0], stack...)
	err := e.run(code, kind)
	return e.stack, err
}

// el makes elements: numbers in their shortest form, bytes as they are.
func el(parts ...any) (stack [][]byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			stack = append(stack, numberBytes(int64(p)))
		case string:
			b, err := hex.DecodeString(p)
			if err != nil {
				panic(err)
			}
			stack = append(stack, b)
		case []byte:
			stack = append(stack, p)
		}
	}
	return stack
}

func sameStack(a, b [][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// opCase is one opcode on a stack: what it leaves, or why it fails.
type opCase struct {
	op     byte
	before [][]byte
	after  [][]byte
	err    Error
}

func good(op byte, before, after [][]byte) opCase { return opCase{op, before, after, OK} }

func fails(op byte, err Error, before ...any) opCase { return opCase{op, el(before...), nil, err} }

// check runs the cases under every kind of script.
func (r *rig) check(t *testing.T, cases []opCase) {
	t.Helper()
	for _, c := range cases {
		for _, kind := range []rules{legacy, witnessV0, tapscript} {
			after, err := r.run([]byte{c.op}, kind, NoFlags, c.before...)
			if err != c.err || err == OK && !sameStack(after, c.after) {
				t.Errorf("%s on %x, kind %d: %x, %s; want %x, %s",
					operations[c.op].name, c.before, kind, after, err.Name(), c.after, c.err.Name())
			}
		}
	}
}

func TestStackOpcodes(t *testing.T) {
	newRig(t, yes{}).check(t, []opCase{
		good(opDrop, el(1, 2), el(1)),
		good(op2Drop, el(1, 2, 3), el(1)),
		good(opDup, el(1, 2), el(1, 2, 2)),
		good(op2Dup, el(1, 2), el(1, 2, 1, 2)),
		good(op3Dup, el(1, 2, 3), el(1, 2, 3, 1, 2, 3)),
		good(opOver, el(1, 2), el(1, 2, 1)),
		good(op2Over, el(1, 2, 3, 4), el(1, 2, 3, 4, 1, 2)),
		good(opRot, el(9, 1, 2, 3), el(9, 2, 3, 1)),
		good(op2Rot, el(9, 1, 2, 3, 4, 5, 6), el(9, 3, 4, 5, 6, 1, 2)),
		good(opSwap, el(9, 1, 2), el(9, 2, 1)),
		good(op2Swap, el(9, 1, 2, 3, 4), el(9, 3, 4, 1, 2)),
		good(opNip, el(9, 1, 2), el(9, 2)),
		good(opTuck, el(9, 1, 2), el(9, 2, 1, 2)),
		good(opIfDup, el(1, 2), el(1, 2, 2)),
		good(opIfDup, el(1, 0), el(1, 0)),
		good(opIfDup, el(1, "0080"), el(1, "0080")),
		good(opIfDup, el(1, "8000"), el(1, "8000", "8000")),
		good(opDepth, nil, el(0)),
		good(opDepth, el(5, 5), el(5, 5, 2)),
		good(opSize, el(""), el("", 0)),
		good(opSize, el(bytesOf(1, 127)), el(bytesOf(1, 127), "7f")),
		good(opSize, el(bytesOf(1, 128)), el(bytesOf(1, 128), "8000")),
		good(opSize, el(bytesOf(1, 520)), el(bytesOf(1, 520), "0802")),
		good(opPick, el(7, 8, 9, 0), el(7, 8, 9, 9)),
		good(opPick, el(7, 8, 9, 2), el(7, 8, 9, 7)),
		good(opRoll, el(7, 8, 9, 0), el(7, 8, 9)),
		good(opRoll, el(7, 8, 9, 1), el(7, 9, 8)),
		good(opRoll, el(7, 8, 9, 2), el(8, 9, 7)),
		good(opPick, el(7, "000000"), el(7, 7)), // a zero of any form
		fails(opPick, InvalidStack, 7, 8, 9, 3),
		fails(opRoll, InvalidStack, 7, 8, 9, 3),
		fails(opPick, InvalidStack, 7, 8, 9, -1),
		fails(opRoll, InvalidStack, 7, 8, 9, -1),
		fails(opRoll, InvalidStack, 7, "ffffff7f"),
		fails(opPick, ScriptNum, 7, "0000000000"),
		fails(opRoll, ScriptNum, 7, "0000000080"),
		fails(opFromAltStack, InvalidAltStack, 1),
	})
}

func TestAltStack(t *testing.T) {
	r := newRig(t, yes{})
	for _, c := range []struct {
		code  []byte
		after [][]byte
		err   Error
	}{
		{build(1, 2, byte(opToAltStack), 3, byte(opFromAltStack)), el(1, 3, 2), OK},
		{build(1, 2, 3, byte(opToAltStack), byte(opToAltStack), byte(opFromAltStack), byte(opFromAltStack)), el(1, 2, 3), OK},
		{build(1, byte(opToAltStack), byte(opFromAltStack), byte(opFromAltStack)), nil, InvalidAltStack},
		{build(1, byte(opToAltStack), byte(opToAltStack)), nil, InvalidStack},
	} {
		if after, err := r.run(c.code, legacy, NoFlags); err != c.err || err == OK && !sameStack(after, c.after) {
			t.Errorf("%x: %x, %s", c.code, after, err.Name())
		}
	}
	// What one script leaves there the next one does not see.
	r.run(build(1, 1, byte(opToAltStack)), legacy, NoFlags)
	if _, err := r.run([]byte{opFromAltStack}, legacy, NoFlags); err != InvalidAltStack {
		t.Errorf("the second script: %s", err.Name())
	}
}

func TestEqualAndVerify(t *testing.T) {
	newRig(t, yes{}).check(t, []opCase{
		good(opEqual, el(9, "00", "00"), el(9, 1)),
		good(opEqual, el("00", ""), el(0)), // bytes, not numbers
		good(opEqual, el("80", "00"), el(0)),
		good(opEqual, el("0102", "0103"), el(0)),
		good(opEqualVerify, el(9, "0102", "0102"), el(9)),
		fails(opEqualVerify, EqualVerify, "01", "0100"),
		good(opVerify, el(9, 1), el(9)),
		good(opVerify, el(9, "0001"), el(9)),
		fails(opVerify, VerifyFailed, 0),
		fails(opVerify, VerifyFailed, "80"),
		fails(opVerify, VerifyFailed, "000080"),
		fails(opReturn, OpReturn, 1),
		good(opNop, el(1), el(1)),
	})
}

const (
	most  = math.MaxInt32 // ±2^31-1: the largest operands
	most1 = most + 1
)

func TestUnaryOpcodes(t *testing.T) {
	cases := []opCase{
		good(op1Add, el(most), el("0000008000")), // larger than an operand may be
		good(op1Add, el(-1), el(0)),
		good(op1Sub, el(-most), el("0000008080")),
		good(op1Sub, el(0), el(-1)),
		good(opNegate, el(5), el(-5)),
		good(opNegate, el(0), el(0)),
		good(opNegate, el("80"), el(0)), // the other zero
		good(opAbs, el(-most), el(most)),
		good(opAbs, el(16), el(16)),
		good(opAbs, el("0080"), el(0)),
		good(opNot, el(0), el(1)),
		good(opNot, el("00000080"), el(1)),
		good(opNot, el(1), el(0)),
		good(opNot, el(17), el(0)),
		good(op0NotEqual, el(0), el(0)),
		good(op0NotEqual, el("80"), el(0)),
		good(op0NotEqual, el(-17), el(1)),
	}
	for op := byte(op1Add); op <= op0NotEqual; op++ {
		if op == op2Mul || op == op2Div {
			continue
		}
		cases = append(cases, fails(op, ScriptNum, most1), fails(op, ScriptNum, -most1), fails(op, ScriptNum, "0000000000"))
	}
	newRig(t, yes{}).check(t, cases)
}

func TestBinaryOpcodes(t *testing.T) {
	yes1, no0 := el(1), el(0)
	truths := func(op byte, less, same, more bool) []opCase {
		as := func(v bool) [][]byte {
			if v {
				return yes1
			}
			return no0
		}
		return []opCase{
			good(op, el(-most, most), as(less)), good(op, el(2, 3), as(less)), good(op, el(-3, -2), as(less)),
			good(op, el(2, 2), as(same)), good(op, el(-most, -most), as(same)), good(op, el("80", "0000"), as(same)),
			good(op, el(most, -most), as(more)), good(op, el(0, -1), as(more)), good(op, el(256, 255), as(more)),
		}
	}
	cases := []opCase{
		good(opAdd, el(most, most), el("feffffff00")),
		good(opAdd, el(-most, -most), el("feffffff80")),
		good(opAdd, el(8, 8), el(16)),
		good(opAdd, el(8, 9), el(17)),
		good(opAdd, el(-1, -1), el(-2)),
		good(opSub, el(most, -most), el("feffffff00")),
		good(opSub, el(-most, most), el("feffffff80")),
		good(opSub, el(2, 5), el(-3)),
		good(opMin, el(most, -most), el(-most)),
		good(opMin, el(-17, 17), el(-17)),
		good(opMax, el(most, -most), el(most)),
		good(opMax, el(-18, -17), el(-17)),
		good(opMin, el("0500", "0600"), el(5)), // a number of the shortest form, not one of the elements
		good(opBoolAnd, el("80", 1), no0),
		good(opBoolAnd, el(-1, 2), yes1),
		good(opBoolOr, el("80", "00"), no0),
		good(opBoolOr, el(0, -1), yes1),
		good(opNumEqualVerify, el(9, "0100", 1), el(9)),
		fails(opNumEqualVerify, NumEqualVerify, 1, 2),
	}
	cases = append(cases, truths(opNumEqual, false, true, false)...)
	cases = append(cases, truths(opNumNotEqual, true, false, true)...)
	cases = append(cases, truths(opLessThan, true, false, false)...)
	cases = append(cases, truths(opGreaterThan, false, false, true)...)
	cases = append(cases, truths(opLessThanOrEqual, true, true, false)...)
	cases = append(cases, truths(opGreaterThanOrEqual, false, true, true)...)
	for op := byte(opAdd); op <= opMax; op++ {
		if operations[op].class == plain {
			cases = append(cases, fails(op, ScriptNum, most1, 1), fails(op, ScriptNum, 1, -most1))
		}
	}
	newRig(t, yes{}).check(t, cases)
}

func TestWithin(t *testing.T) {
	newRig(t, yes{}).check(t, []opCase{
		good(opWithin, el(2, 2, 3), el(1)),
		good(opWithin, el(3, 2, 3), el(0)),
		good(opWithin, el(1, 2, 3), el(0)),
		good(opWithin, el(0, -most, most), el(1)),
		good(opWithin, el(2, 3, 2), el(0)),
		fails(opWithin, ScriptNum, most1, 2, 3),
		fails(opWithin, ScriptNum, 2, most1, 3),
		fails(opWithin, ScriptNum, 2, 3, most1),
	})
}

func TestHashOpcodes(t *testing.T) {
	var cases []opCase
	for _, n := range []int{0, 1, 20, 32, 55, 56, 63, 64, 65, 119, 120, 128, 519, 520} {
		b := bytesOf(0x5a, n)
		ripemd := func(b []byte) []byte {
			h := ripemd160.New()
			h.Write(b)
			return h.Sum(nil)
		}
		s1, s256 := sha1.Sum(b), sha256.Sum256(b)
		twice := sha256.Sum256(s256[:])
		cases = append(cases,
			good(opRipemd160, el(9, b), el(9, ripemd(b))), good(opSha1, el(9, b), el(9, s1[:])),
			good(opSha256, el(9, b), el(9, s256[:])), good(opHash160, el(9, b), el(9, ripemd(s256[:]))),
			good(opHash256, el(9, b), el(9, twice[:])))
	}
	newRig(t, yes{}).check(t, cases)
}

// coreNeeds is how many elements an opcode asks for before it asks anything else (Core: EvalScript).
var coreNeeds = map[byte]int{
	opIf: 1, opNotIf: 1, opVerify: 1, opToAltStack: 1, op2Drop: 2, op2Dup: 2, op3Dup: 3, op2Over: 4, op2Rot: 6,
	op2Swap: 4, opIfDup: 1, opDrop: 1, opDup: 1, opNip: 2, opOver: 2, opPick: 2, opRoll: 2, opRot: 3, opSwap: 2,
	opTuck: 2, opSize: 1, opEqual: 2, opEqualVerify: 2, op1Add: 1, op1Sub: 1, opNegate: 1, opAbs: 1, opNot: 1,
	op0NotEqual: 1, opAdd: 2, opSub: 2, opBoolAnd: 2, opBoolOr: 2, opNumEqual: 2, opNumEqualVerify: 2,
	opNumNotEqual: 2, opLessThan: 2, opGreaterThan: 2, opLessThanOrEqual: 2, opGreaterThanOrEqual: 2, opMin: 2,
	opMax: 2, opWithin: 3, opRipemd160: 1, opSha1: 1, opSha256: 1, opHash160: 1, opHash256: 1, opCheckSig: 2,
	opCheckSigVerify: 2, opCheckMultisig: 1, opCheckMultisigVerify: 1, opCheckLockTime: 1, opCheckSequence: 1,
}

// TestShortStacks: one element too few is the same error for every opcode, even where elements are no numbers.
func TestShortStacks(t *testing.T) {
	r := newRig(t, yes{})
	tried := 0
	for op := 0; op < 256; op++ {
		need, known := coreNeeds[byte(op)]
		if !known {
			continue
		}
		tried++
		x := bytesOf(0xff, 33)
		junk := [][]byte{x, x, x, x, x, x}
		for n := range need {
			if _, err := r.run([]byte{byte(op)}, legacy, CLTV|CSV, junk[:n]...); err != InvalidStack {
				t.Errorf("%s on %d elements: %s", operations[op].name, n, err.Name())
			}
		}
		if _, err := r.run([]byte{byte(op)}, legacy, CLTV|CSV, junk[:need]...); err == InvalidStack {
			t.Errorf("%s on %d elements: %s", operations[op].name, need, err.Name())
		}
	}
	if tried != len(coreNeeds) {
		t.Errorf("%d opcodes of %d were tried", tried, len(coreNeeds))
	}
}

// TestMeaningless: what every byte without a meaning does in live and dead branches.
func TestMeaningless(t *testing.T) {
	r := newRig(t, yes{})
	for _, kind := range []rules{legacy, witnessV0, tapscript} {
		for op := opPushData4 + 1; op < 256; op++ {
			_, live := r.run([]byte{byte(op)}, kind, NoFlags, el(0, 0, 0, 0, 0, 0)...)
			_, dead := r.run([]byte{op0, opIf, byte(op), opEndIf}, kind, NoFlags)
			wantDead := OK
			switch {
			case operations[op].class == disabled:
				wantDead = DisabledOpcode
			case op == opVerIf || op == opVerNotIf:
				wantDead = BadOpcode
			case op == opIf || op == opNotIf, op == opEndIf:
				wantDead = UnbalancedConditional
			}
			if dead != wantDead {
				t.Errorf("kind %d: %#x in a dead branch: %s, not %s", kind, op, dead.Name(), wantDead.Name())
			}
			bad := operations[op].name == "" || op == opReserved || op == opVer || op == opReserved1 || op == opReserved2 ||
				op == opVerIf || op == opVerNotIf || op == opCheckSigAdd && kind != tapscript
			if (live == BadOpcode) != bad {
				t.Errorf("kind %d: %#x: %s", kind, op, live.Name())
			}
		}
	}
}

func TestConditionals(t *testing.T) {
	r := newRig(t, yes{})
	i, n, s, d := byte(opIf), byte(opNotIf), byte(opElse), byte(opEndIf)
	for _, c := range []struct {
		code  []byte
		after [][]byte
		err   Error
	}{
		{build(1, i, 2, s, 3, d), el(2), OK},
		{build(0, i, 2, s, 3, d), el(3), OK},
		{build(0, n, 2, s, 3, d), el(2), OK},
		{build(1, n, 2, s, 3, d), el(3), OK},
		{build(1, i, 2, s, 3, s, 4, s, 5, d), el(2, 4), OK},
		{build(0, i, 2, s, 3, s, 4, s, 5, d), el(3, 5), OK},
		{build(1, i, 0, i, 2, s, 3, d, s, 4, d), el(3), OK},
		{build(0, i, 1, i, 2, s, 3, d, s, 4, d), el(4), OK},
		{build(0, i, i, s, d, d, 7), el(7), OK}, // in dead branches IF takes nothing
		{build(bytesOf(0, 3), i, 2, s, 3, d), el(3), OK},
		{build([]byte{0, 0x80}, i, 2, s, 3, d), el(3), OK},
		{build([]byte{0x80, 0}, n, 2, s, 3, d), el(3), OK},
		{build(1, i), nil, UnbalancedConditional},
		{build(1, i, s), nil, UnbalancedConditional},
		{build(d), nil, UnbalancedConditional},
		{build(s), nil, UnbalancedConditional},
		{build(1, i, d, d), nil, UnbalancedConditional},
		{build(1, i, d, s), nil, UnbalancedConditional},
		{build(i, d), nil, InvalidStack},
		{build(n, d), nil, InvalidStack},
	} {
		if after, err := r.run(c.code, legacy, NoFlags); err != c.err || err == OK && !sameStack(after, c.after) {
			t.Errorf("%x: %x, %s", c.code, after, err.Name())
		}
	}
}

// TestMinimalIf: which operands IF takes, by kind of script and flag.
func TestMinimalIf(t *testing.T) {
	r := newRig(t, yes{})
	for _, op := range []byte{opIf, opNotIf} {
		for _, x := range el("", "01", "00", "02", "80", "81", "0100", "0000", "0001") {
			odd := len(x) > 1 || len(x) == 1 && x[0] != 1
			for _, c := range []struct {
				kind rules
				f    Flags
				err  Error
			}{
				{legacy, NoFlags, OK}, {legacy, MinimalIf, OK}, {witnessV0, NoFlags, OK},
				{witnessV0, MinimalIf, NotMinimalIf}, {tapscript, NoFlags, TapscriptMinimalIf},
				{tapscript, MinimalIf, TapscriptMinimalIf},
			} {
				want := OK
				if odd {
					want = c.err
				}
				if _, err := r.run(build(op, byte(opEndIf)), c.kind, c.f, x); err != want {
					t.Errorf("%#x of %x, kind %d, flags %v: %s, not %s", op, x, c.kind, c.f.Names(), err.Name(), want.Name())
				}
			}
		}
	}
}

// TestScratchTurns keeps many results alive while far more are made than the scratch holds, beside a list of what each
// element has to be.
func TestScratchTurns(t *testing.T) {
	r := newRig(t, yes{})
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		code, model, alt := drawHashing(random, 2+random.IntN(maxStack-2))
		after, err := r.run(code, tapscript, NoFlags)
		if err != OK || !sameStack(after, model) || !sameStack(r.e.alt, alt) {
			t.Fatalf("seed %d, %d opcodes: %s, stack right %v, alternative stack right %v",
				seed, len(code), err.Name(), sameStack(after, model), sameStack(r.e.alt, alt))
		}
		if cap(r.e.scratch) != scratchHalf || cap(r.e.spare) != scratchHalf {
			t.Fatalf("the scratch grew to %d and %d", cap(r.e.scratch), cap(r.e.spare))
		}
	}
}

// drawHashing makes a script that fills the scratch several times, and both stacks that it leaves.
func drawHashing(random *rand.Rand, depth int) (code []byte, model, alt [][]byte) {
	for i := range depth {
		code = append(code, byte(op1+i%16))
		model = append(model, []byte{byte(1 + i%16)})
	}
	for hashed := 0; hashed < 3*scratchHalf/scratchElement; {
		switch random.IntN(10) {
		case 0:
			if len(model)+len(alt) < maxStack-2 && len(alt) < 100 {
				code, alt = append(code, opDup, opToAltStack), append(alt, model[len(model)-1])
			}
		case 1:
			if n := len(alt); n > 0 {
				code = append(code, opFromAltStack, opNip)
				model[len(model)-1] = alt[n-1]
				alt = alt[:n-1]
			}
		default:
			if len(model)+len(alt) == maxStack {
				code, model = append(code, opDrop), model[:len(model)-1]
			}
			at := random.IntN(len(model))
			code = append(append(code, numberPush(int64(at))...), opRoll, opSha256, opHash160)
			place := len(model) - 1 - at
			x := model[place]
			copy(model[place:], model[place+1:])
			first := sha256.Sum256(x)
			model[len(model)-1] = hash160(first[:])
			hashed += 2
		}
	}
	return code, model, alt
}
