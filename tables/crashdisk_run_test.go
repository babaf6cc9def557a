package tables_test

import (
	"bytes"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"

	"stele/chain"
	"stele/internal/chaintest"
	"stele/internal/crashdisk"
	"stele/store"
	"stele/tables"
)

// moment is what a store must hold that is opened at some manifest: everything else follows from the tip.
type moment struct {
	tip     *crashBlock
	pending map[chain.Hash]*crashBlock
	states  map[*crashBlock]tables.State
	set     map[*crashBlock]bool // states that were set by the process at hand since the checkpoint before
}

// crashRun is one run: a store on a crash disk, some lives of a process on it, each of which ends badly, and the naive
// model of what may be found after.
type crashRun struct {
	r    *rand.Rand
	disk *crashdisk.Disk
	t    *tables.Tables // nil: not open
	rows tables.Rows

	made  []*crashBlock // all blocks, genesis first
	now   moment
	salt  uint32
	goal  *crashBlock // the highest block that was made
	known map[chain.Hash]*crashBlock
	given []*crashBlock // to be kept as pending

	shown *crashBlock // the tip that readers see; nil: not known

	exists   bool     // Create has returned, or Open has: the store may not be gone any more
	durable  moment   // of the last checkpoint that returned nil, or of the last open
	inflight []moment // of checkpoints that began since
	noted    []moment // published since: what a kill may leave beyond the manifest
	before   []moment // what the manifest before the newest may say, should the newest decay
	decayed  bool
	// A state that was set by a process whose checkpoint failed may show or not until it is set again.
	vague map[*crashBlock][]tables.State

	last   bool // life, in which nothing goes wrong
	broken bool // a sync failed, or the disk was full in the wrong place: errors are in order
	full   bool // the disk was told to be full at some allocation
	trace  []string
}

func (m *moment) clone() moment {
	return moment{tip: m.tip, pending: maps.Clone(m.pending), states: maps.Clone(m.states), set: maps.Clone(m.set)}
}

// seeded is a source for crypto/rand, so that the secrets of a store follow from the seed.
type seeded struct{ r *rand.Rand }

func (s seeded) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(s.r.Uint32())
	}
	return len(p), nil
}

// crashSeed runs one seed. The error says what went wrong, and where.
func crashSeed(seed uint64) (err error) {
	r := rand.New(rand.NewPCG(seed, 0x5e1e))
	reader := crand.Reader
	crand.Reader = seeded{rand.New(rand.NewPCG(seed, 1))}
	defer func() { crand.Reader = reader }()
	genesis := newCrashBlock(nil, chaintest.Genesis())
	m := &crashRun{
		r: r, disk: crashdisk.New(r, 256<<10), made: []*crashBlock{genesis}, goal: genesis,
		known: map[chain.Hash]*crashBlock{genesis.Hash: genesis}, vague: map[*crashBlock][]tables.State{},
	}
	m.now = moment{tip: genesis, pending: map[chain.Hash]*crashBlock{}, states: map[*crashBlock]tables.State{},
		set: map[*crashBlock]bool{}}
	m.durable = m.now.clone()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			if len(m.trace) > 0 {
				err = fmt.Errorf("panic: %v\n%s", p, stack())
			}
		}
		if err != nil {
			err = fmt.Errorf("seed %d, operation %d: %w\n  %v", seed, m.disk.Ops(), err, m.trace)
		}
		m.disk.Discard()
	}()
	for range 1 + r.IntN(3) {
		if err := m.life(); err != nil {
			return err
		}
		m.die()
	}
	return m.finish()
}

func (m *crashRun) note(format string, a ...any) {
	m.trace = append(m.trace, fmt.Sprintf(format, a...))
}

// life opens the store and works with it until the disk stops, or for a while.
func (m *crashRun) life() error {
	if err := m.open(3); err != nil {
		return err
	}
	m.arm()
	for range 3 + m.r.IntN(25) {
		if err := m.step(); err != nil {
			return err
		}
		if m.t == nil || m.disk.Stopped() || m.broken && m.r.IntN(4) == 0 {
			return nil
		}
	}
	return nil
}

