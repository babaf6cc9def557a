package script

import (
	"bytes"
	"testing"
)

// repeat is n times the same bytes.
func repeat(n int, code ...byte) script { return bytes.Repeat(code, n) }

// codeOf is a script of n bytes without anything that is counted or left over, but for some elements.
func codeOf(n int) script {
	const push = 1 + 75
	s := repeat(n/push, append([]byte{75}, make([]byte, 75)...)...)
	return append(s, repeat(n%push, op1)...)
}

// TestLimits stands on both sides of every limit of a running script.
func TestLimits(t *testing.T) {
	both := func(err Error) [2]Error { return [2]Error{err, err} }
	not := func(err Error) [2]Error { return [2]Error{err, OK} } // in tapscript
	thousand := make([][]byte, maxStack+1)
	r := newRig(t, yes{})
	for _, c := range []struct {
		name  string
		code  []byte
		stack [][]byte
		want  [2]Error // in legacy and version 0; in tapscript
	}{
		{"10,000 bytes", codeOf(10_000), nil, both(OK)},
		{"10,001 bytes", codeOf(10_001), nil, not(ScriptSize)},
		{"10,001 bytes that would fail", build(byte(opReturn), codeOf(10_000)), nil, [2]Error{ScriptSize, OpReturn}},
		{"201 opcodes", repeat(201, opNop), nil, both(OK)},
		{"202 opcodes", repeat(202, opNop), nil, not(OpCount)},
		{"201 opcodes, 199 of them dead", build(0, byte(opIf), repeat(199, opNop), byte(opEndIf)), nil, both(OK)},
		{"202 opcodes, 200 of them dead", build(0, byte(opIf), repeat(200, opNop), byte(opEndIf)), nil, not(OpCount)},
		{"the 202nd is disabled", build(repeat(201, opNop), byte(opCat)), nil, [2]Error{OpCount, DisabledOpcode}},
		{"OP_RESERVED is not counted", build(0, byte(opIf), repeat(300, opReserved), byte(opEndIf)), nil, both(OK)},
		{"numbers are not counted", repeat(300, op16), nil, both(OK)},
		{"520 bytes", build(bytesOf(1, 520)), nil, both(OK)},
		{"521 bytes", build(bytesOf(1, 521)), nil, both(PushSize)},
		{"521 dead bytes", build(0, byte(opIf), bytesOf(1, 521), byte(opEndIf)), nil, both(PushSize)},
		{"1000 elements", repeat(1000, op1), nil, both(OK)},
		{"1001 elements", repeat(1001, op1), nil, both(StackSize)},
		{"1001 elements for a moment", build(repeat(1001, op1), byte(opDrop)), nil, both(StackSize)},
		{"1000 elements on two stacks", build(repeat(100, op1, opToAltStack), repeat(900, op1)), nil, both(OK)},
		{"1001 elements on two stacks", build(repeat(100, op1, opToAltStack), repeat(901, op1)), nil, both(StackSize)},
		{"3DUP to 1000", []byte{op3Dup}, thousand[:997], both(OK)},
		{"3DUP to 1001", []byte{op3Dup}, thousand[:998], both(StackSize)},
		{"1001 elements, one of which the first opcode drops", []byte{opDrop}, thousand, both(OK)},
		{"1001 elements, which the first opcode keeps", []byte{opNop}, thousand, both(StackSize)},
		{"1001 elements, and nothing runs", nil, thousand, both(OK)},
		{"cut push behind a failure", build(byte(opReturn), byte(75)), nil, both(OpReturn)},
		{"cut push", build(1, byte(75)), nil, both(BadOpcode)},
		{"cut push in a dead branch", build(0, byte(opIf), byte(75)), nil, both(BadOpcode)},
	} {
		for kind, want := range map[rules]Error{legacy: c.want[0], witnessV0: c.want[0], tapscript: c.want[1]} {
			if _, err := r.run(c.code, kind, NoFlags, c.stack...); err != want {
				t.Errorf("%s, kind %d: %s, not %s", c.name, kind, err.Name(), want.Name())
			}
		}
	}
}

