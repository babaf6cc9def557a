package bench

import (
	"errors"
	"path/filepath"
	"time"

	"stele/chain"
	"stele/store"
	"stele/tables"
	"stele/tables/confirm"
	"stele/utxo"
)

// confirmWindow is how many blocks are taken at a time: as many as a node takes at once where it has enough on their way.
const confirmWindow = 32

// confirming is a store that blocks are confirmed into, with a set or without.
type confirming struct {
	disk *store.Dir
	t    *tables.Tables
	c    *confirm.Confirmer
	set  *utxo.Set // may be nil
	tip  tables.HeaderLink

	taking, putting time.Duration // of one, of processors
}

// newConfirming makes a store in the experiment's folder. Nothing in it waits for a medium.
func (o *Options) newConfirming(name string, set *utxo.Set) (*confirming, error) {
	d, err := store.OpenDir(filepath.Join(o.Dir, name), store.DirOptions{Create: true, Verb: "bench"})
	if err != nil {
		return nil, err
	}
	t, err := tables.Create(unsynced{d}, chain.Regtest(), tables.Options{})
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	s := &confirming{disk: d, t: t, c: confirm.New(t), set: set}
	s.tip, _ = t.Tip()
	if set != nil {
		s.c.Use(set)
	}
	return s, nil
}

func (s *confirming) close() error { return errors.Join(s.t.Close(), s.disk.Close()) }

// works puts the headers of blocks into the store, and returns what Take wants of each. of gives the Work to fill.
func (s *confirming) works(all []*prepared, of func(*prepared) *confirm.Work) ([]*confirm.Work, error) {
	ws := make([]*confirm.Work, len(all))
	for i, p := range all {
		l, err := s.t.PutHeader(&p.block.Header, &p.hash, s.tip, p.mtp)
		if err != nil {
			return nil, err
		}
		ws[i] = of(p)
		p.todo(ws[i], l)
		s.tip = l
	}
	return ws, nil
}

// window returns the blocks of the window that begins at block i.
func window(ws []*confirm.Work, i int) []*confirm.Work { return ws[i:min(i+confirmWindow, len(ws))] }

var errRefused = errors.New("a block of the generator is not confirmed")

// take takes one window.
func (s *confirming) take(ws []*confirm.Work) error {
	n, err := s.c.Take(ws)
	if err == nil && n < len(ws) {
		err = errRefused
	}
	return err
}

// one confirms blocks on the goroutine that it is called on: a window is taken, then put.
func (s *confirming) one(ws []*confirm.Work, all []*prepared) error {
	s.taking, s.putting = 0, 0
	for i := 0; i < len(ws); i += confirmWindow {
		start := processorTime()
		if err := s.take(window(ws, i)); err != nil {
			return err
		}
		taken := processorTime()
		for j, w := range window(ws, i) {
			if err := s.c.Put(w, &all[i+j].rows); err != nil {
				return err
			}
		}
		s.taking, s.putting = s.taking+taken-start, s.putting+processorTime()-taken
	}
	return nil
}

// two confirms blocks on two goroutines: this one puts what the other one has taken.
func (s *confirming) two(ws []*confirm.Work, all []*prepared) error {
	s.taking, s.putting = 0, 0
	taken := make(chan int, windowsInQueue)
	var failed error
	go func() {
		defer close(taken)
		for i := 0; i < len(ws); i += confirmWindow {
			if failed = s.take(window(ws, i)); failed != nil {
				return
			}
			taken <- i
		}
	}()
	var err error
	for i := range taken {
		for j, w := range window(ws, i) {
			if err == nil {
				err = s.c.Put(w, &all[i+j].rows)
			}
		}
	}
	return errors.Join(err, failed)
}

// confirmTime is nanoseconds an input, by the clock and of the processors. Of the latter, take and put are known where
// they come one after the other.
type confirmTime struct{ clock, processor, take, put Number }

// timed runs one of the two over blocks.
func (s *confirming) timed(all []*prepared, f func() error) (t confirmTime, err error) {
	inputs := 0
	for _, p := range all {
		inputs += p.inputs
	}
	each := func(d time.Duration) Number { return Number(d.Nanoseconds()) / Number(max(inputs, 1)) }
	used, start := processorTime(), time.Now()
	err = f()
	return confirmTime{
		clock: each(time.Since(start)), processor: each(processorTime() - used), take: each(s.taking), put: each(s.putting),
	}, err
}
