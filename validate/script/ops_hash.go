package script

import (
	"crypto/sha1"
	"crypto/sha256"

	"stele/chain"
)

// noSeparator is the place of the last OP_CODESEPARATOR where none has run (BIP342).
const noSeparator = ^uint32(0)

// digest is the five hash opcodes; 20 or 32 bytes of scratch.
func (e *Engine) digest() Error {
	x := e.top(0)
	out := e.room()
	switch e.op {
	case opRipemd160:
		sum := chain.RIPEMD160(x)
		out = append(out, sum[:]...)
	case opSha1:
		sum := sha1.Sum(x)
		out = append(out, sum[:]...)
	case opSha256:
		sum := sha256.Sum256(x)
		out = append(out, sum[:]...)
	case opHash160:
		sum := chain.Hash160(x)
		out = append(out, sum[:]...)
	case opHash256:
		sum := chain.DoubleSHA256(x)
		out = append(out, sum[:]...)
	}
	e.replace(1, e.keep(out))
	return OK
}

// separator is OP_CODESEPARATOR: signatures commit to what follows it, in tapscript to its place.
func (e *Engine) separator() Error {
	e.code = e.script[e.pc:]
	e.tap.separator = e.index
	return OK
}
