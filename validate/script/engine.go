package script

import (
	"crypto/sha256"
	"hash"

	"stele/chain"
)

// Limits of scripts (Core: script/script.h). Size and opcodes are not limited in tapscript (BIP342).
const (
	maxScriptSize   = 10_000
	maxOpcodes      = 201 // above OP_16, with one more for each key of a CHECKMULTISIG
	maxElement      = 520 // bytes
	maxStack        = 1_000
	maxMultisigKeys = 20
)

// rules are the kinds of script that run (Core: SigVersion).
type rules uint8

const (
	legacy    rules = iota
	witnessV0       // BIP141
	tapscript       // BIP342
)

// Engine runs the scripts of inputs, of any number of transactions, one after the other. It belongs to one goroutine.
// Its stacks, scratch and hash states are kept between inputs, so that the usual spends allocate nothing; what they
// view of the last transaction is seen by nobody, but not let go of before the next one.
type Engine struct {
	v     Verifier
	batch *Batch // nil: checks are made at once

	// The input.
	tx       *Tx
	in       int // of the transaction
	row      *chain.Tx
	input    *chain.In
	flags    Flags
	minimal  bool // MinimalData
	constant bool // ConstScriptCode and legacy: no separators

	// The script that runs.
	rules   rules
	script  []byte
	code    []byte // what signatures commit to: script from behind the last separator that ran
	cond    conditions
	opcodes int
	op      byte
	index   uint32 // of op among the instructions
	pc      int    // behind op

	stack, alt     [][]byte
	scratch, spare []byte

	hashes hashCache
	tap    tapContext
	budget int64 // of tapscript: weight that signatures may still use up

	// Places for values that are passed on by address.
	sha     hash.Hash
	keyHash [25]byte // the script that a key hash program stands for
	deleted []byte   // a script without signatures
	rs      [64]byte
	sum     [32]byte
	pair    [128]byte // a tagged hash of two
	prefix  [16]byte  // a leaf version and a length
}

// NewEngine makes an engine that puts its questions to v.
func NewEngine(v Verifier) *Engine {
	return &Engine{
		v:       v,
		stack:   make([][]byte, 0, maxStack+4),
		scratch: make([]byte, 0, scratchHalf),
		sha:     sha256.New(),
	}
}

// run executes one script on the stack that the scripts before it left (Core: EvalScript).
func (e *Engine) run(script []byte, r rules) Error {
	limited := r != tapscript
	if limited && len(script) > maxScriptSize {
		return ScriptSize
	}
	e.begin(script, r)
	for pc := 0; pc < len(script); e.index++ {
		op, data, after, ok := next(script, pc)
		if !ok {
			return BadOpcode
		}
		pc = after
		if op <= opPushData4 {
			if err := e.pushData(op, data); err != OK {
				return err
			}
		} else {
			if op > op16 && limited {
				if e.opcodes++; e.opcodes > maxOpcodes {
					return OpCount
				}
			}
			e.op, e.pc = op, pc
			if err := e.step(&operations[op]); err != OK {
				return err
			}
		}
		if len(e.stack)+len(e.alt) > maxStack {
			return StackSize
		}
	}
	if e.cond.depth != 0 {
		return UnbalancedConditional
	}
	return OK
}

func (e *Engine) begin(script []byte, r rules) {
	e.rules, e.script, e.code = r, script, script
	e.cond, e.opcodes, e.index = conditions{}, 0, 0
	e.alt = e.alt[:0]
	e.constant = r == legacy && e.flags.Has(ConstScriptCode)
	e.tap.separator = noSeparator
}

// pushData is the push of a run of the script.
func (e *Engine) pushData(op byte, data []byte) Error {
	if len(data) > maxElement {
		return PushSize
	}
	if !e.cond.live() {
		return OK
	}
	if e.minimal && !minimalPush(data, op) {
		return NotMinimalData
	}
	e.push(data)
	return OK
}

// step is every other opcode.
func (e *Engine) step(o *operation) Error {
	switch {
	case o.class == disabled:
		return DisabledOpcode
	case e.constant && e.op == opCodeSeparator:
		return OpCodeSeparator // in a dead branch too
	case o.class == plain && !e.cond.live():
		return OK
	case len(e.stack) < int(o.need):
		return InvalidStack
	}
	return o.run(e)
}
