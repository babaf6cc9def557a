//go:build libsecp256k1 && linux

package lanes

import "stele/validate/script/secp256k1/libsecp"

func init() {
	others = append(others, struct {
		name string
		ask  func(q *Item) bool
	}{"libsecp256k1", func(q *Item) bool {
		switch q.Kind {
		case ECDSA:
			return libsecp.ECDSA(q.Key[:q.Size], &q.Sig, &q.Hash)
		case Schnorr:
			return libsecp.Schnorr((*[32]byte)(q.Key[:]), &q.Sig, &q.Hash)
		}
		return libsecp.Tweak((*[32]byte)(q.Key[:]), (*[32]byte)(q.Sig[:]), &q.Hash, q.Odd)
	}})
}
