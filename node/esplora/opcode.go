package esplora

import "strconv"

// Opcodes that scripts are classified and spelled by (Core: script/script.h).
const (
	op0             = 0x00
	opPushData1     = 0x4c
	opPushData2     = 0x4d
	opPushData4     = 0x4e
	op1Negate       = 0x4f
	op1             = 0x51
	op16            = 0x60
	opReturn        = 0x6a
	opDup           = 0x76
	opEqual         = 0x87
	opEqualVerify   = 0x88
	opHash160       = 0xa9
	opCheckSig      = 0xac
	opCheckMultisig = 0xae
)

// plain is the first opcode of names, nopOne the first that dialects spell differently.
const (
	plain  = 0x61
	nopOne = 0xb0
)

// names spells the opcodes from plain up to below nopOne, without their OP_.
var names = [nopOne - plain]string{
	"NOP", "VER", "IF", "NOTIF", "VERIF", "VERNOTIF", "ELSE", "ENDIF", "VERIFY", "RETURN",
	"TOALTSTACK", "FROMALTSTACK", "2DROP", "2DUP", "3DUP", "2OVER", "2ROT", "2SWAP", "IFDUP", "DEPTH", "DROP", "DUP",
	"NIP", "OVER", "PICK", "ROLL", "ROT", "SWAP", "TUCK",
	"CAT", "SUBSTR", "LEFT", "RIGHT", "SIZE", "INVERT", "AND", "OR", "XOR", "EQUAL", "EQUALVERIFY",
	"RESERVED1", "RESERVED2", "1ADD", "1SUB", "2MUL", "2DIV", "NEGATE", "ABS", "NOT", "0NOTEQUAL",
	"ADD", "SUB", "MUL", "DIV", "MOD", "LSHIFT", "RSHIFT", "BOOLAND", "BOOLOR",
	"NUMEQUAL", "NUMEQUALVERIFY", "NUMNOTEQUAL", "LESSTHAN", "GREATERTHAN", "LESSTHANOREQUAL", "GREATERTHANOREQUAL",
	"MIN", "MAX", "WITHIN", "RIPEMD160", "SHA1", "SHA256", "HASH160", "HASH256", "CODESEPARATOR",
	"CHECKSIG", "CHECKSIGVERIFY", "CHECKMULTISIG", "CHECKMULTISIGVERIFY",
}

// esploraNames and coreNames spell every opcode, as the two dialects do. Direct pushes are in esploraNames alone: Core
// shows what is pushed and not by what.
var esploraNames, coreNames [256]string

func init() {
	for op := range 256 {
		e, c := dialects(byte(op))
		esploraNames[op], coreNames[op] = e, c
	}
}

func dialects(op byte) (esplora, core string) {
	n := func(base byte) string { return strconv.Itoa(int(op-base) + 1) }
	switch {
	case op == op0:
		return "OP_0", "0"
	case op < opPushData1:
		return "OP_PUSHBYTES_" + strconv.Itoa(int(op)), ""
	case op <= opPushData4:
		return "OP_PUSHDATA" + strconv.Itoa(1<<(op-opPushData1)), ""
	case op == op1Negate:
		return "OP_PUSHNUM_NEG1", "-1"
	case op < op1:
		return "OP_RESERVED", "OP_RESERVED"
	case op <= op16:
		return "OP_PUSHNUM_" + n(op1), n(op1)
	case op < nopOne:
		return "OP_" + names[op-plain], "OP_" + names[op-plain]
	case op == nopOne+1:
		return "OP_CLTV", "OP_CHECKLOCKTIMEVERIFY"
	case op == nopOne+2:
		return "OP_CSV", "OP_CHECKSEQUENCEVERIFY"
	case op < nopOne+10:
		return "OP_NOP" + n(nopOne), "OP_NOP" + n(nopOne)
	case op == nopOne+10:
		return "OP_CHECKSIGADD", "OP_CHECKSIGADD"
	case op == 0xff:
		return "OP_INVALIDOPCODE", "OP_INVALIDOPCODE"
	default:
		return "OP_RETURN_" + strconv.Itoa(int(op)), "OP_UNKNOWN"
	}
}
