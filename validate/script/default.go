package script

// Default is the verifier that is used where nobody asks for another one.
func Default() Verifier { return Btcec{} }
