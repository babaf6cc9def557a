package validate

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
)

const fortnight = 14 * 24 * 60 * 60

// TestRetarget: the clamps from both sides, the limit, and rounding, at the end of a period that took the given
// span from its first to its last header. Wanted bits were worked out by hand from the integer rule.
func TestRetarget(t *testing.T) {
	main := chain.Main()
	for _, x := range []struct {
		name       string
		net        *chain.Params
		span       int64
		bits, want uint32
	}{
		{"as intended", main, fortnight, 0x1c0ffff0, 0x1c0ffff0},
		{"a quarter", main, fortnight / 4, 0x1c0ffff0, 0x1c03fffc},
		{"less than a quarter", main, fortnight/4 - 1, 0x1c0ffff0, 0x1c03fffc},
		{"all at once", main, 0, 0x1c0ffff0, 0x1c03fffc},
		{"backwards", main, -100, 0x1c0ffff0, 0x1c03fffc},
		{"four times", main, fortnight * 4, 0x1c0ffff0, 0x1c3fffc0},
		{"more than four times", main, fortnight*4 + 1, 0x1c0ffff0, 0x1c3fffc0},
		{"an age", main, 4_000_000_000, 0x1c0ffff0, 0x1c3fffc0},
		{"up to the limit", main, fortnight * 4, 0x1c3fffc0, 0x1d00ffff},
		{"beyond the limit", main, fortnight * 4, 0x1c7fff80, 0x1d00ffff},
		{"a second short", main, fortnight - 1, 0x1c0ffff0, 0x1c0fffef}, // 0ffff0 less 0.87, rounded down
		{"a second long", main, fortnight + 1, 0x1c0ffff0, 0x1c0ffff0},  // 0ffff0 and 0.87
		{"the real one at 32,256", main, 1_262_152_739 - 1_261_130_161, 0x1d00ffff, 0x1d00d86a},
		{"no retarget", chain.Regtest(), 1, 0x207fffff, 0x207fffff},
	} {
		c := spanning(x.net, 2, x.span, x.bits, x.bits)
		if got := NextBits(x.net, c.tip(), c, c.tip().Time); got != x.want {
			t.Errorf("%s: %08x, want %08x", x.name, got, x.want)
		}
	}
}

// spanning is so many periods, of which the last takes span seconds from its first to its last header. That first
// header has firstBits, all others have bits.
func spanning(p *chain.Params, periods int, span int64, firstBits, bits uint32) *branch {
	n := periods * int(p.Interval())
	c := steady(n, 100_000, 1, bits)
	first := n - int(p.Interval())
	c.bits[first] = firstBits
	c.times[n-1] = uint32(int64(c.times[first]) + span)
	return c
}

// TestTrap50RetargetMeasures2015Gaps: the first header of the period before the one that ended has no say.
func TestTrap50RetargetMeasures2015Gaps(t *testing.T) {
	p := chain.Main()
	c := spanning(p, 2, fortnight, 0x1c0ffff0, 0x1c0ffff0)
	c.times[2015] = 0 // a gap from here would be longer than the period
	if got := NextBits(p, c.tip(), c, 0); got != 0x1c0ffff0 {
		t.Errorf("%08x", got)
	}
}

// TestTrap50WhoseBitsARetargetScales: the last header's, even of minimal difficulty, but under BIP94 the first one's.
func TestTrap50WhoseBitsARetargetScales(t *testing.T) {
	for _, x := range []struct {
		net         *chain.Params
		first, last uint32
		want        uint32
	}{
		{chain.Main(), 0x1c0ffff0, 0x1c0fff00, 0x1c03ffc0},
		{chain.Testnet3(), 0x1c0ffff0, 0x1d00ffff, 0x1c3fffc0},
		{chain.Testnet3(), 0x1d00ffff, 0x1c0ffff0, 0x1c03fffc},
		{chain.Testnet4(), 0x1c0ffff0, 0x1d00ffff, 0x1c03fffc},
		{chain.Testnet4(), 0x1d00ffff, 0x1c0ffff0, 0x1c3fffc0},
	} {
		c := spanning(x.net, 1, fortnight/4, x.first, x.last)
		if got := NextBits(x.net, c.tip(), c, c.tip().Time+10_000); got != x.want {
			t.Errorf("%s %08x..%08x: %08x, want %08x", x.net.Name, x.first, x.last, got, x.want)
		}
	}
}

