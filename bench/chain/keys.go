package chain

import (
	"math/rand/v2"

	wire "stele/chain"
)

// keyCount is how many keys a chain is paid to. Each is used over and over: addresses are reused on chains, too, though
// less, and nothing that is measured looks at that.
const keyCount = 4096

// key has the form of a compressed public key, and need not be a point of the curve; program is its P2WPKH program
// (BIP141), so that scripts run to their end and only the signatures are false.
type key struct {
	public  [33]byte
	program [20]byte
}

func makeKeys(r *rand.ChaCha8) []key {
	keys := make([]key, keyCount)
	for i := range keys {
		k := &keys[i]
		_, _ = r.Read(k.public[1:])
		k.public[0] = 2 + k.public[32]>>7
		k.program = wire.Hash160(k.public[:])
	}
	return keys
}
