//go:build libsecp256k1

package script

func init() { verifiers = append(verifiers, Libsecp{}) }
