package script

// Verify runs the scripts of input in of the transaction and asks the Verifier at once. What it says is the truth.
func (e *Engine) Verify(t *Tx, in int, f Flags) Error {
	e.batch = nil
	return e.spend(t, in, f)
}

// Defer runs the scripts of input in and puts their checks into d, assuming that they will hold. With OK, certain is
// true, and the input is valid if all checks in d are. Without, d is as it was; where certain is true the error is the
// one that Verify would give, and where it is false something had been assumed and Verify must tell.
func (e *Engine) Defer(t *Tx, in int, f Flags, d *Batch) (err Error, certain bool) {
	before := len(d.Checks)
	e.batch = d
	err = e.spend(t, in, f)
	e.batch = nil
	certain = err == OK || len(d.Checks) == before
	if err != OK {
		d.Checks = d.Checks[:before]
	}
	return err, certain
}

// spend is Core's VerifyScript. Core wants P2SH wherever Witness is set, and both where CleanStack is.
func (e *Engine) spend(t *Tx, in int, f Flags) Error {
	e.tx, e.in, e.flags, e.minimal = t, in, f, f.Has(MinimalData)
	e.row = t.row
	e.input = &t.ins[in]
	e.stack, e.scratch = e.stack[:0], e.scratch[:0]
	if cap(e.stack) > keepStack {
		e.stack = make([][]byte, 0, maxStack+4)
	}
	e.hashes.reset(t, in)

	scriptSig, output := t.scriptSig(in), t.coins[in].Script
	if f.Has(SigPushOnly) && !pushOnly(scriptSig) {
		return NotPushOnly
	}
	if err := e.run(scriptSig, legacy); err != OK {
		return err
	}
	var redeem []byte
	if n := len(e.stack); n > 0 {
		redeem = e.stack[n-1]
	}
	if err := e.runTrue(output); err != OK {
		return err
	}
	witnessed := false
	if version, program, ok := witnessProgram(output); ok && f.Has(Witness) {
		if len(scriptSig) != 0 {
			return WitnessMalleated
		}
		if err := e.program(version, program, false); err != OK {
			return err
		}
		witnessed = true
	}
	if f.Has(P2SH) && payToScriptHash(output) {
		var err Error
		if witnessed, err = e.scriptHash(scriptSig, redeem); err != OK {
			return err
		}
	}
	switch {
	case f.Has(CleanStack) && !witnessed && len(e.stack) != 1: // programs have asked already
		return NotCleanStack
	case f.Has(Witness) && !witnessed && e.input.Items != 0:
		return WitnessUnexpected
	}
	return OK
}

// runTrue runs a legacy script that must leave truth on top.
func (e *Engine) runTrue(script []byte) Error {
	if err := e.run(script, legacy); err != OK {
		return err
	}
	if len(e.stack) == 0 || !truth(e.top(0)) {
		return EvalFalse
	}
	return OK
}

// scriptHash goes on behind an output of the form OP_HASH160 <hash> OP_EQUAL, which has succeeded: redeem, which
// scriptSig left on top, runs as a script on what lies below it (BIP16). The output's script has changed nothing but
// the top.
func (e *Engine) scriptHash(scriptSig, redeem []byte) (witnessed bool, err Error) {
	if !pushOnly(scriptSig) {
		return false, NotPushOnly
	}
	e.pop(1)
	if err := e.runTrue(redeem); err != OK {
		return false, err
	}
	version, program, ok := witnessProgram(redeem)
	if !ok || !e.flags.Has(Witness) {
		return false, OK
	}
	// A program is short, so its canonical push is a direct one.
	if len(scriptSig) != 1+len(redeem) || int(scriptSig[0]) != len(redeem) {
		return false, WitnessMalleatedP2SH
	}
	return true, e.program(version, program, true)
}
