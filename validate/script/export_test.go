package script

// LaxDER is r and s as Core reads a signature before BIP66, s made low; false where that is none.
func LaxDER(sig []byte) (rs [64]byte, ok bool) {
	ok = parseDERLax(sig, &rs)
	return rs, ok && rs != [64]byte{}
}

// LegacyHash is the signature hash of vectors that name a script of their own.
func LegacyHash(t *Tx, in int, code []byte, hashType uint32) [32]byte {
	var h hashCache
	h.reset(t, in)
	return *h.legacy(t, in, code, hashType)
}
