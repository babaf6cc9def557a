package bench

import (
	"context"

	gen "stele/bench/chain"
	"stele/chain"
)

// victim is a store that is made, killed, and opened again and again.
type victim struct {
	o        *Options
	ctx      context.Context
	name     string
	chain    *gen.File
	height   uint32 // at which it was closed cleanly
	distance int64  // wire bytes that come after that

	dir           string // the store
	clean, killed string // copies of it
}

// grow imports up to the height and closes the store.
func (v *victim) grow() (event, error) {
	p, err := v.o.start(v.ctx, v.importing(importJob{Stop: int64(v.height)}))
	if err != nil {
		return event{}, err
	}
	e, err := p.await(saidClosed)
	if err != nil {
		return e, err
	}
	if err := p.end(); err != nil {
		return e, err
	}
	return e, mirror(v.clean, v.dir)
}

func (v *victim) importing(i importJob) job {
	i.Path = v.chain.Path
	return job{Dir: v.dir, Network: chain.Regtest().Name, Import: &i}
}

// kill lets a process import the distance onto the clean store, kills it, and puts what is left aside.
func (v *victim) kill(m moment) error {
	if err := mirror(v.dir, v.clean); err != nil {
		return err
	}
	last := uint32(len(v.chain.Places)) - 1 // one block is for the next start
	top := v.chain.HeightAt(v.chain.Places[v.height-1].Off + v.distance)
	top = min(max(top, v.height+1), last)
	var j importJob
	said := saidReached
	switch m {
	case midImport:
		j = importJob{Stop: int64(last), Save: never, Reach: top, Hold: true}
	case midMerge:
		j = importJob{Stop: int64(top), Save: never, Watch: "spend"} // in the checkpoint that ends an import
		said = saidWrites
	case atEnd:
		j = importJob{Stop: int64(top), Hold: true}
		said = saidImported
	}
	p, err := v.o.start(v.ctx, v.importing(j))
	if err != nil {
		return err
	}
	if _, err := p.await(said); err != nil {
		return err
	}
	if err := p.kill(); err != nil {
		return err
	}
	return mirror(v.killed, v.dir)
}

// restore brings the killed store back, as an arm finds it.
func (v *victim) restore(a arm) error {
	if err := mirror(v.dir, v.killed); err != nil {
		return err
	}
	if a.cut {
		return cutPower(v.dir)
	}
	return nil
}

// reopen starts a process on the store and returns what it says: opened, answered, and, unless that is all, ready.
func (v *victim) reopen(only bool) (all [3]event, err error) {
	known := make([]chain.Hash, 0, 3)
	for _, h := range []uint32{1, v.height / 2, v.height} {
		known = append(known, v.chain.Places[max(h, 1)-1].Coinbase)
	}
	p, err := v.o.start(v.ctx, job{Dir: v.dir, Network: chain.Regtest().Name, Open: &openJob{Known: known, Only: only}})
	if err != nil {
		return all, err
	}
	for i, kind := range []string{saidOpened, saidAnswered, saidReady} {
		if all[i], err = p.await(kind); err != nil {
			return all, err
		}
		if kind != saidAnswered {
			continue
		}
		if only {
			return all, p.end()
		}
		at := v.chain.Places[all[i].Height] // of the block on the tip
		if err := p.to.Encode(nextBlock{v.chain.Path, at.Off - gen.RecordHead, int64(at.Len) + gen.RecordHead}); err != nil {
			return all, err
		}
	}
	return all, p.kill()
}
