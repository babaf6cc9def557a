package bench

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"stele/chain"
	"stele/node/esplora"
	"stele/store"
	"stele/tables"
)

// coldCount is the lookups of a process that begins with nothing cached: few enough for hardly two to meet in a page.
const coldCount = 500

// Questions to a cold store.
const (
	coldTx    = "tx"    // FindTx
	coldRow   = "row"   // FindTx and the whole row
	coldLink  = "link"  // the spender's link
	coldSpend = "spend" // the whole outspend
)

// coldJob looks up in a store that was just opened, and says what was read from the disk meanwhile.
type coldJob struct {
	Ask     string              `json:"ask"`
	Txids   []chain.Hash        `json:"txids"` // of coldTx and coldRow; of the others those of the spenders
	Links   []tables.TxLink     `json:"links"`
	Outputs []tables.OutputLink `json:"outputs"`
}

func (j *coldJob) run(c *childSide, dir string, p *chain.Params) error {
	d, err := store.OpenDir(dir, store.DirOptions{Verb: "bench"})
	if err != nil {
		return err
	}
	t, err := tables.Open(d, p, tables.Options{})
	if err != nil {
		return errors.Join(err, d.Close())
	}
	v := t.View()
	read, faults := diskReads(), majorFaults()
	for i := range j.Links {
		if !j.ask(v, i) {
			return fmt.Errorf("cold lookup %s of %v is answered wrongly", j.Ask, j.Txids[i])
		}
	}
	c.say(event{Kind: saidAnswered, Pages: None, Read: diskReads() - read, Faults: majorFaults() - faults})
	return errors.Join(t.Close(), d.Close())
}

// ask asks one question and tells whether the answer is right.
func (j *coldJob) ask(v *tables.View, i int) bool {
	switch j.Ask {
	case coldTx:
		l, ok := v.FindTx(&j.Txids[i])
		return ok && l == j.Links[i]
	case coldRow:
		l, ok := v.FindTx(&j.Txids[i])
		if !ok {
			return false
		}
		row := v.Tx(l)
		return row.Txid == j.Txids[i] && row.Strong && row.Outs > 0
	case coldLink:
		return v.Spent(j.Outputs[i])
	}
	s := esplora.SpenderOf(v, j.Outputs[i])
	return s.Spent && *s.Txid == j.Txids[i] && s.Status.Confirmed
}

// cold asks each question in processes of their own, which begin without a page in memory.
func (l *lookups) cold() error {
	reads, faults := map[string][]Number{}, map[string][]Number{}
	asks := []string{coldTx, coldRow, coldLink, coldSpend}
	n := max(20, int(coldCount*min(l.o.Scale, 1)))
	for run := range l.o.Runs {
		for _, ask := range asks {
			l.o.Note(fmt.Sprintf("cold %s, round %d of %d", ask, run+1, l.o.Runs))
			e, err := l.askCold(l.coldJob(ask, run, n))
			if err != nil {
				return err
			}
			if e.Read == 0 {
				e.Read = None // files that live in memory, or all that a tiny store has was read while it was opened
			}
			reads[ask] = append(reads[ask], e.Read/Number(n)/store.PageSize)
			faults[ask] = append(faults[ask], e.Faults/Number(n))
		}
	}
	pages := map[string]Number{}
	for _, ask := range asks {
		pages[ask] = l.result.median("cold."+ask+".pages", "pages", reads[ask], "read from the disk, read-ahead included")
		l.result.median("cold."+ask+".faults", "faults", faults[ask], "that waited for the disk")
	}
	l.result.ratio("lookup.cold_pages", worst(pages[coldRow], pages[coldLink]))
	return nil
}

func (l *lookups) coldJob(ask string, run, n int) *coldJob {
	r := rand.New(rand.NewPCG(seed+1, uint64(run)))
	j := &coldJob{Ask: ask}
	for range n {
		s := l.spends[r.IntN(len(l.spends))]
		j.Txids, j.Links = append(j.Txids, l.keys[s.by]), append(j.Links, tables.TxLink(s.by))
		j.Outputs = append(j.Outputs, l.output(s))
	}
	return j
}

// askCold drops the store's pages and lets a process ask.
func (l *lookups) askCold(j *coldJob) (event, error) {
	names, err := fileNames(l.storeDir())
	if err != nil {
		return event{}, err
	}
	for _, name := range names {
		f, err := os.Open(filepath.Join(l.storeDir(), name))
		if err != nil {
			return event{}, err
		}
		if err := errors.Join(f.Sync(), dropCache(f), f.Close()); err != nil { // only clean pages are dropped
			return event{}, err
		}
	}
	p, err := l.o.start(l.ctx, job{Dir: l.storeDir(), Network: chain.Regtest().Name, Cold: j})
	if err != nil {
		return event{}, err
	}
	e, err := p.await(saidAnswered)
	if err != nil {
		return e, err
	}
	return e, p.end()
}
