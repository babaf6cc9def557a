//go:build !magnitudes && !purego

package secp256k1

import "testing"

// BenchmarkAssembly compares with the Go code alone.
func BenchmarkAssembly(b *testing.B) {
	e, s, _ := benchSet(benchSize)
	ecdsa := func() {
		for i := range e {
			VerifyECDSA(e[i].key, &e[i].rs, &e[i].hash)
		}
	}
	schnorr := func() {
		for i := range s {
			VerifySchnorr(&s[i].Key, &s[i].Sig, s[i].Msg[:])
		}
	}
	x, y := fieldBeta, field{1, 2, 3, 4}
	p := point{x: fieldBeta, y: fieldBeta, z: fieldOne}
	const many = 5000
	loop := func(f func()) func() {
		return func() {
			for range many {
				f()
			}
		}
	}
	mul, sqr, double := loop(func() { x.mul(&x, &y) }), loop(func() { x.sqr(&x) }), loop(func() { p.double(&p) })
	add := loop(func() { p.addAffine(&p, &generator) })
	for _, c := range []contender{{"ecdsa", benchSize, ecdsa}, {"schnorr", benchSize, schnorr}, {"mul", many, mul},
		{"sqr", many, sqr}, {"double", many, double}, {"addAffine", many, add}} {
		b.Run(c.name, func(b *testing.B) {
			inTurns(b, []contender{{"go", c.ops, without(c.run)}, {"assembly", c.ops, c.run}})
		})
	}
}
