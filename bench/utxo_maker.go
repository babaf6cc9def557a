package bench

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"stele/utxo"
)

// utxoPeriod is the look of the set at some time: shares of scripts, amounts and outputs a record, fitted to what was
// published about it (see docs/benchmarks.md). v4 and v5 are the published bytes an output.
type utxoPeriod struct {
	name    string // its mean of outputs a record
	v4, v5  string
	scripts [len(utxoScripts)]float64
	tip     bool
	heights [2]uint32
}

// utxoScripts are the kinds of scripts of a set: what stands around the hash or key, and its size. Of bare multisig one
// half is one of three keys, which has a template, the other one as long without.
var utxoScripts = [...]struct {
	front, back string
	body        int
}{
	{"\x76\xa9\x14", "\x88\xac", 20}, {"\xa9\x14", "\x87", 20}, {"\x00\x14", "", 20}, {"\x00\x20", "", 32},
	{"\x51\x20", "", 32}, {"\x51", "\x53\xae", 102}, {"\x52", "\x53\xae", 102}, {"\x21", "", 20},
}

var (
	period412 = utxoPeriod{
		name: "3.6", v4: "55.08", v5: "43.90 at height 412,732", heights: [2]uint32{100_000, 412_000},
		scripts: [...]float64{.838, .13, 0, 0, 0, .00825, .00825, .0155},
	}
	periodTip = utxoPeriod{
		name: "1.4", v4: "72.4", v5: "61.7 derived for height 830,000", heights: [2]uint32{300_000, 830_000}, tip: true,
		scripts: [...]float64{.36, .095, .27, .01, .24, .0075, .0075, .01},
	}
)

// utxoMaker makes the records of a period, the same in every run.
type utxoMaker struct {
	period  utxoPeriod
	r       *rand.Rand
	rec     utxo.Record
	made    uint64
	scripts []byte
	olds    []utxo.OldOutput
}

func newUtxoMaker(p utxoPeriod) *utxoMaker {
	return &utxoMaker{period: p, r: rand.New(rand.NewPCG(seed, 3)), scripts: make([]byte, 0, 1<<20)}
}

// next makes one record, good until the next one is made.
func (g *utxoMaker) next() *utxo.Record { return g.withOutputs(g.outputs()) }

// withOutputs makes a record of n outputs.
func (g *utxoMaker) withOutputs(n int) *utxo.Record {
	g.made++
	g.scripts = g.scripts[:0]
	h := g.period.heights
	g.rec.Height = h[0] + g.r.Uint32N(h[1]-h[0])
	g.rec.Coinbase = false
	g.rec.First = uint64(g.r.Uint32())
	g.fill(g.rec.Txid[:])
	g.rec.Outs = g.rec.Outs[:0]
	for vout := uint32(0); len(g.rec.Outs) < n; vout++ {
		if g.r.IntN(3) == 0 {
			vout += g.r.Uint32N(3) // spent already
		}
		g.rec.Outs = append(g.rec.Outs, utxo.Entry{Vout: vout, Value: int64(g.amount()), Script: g.script()})
	}
	return &g.rec
}

// old is the last record as v4 and v5 take it.
func (g *utxoMaker) old() *utxo.OldRecord {
	g.olds = g.olds[:0]
	for _, o := range g.rec.Outs {
		g.olds = append(g.olds, utxo.OldOutput{
			Vout: o.Vout, Value: uint64(o.Value), Height: g.rec.Height, Coinbase: g.rec.Coinbase, Script: o.Script,
		})
	}
	return utxo.NewOldRecord(&g.rec.Txid, g.olds)
}

func (g *utxoMaker) fill(b []byte) {
	for at := 0; at < len(b); at += 8 {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], g.r.Uint64())
		copy(b[at:], word[:])
	}
}

// outputs draws how many outputs of a transaction are unspent: 3.63 on average, or 1.43.
func (g *utxoMaker) outputs() int {
	x := g.r.Float64()
	if g.period.tip {
		n := 1
		for x >= .80 && n < 200 && (n == 1 || g.r.Float64() < .53) {
			n++
		}
		return n
	}
	switch {
	case x < .6005:
		return 1
	case x < .7705:
		return 2
	case x < .9205:
		return 3 + g.r.IntN(6)
	case x < .9947:
		return 9 + g.r.IntN(19)
	}
	return 30 + g.r.IntN(140)
}

func (g *utxoMaker) script() []byte {
	x, k := g.r.Float64(), 0
	for ; k < len(utxoScripts)-1 && x >= g.period.scripts[k]; k++ {
		x -= g.period.scripts[k]
	}
	s := &utxoScripts[k]
	from := len(g.scripts)
	g.scripts = append(g.scripts, s.front...)
	body := len(g.scripts)
	g.scripts = append(g.scripts, make([]byte, s.body)...)
	g.fill(g.scripts[body:])
	if s.body == 102 {
		for key := 0; key < s.body; key += 34 {
			g.scripts[body+key], g.scripts[body+key+1] = 0x21, 2|g.scripts[body+key+1]&1
		}
	}
	g.scripts = append(g.scripts, s.back...)
	return g.scripts[from:len(g.scripts):len(g.scripts)]
}

// amount draws satoshis: dust and round sums are frequent among outputs that nobody spends.
func (g *utxoMaker) amount() uint64 {
	x := g.r.Float64()
	spread := func(low, high float64) uint64 { return uint64(math.Pow(10, low+g.r.Float64()*(high-low))) }
	if g.period.tip {
		switch {
		case x < .30:
			return 546
		case x < .42:
			return 330
		case x < .46:
			return []uint64{294, 600, 1000}[g.r.IntN(3)]
		case x < .49:
			return 331 + uint64(g.r.IntN(660))
		case x < .60:
			return spread(0, 3) * 10_000
		}
		return spread(3, 8.7)
	}
	switch {
	case x < .38:
		return []uint64{1000, 10_000, 5430, 546, 100_000, 7800}[g.r.IntN(6)]
	case x < .62:
		return spread(0, 3) * 100_000
	}
	return spread(4, 10)
}

func shuffle(points []utxo.Outpoint) {
	rand.New(rand.NewPCG(seed, 4)).Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
}
