package script

// Opcodes by Core's names (script/script.h). Bytes 01 to 4b push as many bytes as they say.
const (
	op0         = 0x00
	opPushData1 = 0x4c
	opPushData2 = 0x4d
	opPushData4 = 0x4e
	op1Negate   = 0x4f
	opReserved  = 0x50
	op1         = 0x51
	op16        = 0x60

	opNop                 = 0x61
	opVer                 = 0x62
	opIf                  = 0x63
	opNotIf               = 0x64
	opVerIf               = 0x65
	opVerNotIf            = 0x66
	opElse                = 0x67
	opEndIf               = 0x68
	opVerify              = 0x69
	opReturn              = 0x6a
	opToAltStack          = 0x6b
	opFromAltStack        = 0x6c
	op2Drop               = 0x6d
	op2Dup                = 0x6e
	op3Dup                = 0x6f
	op2Over               = 0x70
	op2Rot                = 0x71
	op2Swap               = 0x72
	opIfDup               = 0x73
	opDepth               = 0x74
	opDrop                = 0x75
	opDup                 = 0x76
	opNip                 = 0x77
	opOver                = 0x78
	opPick                = 0x79
	opRoll                = 0x7a
	opRot                 = 0x7b
	opSwap                = 0x7c
	opTuck                = 0x7d
	opCat                 = 0x7e
	opSubstr              = 0x7f
	opLeft                = 0x80
	opRight               = 0x81
	opSize                = 0x82
	opInvert              = 0x83
	opAnd                 = 0x84
	opOr                  = 0x85
	opXor                 = 0x86
	opEqual               = 0x87
	opEqualVerify         = 0x88
	opReserved1           = 0x89
	opReserved2           = 0x8a
	op1Add                = 0x8b
	op1Sub                = 0x8c
	op2Mul                = 0x8d
	op2Div                = 0x8e
	opNegate              = 0x8f
	opAbs                 = 0x90
	opNot                 = 0x91
	op0NotEqual           = 0x92
	opAdd                 = 0x93
	opSub                 = 0x94
	opMul                 = 0x95
	opDiv                 = 0x96
	opMod                 = 0x97
	opLShift              = 0x98
	opRShift              = 0x99
	opBoolAnd             = 0x9a
	opBoolOr              = 0x9b
	opNumEqual            = 0x9c
	opNumEqualVerify      = 0x9d
	opNumNotEqual         = 0x9e
	opLessThan            = 0x9f
	opGreaterThan         = 0xa0
	opLessThanOrEqual     = 0xa1
	opGreaterThanOrEqual  = 0xa2
	opMin                 = 0xa3
	opMax                 = 0xa4
	opWithin              = 0xa5
	opRipemd160           = 0xa6
	opSha1                = 0xa7
	opSha256              = 0xa8
	opHash160             = 0xa9
	opHash256             = 0xaa
	opCodeSeparator       = 0xab
	opCheckSig            = 0xac
	opCheckSigVerify      = 0xad
	opCheckMultisig       = 0xae
	opCheckMultisigVerify = 0xaf
	opNop1                = 0xb0
	opCheckLockTime       = 0xb1
	opCheckSequence       = 0xb2
	opNop4                = 0xb3
	opNop10               = 0xb9
	opCheckSigAdd         = 0xba
	opInvalid             = 0xff
)

// class is what happens to an opcode before its own code runs.
type class uint8

const (
	plain    class = iota // runs in live branches only
	branch                // runs in dead ones too: IF to ENDIF, with VERIF and VERNOTIF between them
	disabled              // fails even in dead ones (CVE-2010-5137)
)

// operation is what the engine knows of an opcode above op16 or, as its code, of a small number.
type operation struct {
	run   func(*Engine) Error
	need  uint8 // elements that the stack must hold, where that is the first thing asked
	class class
	name  string
}

