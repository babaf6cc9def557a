package validate

import (
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"stele/chain"
	"stele/internal/realdata"
)

// staleHeader is a real mainnet header that lost its race.
type staleHeader struct {
	height uint32
	hash   chain.Hash
	header chain.Header
}

// readStale reads the columns of that name out of a csv file.
func readStale(t *testing.T, file, height, hash, header string, keep func(row map[string]string) bool) []staleHeader {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(string(realdata.Read(t, "stale", file)))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var all []staleHeader
	for _, row := range rows[1:] {
		field := make(map[string]string)
		for i, name := range rows[0] {
			field[name] = row[i]
		}
		if keep != nil && !keep(field) {
			continue
		}
		number, err := strconv.ParseUint(field[height], 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		want, err := chain.ParseHash(field[hash])
		if err != nil {
			t.Fatal(err)
		}
		raw, err := hex.DecodeString(field[header])
		if err != nil {
			t.Fatal(err)
		}
		h, err := chain.ParseHeader(raw)
		if err != nil || h.Hash() != want {
			t.Fatalf("%s: %v is not the header of %v (%v)", file, field[header], want, err)
		}
		all = append(all, staleHeader{uint32(number), want, h})
	}
	return all
}

// TestStaleHeaders: real stale headers keep every rule that their own bytes and the table of periods can show:
// work, the bits of their period, the version that their height asks for. Their ancestors' times are not known
// here.
func TestStaleHeaders(t *testing.T) {
	p := chain.Main()
	epochs := readEpochs(t)
	last := epochs[len(epochs)-1].Height / 2016 // the last row is a tip, not the start of a period
	accepted := func(row map[string]string) bool { return row["validation_status"] == "VALID_STALE_DESCENDANT" }
	for _, x := range []struct {
		file           string
		headers        []staleHeader
		want, boundary int
	}{
		{"new", readStale(t, "real_stale_headers_new.csv", "height", "hash", "header", nil), 328, 0},
		{"descendants", readStale(t, "real_stale_descendants.csv", "btc_height", "btc_header_hash", "btc_header_hex",
			accepted), 21, 0},
	} {
		boundary := 0
		for _, s := range x.headers {
			wantReason(t, "work of "+s.hash.String(), ProofOfWork(p, s.header.Bits, &s.hash), "")
			if s.height/2016 > last || s.height%2016 == 0 {
				boundary++
				continue
			}
			bits := epochs[s.height/2016].bits(t)
			parent := Parent{Height: s.height - 1, Time: s.header.Time - 1, MTP: s.header.Time - 1, Bits: bits}
			v := Header(p, &s.header, &s.hash, parent, anywhere{bits}, int64(s.header.Time))
			wantReason(t, s.hash.String(), v, "")
		}
		if len(x.headers) != x.want || boundary != x.boundary {
			t.Errorf("%s: %d headers, %d of them without known bits; want %d, %d",
				x.file, len(x.headers), boundary, x.want, x.boundary)
		}
	}
}

// TestStaleFork: eight linked headers that left the chain where a period began.
func TestStaleFork(t *testing.T) {
	p := chain.Main()
	fork := readStale(t, "mainnet_stale_fork_961632_961639.csv", "height", "hash", "header", nil)
	if len(fork) != 8 {
		t.Fatalf("%d headers, want 8", len(fork))
	}
	wantReason(t, "first", ProofOfWork(p, fork[0].header.Bits, &fork[0].hash), "")
	c := &branch{}
	c.add(&fork[0].header)
	for i := 1; i < len(fork); i++ {
		s := &fork[i]
		parent := c.tip()
		parent.Height += fork[0].height
		if s.header.Prev != fork[i-1].hash || s.height != parent.Height+1 {
			t.Fatalf("%d: does not follow", s.height)
		}
		// The median of fewer than eleven times is a stricter bound than the true one, and they keep it.
		wantReason(t, s.hash.String(), Header(p, &s.header, &s.hash, parent, c, int64(s.header.Time)), "")
		c.add(&s.header)
	}
}

// headerTree is the form of the header vectors of BIP54: headers, and what was tried on top of them.
type headerTree struct {
	Headers    []string     `json:"block_headers"`
	Extensions []headerTree `json:"extensions"`
	Valid      *bool        `json:"valid"`
	Comment    string       `json:"comment"`
}

// TestNoTimewarpRuleOnMainnet: mined mainnet headers that a future rule on times (BIP54) would refuse, and some
// that it would allow, around the end of a period. Today all are valid, those that it would refuse, too.
func TestNoTimewarpRuleOnMainnet(t *testing.T) {
	var tree headerTree
	if err := json.Unmarshal(realdata.Read(t, "vectors", "bip54_future", "timestamps.json.gz"), &tree); err != nil {
		t.Fatal(err)
	}
	count := make(map[bool]int)
	growTree(t, &branch{}, &tree, count)
	if count[true] == 0 || count[false] == 0 {
		t.Errorf("branches by what BIP54 says: %v; want some of each", count)
	}
	t.Logf("branches by what BIP54 says: %v", count)
}

func growTree(t *testing.T, c *branch, tree *headerTree, count map[bool]int) {
	t.Helper()
	p := chain.Main()
	c = &branch{append([]uint32{}, c.times...), append([]uint32{}, c.bits...)}
	for _, text := range tree.Headers {
		raw, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		h, err := chain.ParseHeader(raw)
		if err != nil {
			t.Fatal(err)
		}
		if hash := h.Hash(); len(c.times) > 0 {
			wantReason(t, tree.Comment, Header(p, &h, &hash, c.tip(), c, int64(h.Time)), "")
		} else if hash != p.GenesisHash {
			t.Fatalf("begins with %v", hash)
		}
		c.add(&h)
	}
	if tree.Valid != nil {
		count[*tree.Valid]++
	}
	for i := range tree.Extensions {
		growTree(t, c, &tree.Extensions[i], count)
	}
}
