//go:build libsecp256k1

package secp256k1

import "stele/validate/script/secp256k1/libsecp"

func init() {
	oracles = append(oracles, oracle{"libsecp256k1", libsecp.ECDSA, libsecp.Schnorr, libsecp.Tweak})
}
