package script

// Default is the verifier that is used where nobody asks for another one.
func Default() Verifier { return Native{} }

// Verifiers are those of this build, the default one first.
func Verifiers() []Verifier { return append([]Verifier{Native{}, Btcec{}}, system...) }

// ByName finds a verifier of this build.
func ByName(name string) (Verifier, bool) {
	for _, v := range Verifiers() {
		if v.Name() == name {
			return v, true
		}
	}
	return nil, false
}
