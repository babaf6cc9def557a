package presync

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"stele/chain"
	"stele/internal/realdata"
)

// checkpointWork is the work of mainnet up to and with a height, as bitcoinj wrote it down.
func checkpointWork(t *testing.T, height uint32) chain.Work {
	t.Helper()
	for _, line := range strings.Fields(string(realdata.Read(t, "headers", "bitcoinj_production_checkpoints.txt")))[5:] {
		row, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(line, "="))
		if err != nil || len(row) != 12+4+80 {
			t.Fatalf("checkpoint %q: %v", line, err)
		}
		if binary.BigEndian.Uint32(row[12:]) == height {
			var work [32]byte
			copy(work[20:], row)
			return chain.WorkFromBE(work[:])
		}
	}
	t.Fatalf("no checkpoint at %d", height)
	return chain.Work{}
}

// TestMainnet: the first 100,000 headers, with the work of a published checkpoint as the minimum. Phase 1 ends with the
// message that has height 80,640, phase 2 likewise, and all up to there come out as they went in.
func TestMainnet(t *testing.T) {
	hs := mainnet(t)
	const height = 80_640
	minimum := checkpointWork(t, height)
	s := New(chain.Main(), genesis(chain.Main()), minimum, now, [32]byte{1})
	all, r, peak := run(t, s, hs, hs)
	if r.Status != Done {
		t.Fatalf("status %v, %v", r.Status, r.Reason)
	}
	const message = 82_000 // last height of the message with 80,640
	if s.Seen() != message || len(all) != message || !slices.Equal(all, hs[:message]) {
		t.Fatalf("phase 1 to %d; %d headers released", s.Seen(), len(all))
	}
	if s.Phase() != Over || s.Put(hs[:1], false).Reason != ReasonOver {
		t.Errorf("phase %v after the end", s.Phase())
	}
	if limit := int64(2_800_000); peak > limit {
		t.Errorf("%d bytes, over %d", peak, limit)
	}
}

// TestNothingBeforeWork: with a minimum that is one above what the chain has, nothing comes out.
func TestNothingBeforeWork(t *testing.T) {
	const height = 40_320
	hs := mainnet(t)[:height]
	work := checkpointWork(t, height)
	for _, c := range []struct {
		minimum chain.Work
		status  Status
		reason  Reason
		out     int
	}{
		{work, Done, ReasonNone, len(hs)},
		{work.Add(chain.WorkFromUint64(1)), Failed, ReasonShort, 0},
	} {
		all, r, _ := run(t, New(chain.Main(), genesis(chain.Main()), c.minimum, now, [32]byte{2}), hs, hs)
		if r.Status != c.status || r.Reason != c.reason || len(all) != c.out {
			t.Errorf("status %v, %v, %d released", r.Status, r.Reason, len(all))
		}
	}
}

// TestTestnet3: the 20-minute rule lets any bits through, and a chain that forks off at the first header ends short of
// what the trunk promised, or shows other headers, but nothing of it comes out.
func TestTestnet3(t *testing.T) {
	trunk, fork := testnet3(t)
	p := chain.Testnet3()
	work := genesis(p).Work
	for i := range trunk {
		work = work.Add(chain.BlockWork(trunk[i].Bits))
	}
	all, r, _ := run(t, New(p, genesis(p), work, now, [32]byte{3}), trunk, trunk)
	if r.Status != Done || !slices.Equal(all, trunk) {
		t.Errorf("trunk: status %v, %v, %d released", r.Status, r.Reason, len(all))
	}
	all, r, _ = run(t, New(p, genesis(p), work, now, [32]byte{3}), trunk, fork)
	if r.Status != Failed || r.Reason != ReasonCutShort || len(all) != 0 || r.Reason.Lies() {
		t.Errorf("fork: status %v, %v, %d released", r.Status, r.Reason, len(all))
	}
	all, r, _ = run(t, New(p, genesis(p), work, now, [32]byte{3}), fork, nil)
	if r.Status != Failed || r.Reason != ReasonShort || len(all) != 0 {
		t.Errorf("fork alone: status %v, %v, %d released", r.Status, r.Reason, len(all))
	}
}

// TestSwitch: a peer shows one chain in phase 1 and leaves it in phase 2, for headers that go on for ever without the
// work. Some bit gives it away before the first of its headers has come out: the chance that it does not is 2^-23 a
// secret.
func TestSwitch(t *testing.T) {
	p := easy()
	start := genesis(p)
	truth := mine(p, start.Hash, 24_000, 0)
	for _, at := range []int{0, 2_000, 6_001} {
		other := append(slices.Clone(truth[:at]), mine(p, truth[at].Prev, 18_000, 1)...)
		for secret := range byte(2) {
			s := New(p, start, workOf(p, 24_001), now, [32]byte{secret, byte(at)})
			all, r, _ := run(t, s, truth, other)
			if r.Status != Failed || r.Reason != ReasonOther || len(all) > at || !slices.Equal(all, truth[:len(all)]) {
				t.Errorf("from %d, secret %d: status %v, %v, %d released", at, secret, r.Status, r.Reason, len(all))
			}
		}
	}
}

// workOf is the work of n headers of the easiest target.
func workOf(p *chain.Params, n uint32) (w chain.Work) {
	one := chain.BlockWork(p.PowLimitBits)
	return one.MulUint32(n)
}

