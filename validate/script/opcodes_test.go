package script

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// coreNames are Core's from 0x61 on (script/script.h).
var coreNames = strings.Fields(`NOP VER IF NOTIF VERIF VERNOTIF ELSE ENDIF VERIFY RETURN
	TOALTSTACK FROMALTSTACK 2DROP 2DUP 3DUP 2OVER 2ROT 2SWAP IFDUP DEPTH DROP DUP NIP OVER PICK ROLL ROT SWAP TUCK
	CAT SUBSTR LEFT RIGHT SIZE INVERT AND OR XOR EQUAL EQUALVERIFY RESERVED1 RESERVED2
	1ADD 1SUB 2MUL 2DIV NEGATE ABS NOT 0NOTEQUAL ADD SUB MUL DIV MOD LSHIFT RSHIFT
	BOOLAND BOOLOR NUMEQUAL NUMEQUALVERIFY NUMNOTEQUAL LESSTHAN GREATERTHAN LESSTHANOREQUAL GREATERTHANOREQUAL MIN MAX
	WITHIN RIPEMD160 SHA1 SHA256 HASH160 HASH256 CODESEPARATOR CHECKSIG CHECKSIGVERIFY CHECKMULTISIG
	CHECKMULTISIGVERIFY NOP1 CHECKLOCKTIMEVERIFY CHECKSEQUENCEVERIFY NOP4 NOP5 NOP6 NOP7 NOP8 NOP9 NOP10 CHECKSIGADD`)

func TestOpcodeNames(t *testing.T) {
	if got := operations[opCheckSigAdd].name; len(coreNames) != opCheckSigAdd-opNop+1 || got != "OP_CHECKSIGADD" {
		t.Fatalf("%d names, the last is %s", len(coreNames), got)
	}
	for i, name := range coreNames {
		if got := operations[opNop+i].name; got != "OP_"+name {
			t.Errorf("%#x is %s, not OP_%s", opNop+i, got, name)
		}
	}
	for n := 1; n <= 16; n++ {
		if got, want := operations[op1+n-1].name, fmt.Sprintf("OP_%d", n); got != want {
			t.Errorf("%d is %s, not %s", n, got, want)
		}
	}
	for op := opCheckSigAdd + 1; op <= 255; op++ {
		if operations[op].name != "" {
			t.Errorf("%#x has a name: %s", op, operations[op].name)
		}
	}
}

// TestOpcodeClasses: disabled are the fifteen of Core's list, and IF to ENDIF run in dead branches.
func TestOpcodeClasses(t *testing.T) {
	off := []int{0x7e, 0x7f, 0x80, 0x81, 0x83, 0x84, 0x85, 0x86, 0x8d, 0x8e, 0x95, 0x96, 0x97, 0x98, 0x99}
	for op := range operations {
		want := plain
		if slices.Contains(off, op) {
			want = disabled
		} else if op >= 0x63 && op <= 0x68 {
			want = branch
		}
		if operations[op].class != want {
			t.Errorf("%#x has class %d, not %d", op, operations[op].class, want)
		}
	}
}

// TestOpSuccess: the list of BIP342, in its decimal numbers.
func TestOpSuccess(t *testing.T) {
	ranges := [][2]int{{80, 80}, {98, 98}, {126, 129}, {131, 134}, {137, 138}, {141, 142}, {149, 153}, {187, 254}}
	count := 0
	for op := range 256 {
		want := slices.ContainsFunc(ranges, func(r [2]int) bool { return op >= r[0] && op <= r[1] })
		if opSuccess(byte(op)) != want {
			t.Errorf("%d: %v", op, !want)
		}
		if want {
			count++
		}
	}
	if count != 87 {
		t.Errorf("%d opcodes succeed, BIP342 has 87", count)
	}
}
