package presync

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"stele/chain"
	"stele/internal/realdata"
)

func TestMain(m *testing.M) { realdata.Main(m) }

const perMessage = 2000

// easy is a network without the 20-minute rule on which a header takes two hashes. Its first period never ends: a target
// so large would overflow in a retarget.
func easy() *chain.Params {
	p := *chain.Main()
	r := chain.Regtest()
	p.Name, p.PowLimit, p.PowLimitBits = "easy", r.PowLimit, r.PowLimitBits
	p.GenesisHash, p.TargetTimespan, p.TargetSpacing = r.GenesisHash, 1<<31, 1
	return &p
}

// mine makes n headers on top of prev. Chains of different salts share no header.
func mine(p *chain.Params, prev chain.Hash, n int, salt byte) []chain.Header {
	return mineInto(make([]chain.Header, n), p, prev, salt)
}

func mineInto(hs []chain.Header, p *chain.Params, prev chain.Hash, salt byte) []chain.Header {
	target, _, _ := chain.CompactToTarget(p.PowLimitBits)
	for i := range hs {
		h := &hs[i]
		*h = chain.Header{Version: 4, Prev: prev, Merkle: chain.Hash{salt}, Time: uint32(i), Bits: p.PowLimitBits}
		for prev = h.Hash(); !chain.HashMeetsTarget(&prev, target); prev = h.Hash() {
			h.Nonce++
		}
	}
	return hs
}

func genesis(p *chain.Params) Start {
	return Start{
		Hash: p.GenesisHash, Bits: p.PowLimitBits, MTP: 1_231_006_505, Work: chain.BlockWork(p.PowLimitBits),
		Locator: []chain.Hash{p.GenesisHash},
	}
}

// now is the end of 2026.
const now = 1_798_000_000

// follow gives what a peer with this chain, whose first header builds upon start, answers to a locator.
func follow(t testing.TB, c []chain.Header, start, after chain.Hash) ([]chain.Header, bool) {
	t.Helper()
	if after != start {
		i := slices.IndexFunc(c, func(h chain.Header) bool { return h.Prev == after })
		if i < 0 {
			if c[len(c)-1].Hash() == after {
				return nil, false
			}
			t.Fatalf("asked for what follows %v, which the peer never sent", after)
		}
		c = c[i:]
	}
	n := min(len(c), perMessage)
	return c[:n], n == perMessage
}

// run lets peers answer until the Sync is over: first the one of phase 1, then the one of phase 2. It returns what was
// released, the last Result and the largest use of memory.
func run(t testing.TB, s *Sync, first, second []chain.Header) (all []chain.Header, last Result, peak int64) {
	t.Helper()
	start := s.start.Hash
	r := Result{Locator: []chain.Hash{start}}
	for r.Status == More {
		c := first
		if s.Phase() == Redownload {
			c = second
		}
		hs, full := follow(t, c, start, r.Locator[0])
		r = s.Put(hs, full)
		all = append(all, r.Released...)
		peak = max(peak, s.Bytes())
	}
	return all, r, peak
}

func parseHeaders(t testing.TB, raw []byte) (hs []chain.Header) {
	t.Helper()
	for ; len(raw) > 0; raw = raw[chain.HeaderSize:] {
		h, err := chain.ParseHeader(raw)
		if err != nil {
			t.Fatal(err)
		}
		hs = append(hs, h)
	}
	return hs
}

var mainnetRead []chain.Header

// mainnet is heights 1 to 99,999, read once. Tests that change headers change copies.
func mainnet(t testing.TB) []chain.Header {
	t.Helper()
	if mainnetRead == nil {
		mainnetRead = parseHeaders(t, realdata.Read(t, "headers", "mainnet_0_99999.headers.gz"))[1:]
	}
	return mainnetRead
}

// testnet3 is heights 1 to 546, and two headers that fork off.
func testnet3(t testing.TB) (trunk, fork []chain.Header) {
	t.Helper()
	for line := range strings.Lines(string(realdata.Read(t, "headers", "testnet3_0_545_plus_fork.headers.hex"))) {
		line = strings.TrimSpace(line)
		text, forked := strings.CutPrefix(line, "fork:")
		raw, err := hex.DecodeString(text)
		if err != nil || line == "" {
			t.Fatalf("line %q: %v", line, err)
		}
		h, err := chain.ParseHeader(raw)
		if err != nil {
			t.Fatal(err)
		}
		if forked {
			fork = append(fork, h)
		} else {
			trunk = append(trunk, h)
		}
	}
	return trunk, fork
}
