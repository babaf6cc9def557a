package secp256k1

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2/ecdsa"

	"stele/internal/realdata"
)

func TestMain(m *testing.M) { realdata.Main(m) }

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBIP340 runs the BIP's vectors, each by itself and as a batch of one if it has 32 bytes of message.
func TestBIP340(t *testing.T) {
	file := realdata.Read(t, "vectors", "taproot", "bip340-test-vectors.csv")
	rows, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	valid := 0
	for _, row := range rows[1:] {
		key, msg, sig := unhex(t, row[2]), unhex(t, row[4]), unhex(t, row[5])
		want := row[6] == "TRUE"
		if len(key) != 32 || len(sig) != 64 {
			t.Fatalf("row %s: key of %d bytes, signature of %d", row[0], len(key), len(sig))
		}
		if got := VerifySchnorr((*[32]byte)(key), (*[64]byte)(sig), msg); got != want {
			t.Errorf("row %s: %v, want %v (%s)", row[0], got, want, row[7])
		}
		if want {
			valid++
		}
	}
	if valid < 5 || len(rows)-1-valid < 10 {
		t.Errorf("%d valid vectors of %d", valid, len(rows)-1)
	}
}

// TestSchnorrAtInfinity makes signatures with s = e*d, whose sum is at infinity, and looks for one in which the last
// addition is that of -G to G, and r that of G: what was there before has the x and the parity that are asked for.
func TestSchnorrAtInfinity(t *testing.T) {
	m := newMaker(9)
	found := 0
	for tries := 0; found < 3 && tries < 200_000; tries++ {
		d := m.number()
		if tries%64 != 0 && found == 0 && tries > 0 {
			d.SetInt64(3) // a new key is dear, a new message cheap
		}
		p := times(d)
		if p.y.isOdd() {
			d.Sub(bigN, d)
		}
		var c SchnorrCheck
		p.x.bytes(&c.Key)
		r := put(generator.x.residue())
		c.Msg = m.bytes()
		var e scalar
		e.challenge(&r, &c.Key, c.Msg[:])
		k := bigScalar(d)
		if e.mul(&e, &k); e[0]&(1<<baseWindow-1) != 1<<baseWindow-1 || e[2]&1 != 0 {
			continue
		}
		found++
		s := put(e.big())
		copy(c.Sig[:], r[:])
		copy(c.Sig[32:], s[:])
		if VerifySchnorr(&c.Key, &c.Sig, c.Msg[:]) || verifyBatch([]SchnorrCheck{c}, new(Scratch)) {
			t.Errorf("accepted: %x", c)
		}
	}
	if found == 0 {
		t.Error("none found")
	}
}

// TestWycheproof runs the vectors of ECDSA as Bitcoin uses it: strict encoding and low s, which are not this package's
// business, then the signature. The key is given as 65 and as 33 bytes.
func TestWycheproof(t *testing.T) {
	var file struct {
		NumberOfTests int
		TestGroups    []struct {
			PublicKey struct{ Uncompressed string }
			Tests     []struct {
				TcID                      int
				Comment, Msg, Sig, Result string
			}
		}
	}
	data := realdata.Read(t, "vectors", "ecdsa_secp256k1_sha256_bitcoin_wycheproof.json")
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, g := range file.TestGroups {
		key := unhex(t, g.PublicKey.Uncompressed)
		short := append([]byte{2 + key[64]&1}, key[1:33]...)
		for _, c := range g.Tests {
			ran++
			got := false
			if rs, ok := strictLowS(unhex(t, c.Sig)); ok {
				hash := sha256.Sum256(unhex(t, c.Msg))
				got = VerifyECDSA(key, &rs, &hash)
				if VerifyECDSA(short, &rs, &hash) != got {
					t.Errorf("%d: the short key differs", c.TcID)
				}
			}
			if want := c.Result == "valid"; got != want {
				t.Errorf("%d: %v, want %v (%s)", c.TcID, got, want, c.Comment)
			}
		}
	}
	if ran != file.NumberOfTests || ran < 400 {
		t.Errorf("%d vectors ran of %d", ran, file.NumberOfTests)
	}
}

func strictLowS(der []byte) (rs [64]byte, ok bool) {
	sig, err := ecdsa.ParseDERSignature(der)
	if err != nil {
		return rs, false
	}
	r, s := sig.R(), sig.S()
	r.PutBytesUnchecked(rs[:32])
	s.PutBytesUnchecked(rs[32:])
	return rs, !s.IsOverHalfOrder()
}
