package chain_test

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
)

const genesisHash = "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f"

func TestHashText(t *testing.T) {
	h, err := chain.ParseHash(genesisHash)
	if err != nil {
		t.Fatal(err)
	}
	if h.String() != genesisHash || h[31] != 0 || h[0] != 0x6f || h[1] != 0xe2 {
		t.Errorf("parsed to %x, prints %v", h[:], h)
	}
	if upper, err := chain.ParseHash(strings.ToUpper(genesisHash)); err != nil || upper != h {
		t.Errorf("upper case: %v, %v", upper, err)
	}
	for _, bad := range []string{
		"", genesisHash[1:], genesisHash + "0", genesisHash[:63] + "g", " " + genesisHash[1:],
	} {
		if _, err := chain.ParseHash(bad); err == nil {
			t.Errorf("%q was parsed", bad)
		}
	}
}

func TestHashTextProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h chain.Hash
		copy(h[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "hash"))
		back, err := chain.ParseHash(h.String())
		if err != nil || back != h {
			t.Fatalf("%x comes back as %x, %v", h[:], back[:], err)
		}
		text, err := json.Marshal(h)
		if err != nil || string(text) != `"`+h.String()+`"` {
			t.Fatalf("json is %s, %v", text, err)
		}
		var read chain.Hash
		if err := json.Unmarshal(text, &read); err != nil || read != h {
			t.Fatalf("json comes back as %v, %v", read, err)
		}
	})
}

// TestDoubleSHA256 has the example of the Bitcoin wiki's protocol documentation.
func TestDoubleSHA256(t *testing.T) {
	const want = "9595c9df90075148eb06860365df33584b75bff782a510c6cd4883a419833d50"
	h := chain.DoubleSHA256([]byte("hello"))
	if got := hex.EncodeToString(h[:]); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestHeader takes mainnet's first header apart and puts it together again.
func TestHeader(t *testing.T) {
	raw := chain.Main().GenesisBlock[:chain.HeaderSize]
	h, err := chain.ParseHeader(raw)
	if err != nil {
		t.Fatal(err)
	}
	merkle := "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b"
	if h.Version != 1 || !h.Prev.IsZero() || h.Merkle.String() != merkle || h.Time != 1231006505 ||
		h.Bits != 0x1d00ffff || h.Nonce != 2083236893 || h.Hash().String() != genesisHash {
		t.Errorf("parsed to %+v", h)
	}
	if got := h.Append([]byte{7}); string(got[1:]) != string(raw) || got[0] != 7 {
		t.Errorf("encodes to %x, want %x", got, raw)
	}
	if _, err := chain.ParseHeader(raw[:79]); err == nil {
		t.Error("79 bytes were parsed")
	}
}

// TestHeaderVersionIsSigned: real headers of version 0xa0000000 are below every version that BIP34, 66 and 65 ask for.
func TestHeaderVersionIsSigned(t *testing.T) {
	raw := make([]byte, chain.HeaderSize)
	raw[3] = 0xa0
	h, err := chain.ParseHeader(raw)
	if err != nil || h.Version >= 0 || uint32(h.Version) != 0xa0000000 {
		t.Errorf("version %d, %v", h.Version, err)
	}
}

func TestCompactSize(t *testing.T) {
	values := []uint64{0, 1, 0xfc, 0xfd, 0xfe, 0xff, 0x100, 0xffff, 0x10000, 0xffff_ffff, 0x1_0000_0000, 1<<64 - 1}
	for n := range uint64(0xfd) {
		values = append(values, n)
	}
	for _, n := range values {
		want := shortest(n)
		got := chain.AppendCompactSize([]byte{1}, n)
		if string(got[1:]) != string(want) || chain.CompactSizeLen(n) != len(want) {
			t.Errorf("%d encodes to %x in %d bytes, want %x", n, got[1:], chain.CompactSizeLen(n), want)
		}
		if back, size, ok := chain.CompactSize(append(want, 0xee)); back != n || size != len(want) || !ok {
			t.Errorf("%x reads as %d in %d bytes, %v", want, back, size, ok)
		}
		for cut := range len(want) {
			if _, _, ok := chain.CompactSize(want[:cut]); ok {
				t.Errorf("%x cut to %d bytes was read", want, cut)
			}
		}
		for _, form := range []int{3, 5, 9} {
			long := longForm(n, form)
			if _, _, ok := chain.CompactSize(long); ok != (form == len(want)) && form >= len(want) {
				t.Errorf("%d as %x: read %v", n, long, ok)
			}
		}
	}
}
