package node

import (
	"stele/node/blockfile"
	"stele/tables"
)

// parkable is what may be pending before an import adds to it: less than the tables' own budget, at which they weigh
// every new block against all others.
func (m *writer) parkable() int64 { return m.t.PendingBudget() / 4 * 3 }

// leftovers puts away the bodies that no branch took: those that are not needed are counted, those of other branches
// and of unknown parents become pending blocks. again says that records came to light inside others, so that the
// chain is to be organised once more.
func (m *writer) leftovers() (again bool, err error) {
	end := len(m.bodies.all)
	rest := &leftover{m: m, at: m.bodies.settled, end: end}
	m.full = false
	m.stage = stagePark
	err = m.window.run(rest, false)
	m.watch.lap(stagePark)
	m.stage = stageConfirm
	m.bodies.settled = end
	return len(m.bodies.all) > end, err
}

// leftover is the errand of a run along the bodies that were not taken.
type leftover struct {
	plain
	m       *writer
	at, end int
}

func (r *leftover) next(j *job) bool {
	for r.at < r.end {
		n := uint32(r.at)
		r.at++
		if r.m.leftover(n, j) {
			return true
		}
	}
	return false
}

func (r *leftover) turn(s *slot) error { return r.m.park(s) }

// leftover decides about body n; true when it has to be read, as the job says.
func (m *writer) leftover(n uint32, j *job) bool {
	b := m.bodies.all[n]
	if !b.fresh() {
		return false
	}
	*j = job{l: b.l}
	if b.l != none {
		_, archived := m.t.Archived(b.l)
		_, pending := m.bodies.pending(&m.tree.vertices[b.l])
		switch invalid := m.tree.vertices[b.l].invalid; {
		case invalid && m.t.State(b.l).Invalid(), m.archivedAs(b.l, b.place.Len), pending:
			m.report.Skipped++
			m.forget(b.l, n)
			return false
		case invalid:
			m.report.Descendants++
			m.forget(b.l, n)
			return false
		case !archived && !m.tree.wanted(b.l):
			m.drop(b.l, n)
			return false
		}
		j.hash = m.t.Header(b.l).Hash()
		if !archived {
			j.context, j.placed = m.context(b.l, &j.hash), true
		}
	}
	if m.full {
		m.drop(b.l, n)
		return false
	}
	m.locate(n, j)
	return true
}

// drop counts a body that is not kept.
func (m *writer) drop(l tables.HeaderLink, n uint32) {
	m.report.Dropped++
	m.forget(l, n)
}

// park is the turn of one such body: where it is in order, it becomes a pending block.
func (m *writer) park(s *slot) error {
	if m.stopped() {
		return errStopped
	}
	if s.fault != nil {
		return s.fault
	}
	if m.bodies.all[s.body].place.File == gone {
		return nil // one below it was condemned meanwhile
	}
	if s.verdict.Condemns {
		if err := m.condemn(s, s.verdict); err != errTurn {
			return err
		}
		return nil
	}
	if !s.verdict.OK() {
		return m.bodyFailed(s)
	}
	archived := false
	if s.l != none {
		_, archived = m.t.Archived(s.l)
	}
	if _, ok := m.t.Pending(&s.hash); ok || archived {
		m.report.Skipped++
		m.forget(s.l, s.body)
		return nil
	}
	kept, size := false, uint32(len(s.raw))
	if m.full = m.full || m.pending+int64(size) > m.parkable(); !m.full {
		var err error
		if kept, err = m.t.PutPending(s.raw); err != nil {
			return err
		}
	}
	if !kept {
		m.full = true
		m.drop(s.l, s.body)
		return nil
	}
	m.letGo(s.body)
	m.pending += int64(size)
	m.report.Parked++
	m.bodies.all[s.body].place = blockfile.Place{File: inPending, Len: size}
	return nil
}
