package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	gen "stele/bench/chain"
	"stele/tables"
	"stele/tables/confirm"
)

var confirmExperiment = Experiment{
	Name:  "confirm",
	About: "inputs confirmed in order, by one goroutine and by two, and what confirmation costs by stage and height",
	Keys: []Key{
		{Name: "confirm.inputs_per_s", Reach: 2.0e6},
		{Name: "confirm.inputs_per_s_tables", Reach: 1.0e6},
		{Name: "confirm.two_vs_one", Reach: 1.6},
		{Name: "confirm.strong_writes_per_block", Reach: 1, Most: true},
	},
	Run: runConfirm,
}

// confirmBlocks is how many blocks a run confirms at scale 1: 480,000 inputs.
const confirmBlocks = 100

// confirmRuns confirms one chain into two stores: run after run the next part of it.
type confirmRuns struct {
	o      *Options
	ctx    context.Context
	result Result

	feed      *headerFeed
	blocks    []*prepared
	withSet   *confirming
	alone     *confirming
	others    uint64         // outputs in the set that are not of the chain
	aloneWork []confirm.Work // by block of a run
}

func runConfirm(ctx context.Context, o Options) (*Result, error) {
	c := &confirmRuns{o: &o, ctx: ctx}
	err := c.open()
	for _, f := range []func() error{c.begin, c.measure, c.compare, c.strong} {
		if err == nil {
			err = f()
		}
	}
	if err = errors.Join(err, c.close()); err == nil {
		err = c.result.confirmStages(ctx, &o)
	}
	return &c.result, err
}

func (c *confirmRuns) open() (err error) {
	scale := c.o.Scale
	records := int(confirmRecords * scale)
	c.o.Note(fmt.Sprintf("filling a set with %d records", records))
	set, err := crowdedSet(c.ctx, records)
	if err != nil {
		return err
	}
	c.others = set.Len()
	if c.withSet, err = c.o.newConfirming("set", set); err != nil {
		set.Close()
		return err
	}
	if c.alone, err = c.o.newConfirming("tables", nil); err != nil {
		return err
	}
	n := max(8, int(confirmBlocks*scale))
	c.blocks, c.aloneWork = newPrepared(n), make([]confirm.Work, n)
	c.feed, err = newHeaderFeed(gen.Options{
		Seed: seed, Blocks: gen.MaxBlocks, Txs: max(10, min(fullTxs, int(fullTxs*scale))),
	})
	return err
}

func (c *confirmRuns) close() (err error) {
	for _, s := range []*confirming{c.withSet, c.alone} {
		if s != nil {
			err = errors.Join(err, s.close())
			if s.set != nil {
				s.set.Close()
			}
		}
	}
	return err
}

// next makes the blocks of a run, and puts their headers into both stores. Everything here is off the clock.
func (c *confirmRuns) next() (set, alone []*confirm.Work, err error) {
	if err := c.ctx.Err(); err != nil {
		return nil, nil, err
	}
	if _, err := c.feed.fill(c.blocks); err != nil {
		return nil, nil, err
	}
	if set, err = c.withSet.works(c.blocks, func(p *prepared) *confirm.Work { return &p.work }); err != nil {
		return nil, nil, err
	}
	i := -1
	alone, err = c.alone.works(c.blocks, func(*prepared) *confirm.Work { i++; return &c.aloneWork[i] })
	return set, alone, err
}

// begin confirms the chain's beginning, until blocks are full.
func (c *confirmRuns) begin() error {
	c.o.Note("confirming the chain's beginning")
	for range (leastBlocks + len(c.blocks) - 1) / len(c.blocks) {
		if _, _, err := c.run(true); err != nil {
			return err
		}
	}
	return nil
}

// run confirms the next part of the chain into both stores, and makes what was appended durable after that.
func (c *confirmRuns) run(single bool) (set, alone confirmTime, err error) {
	ws, aloneWs, err := c.next()
	if err != nil {
		return set, alone, err
	}
	runtime.GC()
	if single {
		procs := runtime.GOMAXPROCS(1) // the set's own workers are on the same core then
		set, err = c.withSet.timed(c.blocks, func() error { return c.withSet.one(ws, c.blocks) })
		runtime.GOMAXPROCS(procs)
	} else {
		set, err = c.withSet.timed(c.blocks, func() error { return c.withSet.two(ws, c.blocks) })
	}
	if err != nil {
		return set, alone, err
	}
	if alone, err = c.alone.timed(c.blocks, func() error { return c.alone.one(aloneWs, c.blocks) }); err != nil {
		return set, alone, err
	}
	return set, alone, errors.Join(c.withSet.t.Checkpoint(), c.alone.t.Checkpoint())
}

