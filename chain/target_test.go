package chain_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
	"stele/internal/realdata"
)

// TestCompactVectors are those of Core's arith_uint256 unit test (bignum_SetCompact).
func TestCompactVectors(t *testing.T) {
	for _, c := range []struct {
		bits     uint32
		target   string
		negative bool
		back     uint32
	}{
		{0x00000000, "0", false, 0}, {0x00123456, "0", false, 0}, {0x01003456, "0", false, 0},
		{0x02000056, "0", false, 0}, {0x03000000, "0", false, 0}, {0x04000000, "0", false, 0},
		{0x00923456, "0", false, 0}, {0x01803456, "0", false, 0}, {0x02800056, "0", false, 0},
		{0x03800000, "0", false, 0}, {0x04800000, "0", false, 0},
		{0x01123456, "12", false, 0x01120000}, {0x01fedcba, "7e", true, 0x017e0000},
		{0x02123456, "1234", false, 0x02123400}, {0x03123456, "123456", false, 0x03123456},
		{0x04123456, "12345600", false, 0x04123456}, {0x04923456, "12345600", true, 0x04123456},
		{0x05009234, "92340000", false, 0x05009234},
		{0x20123456, "1234560000000000000000000000000000000000000000000000000000000000", false, 0x20123456},
	} {
		target, negative, overflow := chain.CompactToTarget(c.bits)
		want, err := chain.ParseWork(c.target)
		if err != nil {
			t.Fatal(err)
		}
		if target != want || negative != c.negative || overflow {
			t.Errorf("%08x: %v, negative %v, overflow %v; want %s, %v",
				c.bits, target, negative, overflow, c.target, c.negative)
		}
		if back := chain.TargetToCompact(target); back != c.back {
			t.Errorf("%08x packs to %08x, want %08x", c.bits, back, c.back)
		}
	}
	if bits := chain.TargetToCompact(chain.Work{0x80}); bits != 0x02008000 {
		t.Errorf("0x80 packs to %08x, want 02008000: the sign bit must stay clear", bits)
	}
	if _, negative, overflow := chain.CompactToTarget(0xff123456); negative || !overflow {
		t.Errorf("ff123456: negative %v, overflow %v", negative, overflow)
	}
}

// TestCompactProperty compares with the definition over unlimited integers: mantissa * 256^(size-3), a sign, and
// overflow where the magnitude needs more than 256 bits.
func TestCompactProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.Uint32().Draw(t, "bits")
		if rapid.Bool().Draw(t, "near") {
			bits = bits&0x00ff_ffff | rapid.Uint32Range(0, 36).Draw(t, "size")<<24
		}
		target, negative, overflow := chain.CompactToTarget(bits)
		want := big.NewInt(int64(bits & 0x007f_ffff))
		if size := uint(bits >> 24); size < 3 {
			want.Rsh(want, 8*(3-size))
		} else {
			want.Lsh(want, 8*(size-3))
		}
		if target != fromBig(want) || overflow != (want.BitLen() > 256) {
			t.Fatalf("%08x: %v, overflow %v; want %x", bits, target, overflow, want)
		}
		if negative != (want.Sign() != 0 && bits&0x0080_0000 != 0) {
			t.Fatalf("%08x: negative %v", bits, negative)
		}
		if overflow {
			return
		}
		// Packing keeps the three highest bytes, two where their first bit would be a sign.
		packed := chain.TargetToCompact(target)
		again, _, _ := chain.CompactToTarget(packed)
		if chain.TargetToCompact(again) != packed || again.Cmp(target) > 0 ||
			target.Sub(again).BitLen() > max(0, target.BitLen()-15) {
			t.Fatalf("%v packs to %08x, which is %v", target, packed, again)
		}
	})
}

// epoch is a row of the table of retarget periods: the header that begins it.
type epoch struct {
	Height uint32
	Hash   string
	Time   uint32
	Bits   string
}

