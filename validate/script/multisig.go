package script

// checkMultisig is OP_CHECKMULTISIG and OP_CHECKMULTISIGVERIFY: dummy, signatures, their count, keys, their count ->
// truth. With m signatures and n keys, topmost last:
//
//	| dummy | m signatures | m | n keys | n |
func (e *Engine) checkMultisig() Error {
	if e.rules == tapscript {
		return TapscriptCheckMultisig
	}
	keys, sigs, err := e.multisigCounts()
	if err != OK {
		return err
	}
	firstSig := keys + 2 // below the topmost element; higher is deeper
	code := e.code
	for i := range sigs {
		if code, err = e.withoutSignature(code, e.top(firstSig+i)); err != OK {
			return err
		}
	}
	good, err := e.matched(keys, sigs, code)
	if err != OK {
		return err
	}
	if !good && e.flags.Has(NullFail) {
		for i := range sigs {
			if len(e.top(firstSig+i)) != 0 {
				return SigNullFail
			}
		}
	}
	size := firstSig + sigs + 1
	if e.flags.Has(NullDummy) && len(e.top(size-1)) != 0 {
		return SigNullDummy
	}
	if e.op == opCheckMultisigVerify {
		return e.demand(size, good, CheckMultisigVerify)
	}
	e.replace(size, boolView(good))
	return OK
}

// multisigCounts reads both counts, and asks for all elements down to the dummy.
func (e *Engine) multisigCounts() (keys, sigs int, err Error) {
	if len(e.stack) < 1 {
		return 0, 0, InvalidStack
	}
	n, ok := e.number(0)
	if !ok {
		return 0, 0, ScriptNum
	}
	if n < 0 || n > maxMultisigKeys {
		return 0, 0, PubkeyCount
	}
	keys = int(n)
	if e.opcodes += keys; e.opcodes > maxOpcodes {
		return 0, 0, OpCount
	}
	if len(e.stack) < keys+2 {
		return 0, 0, InvalidStack
	}
	m, ok := e.number(keys + 1)
	if !ok {
		return 0, 0, ScriptNum
	}
	if m < 0 || m > n {
		return 0, 0, SigCount
	}
	sigs = int(m)
	if len(e.stack) < keys+sigs+3 {
		return 0, 0, InvalidStack
	}
	return keys, sigs, OK
}

// matched goes through keys and signatures from the top: a signature is tried with one key after the other, and a key
// that was tried is never tried again. It ends as soon as more signatures are left than keys, so what is not reached
// may have any form. Only where there are as many signatures as keys can checks be put off: there each pair must hold,
// while else the outcome of one decides which is next.
func (e *Engine) matched(keys, sigs int, code []byte) (bool, Error) {
	d := e.batch
	if sigs != keys {
		d = nil
	}
	key, sig := 1, keys+2 // below the topmost element
	for sigs > 0 {
		if sigs > keys {
			return false, OK
		}
		s, k := e.top(sig), e.top(key)
		if err := e.encodings(s, k); err != OK {
			return false, err
		}
		if e.ecdsa(s, k, code, d) {
			sig++
			sigs--
		}
		key++
		keys--
	}
	return true, OK
}
