package validate

import (
	"fmt"
	"testing"

	"stele/chain"
)

// steady is a branch whose headers all have the same bits and a constant gap.
func steady(n int, start, gap, bits uint32) *branch {
	c := &branch{}
	for i := range n {
		c.add(&chain.Header{Time: start + uint32(i)*gap, Bits: bits})
	}
	return c
}

// TestHeaderBoundaries stands on both sides of every number in the header rules.
func TestHeaderBoundaries(t *testing.T) {
	p := easy(chain.Main())
	c := steady(30, 1_300_000_000, 600, p.PowLimitBits)
	parent := c.tip()
	now := int64(parent.Time) + 600
	for _, x := range []struct {
		name   string
		time   int64
		bits   uint32
		now    int64
		reason string
	}{
		{"plain", now, parent.Bits, now, ""},
		{"at the median", int64(parent.MTP), parent.Bits, now, ReasonTimeTooOld},
		{"after the median, before the parent", int64(parent.MTP) + 1, parent.Bits, now, ""},
		{"two hours ahead", now + 7200, parent.Bits, now, ""},
		{"two hours and a second ahead", now + 7201, parent.Bits, now, ReasonTimeTooNew},
		{"clock before 1970", now, parent.Bits, -1, ReasonTimeTooNew},
		{"last second of 32 bits", 0xffff_ffff, parent.Bits, 0xffff_ffff, ""},
		{"bits one lower", now, parent.Bits - 1, now, ReasonBadDiffBits},
		{"bits of mainnet", now, 0x1d00ffff, now, ReasonBadDiffBits},
	} {
		h := chain.Header{Version: 1, Time: uint32(x.time), Bits: x.bits}
		v := headerInContext(p, &h, parent, c, x.now)
		wantReason(t, x.name, v, x.reason)
		if want := !v.OK() && x.reason != ReasonTimeTooNew; v.Condemns != want {
			t.Errorf("%s: condemns %v", x.name, v.Condemns)
		}
		if v.Tx != none || v.Input != none {
			t.Errorf("%s: points at a transaction: %+v", x.name, v)
		}
	}
}

// TestHeaderWork: bits that are no target in range, and hashes that miss the target by one.
func TestHeaderWork(t *testing.T) {
	hash := func(w chain.Work) chain.Hash { return w.Bytes32LE() }
	low := hash(chain.WorkFromUint64(0))
	nets := []*chain.Params{chain.Main(), chain.Testnet3(), chain.Testnet4(), chain.Signet(), chain.Regtest()}
	for _, p := range nets {
		limit, _, _ := chain.CompactToTarget(p.PowLimitBits)
		at, above := hash(limit), hash(limit.Add(chain.WorkFromUint64(1)))
		for _, x := range []struct {
			name   string
			bits   uint32
			hash   chain.Hash
			reason string
		}{
			{"hash at the limit", p.PowLimitBits, at, ""},
			{"hash above the limit", p.PowLimitBits, above, ReasonHighHash},
			{"limit one higher", p.PowLimitBits + 1, low, ReasonHighHash},
			{"limit one lower", p.PowLimitBits - 1, low, ""},
			{"zero", 0, low, ReasonHighHash},
			{"zero mantissa", 0x1d000000, low, ReasonHighHash},
			{"mantissa shifted out", 0x0100ffff, low, ReasonHighHash},
			{"one", 0x01010000, low, ""},
			{"negative one", 0x01810000, low, ReasonHighHash},
			{"negative", 0x1d80ffff, low, ReasonHighHash},
			{"overflow", 0xff00ffff, low, ReasonHighHash},
			{"overflow by a byte", 0x23000100, low, ReasonHighHash},
			{"overflow that leaves a number", 0x21010001, low, ReasonHighHash}, // 2^240, below regtest's limit
		} {
			v := ProofOfWork(p, x.bits, &x.hash)
			wantReason(t, p.Name+": "+x.name, v, x.reason)
			if v.Condemns == v.OK() {
				t.Errorf("%s: %s: condemns %v", p.Name, x.name, v.Condemns)
			}
		}
	}
}

