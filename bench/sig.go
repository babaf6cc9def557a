package bench

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/ecdsa"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"

	"stele/validate/script"
)

var sigExperiment = Experiment{
	Name:  "sig",
	About: "signatures verified, keys parsed: ours against btcec and the system's libsecp256k1, one by one and in groups",
	Keys: []Key{
		{Name: "sig.ecdsa_vs_btcec", Reach: 3},
		{Name: "sig.schnorr_vs_btcec", Reach: 3.3},
		{Name: "sig.ecdsa_vs_libsecp", Reach: 0.95},
		{Name: "sig.batch_vs_single", Reach: 1.6},
		{Name: "sig.lanes_ecdsa_vs_libsecp", Reach: 7},
		{Name: "sig.lanes_schnorr_vs_libsecp", Reach: 7},
	},
	Run: runSig,
}

// sigChecks have a key each: no verifier can gain from a repeated one.
const sigChecks = 256

// sigGroups are the groups that are measured, by verifier.
var sigGroups = map[string][]int{"secp256k1": {256, 64}, "lanes": {128, 8}, libsecp: {256}}

// libsecp is the verifier that stands for the system's library.
const libsecp = "libsecp256k1"

// needsLibsecp is the note of a row that needs it.
const needsLibsecp = "not measured: built without the tag libsecp256k1"

func runSig(ctx context.Context, o Options) (*Result, error) {
	r := &Result{}
	o.Note("signing")
	r0 := rand.New(rand.NewPCG(sigChecks, 0))
	singles := map[script.Kind]map[string]Number{}
	for _, kind := range []struct {
		name string
		kind script.Kind
		sign func(r *rand.Rand) (script.Check, error)
	}{{"ecdsa", script.KindECDSA, signECDSA}, {"schnorr", script.KindSchnorr, signSchnorr}} {
		checks, err := signed(r0, kind.sign)
		if err != nil {
			return nil, err
		}
		o.Note(kind.name)
		if singles[kind.kind], err = r.verifiers(ctx, &o, kind.name, checks); err != nil {
			return nil, err
		}
	}
	ours := script.Native{}.Name()
	e, s := singles[script.KindECDSA], singles[script.KindSchnorr]
	r.ratio("sig.ecdsa_vs_btcec", e[script.Btcec{}.Name()]/e[ours])
	r.ratio("sig.schnorr_vs_btcec", s[script.Btcec{}.Name()]/s[ours])
	r.ratio("sig.batch_vs_single", s[ours]/s[ours+".256"])
	if _, ok := script.ByName(libsecp); !ok {
		r.single("ecdsa."+libsecp, "µs", None, needsLibsecp)
		return r, nil
	}
	r.ratio("sig.ecdsa_vs_libsecp", e[libsecp]/e[ours])
	if _, ok := script.ByName("lanes"); ok {
		r.ratio("sig.lanes_ecdsa_vs_libsecp", e[libsecp]/e["lanes.128"])
		r.ratio("sig.lanes_schnorr_vs_libsecp", s[libsecp]/s["lanes.128"])
	}
	return r, nil
}

// verifiers measures every verifier of this build over checks, one call each, and ours in a group, too; it returns the
// microseconds a check by name.
func (r *Result) verifiers(ctx context.Context, o *Options, kind string, checks []script.Check) (map[string]Number, error) {
	var ways []way
	for _, v := range script.Verifiers() {
		if err := verifyBoth(v, checks); err != nil {
			return nil, err
		}
		ways = append(ways, way{name: v.Name(), do: func() error {
			for i := range checks {
				if !checks[i].Run(v) {
					return fmt.Errorf("%s refuses signature %d", v.Name(), i)
				}
			}
			return nil
		}})
	}
	for _, v := range script.Verifiers() {
		if g, ok := v.(script.GroupVerifier); ok {
			for _, n := range sigGroups[g.Name()] {
				ways = append(ways, way{name: fmt.Sprintf("%s.%d", g.Name(), n), do: func() error { return inGroups(g, checks, n) }})
			}
		}
	}
	times, err := o.inTurns(ctx, ways)
	if err != nil {
		return nil, err
	}
	found := map[string]Number{}
	for i := range ways {
		found[ways[i].name] = r.median(kind+"."+ways[i].name, "µs", scaled(times[i], 1e-3/sigChecks), "a check, key parsed")
	}
	return found, nil
}

// inGroups verifies checks in groups of n.
func inGroups(g script.GroupVerifier, checks []script.Check, n int) error {
	var few [4]int
	for at := 0; at < len(checks); at += n {
		if bad := g.Group(checks[at:at+n], few[:0]); len(bad) > 0 {
			return fmt.Errorf("a group of %s refuses signature %d", g.Name(), at+bad[0])
		}
	}
	return nil
}

// verifyBoth wants v to take all checks for true, and for false with one bit of the hash changed.
func verifyBoth(v script.Verifier, checks []script.Check) error {
	for i := range checks {
		altered := checks[i]
		altered.Hash[i%32] ^= 1 << (i % 8)
		if !checks[i].Run(v) || altered.Run(v) {
			return fmt.Errorf("%s is wrong about signature %d or its altered twin", v.Name(), i)
		}
	}
	return nil
}

func signed(r *rand.Rand, sign func(r *rand.Rand) (script.Check, error)) ([]script.Check, error) {
	checks := make([]script.Check, sigChecks)
	for i := range checks {
		var err error
		if checks[i], err = sign(r); err != nil {
			return nil, err
		}
	}
	return checks, nil
}

// drawKey makes a key and something to sign.
func drawKey(r *rand.Rand) (key *btcec.PrivateKey, hash [32]byte) {
	var secret [32]byte
	for i := range secret {
		secret[i], hash[i] = byte(r.Uint32()), byte(r.Uint32())
	}
	secret[0] &= 0x7f // below the order
	key, _ = btcec.PrivKeyFromBytes(secret[:])
	return key, hash
}

func signECDSA(r *rand.Rand) (script.Check, error) {
	key, hash := drawKey(r)
	c := script.Check{Kind: script.KindECDSA, Hash: hash}
	c.Size = uint8(copy(c.Key[:], key.PubKey().SerializeCompressed()))
	sig := ecdsa.Sign(key, hash[:])
	rr, ss := sig.R(), sig.S()
	rr.PutBytesUnchecked(c.Sig[:32])
	ss.PutBytesUnchecked(c.Sig[32:])
	return c, nil
}

func signSchnorr(r *rand.Rand) (script.Check, error) {
	key, hash := drawKey(r)
	c := script.Check{Kind: script.KindSchnorr, Hash: hash}
	c.Size = uint8(copy(c.Key[:], schnorr.SerializePubKey(key.PubKey())))
	sig, err := schnorr.Sign(key, hash[:])
	if err == nil {
		copy(c.Sig[:], sig.Serialize())
	}
	return c, err
}
