package lanes

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

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// compareAll verifies items in groups of 1, 3, 8 and all, and compares with what a published file says.
func compareAll(t *testing.T, items []Item, want []bool) {
	t.Helper()
	for name, v := range verifiers() {
		for _, size := range []int{1, 3, 8, len(items)} {
			for at := 0; at < len(items); at += size {
				group := items[at:min(at+size, len(items))]
				refused := make([]bool, len(group))
				for _, i := range v.Verify(group, nil) {
					refused[i] = true
				}
				for i := range group {
					if refused[i] == want[at+i] {
						t.Fatalf("%s, groups of %d: item %d: %v, want %v", name, size, at+i, !refused[i], want[at+i])
					}
				}
			}
			if name == "twin" {
				break
			}
		}
	}
}

// TestBIP340 runs the BIP's vectors that have 32 bytes of message.
func TestBIP340(t *testing.T) {
	file := realdata.Read(t, "vectors", "taproot", "bip340-test-vectors.csv")
	rows, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var items []Item
	var want []bool
	for _, row := range rows[1:] {
		key, msg, sig := unhex(t, row[2]), unhex(t, row[4]), unhex(t, row[5])
		if len(msg) != 32 {
			continue
		}
		q := Item{Kind: Schnorr, Hash: [32]byte(msg), Sig: [64]byte(sig)}
		copy(q.Key[:], key)
		items, want = append(items, q), append(want, row[6] == "TRUE")
	}
	if len(items) < 15 {
		t.Errorf("%d vectors", len(items))
	}
	compareAll(t, items, want)
}

// TestWycheproof runs the vectors of ECDSA as Bitcoin uses it that are strictly encoded with a low s; the others are
// not this package's business. Each key is given as 65 and as 33 bytes.
func TestWycheproof(t *testing.T) {
	var file struct {
		TestGroups []struct {
			PublicKey struct{ Uncompressed string }
			Tests     []struct{ Msg, Sig, Result string }
		}
	}
	data := realdata.Read(t, "vectors", "ecdsa_secp256k1_sha256_bitcoin_wycheproof.json")
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	var items []Item
	var want []bool
	for _, g := range file.TestGroups {
		key := unhex(t, g.PublicKey.Uncompressed)
		for _, c := range g.Tests {
			sig, err := ecdsa.ParseDERSignature(unhex(t, c.Sig))
			if err != nil {
				continue
			}
			r, s := sig.R(), sig.S()
			if s.IsOverHalfOrder() {
				continue
			}
			q := Item{Hash: sha256.Sum256(unhex(t, c.Msg)), Size: 65, Key: [65]byte(key)}
			r.PutBytesUnchecked(q.Sig[:32])
			s.PutBytesUnchecked(q.Sig[32:])
			items, want = append(items, q), append(want, c.Result == "valid")
			q.Size, q.Key[0] = 33, 2+key[64]&1
			items, want = append(items, q), append(want, c.Result == "valid")
		}
	}
	if len(items) < 200 {
		t.Errorf("%d vectors", len(items))
	}
	compareAll(t, items, want)
}