// TestMinimalData: the flag asks pushes and numbers, in live branches only.
func TestMinimalData(t *testing.T) {
	r := newRig(t, yes{})
	long := script{opPushData1, 1, 0x42}
	for _, c := range []struct {
		name  string
		code  []byte
		stack [][]byte
		err   Error
	}{
		{"push", build(long), nil, NotMinimalData},
		{"dead push", build(0, byte(opIf), long, byte(opEndIf)), nil, OK},
		{"one number", []byte{op1Add}, el("0100"), ScriptNum},
		{"first of two numbers", []byte{opAdd}, el("80", 1), ScriptNum},
		{"second of two numbers", []byte{opAdd}, el(1, "00"), ScriptNum},
		{"first of three", []byte{opWithin}, el("0100", 1, 2), ScriptNum},
		{"depth of a pick", []byte{opPick}, el(7, "00"), ScriptNum},
		{"count of keys", []byte{opCheckMultisig}, el(0, 0, "00"), ScriptNum},
		{"count of signatures", []byte{opCheckMultisig}, el(0, "00", 0), ScriptNum},
		{"lock time", []byte{opCheckLockTime}, el("00"), ScriptNum},
		{"sequence", []byte{opCheckSequence}, el("0000"), ScriptNum},
		{"truth is no number", []byte{opVerify}, el("0100"), OK},
		{"nor is what IF takes", []byte{opIf, opEndIf}, el("0100"), OK},
	} {
		if _, err := r.run(c.code, legacy, MinimalData|CLTV|CSV, c.stack...); err != c.err {
			t.Errorf("%s: %s, not %s", c.name, err.Name(), c.err.Name())
		}
		if _, err := r.run(c.code, legacy, CLTV, c.stack...); err != OK && c.name != "lock time" {
			t.Errorf("%s, without the flag: %s", c.name, err.Name())
		}
	}
}

// lockCase is an operand of CLTV or CSV in a transaction.
type lockCase struct {
	version, lock, sequence uint32
	operand                 [][]byte
	err                     Error
}

func checkLocks(t *testing.T, op byte, f Flags, cases []lockCase) {
	t.Helper()
	for i, c := range cases {
		s := &spending{version: c.version, lock: c.lock, sequence: c.sequence, output: []byte{op1}}
		r := &rig{NewEngine(yes{}), s.ready(t)}
		after, err := r.run([]byte{op}, legacy, f, c.operand...)
		if err != c.err || err == OK && !sameStack(after, c.operand) {
			t.Errorf("case %d, %x in %+v: %s, not %s", i, c.operand, c, err.Name(), c.err.Name())
		}
		if after, err := r.run([]byte{op}, legacy, DiscourageNops, c.operand...); err != OK || !sameStack(after, c.operand) {
			t.Errorf("case %d without the rule: %s", i, err.Name())
		}
	}
}

func TestCheckLockTime(t *testing.T) {
	const edge = lockTimeSeconds
	checkLocks(t, opCheckLockTime, CLTV, []lockCase{
		{1, 100, 0, el(100), OK},
		{1, 100, 0, el(101), UnsatisfiedLockTime},
		{1, 0, 0, el(0), OK},
		{1, 0, 0, el(-1), NegativeLockTime},
		{1, 0, 0, el("80"), OK}, // the other zero is not negative
		{1, 0, 0, nil, InvalidStack},
		{1, edge - 1, 0, el(edge - 1), OK},
		{1, edge, 0, el(edge - 1), UnsatisfiedLockTime}, // seconds and heights do not compare
		{1, edge - 1, 0, el(edge), UnsatisfiedLockTime},
		{1, edge, 0, el(edge), OK},
		{1, 1<<32 - 1, 0, el(1<<31 - 1), OK},
		{1, 1<<32 - 1, 0, el(1 << 31), OK},
		{1, 1<<32 - 1, 0, el(1<<32 - 1), OK},
		{1, 1<<32 - 1, 0, el(1 << 32), UnsatisfiedLockTime},
		{1, 1<<32 - 1, 0, el(1<<39 - 1), UnsatisfiedLockTime},
		{1, 1<<32 - 1, 0, el(1 << 39), ScriptNum}, // six bytes
		{1, 1<<32 - 1, 0, el(-(1<<39 - 1)), NegativeLockTime},
		{1, 100, sequenceFinal - 1, el(100), OK},
		{1, 100, sequenceFinal, el(100), UnsatisfiedLockTime},
	})
}

