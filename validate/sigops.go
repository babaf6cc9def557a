package validate

import (
	"encoding/binary"

	"stele/chain"
)

// Opcodes that the count of signature operations knows.
const (
	opPushData1           = 0x4c // below: that many bytes follow
	opPushData2           = 0x4d
	opPushData4           = 0x4e
	op1                   = 0x51
	op16                  = 0x60
	opEqual               = 0x87
	opHash160             = 0xa9
	opCheckSig            = 0xac
	opCheckSigVerify      = 0xad
	opCheckMultisig       = 0xae
	opCheckMultisigVerify = 0xaf
)

// bareMultisig is what an OP_CHECKMULTISIG counts for where its keys are not counted (Core: MAX_PUBKEYS_PER_MULTISIG).
const bareMultisig = 20

// LegacySigOps counts the signature operations of a script as legacy rules do, whether or not they would be
// executed (Core: CScript::GetSigOpCount, not accurate): an OP_CHECKMULTISIG is 20, however many keys it has. A push
// that is cut short ends the count; what came before it stays. Only that ends it: an OP_RETURN does not.
func LegacySigOps(script []byte) int { return countSigOps(script, false) }

// AccurateSigOps is LegacySigOps with an OP_CHECKMULTISIG right behind OP_1 to OP_16 counted as that many (Core:
// CScript::GetSigOpCount, accurate). So are counted the scripts that are behind a hash (BIP16, BIP141).
func AccurateSigOps(script []byte) int { return countSigOps(script, true) }

func countSigOps(script []byte, accurate bool) int {
	count, last := 0, byte(0xff)
	for len(script) > 0 {
		op, _, rest, ok := nextOp(script)
		if !ok {
			return count
		}
		switch op {
		case opCheckSig, opCheckSigVerify:
			count++
		case opCheckMultisig, opCheckMultisigVerify:
			if accurate && last >= op1 && last <= op16 {
				count += int(last-op1) + 1
			} else {
				count += bareMultisig
			}
		}
		script, last = rest, op
	}
	return count
}

// nextOp takes the first instruction off a script that is not empty: its opcode, what it pushes, and what follows. It is
// not ok where the script ends inside it.
func nextOp(script []byte) (op byte, push, rest []byte, ok bool) {
	op, rest = script[0], script[1:]
	if op > opPushData4 {
		return op, nil, rest, true
	}
	n, width := pushSize(op, rest)
	if width > len(rest) || n > uint64(len(rest)-width) {
		return op, nil, nil, false
	}
	end := width + int(n)
	return op, rest[width:end], rest[end:], true
}

// pushSize is how many bytes op pushes, and in how many bytes at the start of rest that number is written. A width
// beyond rest means that the number itself is cut short.
func pushSize(op byte, rest []byte) (n uint64, width int) {
	switch {
	case op < opPushData1:
		return uint64(op), 0
	case op == opPushData1:
		if len(rest) >= 1 {
			n = uint64(rest[0])
		}
		return n, 1
	case op == opPushData2:
		if len(rest) >= 2 {
			n = uint64(binary.LittleEndian.Uint16(rest))
		}
		return n, 2
	}
	if len(rest) >= 4 {
		n = uint64(binary.LittleEndian.Uint32(rest))
	}
	return n, 4
}

// blockSigOps counts over the scripts of all inputs, the coinbase's too, and of all outputs. What inputs execute
// elsewhere (P2SH, witness) needs the outputs that they spend and is counted when those are known.
func blockSigOps(b *chain.Block) int {
	count := 0
	for i := range b.Ins {
		count += LegacySigOps(b.Bytes(b.Ins[i].Script))
	}
	for i := range b.Outs {
		count += LegacySigOps(b.Bytes(b.Outs[i].Script))
	}
	return count
}
