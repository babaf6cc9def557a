package utxo

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"stele/chain"
)

var records = flag.Int("records", 1_000_000, "records of the set that BenchmarkWindow works on; see docs/testing.md")

// benchTxid returns the txid of loaded record i: the steps of a generator that mixes well (splitmix64).
func benchTxid(i uint64) (h chain.Hash) {
	x := i * 4
	for at := 0; at < len(h); at += 8 {
		x++
		z := x * 0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		binary.LittleEndian.PutUint64(h[at:], z^z>>31)
	}
	return h
}

// benchScript returns a P2WPKH or P2TR script.
func benchScript(r *rand.Rand, dst []byte) []byte {
	n := 20 + 12*(r.Uint32()&1)
	dst = append(dst, byte(n-20)/12*0x51, byte(n))
	for range n / 4 {
		dst = binary.LittleEndian.AppendUint32(dst, r.Uint32())
	}
	return dst
}

// loadBench fills a set with n records: of two in three one output is left, of the others two.
func loadBench(b *testing.B, s *Set, n int) {
	var all sync.WaitGroup
	const loaders = 2
	for k := range loaders {
		all.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(k)))
			var scripts []byte
			for i := k; i < n; i += loaders {
				rec := Record{Txid: benchTxid(uint64(i)), Height: uint32(i) >> 5, First: uint64(i) * 3}
				scripts = scripts[:0]
				for vout := range 1 + min(i%3, 1) {
					from := len(scripts)
					scripts = benchScript(r, scripts)
					rec.Outs = append(rec.Outs, Entry{uint32(vout), r.Int64N(1 << 32), scripts[from:]})
				}
				if err := s.Load(&rec); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// benchChain makes blocks as the generated chain has them (see bench/chain): 2,000 transactions of 2.4 inputs and 2.7
// outputs; 12 % of inputs spend from the own block, 12 from the one before, 23 are up to six blocks old, 47 up to 144
// and the rest any loaded record's.
type benchChain struct {
	r      *rand.Rand
	live   [][]Outpoint // by block
	loaded uint64
	old    uint64
	next   uint64 // number of an output
	txids  uint64
}

const (
	benchTxs  = 2000
	benchWarm = 144 // blocks before there is one of every age
)

func (c *benchChain) spend() Outpoint {
	height := len(c.live) - 1
	for range 20 {
		age := 0
		switch draw := c.r.IntN(100); {
		case draw < 12:
		case draw < 24:
			age = 1
		case draw < 47:
			age = 2 + c.r.IntN(5)
		case draw < 94:
			age = int(7 * math.Exp(c.r.Float64()*math.Log(145./7)))
		default:
			age = height + 1
		}
		if age > height {
			break
		}
		if from := &c.live[height-age]; len(*from) > 0 {
			i := c.r.IntN(len(*from))
			p := (*from)[i]
			(*from)[i] = (*from)[len(*from)-1]
			*from = (*from)[:len(*from)-1]
			return p
		}
	}
	c.old++
	return Outpoint{benchTxid(c.old * 7_368_787 % c.loaded), 0}
}

// count draws a number from one up with that mean, now and then a large one.
func (c *benchChain) count(mean float64) int {
	if c.r.IntN(300) == 0 {
		return 20 + c.r.IntN(80)
	}
	n := 1
	for n < 20 && c.r.Float64() > 1/(mean-0.2) {
		n++
	}
	return n
}

func (c *benchChain) block() *Block {
	x := &Block{Height: uint32(len(c.live))}
	c.live = append(c.live, nil)
	var outs []Entry
	for i := range benchTxs {
		for range c.count(2.4) {
			if i > 0 {
				x.Spends = append(x.Spends, c.spend())
				x.Before = append(x.Before, c.next)
			}
		}
		c.txids++
		m := Made{Txid: benchTxid(1<<50 + c.txids), Coinbase: i == 0, First: c.next}
		from := len(outs)
		for vout := range uint32(c.count(2.7)) {
			outs = append(outs, Entry{vout, c.r.Int64N(1 << 32), nil})
			c.live[x.Height] = append(c.live[x.Height], Outpoint{m.Txid, vout})
		}
		c.next += uint64(len(outs) - from)
		m.Outs = outs[from:]
		x.Made = append(x.Made, m)
	}
	scripts := make([]byte, 0, 34*len(outs))
	for i := range outs {
		from := len(scripts)
		scripts = benchScript(c.r, scripts)
		outs[i].Script = scripts[from:]
	}
	for i, from := 0, 0; i < len(x.Made); i++ { // all in one piece, as Take lays them
		n := len(x.Made[i].Outs)
		x.Made[i].Outs = outs[from : from+n : from+n]
		from += n
	}
	return x
}

// BenchmarkWindow takes in blocks as the generated chain has them, in windows, over a large set. Time is by input. The
// goal was measured with -records=20000000, which takes 2 GB.
func BenchmarkWindow(b *testing.B) {
	s := New(Options{Salt: 11, Records: uint64(*records), Workers: 1})
	defer s.Close()
	loadBench(b, s, *records)
	c := &benchChain{r: rand.New(rand.NewPCG(3, 3)), loaded: uint64(*records), next: 1 << 34}
	const timed = 128
	undos := make([]*Undo, timed)
	blocks := make([]*Block, timed)
	for range benchWarm {
		if err := s.Commit(c.block(), new(Undo)); err != nil {
			b.Fatal(err)
		}
	}
	for i := range blocks {
		blocks[i], undos[i] = c.block(), new(Undo)
	}
	for _, window := range []int{1, 4, 16, 64} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("window=%d/workers=%d", window, workers), func(b *testing.B) {
				s.commit.workers = make([]worker, workers)
				benchWindows(b, s, blocks, undos, window)
			})
		}
	}
}

func benchWindows(b *testing.B, s *Set, blocks []*Block, undos []*Undo, window int) {
	inputs, at := 0, 0
	back := func() {
		for i := at; i > 0; i-- {
			if err := s.Undo(undos[i-1]); err != nil {
				b.Fatal(err)
			}
		}
		at = 0
	}
	for b.Loop() {
		if at == len(blocks) {
			b.StopTimer()
			back()
			b.StartTimer()
		}
		if n, err := s.CommitAll(blocks[at:at+window], undos[at:at+window]); err != nil || n != window {
			b.Fatal(n, err)
		}
		for _, x := range blocks[at : at+window] {
			inputs += len(x.Spends)
		}
		at += window
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(inputs), "ns/input")
	b.ReportMetric(0, "ns/op")
	b.StopTimer()
	back()
}