func TestCheckSequence(t *testing.T) {
	const off, seconds = sequenceDisabled, sequenceSeconds
	checkLocks(t, opCheckSequence, CSV, []lockCase{
		{2, 0, 100, el(100), OK},
		{2, 0, 100, el(101), UnsatisfiedLockTime},
		{2, 0, 0, el(0), OK},
		{2, 0, 0, el(-1), NegativeLockTime},
		{2, 0, 0, nil, InvalidStack},
		{1, 0, 100, el(100), UnsatisfiedLockTime},
		{0, 0, 100, el(100), UnsatisfiedLockTime},
		{0xffff_ffff, 0, 100, el(100), OK}, // versions are unsigned
		{0x8000_0002, 0, 100, el(101), UnsatisfiedLockTime},
		{2, 0, 1<<16 | 100, el(100), OK}, // bits that mean nothing
		{2, 0, 100, el(1<<16 | 100), OK},
		{2, 0, 0xffff, el(0xffff), OK},
		{2, 0, seconds | 0xffff, el(0xffff), UnsatisfiedLockTime}, // units do not compare
		{2, 0, 0xffff, el(seconds | 0xffff), UnsatisfiedLockTime},
		{2, 0, seconds | 5, el(seconds | 5), OK},
		{2, 0, seconds | 5, el(seconds | 6), UnsatisfiedLockTime},
		{2, 0, off | 100, el(100), UnsatisfiedLockTime},
		{2, 0, 100, el(off), OK},        // an operand with that bit asks nothing
		{1, 0, off, el(off | 5000), OK}, // nor of what the input is
		{2, 0, 100, el(1<<31 - 1), UnsatisfiedLockTime},
		{2, 0, 100, el(1 << 32), OK}, // bit 31 is not set, and the low bits are zero
		{2, 0, 100, el(1<<32 | 101), UnsatisfiedLockTime},
		{2, 0, 100, el(1<<39 - 1), OK},
		{2, 0, 100, el(1 << 39), ScriptNum},
		{2, 0, 100, el(-(1<<39 - 1)), NegativeLockTime},
	})
}

// TestDiscouragedNops: policy refuses NOP1 and NOP4 to NOP10 in live branches, and neither OP_NOP nor the two that
// have a meaning by now.
func TestDiscouragedNops(t *testing.T) {
	r := newRig(t, yes{})
	for op := byte(opNop1); op <= opNop10; op++ {
		want := DiscouragedNops
		if op == opCheckLockTime || op == opCheckSequence {
			want = OK
		}
		if _, err := r.run([]byte{op}, legacy, DiscourageNops); err != want {
			t.Errorf("%#x: %s", op, err.Name())
		}
		if _, err := r.run([]byte{op}, legacy, Consensus&^(CLTV|CSV)); err != OK {
			t.Errorf("%#x in a block: %s", op, err.Name())
		}
		if _, err := r.run(build(0, byte(opIf), op, byte(opEndIf)), legacy, DiscourageNops); err != OK {
			t.Errorf("%#x in a dead branch: %s", op, err.Name())
		}
	}
	if _, err := r.run([]byte{opNop}, legacy, DiscourageNops); err != OK {
		t.Errorf("OP_NOP: %s", err.Name())
	}
}
