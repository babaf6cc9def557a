package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"

	"stele/chain"
	"stele/utxo"
)

// commitArm is a kind of blocks. Each spends outputs of what is there and makes transactions.
type commitArm struct {
	name    string
	outputs int   // of a transaction
	shard   int   // of all transactions; -1: any
	records int   // that are there at the beginning, at scale 1
	made    int   // transactions of a block
	takes   []int // outputs of a record that a block spends: these numbers of the first ones that are left, in turn
}

var commitArms = []commitArm{
	{name: "uniform", outputs: 1, shard: -1, records: 200_000, made: 10_000, takes: []int{1}},
	{name: "concentrated", outputs: 1, shard: 0x5a, records: 100_000, made: 10_000, takes: []int{1}},
	{name: "fanout", outputs: 64, shard: -1, records: 3_000, made: 150, takes: []int{64, 64, 16, 32, 16}},
	{name: "churn", outputs: 3, shard: -1, records: 60_000, made: 3_000, takes: []int{1, 2, 1}},
}

// blocksARun is how many blocks a run commits: their 19th in order of time is the 95th percentile.
const blocksARun = 20

// commitMaker makes the blocks of an arm.
type commitMaker struct {
	arm   *commitArm
	r     *rand.Rand
	live  []liveRecord
	block utxo.Block
	outs  []utxo.Entry
	turn  int
}

// liveRecord is a transaction of which the first outputs are spent.
type liveRecord struct {
	txid  chain.Hash
	spent int
}

// next makes one block. The first one is what there is at the beginning.
func (m *commitMaker) next(made int) *utxo.Block {
	b := &m.block
	b.Height++
	b.Spends, b.Made, m.outs = b.Spends[:0], b.Made[:0], m.outs[:0]
	want := len(m.live) // outputs are spent as fast as they are made
	for want > 0 && len(b.Spends) < m.arm.made*m.arm.outputs {
		i := m.r.IntN(len(m.live))
		x := &m.live[i]
		n := min(m.arm.takes[m.turn%len(m.arm.takes)], m.arm.outputs-x.spent)
		m.turn++
		for range n {
			b.Spends = append(b.Spends, utxo.Outpoint{Txid: x.txid, Vout: uint32(x.spent)})
			x.spent++
		}
		if x.spent == m.arm.outputs {
			m.live[i] = m.live[len(m.live)-1]
			m.live = m.live[:len(m.live)-1]
		}
	}
	m.outs = slices.Grow(m.outs, made*m.arm.outputs)
	for range made {
		x := liveRecord{txid: m.txid()}
		from := len(m.outs)
		for vout := range m.arm.outputs {
			m.outs = append(m.outs, utxo.Entry{Vout: uint32(vout), Value: m.r.Int64N(1 << 36), Script: m.script()})
		}
		outs := m.outs[from:len(m.outs):len(m.outs)]
		b.Made = append(b.Made, utxo.Made{Txid: x.txid, First: uint64(m.r.Uint32()), Outs: outs})
		m.live = append(m.live, x)
	}
	m.r.Shuffle(len(b.Spends), func(i, j int) { b.Spends[i], b.Spends[j] = b.Spends[j], b.Spends[i] })
	return b
}

func (m *commitMaker) txid() (h chain.Hash) {
	for at := 0; at < len(h); at += 8 {
		binary.LittleEndian.PutUint64(h[at:], m.r.Uint64())
	}
	if m.arm.shard >= 0 {
		h[0] = byte(m.arm.shard)
	}
	return h
}

// script makes a P2TR script: 34 bytes.
func (m *commitMaker) script() []byte {
	s := make([]byte, 34)
	s[0], s[1] = 0x51, 32
	for at := 2; at < len(s); at += 8 {
		binary.LittleEndian.PutUint64(s[at:], m.r.Uint64())
	}
	return s
}