// TestHeaderOrder breaks the header rules two at a time; Core's first must be the reason.
func TestHeaderOrder(t *testing.T) {
	p := easy(chain.Testnet4())
	p.MinDifficulty = false
	c := steady(2016, 1_800_000_000, 600, p.PowLimitBits)
	parent := c.tip()
	now := int64(parent.Time)
	bits := NextBits(p, parent, c, parent.Time)
	// Each sets one thing wrong. The median is moved along so that too early, timewarped and too late can meet.
	broken := []struct {
		reason string
		do     func(h *chain.Header, parent *Parent, now *int64)
	}{
		{ReasonBadDiffBits, func(h *chain.Header, _ *Parent, _ *int64) { h.Bits-- }},
		{ReasonTimeTooOld, func(h *chain.Header, parent *Parent, _ *int64) { parent.MTP = h.Time }},
		{ReasonTimewarp, func(h *chain.Header, parent *Parent, _ *int64) { parent.Time = h.Time + 601 }},
		{ReasonTimeTooNew, func(h *chain.Header, _ *Parent, now *int64) { *now = int64(h.Time) - 7201 }},
		{"bad-version(0x00000003)", func(h *chain.Header, _ *Parent, _ *int64) { h.Version = 3 }},
	}
	for i := range broken {
		for j := i; j < len(broken); j++ {
			h := chain.Header{Version: 4, Time: parent.Time, Bits: bits}
			parent, now := parent, now
			broken[i].do(&h, &parent, &now)
			if j != i {
				broken[j].do(&h, &parent, &now)
			}
			name := fmt.Sprintf("%s and %s", broken[i].reason, broken[j].reason)
			// The parent's time also enters the retarget; what is due is computed for the parent as it now is.
			if i != 0 {
				h.Bits = NextBits(p, parent, c, h.Time)
			}
			wantReason(t, name, headerInContext(p, &h, parent, c, now), broken[i].reason)
			over := chain.Hash{31: 0xff}
			wantReason(t, "high-hash and "+name, Header(p, &h, &over, parent, c, now), ReasonHighHash)
			under := chain.Hash{}
			wantReason(t, name+", with work", Header(p, &h, &under, parent, c, now), broken[i].reason)
		}
	}
}

// TestHeaderTimewarp: BIP94 binds the first header of a period only, by 600 seconds; mainnet has no such rule.
func TestHeaderTimewarp(t *testing.T) {
	for _, x := range []struct {
		net    *chain.Params
		height int // of the header
		behind uint32
		reason string
	}{
		{chain.Testnet4(), 2016, 600, ""},
		{chain.Testnet4(), 2016, 601, ReasonTimewarp},
		{chain.Testnet4(), 2015, 601, ""},
		{chain.Testnet4(), 2017, 601, ""},
		{chain.Testnet4(), 4032, 601, ReasonTimewarp},
		{chain.Main(), 2016, 601, ""},
		{chain.Testnet3(), 2016, 601, ""},
		{chain.Signet(), 2016, 601, ""},
	} {
		c := steady(x.height, 1_800_000_000, 600, x.net.PowLimitBits)
		parent := c.tip()
		h := chain.Header{Version: 4, Time: parent.Time - x.behind}
		h.Bits = NextBits(x.net, parent, c, h.Time)
		v := headerInContext(x.net, &h, parent, c, int64(parent.Time))
		wantReason(t, fmt.Sprintf("%s %d, %d s behind", x.net.Name, x.height, x.behind), v, x.reason)
	}
	// A parent near the epoch must not make the limit wrap.
	early := &branch{make([]uint32, 2016), make([]uint32, 2016)}
	for i := range early.bits {
		early.times[i], early.bits[i] = uint32(i/1000), 0x1d00ffff
	}
	h := chain.Header{Version: 4, Time: 3, Bits: NextBits(chain.Testnet4(), early.tip(), early, 3)}
	wantReason(t, "parent at second 2", headerInContext(chain.Testnet4(), &h, early.tip(), early, 0), "")
}

// TestTrap3HeaderVersionIsSigned: versions with the top bit set were mined and are below every floor. The reason
// spells the version as 32 unsigned bits.
func TestTrap3HeaderVersionIsSigned(t *testing.T) {
	p := easy(chain.Main())
	for _, height := range []uint32{543_804, 544_024, 544_600} {
		for _, version := range []uint32{0xa000_0000, 0xe000_0000} {
			v := versionVerdict(p, height, int32(version))
			wantReason(t, fmt.Sprint(height), v, fmt.Sprintf("bad-version(0x%08x)", version))
			if !v.Condemns {
				t.Errorf("%d: header not condemned", height)
			}
		}
	}
	wantReason(t, "before BIP34", versionVerdict(p, 227_930, -0x2000_0000), "")
}

