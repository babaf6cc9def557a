package node

import (
	"errors"
	"time"

	"stele/store"
	"stele/tables"
)

// saving is a checkpoint on its way. The writer begins and ends it; a goroutine of its own runs it in between.
type saving struct {
	c    *tables.Checkpointing
	done chan struct{} // closed by the goroutine when it ends
	took time.Duration // of the run; valid then
}

// beginCheckpoint takes the cut of now and starts the work on it, with the indexes where merge says so. None other may be
// on its way.
func (m *writer) beginCheckpoint(merge bool) error {
	begin := m.t.BeginCut
	if merge {
		begin = m.t.BeginCheckpoint
	}
	c, err := begin()
	if err != nil {
		return err
	}
	s := &saving{c: c, done: make(chan struct{})}
	m.saving, m.covered = s, m.extent()
	go func() {
		defer close(s.done)
		start := time.Now()
		c.Run()
		s.took = time.Since(start)
	}()
	m.watch.lap(stageCheckpoint)
	m.saved = m.watch.mark
	return nil
}

// followCheckpoint ends the checkpoint on its way, if it has done its work, and if readers may see the tip (up). Where
// the deltas have used up their memory it does not wait for the latter, and stalls for the former.
func (m *writer) followCheckpoint(up bool) error {
	s := m.saving
	if s == nil {
		return nil
	}
	full := m.t.DeltaBytes() >= m.deltaLimit()
	select {
	case <-s.done:
		if !up && !full {
			return nil
		}
	default:
		if !full {
			return nil
		}
		<-s.done
		m.watch.lap(stageStall)
		m.watch.count[stageStall]++
	}
	return m.endCheckpoint()
}

// endCheckpoint waits for the checkpoint on its way and takes over what it did; readers see the tip then. A
// *store.DiskFull is one that another checkpoint may mend: what was archived is durable all the same.
func (m *writer) endCheckpoint() error {
	s := m.saving
	if s == nil {
		return nil
	}
	<-s.done
	m.saving = nil
	m.watch.spent[stageSync] += s.took
	m.watch.count[stageSync]++
	err := m.t.EndCheckpoint(s.c)
	m.watch.lap(stageCheckpoint)
	tip, _ := m.t.Tip()
	m.see(tip)
	m.published = m.watch.mark
	return err
}

// ErrReorganising refuses a checkpoint that would show readers a chain of less work than the one that they see.
var ErrReorganising = errors.New("a reorganisation is under way")

// checkpoint makes everything up to now durable and waits for it: another goroutine asked for it.
func (m *writer) checkpoint() error {
	tip, _ := m.t.Tip()
	if m.moreWork(m.visible, tip) {
		return ErrReorganising
	}
	m.watch.lap(m.stage)
	if m.saving != nil {
		_ = m.endCheckpoint() // what it could not do the next one does, or fails at, too
	}
	err := m.t.Checkpoint()
	m.watch.lap(stageCheckpoint)
	if err == nil {
		m.covered = m.extent()
		m.see(tip)
		m.saved, m.published = m.watch.mark, m.watch.mark
	}
	return err
}

// save goes back to the best chain if need be and makes everything durable. It returns the error of the import, or
// what came of that if it weighs more.
//
// After a fault of the store nothing of the kind is done, as what is in memory may be half of something: the store
// stops writing, so that closing it keeps the last checkpoint, which is whole.
func (m *writer) save(err error) error {
	var late error
	if broken(err) {
		m.t.Stop(err)
	} else {
		late = store.Guard(m.retreat)
	}
	if broken(late) {
		m.t.Stop(late)
	}
	late = errors.Join(late, store.Guard(func() error {
		_ = m.endCheckpoint() // if it found no room, the next one tries again; every other failure is its failure, too
		if broken(err) {
			return nil
		}
		return m.t.Checkpoint()
	}))
	switch {
	case broken(err):
		return err
	case broken(late):
		m.t.Stop(late)
		return late
	case err == nil:
		return late
	}
	return err
}

// abandon is for an import that ends by a panic: what is in memory may be half of something, and no goroutine may be
// left behind.
func (m *writer) abandon() {
	m.t.Stop(errors.New("an import broke off"))
	if m.saving != nil {
		<-m.saving.done
	}
	m.stopCoins()
}

// broken reports whether an error is one after which the store's memory is not to be trusted.
func broken(err error) bool {
	var fault *store.Fault
	var damaged *store.Damaged
	return errors.As(err, &fault) || errors.As(err, &damaged)
}

// retreat goes back to the best chain that there was, where an import ended in the middle of a reorganisation. All of
// that chain's blocks are archived, so this only appends to the log.
func (m *writer) retreat() error {
	tip, _ := m.t.Tip()
	if m.home == none || m.tree.vertices[m.home].invalid || !m.moreWork(m.home, tip) {
		return nil
	}
	if m.coins != nil {
		_ = m.dropCoins(nil) // it is not worth telling it of every block now
	}
	base := m.tree.fork(tip, m.home)
	for tip, _ := m.t.Tip(); tip != base; tip, _ = m.t.Tip() {
		if err := m.t.Pop(); err != nil {
			return err
		}
		m.report.Popped++
	}
	for _, l := range m.tree.path(nil, base, m.home) {
		if err := m.t.Push(l); err != nil {
			return err
		}
	}
	return nil
}