// utxoCommits times the same blocks on a set and on sets of v4 and v5, block by block in turns, in processor time. All
// use one goroutine.
func (r *Result) utxoCommits(ctx context.Context, o *Options) error {
	var all []Number
	for i := range commitArms {
		arm := &commitArms[i]
		o.Note("commits: " + arm.name)
		ratio, err := r.commitArm(ctx, o, arm)
		if err != nil {
			return fmt.Errorf("commits, %s: %w", arm.name, err)
		}
		all = append(all, ratio)
	}
	r.ratio("utxo.commit_p95_vs_v4", slowest(all...))
	return nil
}

// committing is the three sets of an arm.
type committing struct {
	set    *utxo.Set
	undo   utxo.Undo
	v4, v5 *oldSet
}

func (r *Result) commitArm(ctx context.Context, o *Options, arm *commitArm) (Number, error) {
	scaled := *arm
	scaled.made = max(4, int(float64(arm.made)*min(o.Scale, 1)))
	m := &commitMaker{arm: &scaled, r: rand.New(rand.NewPCG(seed, 5))}
	c := &committing{
		set: utxo.New(utxo.Options{Salt: seed, Workers: 1}), v4: &oldSet{codec: codecV4}, v5: &oldSet{codec: codecV5},
	}
	defer c.set.Close()
	for i := range c.v4.shards {
		c.v4.shards[i].slots, c.v5.shards[i].slots = make([]oldSlot, 16), make([]oldSlot, 16)
	}
	if _, err := c.commit(m.next(max(4*scaled.made, int(float64(arm.records)*o.Scale))), 0); err != nil {
		return None, err
	}
	names := [3]string{"record", "v4", "v5"}
	var p95s, p50s [3][]Number
	for run := range o.Runs + 1 {
		var times [3][]Number
		for i := range blocksARun {
			if err := ctx.Err(); err != nil {
				return None, err
			}
			one, err := c.commit(m.next(scaled.made), i)
			if err != nil {
				return None, err
			}
			for k := range times {
				times[k] = append(times[k], one[k])
			}
		}
		for k := range times {
			if run > 0 { // the first one warms up
				slices.Sort(times[k])
				p95s[k] = append(p95s[k], times[k][blocksARun*95/100-1])
				p50s[k] = append(p50s[k], times[k][blocksARun/2])
			}
		}
	}
	note := fmt.Sprintf("a block that makes %d transactions of %d outputs and spends as many", scaled.made, arm.outputs)
	var medians [3]Number
	for k, name := range names {
		medians[k] = r.median("commit."+arm.name+".p95."+name, "µs", p95s[k], note)
		r.median("commit."+arm.name+".p50."+name, "µs", p50s[k], note)
	}
	r.single("commit."+arm.name+".p95_vs_v5", "ratio", medians[2]/medians[0], "")
	return r.single("commit."+arm.name+".p95_vs_v4", "ratio", medians[1]/medians[0], ""), nil
}

// commit commits a block to all sets, another one first each time, and compares what they say was spent. It returns the
// times in microseconds.
func (c *committing) commit(b *utxo.Block, first int) (times [3]Number, err error) {
	for i := range times {
		k := (first + i) % len(times)
		if k == 0 {
			runtime.Gosched()
		}
		before := processorTime()
		switch k {
		case 0:
			err = c.set.Commit(b, &c.undo)
		case 1:
			err = c.v4.commit(b)
		default:
			err = c.v5.commit(b)
		}
		times[k] = Number((processorTime() - before).Nanoseconds()) / 1e3
		if err != nil {
			return times, err
		}
	}
	for i := range b.Spends {
		s, v4, v5 := &c.undo.Spent[i], &c.v4.spent[i], &c.v5.spent[i]
		if s.Point != b.Spends[i] || uint64(s.Coin.Value) != v4.Value || v4.Value != v5.Value ||
			string(s.Coin.Script) != string(v4.Script) || string(v4.Script) != string(v5.Script) || s.Coin.Height != v4.Height {
			return times, fmt.Errorf("spend %d is %+v, %+v and %+v", i, s, v4, v5)
		}
	}
	return times, nil
}