// TestTrap58VersionFloors: both sides of each height at which a version became compulsory, on every network.
func TestTrap58VersionFloors(t *testing.T) {
	for _, x := range []struct {
		net     *chain.Params
		height  uint32
		version int32
		reason  string
	}{
		{chain.Main(), 227_930, 1, ""},
		{chain.Main(), 227_930, 0, ""},
		{chain.Main(), 227_931, 1, "bad-version(0x00000001)"},
		{chain.Main(), 227_931, 2, ""},
		{chain.Main(), 363_724, 2, ""},
		{chain.Main(), 363_725, 2, "bad-version(0x00000002)"},
		{chain.Main(), 363_725, 3, ""},
		{chain.Main(), 363_967, 2, "bad-version(0x00000002)"},
		{chain.Main(), 364_341, 2, "bad-version(0x00000002)"},
		{chain.Main(), 367_047, 2, "bad-version(0x00000002)"},
		{chain.Main(), 388_380, 3, ""},
		{chain.Main(), 388_381, 3, "bad-version(0x00000003)"},
		{chain.Main(), 388_381, 4, ""},
		{chain.Main(), 900_000, 0x7fff_ffff, ""},
		{chain.Testnet3(), 21_110, 1, ""},
		{chain.Testnet3(), 21_111, 1, "bad-version(0x00000001)"},
		{chain.Testnet3(), 330_776, 2, "bad-version(0x00000002)"},
		{chain.Testnet3(), 581_884, 3, ""},
		{chain.Testnet3(), 581_885, 3, "bad-version(0x00000003)"},
		{chain.Testnet4(), 1, 3, "bad-version(0x00000003)"},
		{chain.Signet(), 1, 3, "bad-version(0x00000003)"},
		{chain.Regtest(), 1, 3, "bad-version(0x00000003)"},
		{chain.Regtest(), 1, 4, ""},
		{chain.Regtest(), 1, -1, "bad-version(0xffffffff)"},
	} {
		v := versionVerdict(easy(x.net), x.height, x.version)
		wantReason(t, fmt.Sprintf("%s %d version %d", x.net.Name, x.height, x.version), v, x.reason)
	}
}

// versionVerdict is Header's verdict on a mined header of that version which is right otherwise. The heights used are
// not the first of a period, so that the ancestors do not matter.
func versionVerdict(p *chain.Params, height uint32, version int32) Verdict {
	q := *p
	q.NoRetarget = true
	parent := Parent{Height: height - 1, Time: 1_500_000_000, MTP: 1_499_990_000, Bits: q.PowLimitBits}
	h := chain.Header{Version: version, Time: parent.Time + 600, Bits: parent.Bits}
	hash := mine(&h)
	return Header(&q, &h, &hash, parent, anywhere{parent.Bits}, int64(h.Time))
}

// anywhere has the same bits at every height.
type anywhere struct{ bits uint32 }

func (a anywhere) At(uint32) (time, bits uint32) { return 0, a.bits }

// TestTrap46FutureHeaderIsNotCondemned: the verdict turns when the clock does.
func TestTrap46FutureHeaderIsNotCondemned(t *testing.T) {
	p := chain.Regtest()
	c := steady(5, 1_600_000_000, 600, p.PowLimitBits)
	h := chain.Header{Version: 4, Time: c.tip().Time + 86_400, Bits: p.PowLimitBits}
	hash := mine(&h)
	v := Header(p, &h, &hash, c.tip(), c, int64(c.tip().Time))
	wantReason(t, "a day early", v, ReasonTimeTooNew)
	if v.Condemns {
		t.Error("time-too-new condemns the header")
	}
	wantReason(t, "a day later", Header(p, &h, &hash, c.tip(), c, int64(h.Time)-7200), "")
}

// TestTrap47MedianTimePast: mainnet block 380,992 has a sibling that was mined 5 hours before the median.
func TestTrap47MedianTimePast(t *testing.T) {
	p := easy(chain.Main())
	parent := Parent{Height: 380_991, Time: 1_446_070_000, MTP: 1_446_068_449, Bits: p.PowLimitBits}
	p.NoRetarget = true
	for _, x := range []struct {
		time   uint32
		reason string
	}{{1_446_052_047, ReasonTimeTooOld}, {1_446_068_449, ReasonTimeTooOld}, {1_446_068_450, ""}} {
		h := chain.Header{Version: 4, Time: x.time, Bits: parent.Bits}
		hash := mine(&h)
		wantReason(t, fmt.Sprint(x.time), Header(p, &h, &hash, parent, anywhere{parent.Bits}, 1_446_070_000), x.reason)
	}
}

func TestMTP(t *testing.T) {
	for _, x := range []struct {
		times []uint32
		want  uint32
	}{
		{nil, 0},
		{[]uint32{7}, 7},
		{[]uint32{9, 5}, 9},
		{[]uint32{5, 9}, 9},
		{[]uint32{3, 1, 2}, 2},
		{[]uint32{4, 3, 2, 1}, 3},
		{[]uint32{11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 6},
		{[]uint32{0, 0, 0, 0, 0, 0, 0xffff_ffff, 1, 2, 3, 4}, 0},
		{[]uint32{1000, 1000, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 6}, // only the last 11 count
	} {
		if got := MTP(x.times); got != x.want {
			t.Errorf("MTP(%v) = %d, want %d", x.times, got, x.want)
		}
	}
}