// TestCutShort: phase 2 ends early. What lies below the buffer was compared, and comes out.
func TestCutShort(t *testing.T) {
	p := easy()
	start := genesis(p)
	truth := mine(p, start.Hash, 20_000, 0)
	for _, n := range []int{1, 1_999, 2_000, 15_218, 15_219, 17_000, 19_999} {
		s := New(p, start, workOf(p, 20_001), now, [32]byte{4})
		all, r, _ := run(t, s, truth, truth[:n])
		want := max(0, n-15_218)
		if r.Status != Failed || r.Reason != ReasonCutShort || len(all) != want || !slices.Equal(all, truth[:want]) {
			t.Errorf("%d headers: status %v, %v, %d released", n, r.Status, r.Reason, len(all))
		}
	}
}

// TestGrown: the peer's chain grew between the phases; all of the message with the promised work comes out.
func TestGrown(t *testing.T) {
	p := easy()
	start := genesis(p)
	truth := mine(p, start.Hash, 5_500, 0)
	s := New(p, start, workOf(p, 5_001), now, [32]byte{5})
	all, r, _ := run(t, s, truth[:5_000], truth)
	if r.Status != Done || !slices.Equal(all, truth) || s.Seen() != 5_000 {
		t.Errorf("status %v, %v, %d released", r.Status, r.Reason, len(all))
	}
}

// TestHigherStart: a chain that forks off ours far up counts our work below.
func TestHigherStart(t *testing.T) {
	hs := mainnet(t)
	const at = 60_480
	below := hs[at-1]
	start := Start{
		Hash: below.Hash(), Height: at, Bits: below.Bits, MTP: below.Time, Work: checkpointWork(t, at),
		Locator: []chain.Hash{below.Hash(), chain.Main().GenesisHash},
	}
	s := New(chain.Main(), start, checkpointWork(t, 90_720), now, [32]byte{6})
	all, r, _ := run(t, s, hs[at:], hs[at:])
	if r.Status != Done || s.Seen() != at+32_000 || !slices.Equal(all, hs[at:at+32_000]) {
		t.Errorf("status %v, %v, %d released, phase 1 to %d", r.Status, r.Reason, len(all), s.Seen())
	}
}

// TestRefused: single faults, in either phase, and what is thought of the peer.
func TestRefused(t *testing.T) {
	hs := mainnet(t)[:4_100]
	main := chain.Main()
	minimum := genesis(main).Work.MulUint32(4_051) // in the third message
	for _, c := range []struct {
		name   string
		change func(m []chain.Header)
		reason Reason
		lies   bool
	}{
		{"gap between messages", func(m []chain.Header) { m[0].Prev[0] ^= 1 }, ReasonUnconnected, false},
		{"gap in a message", func(m []chain.Header) { m[50] = m[51] }, ReasonBroken, true},
		{"nonce", func(m []chain.Header) { m[99].Nonce++ }, ReasonHighHash, true},
		{"first nonce", func(m []chain.Header) { m[0].Nonce++ }, ReasonHighHash, true},
		{"easier than the limit", func(m []chain.Header) { m[7].Bits = 0x207fffff }, ReasonHighHash, true},
		{"bits negative", func(m []chain.Header) { m[7].Bits = 0x1d80ffff }, ReasonHighHash, true},
		{"bits zero", func(m []chain.Header) { m[7].Bits = 0 }, ReasonHighHash, true},
	} {
		for _, phase := range []Phase{Presync, Redownload} {
			s := New(main, genesis(main), minimum, now, [32]byte{7})
			if phase == Redownload {
				for i := range 3 {
					s.Put(hs[2_000*i:min(2_000*i+2_000, len(hs))], true)
				}
			}
			if r := s.Put(hs[:2_000], true); r.Status != More || s.Phase() != phase {
				t.Fatalf("%s: phase %d, status %v, %v", c.name, s.Phase(), r.Status, r.Reason)
			}
			bad := slices.Clone(hs[2_000:4_000])
			c.change(bad)
			r := s.Put(bad, true)
			if r.Status != Failed || r.Reason != c.reason || r.Reason.Lies() != c.lies || len(r.Released) != 0 {
				t.Errorf("%s, phase %d: status %v, %v, %d released", c.name, phase, r.Status, r.Reason, len(r.Released))
			}
		}
	}
}

// TestDifficulty: bits that change inside a period are refused in either phase, though the header has the work for them.
func TestDifficulty(t *testing.T) {
	p := easy()
	hs := mine(p, p.GenesisHash, 100, 0)
	harder := *p
	harder.PowLimitBits = 0x207ffffe
	bad := append(slices.Clone(hs[:50]), mine(&harder, hs[49].Hash(), 10, 0)...)
	for phase, minimum := range []uint32{1_000, 101} {
		s := New(p, genesis(p), workOf(p, minimum), now, [32]byte{})
		if phase == 1 {
			s.Put(hs, true)
		}
		if r := s.Put(bad, true); r.Status != Failed || r.Reason != ReasonDifficulty {
			t.Errorf("phase %d: status %v, %v", phase, r.Status, r.Reason)
		}
	}
}

// TestEmpty: an empty message ends a chain.
func TestEmpty(t *testing.T) {
	p := easy()
	s := New(p, genesis(p), workOf(p, 10), now, [32]byte{})
	if r := s.Put(nil, false); r.Status != Failed || r.Reason != ReasonShort {
		t.Errorf("phase 1: %v, %v", r.Status, r.Reason)
	}
	hs := mine(p, p.GenesisHash, 9, 0)
	s = New(p, genesis(p), workOf(p, 10), now, [32]byte{})
	if r := s.Put(hs, false); r.Status != More || s.Phase() != Redownload || r.Locator[0] != p.GenesisHash {
		t.Fatalf("phase %v: %v, %v", s.Phase(), r.Status, r.Reason)
	}
	if r := s.Put(nil, false); r.Status != Failed || r.Reason != ReasonCutShort {
		t.Errorf("phase 2: %v, %v", r.Status, r.Reason)
	}
}
