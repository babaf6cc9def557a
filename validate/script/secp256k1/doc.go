// Package secp256k1 verifies the signatures of Bitcoin: ECDSA, BIP340 one by one and in batches, and the key tweaks
// of BIP341. It signs nothing and keeps no secrets, and so takes the time that its arguments ask for: use it on
// public data only.
//
// It is consensus code. What it says must be what libsecp256k1 says, for every input; bad input is false, never a
// panic. Its functions hold nothing of their arguments, allocate nothing ([VerifySchnorr] does for messages above 32
// bytes, and a [Scratch] until it has grown), and may be called from any number of goroutines.
//
// # Layers
//
//	ecdsa, schnorr, tweak, batch   what is asked
//	key                            public keys from bytes
//	multiply, base, pippenger      sums of multiples of points
//	group                          points: affine and Jacobian
//	scalar, field, modinv          numbers modulo n and p
//	arith                          the inner loops: in Go, or in assembly on amd64 with BMI2 and ADX
//
// # Numbers
//
// Numbers are four words of 64 bits. A field is loose, any number below 2^256, until it is normalised to be below p;
// those functions that read it as a number demand that and say so. A scalar is always below n. The build tag
// magnitudes checks these demands, and the bounds that the comments claim for what is between, as the code runs:
//
//	go test -tags magnitudes ./validate/script/secp256k1
//
// # Points
//
// u*G + v*Q is one row of 128 doublings (Strauss). v is split in two halves by the curve's endomorphism, u at its
// 128th bit; the halves have signed digits, five bits wide for Q and twelve for G. Q's eight odd multiples share one
// z, which is taken for 1 until the end, so that a verification inverts no field. The tables of G, 128 KiB, are made
// at first use, in less than a millisecond.
//
// Whether a sum has the x that a signature names is asked without division: r*z^2 = x; for ECDSA also with r + n
// where that is below p. BIP340 asks for the parity of y too, and inverts z.
//
// The formulas hold for all points, equal, opposite and infinite ones included: those are told apart at each
// addition, by one comparison. As they do not use the constant of the curve's equation, the tests run them through
// all points and multipliers of curves of the same field that have subgroups of 13 and 199 points.
//
// # Batches
//
// A batch is one sum of three multiples a signature (Pippenger's method with affine additions), about half the work of
// single verification for 64 signatures and more. It says only whether all are valid; who is not, single verification
// tells. ECDSA has no batches, since a signature does not say which point its r came from.
//
// # Assembly
//
// On amd64 the products, squares, doublings and additions have a second form (MULX, ADCX, ADOX), used if the
// processor has these, which makes a verification about 1.2 times as fast. The Go code is its twin, equal limb for
// limb; the build tag purego leaves only that.
//
// # Sources
//
// SEC 1 and SEC 2 for ECDSA and the curve, BIP340 and BIP341; Gallant, Lambert and Vanstone (2001) for the
// endomorphism; Hankerson, Menezes and Vanstone, "Guide to Elliptic Curve Cryptography" (2004), chapter 3, for digits
// and formulas; Bernstein and Yang (2019) for inverses.
package secp256k1
