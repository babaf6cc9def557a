package script

// GroupVerifier is a Verifier that answers many checks at once for less than one by one.
type GroupVerifier interface {
	Verifier

	// Group appends to bad the indexes of those checks, in ascending order, whose answer is no. Every answer is exact: what
	// a group alone cannot tell apart it must ask again one by one.
	Group(checks []Check, bad []int) []int
}

// Verify asks v all checks, on this goroutine, and reports the inputs that any of them fails, each once if the checks of
// an input stand together, as Defer leaves them. An input that is reported has not failed for that: which checks its
// script makes can depend on the answers, so it must be run again with immediate ones. With a Verifier that does not
// allocate, it allocates only where something failed.
func (d *Batch) Verify(v Verifier, failed func(input uint32)) {
	if g, ok := v.(GroupVerifier); ok {
		bad := g.Group(d.Checks, nil)
		for i, at := range bad {
			if input := d.Checks[at].Input; i == 0 || d.Checks[bad[i-1]].Input != input {
				failed(input)
			}
		}
		return
	}
	for i := 0; i < len(d.Checks); i++ {
		if c := &d.Checks[i]; !c.Run(v) {
			failed(c.Input)
			for i+1 < len(d.Checks) && d.Checks[i+1].Input == c.Input { // the others cannot change it
				i++
			}
		}
	}
}
