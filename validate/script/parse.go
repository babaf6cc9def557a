package script

import "encoding/binary"

// next reads the instruction at pc, which must be inside script: its opcode, what it pushes (a view; empty where it
// pushes nothing) and where the one after it begins. Not ok: the script ends inside it. Core: GetScriptOp.
//
//	00..4b  | op | op bytes |
//	4c      | op | n: 1 byte | n bytes |
//	4d      | op | n: 2 bytes, little-endian | n bytes |
//	4e      | op | n: 4 bytes, little-endian | n bytes |
//	4f..ff  | op |
func next(script []byte, pc int) (op byte, data []byte, after int, ok bool) {
	op = script[pc]
	pc++
	if op > opPushData4 {
		return op, nil, pc, true
	}
	n := uint64(op)
	if op >= opPushData1 {
		if n, pc, ok = pushSize(script, pc, op); !ok {
			return op, nil, pc, false
		}
	}
	if n > uint64(len(script)-pc) {
		return op, nil, pc, false
	}
	after = pc + int(n)
	return op, script[pc:after:after], after, true
}

// pushSize reads the length behind one of the three OP_PUSHDATA.
func pushSize(script []byte, pc int, op byte) (n uint64, after int, ok bool) {
	rest := script[pc:]
	switch {
	case op == opPushData1 && len(rest) >= 1:
		return uint64(rest[0]), pc + 1, true
	case op == opPushData2 && len(rest) >= 2:
		return uint64(binary.LittleEndian.Uint16(rest)), pc + 2, true
	case op == opPushData4 && len(rest) >= 4:
		return uint64(binary.LittleEndian.Uint32(rest)), pc + 4, true
	}
	return 0, pc, false
}

// minimalPush tells whether no shorter way to push data exists than op, which is at most opPushData4 (Core:
// CheckMinimalPush, BIP62 rule 3).
func minimalPush(data []byte, op byte) bool {
	n := len(data)
	switch {
	case n == 0:
		return op == op0
	case n == 1 && (data[0] >= 1 && data[0] <= 16 || data[0] == 0x81):
		return false // a small number has an opcode of its own
	case n < opPushData1:
		return int(op) == n
	case n <= 0xff:
		return op == opPushData1
	case n <= 0xffff:
		return op == opPushData2
	}
	return true
}

// pushOnly tells whether script is whole and has nothing above OP_16; OP_RESERVED passes, as it does in Core.
func pushOnly(script []byte) bool {
	for pc := 0; pc < len(script); {
		op, _, after, ok := next(script, pc)
		if !ok || op > op16 {
			return false
		}
		pc = after
	}
	return true
}

// payToScriptHash tells whether an output's script is exactly OP_HASH160 <20 bytes> OP_EQUAL (BIP16).
func payToScriptHash(script []byte) bool {
	return len(script) == 23 && script[0] == opHash160 && script[1] == 20 && script[22] == opEqual
}

// witnessProgram takes apart a script of the form OP_0 or OP_1 to OP_16, one direct push of 2 to 40 bytes (BIP141).
func witnessProgram(script []byte) (version int, program []byte, ok bool) {
	if len(script) < 4 || len(script) > 42 || int(script[1])+2 != len(script) {
		return 0, nil, false
	}
	switch op := script[0]; {
	case op == op0:
		return 0, script[2:], true
	case op >= op1 && op <= op16:
		return int(op - op1 + 1), script[2:], true
	}
	return 0, nil, false
}

// payToAnchor tells whether a program is 1 <4e73>, which anyone may spend.
func payToAnchor(version int, program []byte) bool {
	return version == 1 && len(program) == 2 && program[0] == 0x4e && program[1] == 0x73
}
