package validate

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"stele/chain"
	"stele/internal/realdata"
)

// epochRow is the first header of a retarget period of mainnet, as an outside node reported it.
type epochRow struct {
	Height           uint32
	Hash             chain.Hash
	Time, MedianTime uint32
	Bits             string
}

func (e *epochRow) bits(tb testing.TB) uint32 {
	tb.Helper()
	bits, err := strconv.ParseUint(e.Bits, 16, 32)
	if err != nil {
		tb.Fatal(err)
	}
	return uint32(bits)
}

func readEpochs(tb testing.TB) []epochRow {
	tb.Helper()
	var rows []epochRow
	if err := json.Unmarshal(realdata.Read(tb, "headers", "mainnet_epoch_time_mtp_bits.json"), &rows); err != nil {
		tb.Fatal(err)
	}
	return rows
}

// checkpoint is one of bitcoinj's: the chain's work up to and with the header, and the header.
type checkpoint struct {
	work   chain.Work
	height uint32
	header chain.Header
}

func readCheckpoints(tb testing.TB, net string) []checkpoint {
	tb.Helper()
	var all []checkpoint
	lines := strings.Fields(string(realdata.Read(tb, "headers", "bitcoinj_"+net+"_checkpoints.txt")))
	for _, line := range lines[5:] { // "TXT CHECKPOINTS 1", count of signatures, count of checkpoints
		row, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(line, "="))
		if err != nil || len(row) != 12+4+80 {
			tb.Fatalf("checkpoint %q: %d bytes, %v", line, len(row), err)
		}
		var work [32]byte
		copy(work[20:], row)
		h, _ := chain.ParseHeader(row[16:])
		all = append(all, checkpoint{chain.WorkFromBE(work[:]), binary.BigEndian.Uint32(row[12:]), h})
	}
	return all
}

// acceptHeaders feeds raw headers, the first of them genesis when c is empty, to Header in order. It compares the
// work that adds up with the checkpoints that lie in their range, and says how many did.
func acceptHeaders(t *testing.T, p *chain.Params, c *branch, raw []byte, points []checkpoint) (matched int) {
	t.Helper()
	var work chain.Work
	byHeight := make(map[uint32]checkpoint)
	for _, point := range points {
		byHeight[point.height] = point
	}
	for ; len(raw) >= chain.HeaderSize; raw = raw[chain.HeaderSize:] {
		h, _ := chain.ParseHeader(raw)
		height := uint32(len(c.times))
		if hash := h.Hash(); height == 0 {
			if hash != p.GenesisHash {
				t.Fatalf("%s: genesis %v", p.Name, hash)
			}
		} else if v := Header(p, &h, &hash, c.tip(), c, int64(h.Time)); !v.OK() {
			t.Fatalf("%s %d %v: %v", p.Name, height, hash, v)
		}
		c.add(&h)
		work = work.Add(chain.BlockWork(h.Bits))
		if point, ok := byHeight[height]; ok {
			if point.work != work || point.header != h {
				t.Fatalf("%s %d: work %v, checkpoint has %v", p.Name, height, work, point.work)
			}
			matched++
		}
	}
	return matched
}

// TestMainnetHeaders: the first 100,000 pass in order, with 49 changes of period among them; works, times, medians
// and bits are those of the checkpoint files. Then the first header of a period is refused with the bits of the
// period before.
func TestMainnetHeaders(t *testing.T) {
	p := chain.Main()
	raw := realdata.Read(t, "headers", "mainnet_0_99999.headers.gz")
	c := &branch{}
	matched := acceptHeaders(t, p, c, raw, readCheckpoints(t, "production"))
	if len(c.times) != 100_000 || matched != 49 {
		t.Fatalf("%d headers, %d checkpoints met; want 100000, 49", len(c.times), matched)
	}
	rows := 0
	for _, e := range readEpochs(t) {
		if e.Height >= 100_000 {
			continue
		}
		rows++
		time, bits := c.At(e.Height)
		mtp := MTP(c.times[:e.Height+1])
		if time != e.Time || bits != e.bits(t) || mtp != e.MedianTime {
			t.Errorf("%d: time %d, bits %08x, mtp %d; want %+v", e.Height, time, bits, mtp, e)
		}
		if e.Height == 0 {
			continue
		}
		parent := c.at(e.Height - 1)
		if next := NextMTP(parent, c, time); next != e.MedianTime {
			t.Errorf("%d: NextMTP %d, want %d", e.Height, next, e.MedianTime)
		}
		if parent.Bits != bits {
			h, _ := chain.ParseHeader(raw[e.Height*chain.HeaderSize:])
			h.Bits = parent.Bits
			wantReason(t, fmt.Sprint(e.Height), headerInContext(p, &h, parent, c, int64(h.Time)), ReasonBadDiffBits)
		}
	}
	if rows != 50 {
		t.Errorf("%d rows of the epoch table compared, want 50", rows)
	}
}

