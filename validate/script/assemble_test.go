package script_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// opNames are Core's names from OP_NOP (0x61) on.
var opNames = strings.Fields(`NOP VER IF NOTIF VERIF VERNOTIF ELSE ENDIF VERIFY RETURN TOALTSTACK FROMALTSTACK
	2DROP 2DUP 3DUP 2OVER 2ROT 2SWAP IFDUP DEPTH DROP DUP NIP OVER PICK ROLL ROT SWAP TUCK
	CAT SUBSTR LEFT RIGHT SIZE INVERT AND OR XOR EQUAL EQUALVERIFY RESERVED1 RESERVED2
	1ADD 1SUB 2MUL 2DIV NEGATE ABS NOT 0NOTEQUAL ADD SUB MUL DIV MOD LSHIFT RSHIFT BOOLAND BOOLOR
	NUMEQUAL NUMEQUALVERIFY NUMNOTEQUAL LESSTHAN GREATERTHAN LESSTHANOREQUAL GREATERTHANOREQUAL MIN MAX WITHIN
	RIPEMD160 SHA1 SHA256 HASH160 HASH256 CODESEPARATOR CHECKSIG CHECKSIGVERIFY CHECKMULTISIG CHECKMULTISIGVERIFY
	NOP1 CHECKLOCKTIMEVERIFY CHECKSEQUENCEVERIFY NOP4 NOP5 NOP6 NOP7 NOP8 NOP9 NOP10 CHECKSIGADD`)

const (
	op0, op1, op16          = 0x00, 0x51, 0x60
	op1Negate, opReserved   = 0x4f, 0x50
	opNop                   = 0x61
	opPushData1, opCheckSig = 0x4c, 0xac
	opPushData2             = 0x4d
	opPushData4             = 0x4e
	opReturn, opDrop        = 0x6a, 0x75
	opDup, opEqual          = 0x76, 0x87
	opEqualVerify, opHash   = 0x88, 0xa9 // opHash: OP_HASH160
	opCodeSeparator         = 0xab
	opCheckSigVerify        = 0xad
	opCheckMultisig         = 0xae
	opCheckSigAdd           = 0xba
)

var opByName = func() map[string]byte {
	m := map[string]byte{"RESERVED": opReserved, "NOP2": 0xb1, "NOP3": 0xb2, "CLTV": 0xb1, "CSV": 0xb2}
	for i, name := range opNames {
		m[name] = byte(opNop + i)
	}
	return m
}()

// assemble reads a script as Core's vectors write it (Core: ParseScript): decimal numbers are pushed, 0x is raw bytes,
// quotes push text, and all else is an opcode, with or without OP_.
func assemble(text string) ([]byte, error) {
	var s []byte
	for _, word := range strings.Fields(text) {
		if n, err := strconv.ParseInt(word, 10, 64); err == nil {
			if n < -0xffffffff || n > 0xffffffff {
				return nil, fmt.Errorf("number %s is out of range", word)
			}
			s = pushNumber(s, n)
			continue
		}
		if raw, ok := strings.CutPrefix(word, "0x"); ok {
			b, err := hex.DecodeString(raw)
			if err != nil {
				return nil, err
			}
			s = append(s, b...)
			continue
		}
		if len(word) >= 2 && word[0] == '\'' && word[len(word)-1] == '\'' {
			s = push(s, []byte(word[1:len(word)-1]))
			continue
		}
		op, ok := opByName[strings.TrimPrefix(word, "OP_")]
		if !ok {
			return nil, fmt.Errorf("no opcode %q", word)
		}
		s = append(s, op)
	}
	return s, nil
}

// asm is assemble for scripts written in a test.
func asm(text string) []byte {
	s, err := assemble(text)
	if err != nil {
		panic(err)
	}
	return s
}

// push appends the push of data that Core's CScript << vector makes: never an opcode of a small number.
func push(s, data []byte) []byte {
	switch n := len(data); {
	case n < opPushData1:
		s = append(s, byte(n))
	case n <= 0xff:
		s = append(s, opPushData1, byte(n))
	case n <= 0xffff:
		s = binary.LittleEndian.AppendUint16(append(s, opPushData2), uint16(n))
	default:
		s = binary.LittleEndian.AppendUint32(append(s, opPushData4), uint32(n))
	}
	return append(s, data...)
}

// pushNumber appends the push that CScript << int64 makes.
func pushNumber(s []byte, n int64) []byte {
	switch {
	case n == 0:
		return append(s, op0)
	case n == -1 || 1 <= n && n <= 16:
		return append(s, byte(n+op1-1))
	}
	return push(s, number(n))
}

// number is n as scripts hold it: little-endian, the sign in the topmost bit, no byte too many.
func number(n int64) (b []byte) {
	negative, rest := n < 0, uint64(n)
	if negative {
		rest = -rest
	}
	for ; rest > 0; rest >>= 8 {
		b = append(b, byte(rest))
	}
	if len(b) == 0 {
		return nil
	}
	switch last := &b[len(b)-1]; {
	case *last&0x80 != 0 && negative:
		b = append(b, 0x80)
	case *last&0x80 != 0:
		b = append(b, 0)
	case negative:
		*last |= 0x80
	}
	return b
}