// TestTrap50TwentyMinutes: both sides of the gap that allows the limit, and how far back the ordinary bits are
// looked for.
func TestTrap50TwentyMinutes(t *testing.T) {
	const low, real, other = 0x1d00ffff, 0x1c0ffff0, 0x1c0fff00
	c := steady(2*2016+20, 100_000, 600, real)
	for height := 100; height < 110; height++ {
		c.bits[height] = low
	}
	for height := 2016; height < 2020; height++ {
		c.bits[height] = low
	}
	c.bits[2015] = other
	for _, x := range []struct {
		parent uint32
		gap    uint32
		want   uint32
	}{
		{50, 1200, real},
		{50, 1201, low},
		{109, 1201, low},
		{109, 1200, real}, // walks back over ten
		{100, 1, real},
		{2019, 1200, low}, // stops at 2016, though its bits are the limit
		{2016, 1, low},
		{2020, 1, real},
		{2020, 1201, low},
	} {
		for _, net := range []*chain.Params{chain.Testnet3(), chain.Testnet4()} {
			parent := c.at(x.parent)
			if got := NextBits(net, parent, c, parent.Time+x.gap); got != x.want {
				t.Errorf("%s: after %d, %d s: %08x, want %08x", net.Name, x.parent, x.gap, got, x.want)
			}
		}
		parent := c.at(x.parent)
		if got := NextBits(chain.Main(), parent, c, parent.Time+x.gap); got != parent.Bits {
			t.Errorf("main: after %d: %08x", x.parent, got)
		}
		if got := NextBits(chain.Signet(), parent, c, parent.Time+x.gap); got != parent.Bits {
			t.Errorf("signet: after %d: %08x", x.parent, got)
		}
	}
	// All low back to genesis.
	c = steady(10, 100_000, 600, low)
	if got := NextBits(chain.Testnet3(), c.tip(), c, c.tip().Time); got != low {
		t.Errorf("from genesis: %08x", got)
	}
	// Times near the end of 32 bits: the sum of time and gap must not wrap.
	c = steady(10, 0xffff_0000, 1, real)
	c.times[9] = 0xffff_ffff
	if got := NextBits(chain.Testnet3(), c.tip(), c, 500); got != real {
		t.Errorf("at the end of time: %08x", got)
	}
}

// TestNextBitsModel compares with the rule written down over big integers, on random branches of every network.
func TestNextBitsModel(t *testing.T) {
	nets := []*chain.Params{chain.Main(), chain.Testnet3(), chain.Testnet4(), chain.Signet(), chain.Regtest()}
	rapid.Check(t, func(t *rapid.T) {
		p := *rapid.SampledFrom(nets).Draw(t, "network")
		// Short periods, so that a branch has several; the rule knows timespan and spacing alone.
		p.TargetSpacing = 600
		p.TargetTimespan = 600 * rapid.Uint32Range(1, 12).Draw(t, "interval")
		n := rapid.IntRange(int(p.Interval()), 40).Draw(t, "length")
		c := &branch{}
		time := rapid.Uint32().Draw(t, "start")
		palette := []uint32{p.PowLimitBits, p.PowLimitBits - 1, anyBits(t, &p), anyBits(t, &p)}
		for range n {
			c.add(&chain.Header{Time: time, Bits: rapid.SampledFrom(palette).Draw(t, "bits")})
			time += uint32(rapid.Int32Range(-2000, 8000).Draw(t, "gap"))
		}
		if got, want := NextBits(&p, c.tip(), c, time), modelNextBits(&p, c, time); got != want {
			t.Fatalf("%08x, model %08x", got, want)
		}
	})
}