// arm decides what will go wrong in this life besides its end.
func (m *crashRun) arm() {
	m.disk.SetWriteback([...]int{0, 5, 30}[m.r.IntN(3)])
	if m.r.IntN(3) > 0 {
		k := 1 + m.r.IntN(200)
		m.disk.StopAt(k)
		m.note("stop at %d+%d", m.disk.Ops(), k)
	}
	if m.r.IntN(6) == 0 {
		k := 1 + m.r.IntN(40)
		m.disk.FailSync(k)
		m.note("fail sync +%d", k)
	}
	if m.r.IntN(8) == 0 {
		k := 1 + m.r.IntN(12)
		m.full = true
		m.disk.FullAt(k)
		m.note("full at +%d", k)
	}
}

// die ends the process: by a kill, or with the power.
func (m *crashRun) die() {
	m.t, m.broken, m.full = nil, false, false
	old := m.disk
	if m.r.IntN(4) == 0 {
		m.note("killed")
		m.disk = old.Kill(m.r)
		m.blur()
		return
	}
	m.note("power cut")
	m.disk = old.Crash(m.r)
	old.Discard()
	m.noted = nil
	m.decay()
}

// blur allows states of before the kill to show: what a failed merge put into their cells is in the page cache.
func (m *crashRun) blur() {
	for b, s := range m.now.states {
		m.vague[b] = append(m.vague[b], s, m.durable.states[b])
	}
}

// decay breaks the newest slot of the manifest, once in a run, so that the older one is adopted.
func (m *crashRun) decay() {
	b := m.disk.Bytes(store.ManifestName)
	if m.decayed || m.r.IntN(4) > 0 || len(b) < 3*store.PageSize {
		return
	}
	seq := func(slot int) uint64 { return binary.LittleEndian.Uint64(b[slot*store.PageSize+8:]) }
	if seq(1) == 0 || seq(2) == 0 {
		return
	}
	newest := 1
	if seq(2) > seq(1) {
		newest = 2
	}
	m.decayed = true
	m.disk.Flip(store.ManifestName, int64(newest*store.PageSize+24+m.r.IntN(200)), 1<<m.r.IntN(8))
	m.inflight = append(m.inflight, m.before...)
	m.note("slot %d decayed", newest-1)
}

// open recovers the store, which may be interrupted so many times, and adopts in the model what it finds.
func (m *crashRun) open(interruptions int) error {
	for ; ; interruptions-- {
		m.disk.StopAt(0)
		if interruptions > 0 && m.r.IntN(3) == 0 {
			m.disk.StopAt(1 + m.r.IntN(130)) // a store is made in some 110 operations
		}
		options := tables.Options{}
		if m.r.IntN(3) == 0 {
			options.DeltaBytes = 1
		}
		t, err := tables.Open(m.disk, chain.Regtest(), options)
		if errors.Is(err, fs.ErrNotExist) && !m.exists {
			t, err = tables.Create(m.disk, chain.Regtest(), options)
			m.note("create: %v", err)
		} else {
			m.note("open: %v", err)
		}
		switch {
		case m.disk.Stopped():
			m.inflight = append(m.inflight, m.noted...) // whatever was found may be in a manifest now
			m.die()
			continue
		case err != nil:
			return fmt.Errorf("the store does not open: %w", err)
		}
		m.t, m.exists = t, true
		return m.adopt()
	}
}

// adopt finds the moment that the store was opened at, and wants all answers to be those of it.
func (m *crashRun) adopt() error {
	var why error
	allowed := append([]moment{m.durable}, m.inflight...)
	allowed = append(allowed, m.noted...)
	for i := len(allowed) - 1; i >= 0; i-- {
		err := m.isAt(&allowed[i], i > len(m.inflight))
		if why == nil || !errors.Is(err, errOtherTip) {
			why = err
		}
		if err == nil {
			m.now = allowed[i].clone()
			m.now.set = map[*crashBlock]bool{}
			m.readStates()
			m.collapse(&m.now)
			m.noted, m.shown = []moment{m.now.clone()}, m.now.tip
			return m.check()
		}
	}
	l, height := m.t.Tip()
	heights := []uint32{}
	for _, a := range allowed {
		heights = append(heights, a.tip.Height)
	}
	return fmt.Errorf("opened at height %d, %v, which no manifest may name (allowed: heights %d): %w",
		height, m.t.Header(l).Hash(), heights, why)
}

