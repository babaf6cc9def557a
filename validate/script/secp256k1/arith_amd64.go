//go:build !magnitudes && !purego

package secp256k1

// What takes most of the time has a second form in assembly, for processors with MULX (BMI2), ADCX and ADOX (ADX). It
// does the same steps, so that results are equal to the last bit, loose forms included; the Go code stays the
// definition.

// useADX tells whether this processor has both.
var useADX = hasADX()

//go:noescape
func hasADX() bool

//go:noescape
func mulADX(r, a, b *field)

//go:noescape
func sqrsADX(r, a *field, n int)

//go:noescape
func sqrsPairADX(r, a *[2]field, n int)

//go:noescape
func tangentADX(r, a *point)

//go:noescape
func betweenADX(d *differences, a *point, b *affine, z *field)

//go:noescape
func chordADX(r, a *point, d *differences)

func (r *field) mul(a, b *field) {
	if useADX {
		mulADX(r, a, b)
	} else {
		r.mulGo(a, b)
	}
}

func (r *field) sqrs(a *field, n int) {
	if useADX {
		sqrsADX(r, a, n)
	} else {
		r.sqrsGo(a, n)
	}
}

func sqrsPair(r, a *[2]field, n int) {
	if useADX {
		sqrsPairADX(r, a, n)
	} else {
		r[0].sqrsGo(&a[0], n)
		r[1].sqrsGo(&a[1], n)
	}
}

func (r *point) tangent(a *point) {
	if useADX {
		tangentADX(r, a)
	} else {
		r.tangentGo(a)
	}
}

func (d *differences) between(a *point, b *affine, z *field) {
	if useADX {
		betweenADX(d, a, b, z)
	} else {
		d.betweenGo(a, b, z)
	}
}

func (r *point) chord(a *point, d *differences) {
	if useADX {
		chordADX(r, a, d)
	} else {
		r.chordGo(a, d)
	}
}