// operations is indexed by opcode. Pushes are not in it: the engine does them itself. Bytes without a meaning have bad.
var operations = withBad([256]operation{
	op1Negate: {(*Engine).small, 0, plain, "OP_1NEGATE"},
	op1:       {(*Engine).small, 0, plain, "OP_1"},
	0x52:      {(*Engine).small, 0, plain, "OP_2"},
	0x53:      {(*Engine).small, 0, plain, "OP_3"},
	0x54:      {(*Engine).small, 0, plain, "OP_4"},
	0x55:      {(*Engine).small, 0, plain, "OP_5"},
	0x56:      {(*Engine).small, 0, plain, "OP_6"},
	0x57:      {(*Engine).small, 0, plain, "OP_7"},
	0x58:      {(*Engine).small, 0, plain, "OP_8"},
	0x59:      {(*Engine).small, 0, plain, "OP_9"},
	0x5a:      {(*Engine).small, 0, plain, "OP_10"},
	0x5b:      {(*Engine).small, 0, plain, "OP_11"},
	0x5c:      {(*Engine).small, 0, plain, "OP_12"},
	0x5d:      {(*Engine).small, 0, plain, "OP_13"},
	0x5e:      {(*Engine).small, 0, plain, "OP_14"},
	0x5f:      {(*Engine).small, 0, plain, "OP_15"},
	op16:      {(*Engine).small, 0, plain, "OP_16"},

	opReserved: {(*Engine).bad, 0, plain, "OP_RESERVED"},
	opNop:      {(*Engine).nothing, 0, plain, "OP_NOP"},
	opVer:      {(*Engine).bad, 0, plain, "OP_VER"},
	opIf:       {(*Engine).ifElse, 0, branch, "OP_IF"},
	opNotIf:    {(*Engine).ifElse, 0, branch, "OP_NOTIF"},
	opVerIf:    {(*Engine).bad, 0, branch, "OP_VERIF"},
	opVerNotIf: {(*Engine).bad, 0, branch, "OP_VERNOTIF"},
	opElse:     {(*Engine).otherwise, 0, branch, "OP_ELSE"},
	opEndIf:    {(*Engine).endIf, 0, branch, "OP_ENDIF"},
	opVerify:   {(*Engine).verify, 1, plain, "OP_VERIFY"},
	opReturn:   {(*Engine).giveUp, 0, plain, "OP_RETURN"},

	opToAltStack:   {(*Engine).toAlt, 1, plain, "OP_TOALTSTACK"},
	opFromAltStack: {(*Engine).fromAlt, 0, plain, "OP_FROMALTSTACK"},
	op2Drop:        {(*Engine).drop2, 2, plain, "OP_2DROP"},
	op2Dup:         {(*Engine).dup2, 2, plain, "OP_2DUP"},
	op3Dup:         {(*Engine).dup3, 3, plain, "OP_3DUP"},
	op2Over:        {(*Engine).over2, 4, plain, "OP_2OVER"},
	op2Rot:         {(*Engine).rot2, 6, plain, "OP_2ROT"},
	op2Swap:        {(*Engine).swap2, 4, plain, "OP_2SWAP"},
	opIfDup:        {(*Engine).ifDup, 1, plain, "OP_IFDUP"},
	opDepth:        {(*Engine).depth, 0, plain, "OP_DEPTH"},
	opDrop:         {(*Engine).drop, 1, plain, "OP_DROP"},
	opDup:          {(*Engine).dup, 1, plain, "OP_DUP"},
	opNip:          {(*Engine).nip, 2, plain, "OP_NIP"},
	opOver:         {(*Engine).over, 2, plain, "OP_OVER"},
	opPick:         {(*Engine).pick, 2, plain, "OP_PICK"},
	opRoll:         {(*Engine).pick, 2, plain, "OP_ROLL"},
	opRot:          {(*Engine).rot, 3, plain, "OP_ROT"},
	opSwap:         {(*Engine).swap, 2, plain, "OP_SWAP"},
	opTuck:         {(*Engine).tuck, 2, plain, "OP_TUCK"},
	opSize:         {(*Engine).size, 1, plain, "OP_SIZE"},

	opEqual:       {(*Engine).equal, 2, plain, "OP_EQUAL"},
	opEqualVerify: {(*Engine).equal, 2, plain, "OP_EQUALVERIFY"},
	opReserved1:   {(*Engine).bad, 0, plain, "OP_RESERVED1"},
	opReserved2:   {(*Engine).bad, 0, plain, "OP_RESERVED2"},

	op1Add:      {(*Engine).unary, 1, plain, "OP_1ADD"},
	op1Sub:      {(*Engine).unary, 1, plain, "OP_1SUB"},
	opNegate:    {(*Engine).unary, 1, plain, "OP_NEGATE"},
	opAbs:       {(*Engine).unary, 1, plain, "OP_ABS"},
	opNot:       {(*Engine).unary, 1, plain, "OP_NOT"},
	op0NotEqual: {(*Engine).unary, 1, plain, "OP_0NOTEQUAL"},

	opAdd:                {(*Engine).binary, 2, plain, "OP_ADD"},
	opSub:                {(*Engine).binary, 2, plain, "OP_SUB"},
	opBoolAnd:            {(*Engine).binary, 2, plain, "OP_BOOLAND"},
	opBoolOr:             {(*Engine).binary, 2, plain, "OP_BOOLOR"},
	opNumEqual:           {(*Engine).binary, 2, plain, "OP_NUMEQUAL"},
	opNumEqualVerify:     {(*Engine).binary, 2, plain, "OP_NUMEQUALVERIFY"},
	opNumNotEqual:        {(*Engine).binary, 2, plain, "OP_NUMNOTEQUAL"},
	opLessThan:           {(*Engine).binary, 2, plain, "OP_LESSTHAN"},
	opGreaterThan:        {(*Engine).binary, 2, plain, "OP_GREATERTHAN"},
	opLessThanOrEqual:    {(*Engine).binary, 2, plain, "OP_LESSTHANOREQUAL"},
	opGreaterThanOrEqual: {(*Engine).binary, 2, plain, "OP_GREATERTHANOREQUAL"},
	opMin:                {(*Engine).binary, 2, plain, "OP_MIN"},
	opMax:                {(*Engine).binary, 2, plain, "OP_MAX"},
	opWithin:             {(*Engine).within, 3, plain, "OP_WITHIN"},

	opRipemd160:     {(*Engine).digest, 1, plain, "OP_RIPEMD160"},
	opSha1:          {(*Engine).digest, 1, plain, "OP_SHA1"},
	opSha256:        {(*Engine).digest, 1, plain, "OP_SHA256"},
	opHash160:       {(*Engine).digest, 1, plain, "OP_HASH160"},
	opHash256:       {(*Engine).digest, 1, plain, "OP_HASH256"},
	opCodeSeparator: {(*Engine).separator, 0, plain, "OP_CODESEPARATOR"},

	opCheckSig:            {(*Engine).checkSig, 2, plain, "OP_CHECKSIG"},
	opCheckSigVerify:      {(*Engine).checkSig, 2, plain, "OP_CHECKSIGVERIFY"},
	opCheckMultisig:       {(*Engine).checkMultisig, 0, plain, "OP_CHECKMULTISIG"},
	opCheckMultisigVerify: {(*Engine).checkMultisig, 0, plain, "OP_CHECKMULTISIGVERIFY"},
	opCheckSigAdd:         {(*Engine).checkSigAdd, 0, plain, "OP_CHECKSIGADD"},
	opCheckLockTime:       {(*Engine).checkLockTime, 0, plain, "OP_CHECKLOCKTIMEVERIFY"},
	opCheckSequence:       {(*Engine).checkSequence, 0, plain, "OP_CHECKSEQUENCEVERIFY"},

	// Of the first version; a release of 2010 switched them off.
	opCat:    {(*Engine).bad, 0, disabled, "OP_CAT"},
	opSubstr: {(*Engine).bad, 0, disabled, "OP_SUBSTR"},
	opLeft:   {(*Engine).bad, 0, disabled, "OP_LEFT"},
	opRight:  {(*Engine).bad, 0, disabled, "OP_RIGHT"},
	opInvert: {(*Engine).bad, 0, disabled, "OP_INVERT"},
	opAnd:    {(*Engine).bad, 0, disabled, "OP_AND"},
	opOr:     {(*Engine).bad, 0, disabled, "OP_OR"},
	opXor:    {(*Engine).bad, 0, disabled, "OP_XOR"},
	op2Mul:   {(*Engine).bad, 0, disabled, "OP_2MUL"},
	op2Div:   {(*Engine).bad, 0, disabled, "OP_2DIV"},
	opMul:    {(*Engine).bad, 0, disabled, "OP_MUL"},
	opDiv:    {(*Engine).bad, 0, disabled, "OP_DIV"},
	opMod:    {(*Engine).bad, 0, disabled, "OP_MOD"},
	opLShift: {(*Engine).bad, 0, disabled, "OP_LSHIFT"},
	opRShift: {(*Engine).bad, 0, disabled, "OP_RSHIFT"},

	// Nothing yet; policy refuses them.
	opNop1:  {(*Engine).nop, 0, plain, "OP_NOP1"},
	opNop4:  {(*Engine).nop, 0, plain, "OP_NOP4"},
	0xb4:    {(*Engine).nop, 0, plain, "OP_NOP5"},
	0xb5:    {(*Engine).nop, 0, plain, "OP_NOP6"},
	0xb6:    {(*Engine).nop, 0, plain, "OP_NOP7"},
	0xb7:    {(*Engine).nop, 0, plain, "OP_NOP8"},
	0xb8:    {(*Engine).nop, 0, plain, "OP_NOP9"},
	opNop10: {(*Engine).nop, 0, plain, "OP_NOP10"},
})

func withBad(table [256]operation) [256]operation {
	for op := range table {
		if table[op].run == nil {
			table[op].run = (*Engine).bad
		}
	}
	return table
}

// opSuccess tells whether tapscript gives op no meaning yet, so that a script with it succeeds at once (BIP342).
func opSuccess(op byte) bool {
	switch {
	case op == opReserved, op == opVer,
		op >= opCat && op <= opRight, op >= opInvert && op <= opXor,
		op == opReserved1, op == opReserved2, op == op2Mul, op == op2Div,
		op >= opMul && op <= opRShift,
		op > opCheckSigAdd && op < opInvalid:
		return true
	}
	return false
}
