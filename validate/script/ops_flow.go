package script

import (
	"bytes"
)

// bad is an opcode that has no meaning or none where it was met.
func (e *Engine) bad() Error { return BadOpcode }

func (e *Engine) giveUp() Error { return OpReturn }

// nothing is OP_NOP, which policy allows.
func (e *Engine) nothing() Error { return OK }

// nop is OP_NOP1 and OP_NOP4 to OP_NOP10.
func (e *Engine) nop() Error {
	if e.flags.Has(DiscourageNops) {
		return DiscouragedNops
	}
	return OK
}

// ifElse is OP_IF and OP_NOTIF. In a dead branch it takes nothing.
func (e *Engine) ifElse() Error {
	if !e.cond.live() {
		e.cond.push(false)
		return OK
	}
	if len(e.stack) == 0 {
		return InvalidStack
	}
	x := e.top(0)
	if len(x) > 1 || len(x) == 1 && x[0] != 1 {
		switch {
		case e.rules == tapscript:
			return TapscriptMinimalIf
		case e.rules == witnessV0 && e.flags.Has(MinimalIf):
			return NotMinimalIf
		}
	}
	e.pop(1)
	e.cond.push(truth(x) == (e.op == opIf))
	return OK
}

// otherwise is OP_ELSE, of which a branch may have any number.
func (e *Engine) otherwise() Error {
	if e.cond.depth == 0 {
		return UnbalancedConditional
	}
	e.cond.toggle()
	return OK
}

func (e *Engine) endIf() Error {
	if e.cond.depth == 0 {
		return UnbalancedConditional
	}
	e.cond.pop()
	return OK
}

func (e *Engine) verify() Error { return e.demand(1, truth(e.top(0)), VerifyFailed) }

// demand takes n elements off, or fails with err.
func (e *Engine) demand(n int, v bool, err Error) Error {
	if !v {
		return err
	}
	e.pop(n)
	return OK
}

// equal is OP_EQUAL and OP_EQUALVERIFY.
func (e *Engine) equal() Error {
	same := bytes.Equal(e.top(1), e.top(0))
	if e.op == opEqualVerify {
		return e.demand(2, same, EqualVerify)
	}
	e.replace(2, boolView(same))
	return OK
}

// Thresholds and fields of lock times (BIP65, BIP68, BIP112).
const (
	lockTimeSeconds   = 500_000_000 // from here on seconds, below heights
	sequenceFinal     = 0xffff_ffff
	sequenceDisabled  = 1 << 31
	sequenceSeconds   = 1 << 22 // units of 512 seconds, not blocks
	sequenceLockValue = 0xffff
	minLockVersion    = 2 // compared unsigned
)

// checkLockTime is OP_CHECKLOCKTIMEVERIFY (BIP65); its operand stays.
func (e *Engine) checkLockTime() Error {
	if !e.flags.Has(CLTV) {
		return OK
	}
	want, err := e.lockOperand()
	if err != OK {
		return err
	}
	have := int64(e.row.LockTime)
	if (have < lockTimeSeconds) != (want < lockTimeSeconds) || want > have || e.input.Sequence == sequenceFinal {
		return UnsatisfiedLockTime
	}
	return OK
}

// checkSequence is OP_CHECKSEQUENCEVERIFY (BIP112); its operand stays.
func (e *Engine) checkSequence() Error {
	if !e.flags.Has(CSV) {
		return OK
	}
	want, err := e.lockOperand()
	if err != OK || want&sequenceDisabled != 0 {
		return err
	}
	if e.row.Version < minLockVersion || e.input.Sequence&sequenceDisabled != 0 {
		return UnsatisfiedLockTime
	}
	have := int64(e.input.Sequence) & (sequenceSeconds | sequenceLockValue)
	want &= sequenceSeconds | sequenceLockValue
	if (have < sequenceSeconds) != (want < sequenceSeconds) || want > have {
		return UnsatisfiedLockTime
	}
	return OK
}

// lockOperand reads the topmost element as a time that is not negative.
func (e *Engine) lockOperand() (int64, Error) {
	if len(e.stack) == 0 {
		return 0, InvalidStack
	}
	v, ok := parseNumber(e.top(0), lockTimeSize, e.minimal)
	switch {
	case !ok:
		return 0, ScriptNum
	case v < 0:
		return 0, NegativeLockTime
	}
	return v, OK
}