// readStates takes over the states that the store shows. One that a kill left in the page cache alone may go with the
// power: what was durable before stays possible until the state is set again and a checkpoint returns.
func (m *crashRun) readStates() {
	for b, want := range m.now.states {
		if l, ok := m.t.FindHeader(&b.Hash); ok {
			have := m.t.State(l)
			m.vague[b] = append(m.vague[b], want, m.durable.states[b])
			m.now.states[b] = have
		}
	}
}

// collapse takes note of a manifest that is durable.
func (m *crashRun) collapse(at *moment) {
	m.before = append([]moment{m.durable}, m.inflight...)
	m.durable, m.inflight, m.noted = at.clone(), nil, nil
}

var errOtherTip = errors.New("the tip is another")

// isAt compares the store with a moment: tip, states and pending blocks. States are durable with a checkpoint alone, so
// that a live record brings none.
func (m *crashRun) isAt(at *moment, live bool) error {
	if l, _ := m.t.Tip(); m.t.Header(l).Hash() != at.tip.Hash {
		return errOtherTip
	}
	for b, want := range at.states {
		l, ok := m.t.FindHeader(&b.Hash)
		if !ok {
			return fmt.Errorf("the header of a block with a state, at height %d, is not known", b.Height)
		}
		have := m.t.State(l)
		good := have == want || live && have == m.durable.states[b]
		for _, s := range m.vague[b] {
			good = good || have == s
		}
		if !good {
			return fmt.Errorf("block at height %d is in state %d, want %d", b.Height, have, want)
		}
	}
	for _, b := range m.made {
		_, set := at.states[b]
		if l, ok := m.t.FindHeader(&b.Hash); ok && !set && len(m.vague[b]) == 0 && m.t.State(l) != tables.StateUnknown {
			return fmt.Errorf("block at height %d is in state %d, which it was never given", b.Height, m.t.State(l))
		}
	}
	for hash, b := range at.pending {
		if l, ok := m.t.FindHeader(&hash); ok {
			if _, archived := m.t.Archived(l); archived {
				continue
			}
		}
		if raw, ok := m.t.Pending(&hash); !ok || !bytes.Equal(raw, b.Raw) {
			return fmt.Errorf("a pending block at height %d is not kept: %v", b.Height, ok)
		}
	}
	return nil
}

// check proves the store, and compares it with the naive replay.
func (m *crashRun) check() error {
	if err := agrees(m.t.Live(), m.now.tip); err != nil {
		return err
	}
	if err := agrees(m.t.View(), m.now.tip); err != nil {
		return fmt.Errorf("readers' view: %w", err)
	}
	var strange error
	m.t.EachPending(func(hash, _ chain.Hash, _ int) bool {
		b := m.known[hash]
		if raw, ok := m.t.Pending(&hash); b == nil || !ok || !bytes.Equal(raw, b.Raw) {
			strange = fmt.Errorf("block %v is pending and was never given", hash)
		}
		return strange == nil
	})
	if strange != nil {
		return strange
	}
	r, err := m.t.Check(true, nil)
	if err != nil || !r.OK() {
		return fmt.Errorf("check: %v %v", r.Problems, err)
	}
	return nil
}

// finish goes on to the highest block that was ever made, as if nothing had happened, and closes.
func (m *crashRun) finish() error {
	if err := m.open(0); err != nil {
		return err
	}
	m.disk.SetWriteback(0)
	m.last = true
	path := m.goal.line()
	for !m.now.tip.on(m.goal) {
		if err := m.pop(); err != nil {
			return err
		}
	}
	for m.now.tip != m.goal {
		if err := m.confirm(path[m.now.tip.Height+1]); err != nil {
			return err
		}
	}
	if err := m.checkpoint(); err != nil {
		return err
	}
	if err := m.check(); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	if err := m.t.Close(); err != nil {
		return err
	}
	m.disk.SetReadOnly(true)
	t, err := tables.Open(m.disk, chain.Regtest(), tables.Options{})
	if err != nil {
		return fmt.Errorf("read-only: %w", err)
	}
	m.t = t
	if err := m.check(); err != nil {
		return fmt.Errorf("read-only: %w", err)
	}
	return t.Close()
}