// TestSignetHeaders: 2,016 headers, and the checkpoint that follows them proves the first retarget.
func TestSignetHeaders(t *testing.T) {
	raw := realdata.Read(t, "headers", "signet_0_2015.headers")
	points := readCheckpoints(t, "signet")
	raw = points[0].header.Append(raw)
	c := &branch{}
	if matched := acceptHeaders(t, chain.Signet(), c, raw, points); len(c.times) != 2017 || matched != 1 {
		t.Fatalf("%d headers, %d checkpoints met; want 2017, 1", len(c.times), matched)
	}
	if first := chain.Signet().PowLimitBits; c.bits[2016] == first {
		t.Errorf("bits did not change at 2016")
	}
}

// TestTestnet3Headers: the headers of Core's header tree test: a chain of 546 and two that leave it.
func TestTestnet3Headers(t *testing.T) {
	p := chain.Testnet3()
	raw := append([]byte{}, p.GenesisBlock[:chain.HeaderSize]...)
	var forks []chain.Header
	for _, line := range strings.Fields(string(realdata.Read(t, "headers", "testnet3_0_545_plus_fork.headers.hex"))) {
		text, fork := strings.CutPrefix(line, "fork:")
		row, err := hex.DecodeString(text)
		if err != nil || len(row) != chain.HeaderSize {
			t.Fatalf("%q: %v", line, err)
		}
		if h, _ := chain.ParseHeader(row); fork {
			forks = append(forks, h)
		} else {
			raw = append(raw, row...)
		}
	}
	c := &branch{}
	acceptHeaders(t, p, c, raw, nil)
	if len(c.times) != 547 || len(forks) != 2 {
		t.Fatalf("%d headers and %d forks; want 547, 2", len(c.times), len(forks))
	}
	side := &branch{c.times[:1:1], c.bits[:1:1]}
	prev := p.GenesisHash
	for i := range forks {
		h, hash := &forks[i], forks[i].Hash()
		if h.Prev != prev {
			t.Fatalf("fork header %d does not follow %v", i, prev)
		}
		wantReason(t, fmt.Sprintf("fork header %d", i), Header(p, h, &hash, side.tip(), side, int64(h.Time)), "")
		side.add(h)
		prev = hash
	}
}

// TestWorkOfBitsTable: with the bits of each period the works of the checkpoints follow, without any header
// between. Signet has no 20-minute rule, so its checkpoints' own bits are such a table.
func TestWorkOfBitsTable(t *testing.T) {
	var main []uint32
	for _, e := range readEpochs(t) {
		if e.Height%2016 == 0 {
			main = append(main, e.bits(t))
		}
	}
	signetPoints := readCheckpoints(t, "signet")
	signet := []uint32{chain.Signet().PowLimitBits}
	for _, point := range signetPoints {
		signet = append(signet, point.header.Bits)
	}
	for _, x := range []struct {
		net    string
		table  []uint32
		points []checkpoint
		want   int
	}{{"mainnet", main, readCheckpoints(t, "production"), 436}, {"signet", signet, signetPoints, 114}} {
		var work chain.Work
		matched, at := 0, uint32(0)
		for _, point := range x.points {
			for ; at < point.height; at++ {
				work = work.Add(chain.BlockWork(x.table[at/2016]))
			}
			if work.Add(chain.BlockWork(point.header.Bits)) != point.work || x.table[at/2016] != point.header.Bits {
				t.Fatalf("%s %d: work %v, want %v", x.net, at, work, point.work)
			}
			matched++
		}
		if matched != x.want {
			t.Errorf("%s: %d checkpoints, want %d", x.net, matched, x.want)
		}
	}
}

