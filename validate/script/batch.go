package script

// Kind is one of the questions of a Verifier.
type Kind uint8

const (
	KindECDSA Kind = iota
	KindSchnorr
	KindTweak
)

// Check is a question that was put off. Its bytes are copies: whoever asked may be gone when it is answered. 168 bytes,
// no pointers.
type Check struct {
	Input uint32 // whose; see Batch.Input
	Kind  Kind
	Odd   bool     // KindTweak
	Size  uint8    // of the key: 32 to 65 bytes
	Key   [65]byte // or the output's x
	Hash  [32]byte // or the tweak
	Sig   [64]byte // r and s, the BIP340 signature, or the internal key in its first half
}

// Batch collects checks that scripts assumed to be true. One goroutine fills it.
type Batch struct {
	// Input is what Defer writes into the checks that it adds. It is the caller's to choose, such as an index of inputs.
	Input  uint32
	Checks []Check
}

// Reset empties the batch and keeps its memory.
func (d *Batch) Reset() { d.Checks = d.Checks[:0] }

// Run asks v what c asks.
func (c *Check) Run(v Verifier) bool {
	switch c.Kind {
	case KindECDSA:
		return v.ECDSA(c.Key[:c.Size], &c.Sig, &c.Hash)
	case KindSchnorr:
		return v.Schnorr((*[32]byte)(c.Key[:]), &c.Sig, &c.Hash)
	}
	return v.Tweak((*[32]byte)(c.Key[:]), (*[32]byte)(c.Sig[:]), &c.Hash, c.Odd)
}
