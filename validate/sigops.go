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
	opCheckSig            = 0xac
	opCheckSigVerify      = 0xad
	opCheckMultisig       = 0xae
	opCheckMultisigVerify = 0xaf
)

// bareMultisig is what an OP_CHECKMULTISIG outside P2SH and witness counts for, however many keys are pushed before
// it (Core: MAX_PUBKEYS_PER_MULTISIG).
const bareMultisig = 20

// LegacySigOps counts the signature operations of a script as legacy rules do, whether or not they would be
// executed (Core: CScript::GetSigOpCount, not accurate). A push that is cut short ends the count; what came before
// it stays. Only that ends it: an OP_RETURN does not.
func LegacySigOps(script []byte) int {
	count := 0
	for len(script) > 0 {
		op := script[0]
		script = script[1:]
		switch {
		case op <= opPushData4:
			n, width := pushSize(op, script)
			if width > len(script) || n > uint64(len(script)-width) {
				return count
			}
			script = script[width+int(n):]
		case op == opCheckSig || op == opCheckSigVerify:
			count++
		case op == opCheckMultisig || op == opCheckMultisigVerify:
			count += bareMultisig
		}
	}
	return count
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
