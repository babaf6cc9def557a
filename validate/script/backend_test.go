package script

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/ecdsa"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
	"pgregory.net/rapid"

	"stele/internal/realdata"
)

// verifiers are all that this build has.
var verifiers = []Verifier{Btcec{}}

// TestWycheproof: what the bitcoin variant calls valid passes; what it calls invalid is not strict, not low, or false.
// Of what is not strict, lax parsing may well make a true signature: that is the rule before BIP66.
func TestWycheproof(t *testing.T) {
	var file struct {
		TestGroups []struct {
			PublicKey struct{ Uncompressed string }
			Tests     []struct {
				TcID                      int
				Comment, Msg, Sig, Result string
			}
		}
	}
	raw := realdata.Read(t, "vectors", "ecdsa_secp256k1_sha256_bitcoin_wycheproof.json")
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	valid, invalid := 0, 0
	for _, group := range file.TestGroups {
		key := unhex(t, group.PublicKey.Uncompressed)
		for _, x := range group.Tests {
			sig, hash := unhex(t, x.Sig), sha256.Sum256(unhex(t, x.Msg))
			typed := append(sig[:len(sig):len(sig)], 1)
			var rs [64]byte
			rules := isStrictDER(typed) && isLowS(typed) && parseDERLax(sig, &rs)
			for _, v := range verifiers {
				if got, want := rules && v.ECDSA(key, &rs, &hash), x.Result == "valid"; got != want {
					t.Errorf("%s: case %d (%s): %v, want %v", v.Name(), x.TcID, x.Comment, got, want)
				}
			}
			if x.Result == "valid" {
				valid++
			} else {
				invalid++
			}
		}
	}
	if valid == 0 || valid+invalid != 463 {
		t.Errorf("%d valid, %d invalid", valid, invalid)
	}
	t.Logf("%d valid, %d invalid", valid, invalid)
}

// TestBIP340Vectors: those over 32-byte messages, which are all that scripts have.
func TestBIP340Vectors(t *testing.T) {
	file := realdata.Read(t, "vectors", "taproot", "bip340-test-vectors.csv")
	rows, err := csv.NewReader(strings.NewReader(string(file))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, row := range rows[1:] {
		message := unhex(t, row[4])
		if len(message) != 32 {
			count["other lengths"]++
			continue
		}
		key, sig := [32]byte(unhex(t, row[2])), [64]byte(unhex(t, row[5]))
		for _, v := range verifiers {
			if got := v.Schnorr(&key, &sig, (*[32]byte)(message)); got != (row[6] == "TRUE") {
				t.Errorf("%s: row %s (%s): %v", v.Name(), row[0], row[7], got)
			}
		}
		count[row[6]]++
	}
	if count["TRUE"] < 5 || count["FALSE"] < 9 {
		t.Errorf("%v", count)
	}
	t.Log(count)
}

// signed is a signature in the forms that a Verifier takes.
type signed struct {
	key  *btcec.PrivateKey
	hash [32]byte
	rs   [64]byte
}

func sign(t interface{ Fatal(...any) }, seed byte) *signed {
	x := new(signed)
	x.hash = sha256.Sum256([]byte{seed})
	secret := sha256.Sum256([]byte{seed, 1})
	x.key, _ = btcec.PrivKeyFromBytes(secret[:])
	if !parseDERLax(ecdsa.Sign(x.key, x.hash[:]).Serialize(), &x.rs) {
		t.Fatal("a signature of btcec's is no DER")
	}
	return x
}

// TestTrap25HybridKeys: 06 and 07 pass where the parity fits and only there; 04 always; and nothing else of that length.
func TestTrap25HybridKeys(t *testing.T) {
	for seed := range byte(8) {
		x := sign(t, seed)
		key := x.key.PubKey().SerializeUncompressed()
		odd := key[64]&1 == 1
		for first := range 256 {
			key[0] = byte(first)
			want := first == 4 || first == 6 && !odd || first == 7 && odd
			for _, v := range verifiers {
				if got := v.ECDSA(key, &x.rs, &x.hash); got != want {
					t.Errorf("%s: key %d (odd: %v), first byte %02x: %v", v.Name(), seed, odd, first, got)
				}
			}
		}
	}
}

// TestECDSABounds: scalars and keys at and beyond their bounds are false.
func TestECDSABounds(t *testing.T) {
	x := sign(t, 1)
	key := x.key.PubKey().SerializeCompressed()
	s := new(big.Int).SetBytes(x.rs[32:])
	rs := func(r, s *big.Int) (both [64]byte) {
		r.FillBytes(both[:32])
		s.FillBytes(both[32:])
		return both
	}
	r, zero := new(big.Int).SetBytes(x.rs[:32]), new(big.Int)
	prime, _ := new(big.Int).SetString("fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f", 16)
	beyond := append([]byte{2}, prime.Bytes()...)
	noPoint := append([]byte{2}, make([]byte, 32)...) // 0 + 7 has no root
	for _, c := range []struct {
		name string
		key  []byte
		rs   [64]byte
		want bool
	}{
		{"true", key, x.rs, true},
		{"r = 0", key, rs(zero, s), false},
		{"s = 0", key, rs(r, zero), false},
		{"r = n", key, rs(order, s), false},
		{"s = n", key, rs(r, order), false},
		{"high s", key, rs(r, new(big.Int).Sub(order, s)), false},
		{"zeros", key, [64]byte{}, false},
		{"key of x = p", beyond, x.rs, false},
		{"key that is no point", noPoint, x.rs, false},
		{"key cut short", key[:32], x.rs, false},
		{"key too long", append(key[:33:33], 0), x.rs, false},
		{"no key", nil, x.rs, false},
		{"key of zeros", make([]byte, 33), x.rs, false},
	} {
		for _, v := range verifiers {
			if got := v.ECDSA(c.key, &c.rs, &x.hash); got != c.want {
				t.Errorf("%s: %s: %v", v.Name(), c.name, got)
			}
		}
	}
}

// TestVerifiersAgree: true signatures and tweaks pass, with a bit turned over they do not, whichever verifier is asked.
func TestVerifiersAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := sign(t, rapid.Byte().Draw(t, "seed"))
		compressed := x.key.PubKey().SerializeCompressed()
		sig, err := schnorr.Sign(x.key, x.hash[:])
		if err != nil {
			t.Fatal(err)
		}
		check := Check{Kind: Kind(rapid.IntRange(0, 2).Draw(t, "kind")), Hash: x.hash}
		switch check.Kind {
		case KindECDSA:
			check.Size = uint8(copy(check.Key[:], compressed))
			check.Sig = x.rs
		case KindSchnorr:
			check.Size = uint8(copy(check.Key[:], compressed[1:]))
			check.Sig = [64]byte(sig.Serialize())
		case KindTweak:
			check.Size = 32
			copy(check.Sig[:], compressed[1:])
			check.Odd = tweaked(&check)
		}
		what := rapid.SampledFrom([]string{"nothing", "key", "hash", "signature", "parity"}).Draw(t, "turned")
		bit := rapid.IntRange(0, 255).Draw(t, "bit")
		switch what {
		case "key":
			check.Key[bit/8] ^= 1 << (bit % 8)
		case "hash":
			check.Hash[bit/8] ^= 1 << (bit % 8)
		case "signature":
			check.Sig[bit/8] ^= 1 << (bit % 8)
		case "parity":
			check.Odd = !check.Odd
		}
		want := what == "nothing" || what == "parity" && check.Kind != KindTweak
		for _, v := range verifiers {
			if got := check.Run(v); got != want {
				t.Fatalf("%s: kind %d, %s turned over: %v", v.Name(), check.Kind, what, got)
			}
		}
	})
}

