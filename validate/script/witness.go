package script

import (
	"bytes"
	"crypto/sha256"

	"stele/chain"
)

// Lengths of witness programs (BIP141, BIP341).
const (
	keyHashSize    = 20
	scriptHashSize = 32
	taprootSize    = 32
)

// item is element i of the input's witness, first one lowest.
func (e *Engine) item(i int) []byte {
	b := e.tx.block
	return b.Bytes(b.Items[int(e.input.FirstItem)+i])
}

// program is Core's VerifyWitnessProgram.
func (e *Engine) program(version int, program []byte, nested bool) Error {
	switch {
	case version == 0 && len(program) == scriptHashSize:
		return e.witnessScriptHash(program)
	case version == 0 && len(program) == keyHashSize:
		return e.witnessKeyHash(program)
	case version == 0:
		return WitnessWrongLength
	case version == 1 && len(program) == taprootSize && !nested:
		if !e.flags.Has(Taproot) {
			return OK
		}
		return e.taproot((*[32]byte)(program))
	case !nested && payToAnchor(version, program):
		return OK
	case e.flags.Has(DiscourageWitnessProgram):
		return DiscouragedWitnessProgram
	}
	return OK
}

func (e *Engine) witnessScriptHash(program []byte) Error {
	n := int(e.input.Items)
	if n == 0 {
		return WitnessEmpty
	}
	script := e.item(n - 1)
	e.sum = sha256.Sum256(script)
	if !bytes.Equal(e.sum[:], program) {
		return WitnessMismatch
	}
	return e.runWitness(script, n-1, witnessV0)
}

// witnessKeyHash runs the script of P2PKH that the program stands for.
func (e *Engine) witnessKeyHash(program []byte) Error {
	if e.input.Items != 2 {
		return WitnessMismatch
	}
	e.keyHash = [25]byte{opDup, opHash160, keyHashSize, 23: opEqualVerify, 24: opCheckSig}
	copy(e.keyHash[3:], program)
	return e.runWitness(e.keyHash[:], 2, witnessV0)
}

// runWitness runs script on the first n elements of the witness (Core: ExecuteWitnessScript).
func (e *Engine) runWitness(script []byte, n int, r rules) Error {
	if r == tapscript {
		if done, err := e.findSuccess(script); done {
			return err
		}
		if n > maxStack {
			return StackSize
		}
	}
	e.stack = e.stack[:0]
	for i := range n {
		x := e.item(i)
		if len(x) > maxElement {
			return PushSize
		}
		e.push(x)
	}
	if err := e.run(script, r); err != OK {
		return err
	}
	switch {
	case len(e.stack) != 1:
		return NotCleanStack
	case !truth(e.top(0)):
		return EvalFalse
	}
	return OK
}

// findSuccess looks for an OP_SUCCESS before anything is run. What stands before it must be whole, what stands behind
// it and what the witness holds does not matter.
func (e *Engine) findSuccess(script []byte) (done bool, err Error) {
	for pc := 0; pc < len(script); {
		op, _, after, ok := next(script, pc)
		if !ok {
			return true, BadOpcode
		}
		if opSuccess(op) {
			if e.flags.Has(DiscourageOpSuccess) {
				return true, DiscouragedOpSuccess
			}
			return true, OK
		}
		pc = after
	}
	return false, OK
}

// witnessSize is the input's witness on the wire, with its count.
func (e *Engine) witnessSize() int {
	size := chain.CompactSizeLen(uint64(e.input.Items))
	for _, s := range e.tx.block.Items[e.input.FirstItem:][:e.input.Items] {
		size += chain.CompactSizeLen(uint64(s.Len)) + int(s.Len)
	}
	return size
}
