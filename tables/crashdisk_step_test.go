package tables_test

import (
	"errors"
	"fmt"
	"runtime/debug"

	"stele/internal/archivetest"
	"stele/internal/crashdisk"
	"stele/store"
	"stele/tables"
)

func stack() string { return string(debug.Stack()) }

// step does one thing that a process may do.
func (m *crashRun) step() error {
	if m.r.IntN(30) == 0 {
		m.disk.LoseWriteback()
		m.note("lost write-back")
	}
	m.limit()
	switch n := m.r.IntN(34); {
	case n < 10:
		return m.extend()
	case n < 13:
		return m.pop()
	case n < 15:
		return m.pushAgain()
	case n < 18:
		return m.publish()
	case n < 21:
		return m.checkpoint()
	case n < 24:
		return m.checkpointBeside()
	case n < 26:
		return m.putPending()
	case n < 28:
		return m.dropPending()
	case n < 33:
		return m.setState()
	default:
		return m.reopen()
	}
}

// limit sometimes lets the disk become full, and sometimes makes room. Without room a checkpoint leaves states as they
// were.
func (m *crashRun) limit() {
	switch m.r.IntN(60) {
	case 0:
		m.full = true
		for b := range m.now.set {
			m.vague[b] = append(m.vague[b], m.durable.states[b])
		}
		m.disk.SetCapacity(m.disk.Used() + m.r.Int64N(200<<10))
		m.note("limited")
	case 1, 2, 3, 4, 5, 6, 7, 8:
		m.disk.SetCapacity(-1)
	}
}

// writerStep does one thing that the writer may do while a checkpoint runs.
func (m *crashRun) writerStep() error {
	switch n := m.r.IntN(12); {
	case n >= 10:
		return m.readersSee()
	case n < 4:
		return m.extend()
	case n < 6:
		return m.pop()
	case n < 7:
		return m.pushAgain()
	case n < 8:
		return m.publish()
	case n < 9:
		return m.setState()
	default:
		return m.putPending()
	}
}

// allowed passes an error that was made on purpose. A full disk leaves the store in order, and the next attempt finds
// room; a failed sync must make it stop writing, so that all that follows fails, too.
func (m *crashRun) allowed(err error) error {
	if err == nil || errors.Is(err, crashdisk.ErrStopped) || m.disk.Stopped() {
		return nil
	}
	var full *store.DiskFull
	switch {
	case m.full && errors.As(err, &full):
		m.note("(%v)", err)
		return nil
	case errors.Is(err, crashdisk.ErrWriteback), m.broken:
		if !m.broken {
			m.note("(%v)", err)
		}
		m.broken = true
		return nil
	}
	return err
}

// readersSee compares the readers' view with the chain that was published last, whatever the writer has done since.
func (m *crashRun) readersSee() error {
	if m.shown == nil {
		return nil
	}
	if err := agrees(m.t.View(), m.shown); err != nil {
		return fmt.Errorf("readers' view: %w", err)
	}
	return nil
}

func (m *crashRun) extend() error {
	if m.now.tip.Height > 60 {
		return nil
	}
	m.salt++
	b := m.now.tip.nextBlock(m.r, m.salt)
	m.made = append(m.made, b)
	m.known[b.Hash] = b
	if b.Height > m.goal.Height {
		m.goal = b
	}
	return m.confirm(b)
}

// header puts the header of a block whose parent's is there.
func (m *crashRun) header(b *crashBlock) (tables.HeaderLink, error) {
	parent := tables.NoHeader
	if b.parent != nil {
		l, ok := m.t.FindHeader(&b.parent.Hash)
		if !ok {
			return 0, errors.New("the parent's header is not there")
		}
		parent = l
	}
	return m.t.PutHeader(&b.body.Header, &b.Hash, parent, b.mtp)
}

func (m *crashRun) confirm(b *crashBlock) error {
	l, err := m.header(b)
	if err != nil {
		return m.allowed(err)
	}
	if err := m.rows.Encode(&b.body, b.Txids); err != nil {
		return err
	}
	ok, err := archivetest.Push(m.t, l, &b.body, b.Txids, &m.rows)
	if err != nil {
		return m.allowed(err)
	}
	if !ok {
		return errors.New("a good block is refused")
	}
	m.note("push %d", b.Height)
	m.now.tip = b
	return nil
}

func (m *crashRun) pop() error {
	if m.now.tip.parent == nil {
		return nil
	}
	if err := m.t.Pop(); err != nil {
		return m.allowed(err)
	}
	m.note("pop %d", m.now.tip.Height)
	m.now.tip = m.now.tip.parent
	return nil
}

func (m *crashRun) pushAgain() error {
	for _, b := range m.made {
		if b.parent == m.now.tip && m.r.IntN(2) == 0 {
			return m.confirm(b)
		}
	}
	return nil
}

func (m *crashRun) publish() error {
	if err := m.t.Publish(); err != nil {
		return m.allowed(err)
	}
	m.note("publish")
	m.shown = m.now.tip
	m.noted = append(m.noted, m.now.clone())
	return nil
}