// tweaked writes the output key of an internal key (in Sig) and a tweak (in Hash) and gives its parity, by way of another
// package's arithmetic.
func tweaked(c *Check) (odd bool) {
	curve := btcec.S256()
	internal, err := schnorr.ParsePubKey(c.Sig[:32])
	if err != nil {
		panic(err)
	}
	x, y := curve.ScalarBaseMult(c.Hash[:])
	x, y = curve.Add(internal.X(), internal.Y(), x, y)
	x.FillBytes(c.Key[:32])
	return y.Bit(0) == 1
}

// TestTweakBounds: tweaks and keys beyond their bounds, and a sum that is no point.
func TestTweakBounds(t *testing.T) {
	var output, internal, tweak [32]byte
	g := unhex(t, "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798")
	g2, _ := btcec.S256().ScalarBaseMult([]byte{2})
	for _, c := range []struct {
		name                    string
		output, internal, tweak string
		odd, want               bool
	}{
		{"G + 1 G = 2 G", hex.EncodeToString(g2.Bytes()), hex.EncodeToString(g), "01", false, true},
		{"but not odd", hex.EncodeToString(g2.Bytes()), hex.EncodeToString(g), "01", true, false},
		{"G + 0", hex.EncodeToString(g), hex.EncodeToString(g), "00", false, true},
		{"tweak is the order", hex.EncodeToString(g), hex.EncodeToString(g), order.Text(16), false, false},
		{"infinity", "", hex.EncodeToString(g), new(big.Int).Sub(order, big.NewInt(1)).Text(16), false, false},
		{"internal key is no x", hex.EncodeToString(g), "05", "00", false, false},
		{"internal key beyond the field", hex.EncodeToString(g), strings.Repeat("ff", 32), "00", false, false},
	} {
		for _, part := range []struct {
			to   *[32]byte
			text string
		}{{&output, c.output}, {&internal, c.internal}, {&tweak, c.tweak}} {
			n, _ := new(big.Int).SetString("0"+part.text, 16)
			n.FillBytes(part.to[:])
		}
		for _, v := range verifiers {
			if got := v.Tweak(&output, &internal, &tweak, c.odd); got != c.want {
				t.Errorf("%s: %s: %v", v.Name(), c.name, got)
			}
		}
	}
}

// BenchmarkVerifier verifies the same signatures over and over.
func BenchmarkVerifier(b *testing.B) {
	x := sign(b, 7)
	key := x.key.PubKey().SerializeCompressed()
	made, _ := schnorr.Sign(x.key, x.hash[:])
	sig := [64]byte(made.Serialize())
	for _, v := range verifiers {
		b.Run(v.Name()+"/ecdsa", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				v.ECDSA(key, &x.rs, &x.hash)
			}
		})
		b.Run(v.Name()+"/schnorr", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				v.Schnorr((*[32]byte)(key[1:]), &sig, &x.hash)
			}
		})
	}
}
