package secp256k1

import "testing"

// The fuzz targets ask the same of all implementations. Their seeds are made cases of all kinds, so that a mutation
// starts from valid ones.

const fuzzSeeds = 60

func FuzzECDSA(f *testing.F) {
	for seed := range uint64(fuzzSeeds) {
		c := newMaker(seed).ecdsa()
		f.Add(c.key, c.rs[:], c.hash[:])
	}
	f.Fuzz(func(t *testing.T, key, rs, hash []byte) {
		var sig [64]byte
		var h [32]byte
		copy(sig[:], rs)
		copy(h[:], hash)
		got := VerifyECDSA(key, &sig, &h)
		for _, o := range oracles {
			if o.ecdsa(key, &sig, &h) != got {
				t.Errorf("%v, but not %s", got, o.name)
			}
		}
	})
}

func FuzzSchnorr(f *testing.F) {
	for seed := range uint64(fuzzSeeds) {
		c := newMaker(seed).schnorr()
		f.Add(c.Key[:], c.Sig[:], c.Msg[:])
	}
	var scratch Scratch
	f.Fuzz(func(t *testing.T, key, sig, msg []byte) {
		var c SchnorrCheck
		copy(c.Key[:], key)
		copy(c.Sig[:], sig)
		copy(c.Msg[:], msg)
		got := VerifySchnorr(&c.Key, &c.Sig, c.Msg[:])
		for _, o := range oracles {
			if o.schnorr(&c.Key, &c.Sig, &c.Msg) != got {
				t.Errorf("%v, but not %s", got, o.name)
			}
		}
		if verifyBatch([]SchnorrCheck{c}, &scratch) != got {
			t.Errorf("%v, but not as a batch", got)
		}
	})
}

func FuzzTweak(f *testing.F) {
	for seed := range uint64(fuzzSeeds) {
		c := newMaker(seed).check()
		f.Add(c.output[:], c.internal[:], c.tweak[:], c.odd)
	}
	f.Fuzz(func(t *testing.T, output, internal, tweak []byte, odd bool) {
		var c tweakCase
		copy(c.output[:], output)
		copy(c.internal[:], internal)
		copy(c.tweak[:], tweak)
		got := CheckTweak(&c.output, &c.internal, &c.tweak, odd)
		for _, o := range oracles {
			if o.tweak(&c.output, &c.internal, &c.tweak, odd) != got {
				t.Errorf("%v, but not %s", got, o.name)
			}
		}
	})
}
