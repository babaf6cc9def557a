package script

import (
	"bytes"

	"stele/chain"
)

// findAndDelete takes every push of sig out of script (Core: FindAndDelete of CScript() << sig). Looked for is one byte
// string: sig behind the shortest push opcode that has a length, so an empty sig is OP_0 and never OP_1 to OP_16. It is
// looked for where instructions begin, and where a match ended, again; inside other pushes it stays. What follows an
// instruction that is cut short stays too.
//
// Where nothing matches, script itself is returned. Otherwise what remains is appended to dst, of which only that part is
// returned. script may be what an earlier call returned for the same dst: the bytes only move down.
func findAndDelete(dst, script, sig []byte) (rest []byte, found int) {
	var header [5]byte
	push := appendPushHeader(header[:0], len(sig))
	start := len(dst)
	kept := 0 // what lies before is in dst or deleted
	for pc, ok := 0, true; ok; {
		match := pc
		for startsWithPush(script[pc:], push, sig) {
			pc += len(push) + len(sig)
			found++
		}
		if pc > match {
			dst = append(dst, script[kept:match]...)
			kept = pc
		}
		if pc == len(script) {
			break
		}
		_, _, pc, ok = next(script, pc)
	}
	if found == 0 {
		return script, 0
	}
	return append(dst, script[kept:]...)[start:], found
}

// startsWithPush tells whether b begins with push and then sig.
func startsWithPush(b, push, sig []byte) bool {
	return len(b) >= len(push)+len(sig) && b[0] == push[0] && bytes.HasPrefix(b, push) && bytes.HasPrefix(b[len(push):], sig)
}

// appendPushHeader appends what precedes n pushed bytes in Core's CScript() << vector.
func appendPushHeader(dst []byte, n int) []byte {
	switch {
	case n < opPushData1:
		return append(dst, byte(n))
	case n <= 0xff:
		return append(dst, opPushData1, byte(n))
	case n <= 0xffff:
		return append(dst, opPushData2, byte(n), byte(n>>8))
	}
	return append(dst, opPushData4, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
}

// appendScriptCode appends what a legacy signature hash has of a script: its length and its bytes, without every
// OP_CODESEPARATOR (Core: CTransactionSignatureSerializer::SerializeScriptCode). Where an instruction is cut short Core
// announces all bytes and writes those before the operand only. Such a script always fails, so no verdict depends on it;
// it is as Core has it.
func appendScriptCode(dst, code []byte) []byte {
	separators, end := 0, 0
	for ok := true; ok && end < len(code); {
		var op byte
		op, _, end, ok = next(code, end)
		if ok && op == opCodeSeparator {
			separators++
		}
	}
	dst = chain.AppendCompactSize(dst, uint64(len(code)-separators))
	if separators == 0 {
		return append(dst, code[:end]...)
	}
	for pc, ok := 0, true; ok && pc < len(code); {
		var op byte
		at := pc
		if op, _, pc, ok = next(code, pc); !ok || op != opCodeSeparator {
			dst = append(dst, code[at:pc]...)
		}
	}
	return dst
}