// TestElectrumTargets: row i of these files names the target of the period that follows period i.
func TestElectrumTargets(t *testing.T) {
	var rows []json.RawMessage
	if err := json.Unmarshal(realdata.Read(t, "headers", "electrum_mainnet_checkpoints.json"), &rows); err != nil {
		t.Fatal(err)
	}
	epochs := readEpochs(t)
	for i, row := range rows {
		var pair [2]json.RawMessage
		if err := json.Unmarshal(row, &pair); err != nil {
			t.Fatal(err)
		}
		want, _ := new(big.Int).SetString(string(pair[1]), 10)
		bits := epochs[i+1].bits(t)
		target, negative, overflow := chain.CompactToTarget(bits)
		be := target.Bytes32BE()
		if got := new(big.Int).SetBytes(be[:]); got.Cmp(want) != 0 || negative || overflow {
			t.Errorf("period %d: target %x, want %x", i+1, got, want)
		}
		if chain.TargetToCompact(target) != bits {
			t.Errorf("period %d: %08x packs as %08x", i+1, bits, chain.TargetToCompact(target))
		}
	}
	if len(rows) != 473 {
		t.Errorf("%d rows, want 473", len(rows))
	}
}

// raitoState is the chain before and after one real block.
type raitoState struct {
	Before, After struct {
		Height     uint32   `json:"block_height"`
		TotalWork  string   `json:"total_work"`
		EpochStart uint32   `json:"epoch_start_time"`
		Times      []uint32 `json:"prev_timestamps"`
	}
	Header struct{ Time, Bits uint32 }
}

// TestRaitoTransitions: of 23 real blocks the median, the work and, where a period begins, the retarget.
func TestRaitoTransitions(t *testing.T) {
	var states []raitoState
	if err := json.Unmarshal(realdata.Read(t, "mainnet", "raito_chainstate.json"), &states); err != nil {
		t.Fatal(err)
	}
	epochs := readEpochs(t)
	p, retargets, medians := chain.Main(), 0, 0
	for _, s := range states {
		height := s.After.Height
		before, after := s.Before.Times, s.After.Times
		old := epochs[(height-1)/2016]
		parent := Parent{Height: height - 1, Time: before[len(before)-1], Bits: old.bits(t), MTP: MTP(before)}
		h := chain.Header{Version: 4, Time: s.Header.Time, Bits: s.Header.Bits}
		anc := firstOf{old.Height, s.Before.EpochStart, old.bits(t)}
		wantReason(t, fmt.Sprint(height), headerInContext(p, &h, parent, anc, int64(h.Time)), "")
		if height%2016 == 0 {
			retargets++
			if e := epochs[height/2016]; MTP(after) != e.MedianTime || NextBits(p, parent, anc, h.Time) != e.bits(t) {
				t.Errorf("%d: median %d, bits %08x; want %+v", height, MTP(after), NextBits(p, parent, anc, h.Time), e)
			}
		}
		h.Time = parent.MTP
		v := headerInContext(p, &h, parent, anc, int64(h.Time))
		wantReason(t, fmt.Sprint(height, " at the median"), v, ReasonTimeTooOld)
		medians++
		work, _ := new(big.Int).SetString(s.Before.TotalWork, 10)
		be := chain.BlockWork(s.Header.Bits).Bytes32BE()
		if work.Add(work, new(big.Int).SetBytes(be[:])); work.String() != s.After.TotalWork {
			t.Errorf("%d: work %v, want %s", height, work, s.After.TotalWork)
		}
	}
	if medians != 23 || retargets != 7 {
		t.Errorf("%d transitions, %d retargets; want 23, 7", medians, retargets)
	}
}

// firstOf knows one height, the first of a period.
type firstOf struct{ height, time, bits uint32 }

func (f firstOf) At(height uint32) (time, bits uint32) {
	if height != f.height {
		panic(fmt.Sprintf("asked for %d, not for the period's first, %d", height, f.height))
	}
	return f.time, f.bits
}

// TestTrap51WorkDecides: 2,016 blocks of difficulty 1 and one of 4 tie with the real chain of 2,020.
func TestTrap51WorkDecides(t *testing.T) {
	sum := func(n int, bits uint32) (w chain.Work) {
		for range n {
			w = w.Add(chain.BlockWork(bits))
		}
		return w
	}
	alternate := sum(2016, 0x1d00ffff).Add(chain.BlockWork(0x1c3fffc0))
	if alternate != chain.WorkFromUint64(8_675_966_322_660) {
		t.Errorf("work %v", alternate)
	}
	for _, x := range []struct{ tip, want int }{{2015, 1}, {2018, 1}, {2019, 0}, {2020, -1}} {
		if got := alternate.Cmp(sum(x.tip+1, 0x1d00ffff)); got != x.want {
			t.Errorf("against the real chain at %d: %d, want %d", x.tip, got, x.want)
		}
	}
}
