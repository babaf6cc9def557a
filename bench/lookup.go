package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"stele/chain"
	"stele/store"
	"stele/tables"
)

var lookupExperiment = Experiment{
	Name:  "lookup",
	About: "transactions by id and spenders by output, against key-value stores that hold the same keys",
	Keys: []Key{
		{Name: "lookup.tx_vs_bbolt", Reach: 10},
		{Name: "lookup.tx_vs_pebble", Reach: 20},
		{Name: "lookup.tx_vs_goleveldb", Reach: 28},
		{Name: "lookup.insert_vs_bbolt", Reach: 30},
		{Name: "lookup.spender_link_vs_tx", Reach: 1.6, Most: true},
		{Name: "lookup.spender_full_vs_tx", Reach: 2.5, Most: true},
		{Name: "lookup.grouped", Reach: 1.8},
		{Name: "lookup.cold_pages", Reach: 4, Most: true},
	},
	Run: runLookup,
}

// lookupRows are the transactions of scale 1, in 2.3 GB of blocks.
const lookupRows = 5_000_000

// Lookups of one run of an arm at scale 1: each takes some hundredths of a second, or half a second of a peer.
const (
	lookupCount = 500_000
	peerShare   = 5 // peers are asked one of so many
	leastCount  = 1_000
)

// peersMissing is the note in place of what only some executables can measure.
const peersMissing = "bbolt, pebble and goleveldb are in executables that are built with -tags bench"

// lookups is one run of the experiment. What is known of the chain comes from its blocks, not from the store: every
// answer is compared with it.
type lookups struct {
	o      Options
	ctx    context.Context
	result Result

	rows     int
	keys     []chain.Hash // by tx link
	firstOut []uint64     // number of the first output, by tx link
	spends   []spending   // the first input of every transaction that is no coinbase

	disk  store.Disk
	t     *tables.Tables
	bare  *bareMap
	peers []*rival

	times map[string][]Number // nanoseconds a lookup or a row, by row name
}

// spending says that the first input of a transaction spends an output.
type spending struct {
	by, of uint32 // tx links
	vout   uint32
}

// output returns the number of the output that is spent.
func (l *lookups) output(s spending) tables.OutputLink {
	return tables.OutputLink(l.firstOut[s.of] + uint64(s.vout))
}

func runLookup(ctx context.Context, o Options) (*Result, error) {
	l := &lookups{
		o: o, ctx: ctx, rows: max(2_000, int(lookupRows*o.Scale)), times: map[string][]Number{},
	}
	err := l.run()
	return &l.result, errors.Join(err, l.close())
}

