package script

import "stele/validate/script/lanes"

// Default is the verifier that is used where nobody asks for another one.
func Default() Verifier { return Verifiers()[0] }

// Verifiers are those of this build on this machine, the default one first.
func Verifiers() []Verifier {
	all := append([]Verifier{Native{}, Btcec{}}, system...)
	if lanes.Present() {
		all = append([]Verifier{Lanes{}}, all...)
	}
	return all
}

// ByName finds a verifier of this build on this machine.
func ByName(name string) (Verifier, bool) {
	for _, v := range Verifiers() {
		if v.Name() == name {
			return v, true
		}
	}
	return nil, false
}
