package bench

import (
	"context"
	"fmt"
	"runtime/debug"

	"stele/chain"
	"stele/utxo"
)

var utxoExperiment = Experiment{
	Name:  "utxo",
	About: "the set of unspent outputs: its memory, and its time against the records v4 and v5",
	Keys: []Key{
		{Name: "utxo.bytes_at_3.6", Reach: 38.5, Most: true},
		{Name: "utxo.bytes_at_1.4", Reach: 61, Most: true},
		{Name: "utxo.find_vs_v4", Reach: 1},
		{Name: "utxo.miss_vs_v4", Reach: 1},
		{Name: "utxo.miss_vs_v5", Reach: 1},
		{Name: "utxo.commit_p95_vs_v4", Reach: 1},
		{Name: "utxo.batch_vs_single", Reach: 1.5},
	},
	Run: runUtxo,
}

// utxoOutputs is the number of outputs of each set at scale 1.
const utxoOutputs = 4_000_000

func runUtxo(ctx context.Context, o Options) (*Result, error) {
	r := &Result{}
	for _, f := range []func(context.Context, *Options) error{r.utxoFinds, r.utxoSets, r.utxoProbes, r.utxoCommits} {
		if err := f(ctx, &o); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// utxoSets fills a set of each period, and reports what it takes; the larger one is then looked up in two ways.
func (r *Result) utxoSets(ctx context.Context, o *Options) error {
	for _, p := range []utxoPeriod{period412, periodTip} {
		o.Note("a set with " + p.name + " outputs a record")
		set, points, err := r.utxoFill(ctx, o, p)
		if err != nil {
			return err
		}
		defer set.Close()
		if p.name == periodTip.name {
			return r.utxoBatch(ctx, o, set, points)
		}
		set.Close()
	}
	return nil
}

// utxoFill loads a set and counts its bytes. It returns every 16th output.
func (r *Result) utxoFill(ctx context.Context, o *Options, p utxoPeriod) (*utxo.Set, []utxo.Outpoint, error) {
	g := newUtxoMaker(p)
	set := utxo.New(utxo.Options{Salt: seed})
	debug.FreeOSMemory()
	before := set.Report().Resident
	want := max(2000, int(o.Scale*utxoOutputs))
	var v4, v5 int
	var points []utxo.Outpoint
	var buf []byte
	for outputs := 0; outputs < want; {
		rec := g.next()
		if err := set.Load(rec); err != nil {
			return nil, nil, err
		}
		for i := range rec.Outs {
			if (outputs+i)%16 == 0 {
				points = append(points, utxo.Outpoint{Txid: rec.Txid, Vout: rec.Outs[i].Vout})
			}
		}
		outputs += len(rec.Outs)
		for _, c := range []struct {
			sum    *int
			append func([]byte, *utxo.OldRecord) ([]byte, error)
		}{{&v4, utxo.AppendV4}, {&v5, utxo.AppendV5}} {
			var err error
			if buf, err = c.append(buf[:0], g.old()); err != nil {
				return nil, nil, err
			}
			*c.sum += len(buf)
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
	}
	have := set.Report()
	if have.Outputs != set.Len() || have.Records != g.made {
		return nil, nil, fmt.Errorf("the set has %d records of %d", have.Records, g.made)
	}
	per := func(bytes uint64) Number { return Number(bytes) / Number(have.Outputs) }
	name := "bytes_at_" + p.name
	r.single(name+".outputs_a_record", "outputs", Number(have.Outputs)/Number(have.Records),
		fmt.Sprintf("%d records, %d in the largest shard", have.Records, have.Largest))
	r.single(name+".v4", "bytes", per(uint64(v4)), "payload an output; published "+p.v4)
	r.single(name+".v5", "bytes", per(uint64(v5)), "payload an output; published "+p.v5)
	r.single(name+".payload", "bytes", per(have.Payload), "an output, with its transaction's first output number")
	r.single(name+".slack", "bytes", per(have.Slack), "an output: the rest of each shard's last page, free cells")
	r.single(name+".index", "bytes", per(have.Index), "an output")
	r.single(name+".fixed", "bytes", per(have.Fixed), "an output of this set; it does not grow with it")
	debug.FreeOSMemory()
	r.single(name+".resident", "bytes", per(set.Report().Resident-min(before, have.Resident)),
		"an output, by which the process grew")
	r.ratio("utxo."+name, r.single(name+".accounted", "bytes", per(have.Accounted), "an output"))
	return set, points, nil
}

// utxoBlock is how many outputs a block is taken to spend.
const utxoBlock = 6000

// utxoBatch looks outputs up in random order, one by one and a block at a time.
func (r *Result) utxoBatch(ctx context.Context, o *Options, set *utxo.Set, points []utxo.Outpoint) error {
	o.Note("lookups one by one and in groups")
	shuffle(points)
	blocks := chunks(points, utxoBlock)
	found := make([]utxo.Found, utxoBlock)
	scripts := make([]byte, 0, 1<<20)
	var sums [2]int64
	at := [2]int{}
	ways := []way{
		{name: "lookup.single", do: func() error {
			b := blocks[at[0]%len(blocks)]
			at[0]++
			for i := range b {
				c, _, _, ok := set.Get(&b[i].Txid, b[i].Vout, scripts)
				if !ok {
					return fmt.Errorf("%v is missing", b[i])
				}
				sums[0] += c.Value
			}
			return nil
		}},
		{name: "lookup.batch", do: func() error {
			b := blocks[at[1]%len(blocks)]
			at[1]++
			set.Lookup(b, found[:len(b)], scripts)
			for i := range b {
				if !found[i].OK {
					return fmt.Errorf("%v is missing", b[i])
				}
				sums[1] += found[i].Coin.Value
			}
			return nil
		}},
	}
	if err := sameCoins(set, blocks[0], found); err != nil {
		return err
	}
	times, err := o.inTurns(ctx, ways)
	if err != nil {
		return err
	}
	each := 1 / float64(len(blocks[0]))
	note := fmt.Sprintf("an output of %d, in random order; script copied out", len(points))
	single := r.median("lookup.single", "ns", scaled(times[0], each), note)
	batch := r.median("lookup.batch", "ns", scaled(times[1], each), note)
	r.ratio("utxo.batch_vs_single", r.single("lookup.batch_vs_single", "ratio", single/batch, "medians"))
	return nil
}

// sameCoins compares what both ways find.
func sameCoins(set *utxo.Set, points []utxo.Outpoint, found []utxo.Found) error {
	set.Lookup(points, found[:len(points)], nil)
	for i := range points {
		c, link, _, ok := set.Get(&points[i].Txid, points[i].Vout, nil)
		f := &found[i]
		if ok != f.OK || link != f.Link || !sameCoin(&c, &f.Coin) {
			return fmt.Errorf("%v is %+v in a group, %+v alone", points[i], f, c)
		}
	}
	return nil
}

func sameCoin(a, b *chain.Coin) bool {
	return a.Value == b.Value && a.Height == b.Height && a.Coinbase == b.Coinbase && string(a.Script) == string(b.Script)
}

// chunks cuts what can be cut into whole pieces of n; a short list is one piece.
func chunks(points []utxo.Outpoint, n int) (all [][]utxo.Outpoint) {
	if len(points) < n {
		return [][]utxo.Outpoint{points}
	}
	for ; len(points) >= n; points = points[n:] {
		all = append(all, points[:n])
	}
	return all
}

// probeRecords is the number of records in the shard whose probes are counted: as many as mainnet's have.
const probeRecords = 500_000

// utxoProbes counts what lookups read in one shard.
func (r *Result) utxoProbes(ctx context.Context, o *Options) error {
	o.Note("probes in a shard")
	g := newUtxoMaker(periodTip)
	set := utxo.New(utxo.Options{Salt: seed})
	defer set.Close()
	var hits, misses utxo.Work
	n := max(2000, int(min(o.Scale, 1)*probeRecords))
	points := make([]utxo.Outpoint, n)
	for i := range points {
		rec := g.next()
		rec.Txid[0] = 0xab
		points[i] = utxo.Outpoint{Txid: rec.Txid, Vout: rec.Outs[0].Vout}
		if err := set.Load(rec); err != nil {
			return err
		}
	}
	for i := range points {
		p := points[i]
		if !set.Probe(&p, &hits) {
			return fmt.Errorf("%v is missing", p)
		}
		p.Txid[31] ^= 1
		p.Txid[5] ^= 0x55
		if set.Probe(&p, &misses) {
			return fmt.Errorf("%v is there", p)
		}
	}
	load := fmt.Sprintf("mean of %d records in one shard", n)
	for _, w := range []struct {
		name string
		work utxo.Work
	}{{"probe.hit", hits}, {"probe.miss", misses}} {
		r.single(w.name+".lines", "lines", Number(w.work.Lines)/Number(n), load)
		r.single(w.name+".txids", "txids", Number(w.work.Compares)/Number(n), load)
		r.single(w.name+".values", "values", Number(w.work.Values)/Number(n), load)
	}
	return ctx.Err()
}