func (l *lookups) run() error {
	for _, f := range []func() error{l.open, l.fill, l.warm, l.measure, l.sizes, l.close, l.cold} {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func (l *lookups) storeDir() string { return filepath.Join(l.o.Dir, "stele") }

// open makes the stores, which are empty yet.
func (l *lookups) open() error {
	d, err := store.OpenDir(l.storeDir(), store.DirOptions{Create: true, Verb: "bench"})
	if err != nil {
		return err
	}
	l.disk = unsynced{d}
	if l.t, err = tables.Create(l.disk, chain.Regtest(), tables.Options{}); err != nil {
		return err
	}
	if l.bare, err = newBareMap(filepath.Join(l.o.Dir, "map")); err != nil {
		return err
	}
	for _, kind := range peerKinds() {
		r, err := newRival(kind, l.o.Dir)
		if err != nil {
			return err
		}
		l.peers = append(l.peers, r)
	}
	if len(l.peers) == 0 {
		l.result.single("peers", "-", None, peersMissing)
	}
	return nil
}

// close closes what is open, once.
func (l *lookups) close() error {
	var all []error
	for _, r := range l.peers {
		all = append(all, r.close())
	}
	if l.bare != nil {
		all = append(all, l.bare.close())
	}
	if l.t != nil {
		all = append(all, l.t.Close())
	}
	if l.disk != nil {
		all = append(all, l.disk.Close())
	}
	l.peers, l.bare, l.t, l.disk = nil, nil, nil, nil
	return errors.Join(all...)
}

// clocked adds a run of so many steps to a row, in nanoseconds of processor time a step.
func (l *lookups) clocked(row string, n int, used time.Duration) {
	l.times[row] = append(l.times[row], Number(used.Nanoseconds())/Number(max(n, 1)))
}

// tellInserts makes rows and ratios of how long filling took. Turns are not runs of the same: a tree's rows cost more the
// more there are. So the figure is their mean, which is the time of all.
func (l *lookups) tellInserts() {
	r := &l.result
	row := l.mean("insert.map", "a row of 42 bytes and its entry, merged")
	whole := l.mean("insert.tables",
		"PutHeader, Archive and Push of encoded blocks, checkpoints: a transaction with all its inputs, outputs and spends")
	for _, kind := range peerKinds() {
		txs, spends := l.mean(kind.name+".insert.tx", ""), l.mean(kind.name+".insert.spend", "")
		rows := r.single("vs."+kind.name+".insert", "ratio", txs/row, "the same rows")
		r.single("vs."+kind.name+".insert.tables", "ratio", (txs+spends)/whole,
			"a row and a spend of a transaction there, all of it here")
		if kind.name == "bbolt" {
			r.ratio("lookup.insert_vs_bbolt", rows)
		}
	}
}

// tellLookups makes rows and ratios of how long answers took.
func (l *lookups) tellLookups() {
	r := &l.result
	hit, miss := l.median("tx.hit", "FindTx: the link, proven strong"), l.median("tx.miss", "FindTx")
	l.median("tx.two", "FindTx in two goroutines, each its half: time of both together")
	r.ratio("lookup.spender_link_vs_tx", l.median("spender.link", "Spent: cell, block and membership")/hit)
	r.ratio("lookup.spender_full_vs_tx",
		l.median("spender.full", "Esplora's outspend: txid, input, block hash, height, time")/hit)
	for _, kind := range peerKinds() {
		name := kind.name
		hits := r.single("vs."+name+".hit", "ratio", l.median(name+".tx.hit", "")/hit, "")
		misses := r.single("vs."+name+".miss", "ratio", l.median(name+".tx.miss", "")/miss, "")
		r.ratio("lookup.tx_vs_"+name, least([]Number{hits, misses}))
		l.median(name+".spender", "")
	}
	var grouped []Number
	for _, kind := range []string{"hit", "miss"} {
		one, many := l.median("map.single."+kind, "Find"), l.median("map.grouped."+kind, "FindGroup")
		grouped = append(grouped, r.single("grouped."+kind, "ratio", one/many, ""))
	}
	r.ratio("lookup.grouped", least(grouped))
}

// median adds the row of what was clocked.
func (l *lookups) median(row, note string) Number {
	return l.result.median(row, "ns", l.times[row], note)
}

// mean adds the row of what was clocked in turns of equal size.
func (l *lookups) mean(row, note string) Number {
	sum := Number(0)
	for _, n := range l.times[row] {
		sum += n
	}
	return l.result.add(Row{
		Name: row, Value: sum / Number(len(l.times[row])), Unit: "ns", Runs: l.times[row], Note: note,
	})
}

// sizes adds the bytes that each store takes.
func (l *lookups) sizes() error {
	for _, s := range l.t.Stats() {
		n, lines := Number(s.Rows), Number(s.HeadBytes)
		switch s.Name {
		case "tx":
			l.result.single("bytes.tx", "B/row", (Number(s.BodyBytes)+lines)/n,
				fmt.Sprintf("42 of the row, the rest of the lines at %.0f %% load", 100*s.Load))
		case "spend":
			l.result.single("bytes.spend", "B/row", lines/Number(l.t.View().Cut().Ins),
				fmt.Sprintf("cells of %.0f outputs, spent or not, over the inputs", float64(n)))
		}
	}
	for _, r := range l.peers {
		for i, table := range []*peerTable{r.tx, r.spend} {
			n, err := folderBytes(table.dir)
			if err != nil {
				return err
			}
			l.result.single("bytes."+r.name+[]string{".tx", ".spend"}[i], "B/row", Number(n)/Number(table.rows),
				fmt.Sprintf("%d bytes of key, 8 of value", table.width))
		}
	}
	return nil
}

// folderBytes sums the files of a folder.
func folderBytes(dir string) (sum int64, err error) {
	all, err := os.ReadDir(dir)
	for _, e := range all {
		if i, err := e.Info(); err == nil && e.Type().IsRegular() {
			sum += i.Size()
		}
	}
	return sum, err
}