func (m *crashRun) checkpoint() error {
	at := m.begin()
	err := m.t.Checkpoint()
	m.note("checkpoint")
	if err != nil {
		m.noted = append(m.noted, m.now.clone()) // a full disk keeps no view from being published
		m.shown = nil
		return m.allowed(err)
	}
	m.checkpointed(at)
	return nil
}

// begin takes note of a checkpoint that begins.
func (m *crashRun) begin() moment {
	at := m.now.clone()
	m.inflight = append(m.inflight, at)
	m.now.set = map[*crashBlock]bool{}
	if !m.last && m.r.IntN(5) == 0 { // most that can go wrong goes wrong inside
		k := 1 + m.r.IntN(45)
		m.disk.StopAt(k)
		m.note("stop at +%d", k)
	}
	return at
}

// checkpointed takes note of a checkpoint that returned nil.
func (m *crashRun) checkpointed(at moment) {
	m.collapse(&at)
	m.shown = m.now.tip
	m.noted = []moment{m.now.clone()}
	for b := range at.set {
		if !m.now.set[b] {
			delete(m.vague, b)
		}
	}
}

// checkpointBeside runs a checkpoint while the writer goes on: at some of its operations.
func (m *crashRun) checkpointBeside() error {
	at := m.begin()
	begin, what := m.t.BeginCheckpoint, "begin"
	if m.r.IntN(3) == 0 {
		begin, what = m.t.BeginCut, "begin cut"
	}
	c, err := begin()
	if err != nil {
		return m.allowed(err)
	}
	m.note("%s", what)
	var failed error
	m.disk.SetHook(func(store.Op, string) {
		if failed == nil && m.r.IntN(12) == 0 {
			failed = m.writerStep()
		}
	})
	c.Run()
	m.disk.SetHook(nil)
	m.note("run")
	if failed != nil {
		return failed
	}
	if m.r.IntN(3) == 0 {
		if err := m.writerStep(); err != nil {
			return err
		}
	}
	if err := m.t.EndCheckpoint(c); err != nil {
		m.noted, m.shown = append(m.noted, m.now.clone()), nil
		return m.allowed(err)
	}
	m.note("end")
	m.checkpointed(at)
	return nil
}

func (m *crashRun) putPending() error {
	b := m.made[m.r.IntN(len(m.made))]
	if l, ok := m.t.FindHeader(&b.Hash); b.parent == nil || ok && m.r.IntN(2) == 0 {
		if _, archived := m.t.Archived(l); archived {
			m.salt++
			b = b.nextBlock(m.r, m.salt)
			m.known[b.Hash] = b
		}
	}
	if _, ok := m.now.pending[b.Hash]; ok || b.parent == nil {
		return nil
	}
	kept, err := m.t.PutPending(b.Raw)
	if err != nil {
		return m.allowed(err)
	}
	m.note("pending %d", b.Height)
	if kept {
		m.given = append(m.given, b)
		m.now.pending[b.Hash] = b
	}
	return nil
}

func (m *crashRun) dropPending() error {
	if len(m.now.pending) == 0 {
		if err := m.putPending(); err != nil {
			return err
		}
		return m.checkpoint()
	}
	all := m.r.IntN(3) > 0 // then the next checkpoint begins a new slab
	for _, b := range m.given {
		if m.now.pending[b.Hash] != nil && (all || m.r.IntN(2) == 0) {
			m.t.DropPending(&b.Hash)
			delete(m.now.pending, b.Hash)
		}
	}
	m.note("drop pending")
	if all {
		return m.checkpoint()
	}
	return nil
}

func (m *crashRun) setState() error {
	b := m.made[m.r.IntN(len(m.made))]
	if m.r.IntN(2) == 0 {
		b = m.now.tip
	}
	l, ok := m.t.FindHeader(&b.Hash)
	if !ok {
		return nil
	}
	s := tables.StateValid
	if !b.on(m.now.tip) && m.r.IntN(2) == 0 {
		s = []tables.State{tables.StateInvalid, tables.StateRejected}[m.r.IntN(2)]
	}
	if m.r.IntN(3) == 0 {
		s = tables.StateUnknown // cleared, where it had one
	}
	if err := m.t.SetState(l, s); err != nil {
		return m.allowed(err)
	}
	m.note("state %d", b.Height)
	m.vague[b] = append(m.vague[b], s)
	if m.full {
		m.vague[b] = append(m.vague[b], m.durable.states[b])
	}
	m.now.states[b], m.now.set[b] = s, true
	return nil
}

// reopen closes the store as its owner does, and opens it.
func (m *crashRun) reopen() error {
	at := m.begin()
	err := m.t.Close()
	m.note("close")
	if err != nil {
		m.t = nil
		return m.allowed(err)
	}
	m.checkpointed(at)
	t, err := tables.Open(m.disk, m.t.Params(), tables.Options{})
	m.t = nil
	if err != nil {
		return m.allowed(err)
	}
	m.note("reopen")
	m.t = t
	return m.adopt()
}
