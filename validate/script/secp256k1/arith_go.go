//go:build !amd64 || magnitudes || purego

package secp256k1

func (r *field) mul(a, b *field) { r.mulGo(a, b) }

func (r *field) sqrs(a *field, n int) { r.sqrsGo(a, n) }

func sqrsPair(r, a *[2]field, n int) {
	r[0].sqrsGo(&a[0], n)
	r[1].sqrsGo(&a[1], n)
}

func (r *point) tangent(a *point) { r.tangentGo(a) }

func (d *differences) between(a *point, b *affine, z *field) { d.betweenGo(a, b, z) }

func (r *point) chord(a *point, d *differences) { r.chordGo(a, d) }