// measure takes turns: a run on one goroutine, one on two.
func (c *confirmRuns) measure() error {
	var one, two, alone []confirmTime
	before := c.alone.t.Live().Cut()
	for run := range c.o.Runs {
		for _, single := range []bool{true, false} {
			c.o.Note(fmt.Sprintf("confirming %d blocks, run %d, on one goroutine %v", len(c.blocks), run+1, single))
			set, tables, err := c.run(single)
			if err != nil {
				return err
			}
			alone = append(alone, tables)
			if single {
				one = append(one, set)
			} else {
				two = append(two, set)
			}
		}
	}
	after := c.alone.t.Live().Cut()
	c.result.ratio("confirm.strong_writes_per_block", c.result.single("strong.writes", "records",
		Number(after.Log-before.Log)/Number(after.Txs-before.Txs), "of the log, for each block that was confirmed"))
	c.rates(one, two, alone)
	return nil
}

// rates turns times into inputs a second. What is absolute is the best of its runs; two against one is a ratio of
// medians.
func (c *confirmRuns) rates(one, two, alone []confirmTime) {
	r, set := &c.result, c.withSet.set
	inputs := 0
	for _, p := range c.blocks {
		inputs += p.inputs
	}
	note := fmt.Sprintf("an input; %d blocks with %d inputs a run, set of %d outputs in %d records, on one core",
		len(c.blocks), inputs, set.Len(), set.Report().Records)
	first, rate := r.confirmRows("set.one", one, note)
	r.ratio("confirm.inputs_per_s", rate)
	second, _ := r.confirmRows("set.two", two, "taken on one goroutine, whose set uses all cores, put on another")
	r.ratio("confirm.two_vs_one", r.single("two_vs_one", "ratio", first/second, "medians by the clock"))
	_, rate = r.confirmRows("tables.one", alone, fmt.Sprintf("an input; the same blocks, archive of %d transactions",
		c.alone.t.Live().Cut().Tx))
	r.ratio("confirm.inputs_per_s_tables", rate)
}

// confirmRows makes the rows of an arm, and returns the median of its nanoseconds and the best of its inputs a second.
func (r *Result) confirmRows(name string, all []confirmTime, note string) (ns, rate Number) {
	column := func(of func(*confirmTime) Number) (column []Number) {
		for i := range all {
			column = append(column, of(&all[i]))
		}
		return column
	}
	clock := column(func(t *confirmTime) Number { return t.clock })
	rates := make([]Number, len(clock))
	for i, n := range clock {
		rates[i] = 1e9 / n
	}
	rate = r.add(Row{Name: name + ".rate", Value: 1e9 / least(clock), Unit: "inputs/s", Runs: rates, Note: "the best run"})
	ns = r.median(name, "ns", clock, note)
	r.median(name+".processor", "ns", column(func(t *confirmTime) Number { return t.processor }), "the same, of processors")
	if all[0].take > 0 {
		r.median(name+".take", "ns", column(func(t *confirmTime) Number { return t.take }), "of it: Take")
		r.median(name+".put", "ns", column(func(t *confirmTime) Number { return t.put }), "of it: Put")
	}
	return ns, rate
}

// compare wants both stores to name the same output for every input, and the set to hold what the generator says is
// unspent.
func (c *confirmRuns) compare() error {
	a, b := c.withSet.t.Live(), c.alone.t.Live()
	if a.Cut() != b.Cut() {
		return fmt.Errorf("with a set the archive ends at %+v, with the tables alone at %+v", a.Cut(), b.Cut())
	}
	for i := range tables.InputLink(a.Cut().Ins) {
		x, okX := a.Prevout(i)
		y, okY := b.Prevout(i)
		if x != y || okX != okY {
			return fmt.Errorf("input %d spends output %d with a set, %d with the tables alone", i, x, y)
		}
	}
	want, _ := c.feed.source.Coins()
	if have := c.withSet.set.Len() - c.others; have != want {
		return fmt.Errorf("the set has %d outputs of the chain, the generator left %d", have, want)
	}
	return nil
}

// strong pops the newest block and pushes it again, with all its rows in place: of all tables only the log may grow, by
// one record, and with it every transaction of the block becomes strong.
func (c *confirmRuns) strong() error {
	s := c.alone
	l, _ := s.t.Tip()
	if err := s.c.Pop(); err != nil {
		return err
	}
	b, _ := s.t.Live().Block(l)
	for i := range b.Txs {
		if s.t.Live().Strong(b.FirstTx + tables.TxLink(i)) {
			return errors.New("a transaction of a popped block is strong")
		}
	}
	before := s.t.Stats()
	p := c.blocks[len(c.blocks)-1]
	w := &confirm.Work{Link: l, Place: p.place, MTP: p.mtp, Archived: true, FirstOut: b.FirstOut}
	if err := s.one([]*confirm.Work{w}, []*prepared{p}); err != nil {
		return err
	}
	grown := 0
	for i, x := range s.t.Stats() {
		more := x.Rows - before[i].Rows
		if more > 0 && x.Name != "chain" || more > 1 {
			return fmt.Errorf("a push adds %d rows to %s", more, x.Name)
		}
		grown += int(more)
	}
	for i := range b.Txs {
		if !s.t.Live().Strong(b.FirstTx + tables.TxLink(i)) {
			return errors.New("a transaction of a pushed block is not strong")
		}
	}
	c.result.single("strong.grown", "records", Number(grown),
		fmt.Sprintf("of all tables, by the push of an archived block with %d transactions", b.Txs))
	return nil
}
