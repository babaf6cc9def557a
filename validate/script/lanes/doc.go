// Package lanes verifies signatures of secp256k1 eight or sixteen at a time, one in each lane of the vector registers
// of processors with AVX-512 IFMA: ECDSA, BIP340 and the key tweaks of BIP341, mixed as they come. Package secp256k1,
// the scalar verifier, is its twin and fall-back: every answer is exactly the scalar verifier's, and where the
// instructions are absent (see Present), turned off (Enable), or left out (build tag purego), that is what answers.
//
//	v := lanes.New()              // for one goroutine
//	bad = v.Verify(items, bad)    // the indexes of those that are false
//
// Groups want to be full: eight items take about as long as two single verifications, and so do two. Groups of 16
// are best; up to 128 share one inversion. It is consensus code. Bad input is false, never a panic. Nothing is
// allocated, and nothing is held of an argument.
//
// # Layers
//
//	verify            rounds of up to 128 items; who is answered where
//	prepare           items to numbers; what is not plain goes to the scalar verifier
//	multiply, tables  g*G + k*key; tables of odd multiples
//	root, scalar      square roots; numbers modulo n, their halves, digits and inverses
//	machine           the kernels, or their twins
//	kernels_amd64.s   made by gen: products modulo p, doublings, additions
//	twin              the same in Go, one lane at a time
//
// # Numbers
//
// A number modulo p is five limbs of 52 bits, one vector each, and has a magnitude, which the comments give. The
// twins equal the kernels limb for limb; under the build tag magnitudes they check, as they run, that magnitudes are
// kept:
//
//	go test -tags magnitudes ./validate/script/lanes
//
// # One schedule
//
// All lanes do the same steps. Multipliers are split in two by the curve's endomorphism and made odd, and so have
// digits that are odd too, none of them zero: 26 of five bits on the key, 10 of thirteen on G, for each half. A sum
// is 125 doublings and 72 additions. A key's 16 odd multiples share one z, which is taken for 1 until the end.
//
// Additions are the ordinary ones, which fail for equal and for opposite points. There they make z zero, and no later
// step makes it anything else. So one look at z at the end finds every lane that met such a case, or whose sum is at
// infinity; the scalar verifier is asked about it. Anyone can make signatures that do so on purpose, and gains
// nothing but the scalar verifier's time.
//
// What never comes so far is asked of the scalar verifier before: an r, s, x or y out of range, r or s of zero, an r
// that n could be added to, hybrid keys. A key whose x has no point is asked about too, though the answer is known.
//
// # Ownership
//
// A Verifier is for one goroutine at a time; Verify, the function, keeps a pool of them. The table of G, 512 KiB,
// belongs to the package, is made by the first New in a few milliseconds, and is never written again.
//
// # Sources
//
// BIP340, BIP341, SEC 1; Gallant, Lambert and Vanstone (2001) for the endomorphism; Meloni (2007) for additions that
// share z; Bernstein and Yang (2019) for inverses.
package lanes