func (e *epoch) bits(t *testing.T) uint32 {
	bits, err := strconv.ParseUint(e.Bits, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(bits)
}

func readEpochs(t *testing.T) (epochs []epoch) {
	t.Helper()
	if err := json.Unmarshal(realdata.Read(t, "headers", "mainnet_epoch_time_mtp_bits.json"), &epochs); err != nil {
		t.Fatal(err)
	}
	return epochs
}

// workAt sums the work of mainnet up to and with a height, period by period.
func workAt(t *testing.T, epochs []epoch, height uint32) (sum chain.Work) {
	for i := range epochs {
		first := epochs[i].Height
		if first > height || i > 0 && first%2016 != 0 { // the last row is the tip's
			break
		}
		sum = sum.Add(chain.BlockWork(epochs[i].bits(t)).MulUint32(min(height-first+1, 2016)))
	}
	return sum
}

// TestMainnetBits round-trips every bits value that mainnet ever had, and holds our work to the definition.
func TestMainnetBits(t *testing.T) {
	epochs := readEpochs(t)
	if len(epochs) < 470 {
		t.Fatalf("%d periods", len(epochs))
	}
	for i := range epochs {
		bits := epochs[i].bits(t)
		target, negative, overflow := chain.CompactToTarget(bits)
		if negative || overflow || chain.TargetToCompact(target) != bits {
			t.Errorf("%08x comes back as %08x", bits, chain.TargetToCompact(target))
		}
		if want := fromBig(bigWork(toBig(target))); chain.BlockWork(bits) != want {
			t.Errorf("%08x has work %v, want %v", bits, chain.BlockWork(bits), want)
		}
		hash, err := chain.ParseHash(epochs[i].Hash)
		if err != nil || !chain.HashMeetsTarget(&hash, target) {
			t.Errorf("block %d misses its own target (%v)", epochs[i].Height, err)
		}
	}
}

// TestChainStates: 23 states of mainnet before and after a block, with total work and target in decimal.
func TestChainStates(t *testing.T) {
	type state struct {
		BlockHeight   uint32      `json:"block_height"`
		TotalWork     string      `json:"total_work"`
		CurrentTarget json.Number `json:"current_target"`
	}
	var steps []struct {
		Before, After state
		Header        struct{ Bits uint32 }
	}
	decoder := json.NewDecoder(strings.NewReader(string(realdata.Read(t, "mainnet", "raito_chainstate.json"))))
	if err := decoder.Decode(&steps); err != nil {
		t.Fatal(err)
	}
	if len(steps) != 23 {
		t.Fatalf("%d transitions, want 23", len(steps))
	}
	number := func(s string) chain.Work {
		n, ok := new(big.Int).SetString(strings.Trim(s, `"`), 10)
		if !ok {
			t.Fatalf("not a number: %q", s)
		}
		return fromBig(n)
	}
	epochs := readEpochs(t)
	for _, s := range steps {
		for _, state := range []state{s.Before, s.After} {
			if want := number(state.TotalWork); workAt(t, epochs, state.BlockHeight) != want {
				t.Errorf("height %d: work %v, want %v", state.BlockHeight, workAt(t, epochs, state.BlockHeight), want)
			}
		}
		if target, _, _ := chain.CompactToTarget(s.Header.Bits); target != number(string(s.After.CurrentTarget)) {
			t.Errorf("height %d: target %v, want %s", s.After.BlockHeight, target, s.After.CurrentTarget)
		}
		if got := number(s.Before.TotalWork).Add(chain.BlockWork(s.Header.Bits)); got != number(s.After.TotalWork) {
			t.Errorf("height %d: work %v after the block, want %s", s.After.BlockHeight, got, s.After.TotalWork)
		}
	}
}

// checkpoint is a line of bitcoinj's checkpoint files: work 12 bytes and height 4, both big-endian, and a header.
// Each is the first block of a retarget period.
type checkpoint struct {
	work   chain.Work
	height uint32
	header chain.Header
}

func readCheckpoints(t *testing.T, name string) (points []checkpoint) {
	t.Helper()
	lines := strings.Fields(string(realdata.Read(t, "headers", name)))
	for _, line := range lines {
		raw, err := base64.RawStdEncoding.DecodeString(line)
		if err != nil || len(raw) != 96 {
			continue // words of the file's own header
		}
		var work [32]byte
		copy(work[20:], raw[:12])
		h, err := chain.ParseHeader(raw[16:])
		if err != nil {
			t.Fatal(err)
		}
		points = append(points, checkpoint{chain.WorkFromBE(work[:]), binary.BigEndian.Uint32(raw[12:]), h})
	}
	return points
}

func TestMainnetCheckpoints(t *testing.T) {
	points, epochs := readCheckpoints(t, "bitcoinj_production_checkpoints.txt"), readEpochs(t)
	if len(points) != 436 {
		t.Fatalf("%d checkpoints, want 436", len(points))
	}
	for _, p := range points {
		if got := workAt(t, epochs, p.height); got != p.work {
			t.Errorf("height %d: work %v, want %v", p.height, got, p.work)
		}
		meetsOwnTarget(t, p)
	}
}

// TestSignetCheckpoints needs no table: all blocks of a signet period have the bits of its first.
func TestSignetCheckpoints(t *testing.T) {
	points := readCheckpoints(t, "bitcoinj_signet_checkpoints.txt")
	if len(points) != 114 {
		t.Fatalf("%d checkpoints, want 114", len(points))
	}
	period := chain.Signet().Interval()
	for i, p := range points {
		meetsOwnTarget(t, p)
		work, bits := chain.BlockWork(chain.Signet().PowLimitBits), chain.Signet().PowLimitBits
		if i > 0 {
			work, bits = points[i-1].work, points[i-1].header.Bits
		}
		work = work.Add(chain.BlockWork(bits).MulUint32(period - 1)).Add(chain.BlockWork(p.header.Bits))
		if p.height != uint32(i+1)*period || work != p.work {
			t.Errorf("height %d: work %v, want %v", p.height, work, p.work)
		}
	}
}

func TestTestnetCheckpoints(t *testing.T) {
	points := readCheckpoints(t, "bitcoinj_test_checkpoints.txt")
	if len(points) != 1792 {
		t.Fatalf("%d checkpoints, want 1792", len(points))
	}
	for _, p := range points {
		meetsOwnTarget(t, p) // work is a matter of each block there, because of the 20-minute rule
	}
}

func meetsOwnTarget(t *testing.T, p checkpoint) {
	t.Helper()
	target, _, _ := chain.CompactToTarget(p.header.Bits)
	if hash := p.header.Hash(); !chain.HashMeetsTarget(&hash, target) {
		t.Errorf("height %d: %v misses its target", p.height, hash)
	}
}

// TestRetargetArithmetic repeats the 49 retargets of the first 100,000 headers by MulUint32 and DivUint32.
func TestRetargetArithmetic(t *testing.T) {
	raw := realdata.Read(t, "headers", "mainnet_0_99999.headers.gz")
	header := func(height int) chain.Header {
		h, err := chain.ParseHeader(raw[height*chain.HeaderSize:])
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	p := chain.Main()
	period, span := int(p.Interval()), p.TargetTimespan
	points := 0
	for height := period; height < 100_000; height += period {
		first, last, next := header(height-period), header(height-1), header(height)
		took := min(max(last.Time-first.Time, span/4), span*4)
		target, _, _ := chain.CompactToTarget(last.Bits)
		target = target.MulUint32(took).DivUint32(span)
		if target.Cmp(p.PowLimit) > 0 {
			target = p.PowLimit
		}
		if got := chain.TargetToCompact(target); got != next.Bits {
			t.Errorf("height %d: bits %08x, want %08x", height, got, next.Bits)
		}
		points++
	}
	if points != 49 {
		t.Errorf("%d retargets, want 49", points)
	}
}

// TestHashMeetsTarget is exact at the border, and reads the hash from its last byte.
func TestHashMeetsTarget(t *testing.T) {
	target := chain.Main().PowLimit
	limit := chain.Hash(target.Bytes32LE())
	above := chain.Hash(target.Add(chain.WorkFromUint64(1)).Bytes32LE())
	if !chain.HashMeetsTarget(&limit, target) || chain.HashMeetsTarget(&above, target) {
		t.Error("the border is not where the target is")
	}
	low, high := chain.Hash{0: 0xff}, chain.Hash{31: 1}
	if !chain.HashMeetsTarget(&low, target) || chain.HashMeetsTarget(&high, target) {
		t.Error("bytes are read in the wrong order")
	}
}

// TestDifficulty has the values of Core's blockchain unit test, to its precision, and two that explorers show in full.
func TestDifficulty(t *testing.T) {
	for _, c := range []struct {
		bits uint32
		want float64
	}{
		{0x1f111111, 0.000001}, {0x1ef88f6f, 0.000016}, {0x1df88f6f, 0.004023}, {0x1cf88f6f, 1.029916},
		{0x12345678, 5913134931067755359633408.0},
	} {
		if got := chain.Difficulty(c.bits); math.Abs(got-c.want) > 0.00001 {
			t.Errorf("%08x: %v, want %v", c.bits, got, c.want)
		}
	}
	for bits, want := range map[uint32]string{
		0x1d00ffff: "1", 0x1b0404cb: "16307.420938523983", 0x1b04864c: "14484.162361225399",
	} {
		if got := strconv.FormatFloat(chain.Difficulty(bits), 'f', -1, 64); got != want {
			t.Errorf("%08x: %s, want %s", bits, got, want)
		}
	}
	if !math.IsInf(chain.Difficulty(0x1d000000), 1) {
		t.Error("no mantissa: want infinity")
	}
}
