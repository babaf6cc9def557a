package script

// Verifier answers the three questions that scripts put to the curve. Implementations are safe for any number of
// goroutines, hold nothing of their arguments, and need not run in constant time: all of it is public.
type Verifier interface {
	// Name is for people: which verifier runs.
	Name() string

	// ECDSA verifies r and s, 32 bytes each, big-endian, s no larger than half the order, over hash. A zero r or s is
	// false, and so is an r not below the order. key has 33 bytes (02, 03) or 65 (04; 06 and 07, hybrid, whose first byte must
	// agree with the parity of y); a key that is no point of the curve is false.
	ECDSA(key []byte, rs *[64]byte, hash *[32]byte) bool

	// Schnorr verifies a signature of BIP340 under an x-only key over a hash.
	Schnorr(key *[32]byte, sig *[64]byte, hash *[32]byte) bool

	// Tweak tells whether internal + tweak·G is the point whose x is output and whose y is odd or not (BIP341). A tweak not
	// below the order, or an internal key that is no x of the curve, is false.
	Tweak(output, internal, tweak *[32]byte, odd bool) bool
}