// anyBits is a target at or below the limit.
func anyBits(t *rapid.T, p *chain.Params) uint32 {
	size := rapid.Uint32Range(1, p.PowLimitBits>>24).Draw(t, "size")
	most := uint32(0x7fffff)
	if size == p.PowLimitBits>>24 {
		most = p.PowLimitBits & 0x7fffff
	}
	return size<<24 | rapid.Uint32Range(0x8000, max(most, 0x8000)).Draw(t, "mantissa")
}

func modelNextBits(p *chain.Params, c *branch, time uint32) uint32 {
	interval := int(p.TargetTimespan / p.TargetSpacing)
	last := len(c.times) - 1
	if (last+1)%interval != 0 {
		if !p.MinDifficulty {
			return c.bits[last]
		}
		if int64(time)-int64(c.times[last]) > 2*int64(p.TargetSpacing) {
			return p.PowLimitBits
		}
		at := last
		for at%interval != 0 && c.bits[at] == p.PowLimitBits {
			at--
		}
		return c.bits[at]
	}
	if p.NoRetarget {
		return c.bits[last]
	}
	first := last - interval + 1
	span := int64(c.times[last]) - int64(c.times[first])
	span = min(max(span, int64(p.TargetTimespan)/4), int64(p.TargetTimespan)*4)
	base := c.bits[last]
	if p.BIP94 {
		base = c.bits[first]
	}
	target := unpackBig(base)
	target.Mul(target, big.NewInt(span))
	target.Div(target, big.NewInt(int64(p.TargetTimespan)))
	limit := new(big.Int)
	limit.SetString(p.PowLimit.String(), 16)
	if target.Cmp(limit) > 0 {
		target = limit
	}
	return packBig(target)
}

// unpackBig is mantissa * 256^(size-3), rounded down.
func unpackBig(bits uint32) *big.Int {
	n := big.NewInt(int64(bits & 0x7fffff))
	if size := uint(bits >> 24); size >= 3 {
		return n.Lsh(n, 8*(size-3))
	} else {
		return n.Rsh(n, 8*(3-size))
	}
}

// packBig takes as many bytes as the number has, with a zero before them where the first would look like a sign.
func packBig(n *big.Int) uint32 {
	b := n.Bytes()
	if len(b) > 0 && b[0] >= 0x80 {
		b = append([]byte{0}, b...)
	}
	size := len(b)
	b = append(b, 0, 0, 0)
	return uint32(size)<<24 | uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])
}

// TestNextMTPModel: the incremental form equals the median of the whole branch, and reads ten ancestors at most.
func TestNextMTPModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.Uint32(), 2, 30).Draw(t, "times")
		c := &branch{times: times[:len(times)-1], bits: make([]uint32, len(times)-1)}
		reads := &counted{of: c}
		if got, want := NextMTP(c.tip(), reads, times[len(times)-1]), MTP(times); got != want {
			t.Fatalf("%d, want %d", got, want)
		}
		if reads.count > 9 { // the parent's time is in Parent
			t.Fatalf("%d reads", reads.count)
		}
	})
}

// counted counts the questions put to an Ancestry.
type counted struct {
	of    Ancestry
	count int
}

func (c *counted) At(height uint32) (time, bits uint32) {
	c.count++
	return c.of.At(height)
}

// TestNextBitsReads: how many headers are looked at, which is what a header costs beyond its own bytes.
func TestNextBitsReads(t *testing.T) {
	c := steady(2*2016+1, 100_000, 600, 0x1d00ffff)
	for _, x := range []struct {
		net    *chain.Params
		parent uint32
		want   int
	}{
		{chain.Main(), 1000, 0},
		{chain.Main(), 2015, 1},
		{chain.Testnet3(), 2015, 1},
		{chain.Testnet3(), 2026, 10},
		{chain.Testnet3(), 4030, 2014},
		{chain.Regtest(), 143, 0},
	} {
		reads := &counted{of: c}
		parent := c.at(x.parent)
		NextBits(x.net, parent, reads, parent.Time)
		if reads.count != x.want {
			t.Errorf("%s after %d: %d reads, want %d", x.net.Name, x.parent, reads.count, x.want)
		}
	}
}
