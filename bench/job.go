package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	gen "stele/bench/chain"
	"stele/chain"
	"stele/node"
	"stele/store"
	"stele/tables"
)

// job is what a child does with the store in a folder: one of the four.
type job struct {
	Dir     string     `json:"dir"`
	Network string     `json:"network"`
	Import  *importJob `json:"import,omitempty"`
	Open    *openJob   `json:"open,omitempty"`
	Cold    *coldJob   `json:"cold,omitempty"`
	Btcd    *btcdJob   `json:"btcd,omitempty"`

	Group string `json:"group,omitempty"` // file of a control group's processes, which the child joins first
}

// importJob imports a block file into a store, which it makes if need be.
type importJob struct {
	Path   string `json:"path"`
	Stop   int64  `json:"stop"`             // height; -1: none
	Memory int64  `json:"memory"`           // 0: the default
	Signed bool   `json:"signed,omitempty"` // signatures are true, and checked
	Save   int64  `json:"save,omitempty"`   // wire bytes between checkpoints, whatever time passes; 0: the defaults

	Reach uint32 `json:"reach,omitempty"` // say when the tip is at this height
	Watch string `json:"watch,omitempty"` // say when a file whose name begins so is written, and keep the write waiting
	Hold  bool   `json:"hold,omitempty"`  // wait to be killed when the import is done
}

// never is a Save that no import comes to.
const never = math.MaxInt64

// openJob opens a store, looks transactions up, and confirms one more block.
type openJob struct {
	Known []chain.Hash `json:"known"` // confirmed transactions
	Only  bool         `json:"only"`  // no further block
}

func (j *job) run(c *childSide) error {
	p, err := chain.ParamsByName(j.Network)
	if err != nil {
		return err
	}
	if j.Group != "" {
		if err := joinGroup(j.Group); err != nil {
			return err
		}
	}
	if j.Import != nil {
		return j.Import.run(c, j.Dir, p)
	}
	if j.Btcd != nil {
		return j.Btcd.run(c, j.Dir, p)
	}
	if j.Cold != nil {
		return j.Cold.run(c, j.Dir, p)
	}
	return j.Open.run(c, j.Dir, p)
}

func (j *importJob) run(c *childSide, dir string, p *chain.Params) error {
	d, err := store.OpenDir(dir, store.DirOptions{Create: true, Verb: "bench"})
	if err != nil {
		return err
	}
	disk := newTap(d)
	disk.watch = j.Watch
	disk.tell = func() {
		c.say(event{Kind: saidWrites, Pages: None})
		c.hold()
	}
	t, err := openOrCreate(disk, p)
	if err != nil {
		return errors.Join(err, d.Close())
	}
	disk.armed.Store(true)
	start := time.Now()
	r, err := node.Import(context.Background(), t, j.options(c))
	if err == nil && len(r.Rejected) > 0 {
		err = fmt.Errorf("the chain has an invalid block: %+v", r.Rejected[0])
	}
	if err != nil {
		return errors.Join(err, d.Close())
	}
	done := event{
		Kind: saidImported, Height: r.Tip.Height, Seconds: time.Since(start).Seconds(), Wire: int64(r.WireBytes), Pages: None,
	}
	for _, s := range r.Stages {
		if s.Name == "sync" {
			done.Saves = s.Count
		}
	}
	c.say(done)
	if j.Hold {
		c.hold()
	}
	done.Archive = archiveBytes(t)
	done.Newest, err = newest(t.View())
	if err != nil {
		return errors.Join(err, d.Close())
	}
	if err := errors.Join(t.Close(), d.Close()); err != nil {
		return err
	}
	done.Kind, done.Pages, done.Written = saidClosed, pageBytes(), disk.counts()
	c.say(done)
	return nil
}

func (j *importJob) options(c *childSide) node.ImportOptions {
	o := node.ImportOptions{Paths: []string{j.Path}, StopHeight: j.Stop, Memory: j.Memory, LimitHeap: j.Memory > 0}
	if !j.Signed {
		o.Verifier = gen.Trusting{}
	}
	if j.Save > 0 {
		o.CheckpointBytes, o.CheckpointEvery = j.Save, math.MaxInt64
	}
	if j.Reach > 0 {
		said := false
		o.Progress = func(p node.Progress) {
			if p.Height >= j.Reach && !said {
				said = true
				c.say(event{Kind: saidReached, Height: p.Height, Pages: None})
			}
		}
	}
	return o
}

func openOrCreate(d store.Disk, p *chain.Params) (*tables.Tables, error) {
	t, err := tables.Open(d, p, tables.Options{})
	if errors.Is(err, os.ErrNotExist) {
		return tables.Create(d, p, tables.Options{})
	}
	return t, err
}

func archiveBytes(t *tables.Tables) (sum int64) {
	for _, s := range t.Stats() {
		if s.Archive {
			sum += int64(s.BodyBytes + s.HeadBytes)
		}
	}
	return sum
}

// run leaves the store open: who asked kills the process, or lets it end without closing.
func (j *openJob) run(c *childSide, dir string, p *chain.Params) error {
	start := time.Now()
	d, err := store.OpenDir(dir, store.DirOptions{Verb: "bench"})
	if err != nil {
		return err
	}
	t, err := tables.Open(d, p, tables.Options{})
	if err != nil {
		return err
	}
	_, height := t.Tip()
	e := event{Kind: saidOpened, Height: height, Seconds: time.Since(start).Seconds(), Delta: t.DeltaBytes(), Pages: None}
	c.say(e)
	if err := lookUp(t.View(), j.Known); err != nil {
		return err
	}
	e.Kind, e.Seconds = saidAnswered, time.Since(start).Seconds()
	c.say(e)
	if j.Only {
		return nil
	}
	next, ok := <-c.replies
	if !ok {
		return nil
	}
	return j.goOn(c, t, &next, start)
}

// lookUp finds transactions and the newest coinbase, all of which must be confirmed.
func lookUp(v *tables.View, known []chain.Hash) error {
	coinbase, err := newest(v)
	if err != nil {
		return err
	}
	for _, txid := range append([]chain.Hash{coinbase}, known...) {
		l, ok := v.FindTx(&txid)
		if !ok || !v.Tx(l).Strong {
			return fmt.Errorf("transaction %v is not confirmed any more", txid)
		}
	}
	return nil
}

// newest returns the txid of the tip's coinbase.
func newest(v *tables.View) (chain.Hash, error) {
	tip, _ := v.Tip()
	b, ok := v.Block(tip)
	if !ok {
		return chain.Hash{}, errors.New("the tip's block is not archived")
	}
	return *v.Txid(b.FirstTx), nil
}

// goOn confirms the next block and says so, before the checkpoint that ends an import.
func (j *openJob) goOn(c *childSide, t *tables.Tables, next *nextBlock, start time.Time) error {
	f, err := os.Open(next.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	record := make([]byte, next.Len)
	if _, err := f.ReadAt(record, next.Off); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	r, err := node.Import(context.Background(), t, node.ImportOptions{
		Paths: []string{"-"}, Stdin: bytes.NewReader(record), StopHeight: -1, Verifier: gen.Trusting{},
		Progress: func(p node.Progress) {
			if p.Blocks > 0 {
				c.say(event{Kind: saidReady, Height: p.Height, Seconds: time.Since(start).Seconds(), Pages: None})
				c.hold()
			}
		},
	})
	if err != nil {
		return err
	}
	return fmt.Errorf("the next block was not confirmed: tip %d, rejected %v", r.Tip.Height, r.Rejected)
}
