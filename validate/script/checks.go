package script

// sigWeight is what a signature costs of a tapscript's budget, which begins with as much (BIP342).
const sigWeight = 50

// checkSig is OP_CHECKSIG and OP_CHECKSIGVERIFY: signature key -> truth.
func (e *Engine) checkSig() Error {
	good, err := e.signed(e.top(1), e.top(0))
	if err != OK {
		return err
	}
	if e.op == opCheckSigVerify {
		return e.demand(2, good, CheckSigVerify)
	}
	e.replace(2, boolView(good))
	return OK
}

// checkSigAdd: signature number key -> number, plus 1 where the signature is not empty (BIP342).
func (e *Engine) checkSigAdd() Error {
	if e.rules != tapscript {
		return BadOpcode
	}
	if len(e.stack) < 3 {
		return InvalidStack
	}
	n, ok := e.number(1)
	if !ok {
		return ScriptNum
	}
	good, err := e.signed(e.top(2), e.top(0))
	if err != OK {
		return err
	}
	e.replace(3, e.numberView(n+toNumber(good)))
	return OK
}

// signed tells whether sig is one of key, by the rules of the script that runs (Core: EvalChecksig).
func (e *Engine) signed(sig, key []byte) (bool, Error) {
	if e.rules == tapscript {
		return e.signedTapscript(sig, key)
	}
	code, err := e.withoutSignature(e.code, sig)
	if err == OK {
		err = e.encodings(sig, key)
	}
	if err != OK {
		return false, err
	}
	good := e.ecdsa(sig, key, code, e.batch)
	if !good && len(sig) > 0 && e.flags.Has(NullFail) {
		return false, SigNullFail
	}
	return good, OK
}

// signedTapscript: an empty signature is false, any other one must be right; keys whose length is unknown accept
// everything, but are paid for. The order of the questions is consensus.
func (e *Engine) signedTapscript(sig, key []byte) (bool, Error) {
	given := len(sig) > 0
	if given {
		if e.budget -= sigWeight; e.budget < 0 {
			return false, TapscriptWeight
		}
	}
	switch {
	case len(key) == 0:
		return false, TapscriptEmptyPubkey
	case len(key) == 32 && given:
		return true, e.checkSchnorr(sig, key)
	case len(key) != 32 && e.flags.Has(DiscourageKeyType):
		return false, DiscouragedKeyType
	}
	return given, OK
}

// withoutSignature is code without the pushes of sig, in legacy scripts only. What is changed lives in e.deleted, also
// where code is what the call before gave.
func (e *Engine) withoutSignature(code, sig []byte) ([]byte, Error) {
	if e.rules != legacy {
		return code, OK
	}
	rest, found := findAndDelete(e.deleted[:0], code, sig)
	switch {
	case found == 0:
		return code, OK
	case e.constant:
		return nil, SigFindAndDelete
	}
	e.deleted = rest
	return rest, OK
}

// encodings asks what flags ask of the forms of a signature and of a key, in Core's order (CheckSignatureEncoding,
// CheckPubKeyEncoding). An empty signature has every form.
func (e *Engine) encodings(sig, key []byte) Error {
	f := e.flags
	if len(sig) > 0 && f&(DerSig|LowS|StrictEnc) != 0 {
		switch {
		case !isStrictDER(sig):
			return SigDER
		case f.Has(LowS) && !isLowS(sig):
			return SigHighS
		case f.Has(StrictEnc) && !validHashType(sig):
			return SigHashType
		}
	}
	if f.Has(StrictEnc) && !compressedOrUncompressed(key) {
		return PubkeyType
	}
	if f.Has(WitnessKeyType) && e.rules == witnessV0 && !compressed(key) {
		return WitnessPubkeyType
	}
	return OK
}

// ecdsa tells whether sig, with its hash type behind it, is one of key over the transaction with code. With a batch
// that is assumed; false is then certain.
func (e *Engine) ecdsa(sig, key, code []byte, d *Batch) bool {
	if len(sig) == 0 || !keyValid(key) {
		return false
	}
	last := len(sig) - 1
	if !parseDERLax(sig[:last], &e.rs) {
		return false
	}
	var hash *[32]byte
	if e.rules == legacy {
		hash = e.hashes.legacy(e.tx, e.in, code, uint32(sig[last]))
	} else {
		hash = e.hashes.witness(e.tx, e.in, code, uint32(sig[last]))
	}
	if d == nil {
		return e.v.ECDSA(key, &e.rs, hash)
	}
	c := d.add(KindECDSA)
	c.Size = uint8(copy(c.Key[:], key))
	c.Hash, c.Sig = *hash, e.rs
	return true
}

// checkSchnorr is a signature of taproot under a key of 32 bytes (Core: CheckSchnorrSignature).
func (e *Engine) checkSchnorr(sig, key []byte) Error {
	hashType := byte(0)
	switch len(sig) {
	case 64:
	case 65:
		if hashType = sig[64]; hashType == 0 {
			return SchnorrSigHashType
		}
	default:
		return SchnorrSigSize
	}
	hash, ok := e.hashes.taproot(e.tx, e.in, &e.tap, hashType)
	if !ok {
		return SchnorrSigHashType
	}
	if e.batch != nil {
		c := e.batch.add(KindSchnorr)
		c.Size = uint8(copy(c.Key[:], key))
		c.Hash, c.Sig = *hash, [64]byte(sig)
		return OK
	}
	if !e.v.Schnorr((*[32]byte)(key), (*[64]byte)(sig), hash) {
		return SchnorrSig
	}
	return OK
}

// tweaked tells whether a taproot output commits to e.root under the internal key.
func (e *Engine) tweaked(output, internal, tweak *[32]byte, odd bool) bool {
	if e.batch == nil {
		return e.v.Tweak(output, internal, tweak, odd)
	}
	c := e.batch.add(KindTweak)
	c.Size, c.Odd = uint8(copy(c.Key[:], output[:])), odd
	c.Hash = *tweak
	copy(c.Sig[:], internal[:])
	return true
}

// add makes a check of the input whose turn it is; the caller fills in the rest.
func (d *Batch) add(kind Kind) *Check {
	d.Checks = append(d.Checks, Check{Input: d.Input, Kind: kind})
	return &d.Checks[len(d.Checks)-1]
}
