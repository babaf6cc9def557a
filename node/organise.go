package node

import (
	"errors"

	"stele/chain"
	"stele/node/blockfile"
	"stele/tables"
	"stele/validate"
)

var (
	// errTurn ends the run along a branch that turned out not to go on: another one has to be chosen.
	errTurn = errors.New("the branch ends early")
	// errStopped ends an import whose context was cancelled.
	errStopped = errors.New("stopped")
)

// record takes one record of the input: its header goes to the tree, and its body to its header.
func (m *writer) record(h *chain.Header, place blockfile.Place) error {
	hash := h.Hash()
	m.report.Records++
	_, err := m.take(h, &hash, m.bodies.add(place))
	return err
}

// take puts a header and its body to the tree, and then, if its fate is known now, those that waited for it.
func (m *writer) take(h *chain.Header, hash *chain.Hash, n uint32) (fate, error) {
	f, err := m.place(h, hash, n)
	if err != nil || !m.decides(f, hash) {
		return f, err
	}
	m.waiters = m.tree.waiting.take(m.waiters[:0], hash)
	for i := 0; i < len(m.waiters); i++ {
		w := m.waiters[i]
		f, err := m.place(&w.header, &w.hash, w.body)
		if err != nil {
			return f, err
		}
		if m.decides(f, &w.hash) {
			m.waiters = m.tree.waiting.take(m.waiters, &w.hash)
		}
	}
	return f, nil
}

// decides reports whether the fate of a header decides that of its children: it is in the tree now, or will never be.
func (m *writer) decides(f fate, hash *chain.Hash) bool {
	if f == refused || f == derived {
		_, never := m.tree.refused[*hash]
		return never
	}
	return f == added
}

// place puts one header and its body to the tree.
func (m *writer) place(h *chain.Header, hash *chain.Hash, n uint32) (fate, error) {
	l, f, v, err := m.tree.accept(h, hash)
	if err != nil {
		return f, err
	}
	switch f {
	case waits:
		m.tree.waiting.add(h, hash, n)
	case refused:
		m.report.reject(hash, m.tree.heightUnder(&h.Prev), v.Reason)
		if m.bodies.all[n].place.File != inPending || v.Condemns {
			m.lose(hash, n)
		} // else it is tried again by a later import
	case derived:
		if m.bodies.all[n].fresh() {
			m.report.Descendants++
		}
		m.lose(hash, n)
	case known, added:
		m.attach(l, hash, n)
	}
	return f, nil
}

// lose forgets a body that has no header in the tree.
func (m *writer) lose(hash *chain.Hash, n uint32) {
	m.letGo(n)
	if m.bodies.all[n].place.File == inPending {
		m.dropPending(hash, n)
	}
	m.bodies.drop(n)
}

func (m *writer) dropPending(hash *chain.Hash, n uint32) {
	m.t.DropPending(hash)
	m.pending -= int64(m.bodies.all[n].place.Len)
}

// attach gives body n to a header that is in the tree.
func (m *writer) attach(l tables.HeaderLink, hash *chain.Hash, n uint32) {
	v, b := &m.tree.vertices[l], &m.bodies.all[n]
	switch {
	case b.place.File == gone:
	case v.invalid:
		if b.fresh() {
			m.countInvalid(l, hash)
		}
		m.lose(hash, n)
	case m.archivedAs(l, b.place.Len):
		m.report.Skipped++
		m.letGo(n)
		m.bodies.undo(n)
	default:
		// Also where the block is archived with another length: then this record is looked at with those left over.
		m.bodies.attach(v, l, n)
		m.tree.settle(l)
	}
}

// countInvalid counts a record of a block that is invalid by what is known from an earlier import, or from this one.
func (m *writer) countInvalid(l tables.HeaderLink, hash *chain.Hash) {
	v := &m.tree.vertices[l]
	switch {
	case !m.t.State(l).Invalid():
		m.report.Descendants++
	case v.listed:
		m.report.Skipped++
	default:
		v.listed = true
		m.report.reject(hash, int64(v.height), validate.ReasonDuplicateInvalid)
	}
}

// archivedAs reports whether the block of l is archived, and has so many wire bytes.
func (m *writer) archivedAs(l tables.HeaderLink, size uint32) bool {
	b, ok := m.t.Live().Block(l)
	return ok && b.Size == size
}

// organise moves the chain to the best branch, until it is there.
func (m *writer) organise() error {
	for {
		if err := m.arrangeCoins(); err != nil {
			return err
		}
		if err := m.doQuiet(); err != nil {
			return err
		}
		target, ok := m.tree.target()
		if !ok {
			return nil
		}
		err := m.follow(target)
		if tip, _ := m.t.Tip(); m.home != none && (m.tree.vertices[m.home].invalid || !m.moreWork(m.home, tip)) {
			m.home = none
		}
		if err == errFull {
			err = m.dropCoins(err)
		}
		if err != nil && err != errTurn {
			return err
		}
	}
}

// follow pops down to where a branch leaves the chain, and confirms the branch's blocks.
func (m *writer) follow(target tables.HeaderLink) error {
	tip, _ := m.t.Tip()
	base := m.tree.fork(tip, target)
	r := &m.route
	r.m, r.path, r.at, r.failed = m, m.tree.path(r.path[:0], base, target), 0, nil
	r.halted.Store(false)
	if m.total = 0; m.batch == nil {
		m.total = m.done + m.bytesOf(r.path)
	}
	if tip != base && !m.tree.vertices[tip].invalid && (m.home == none || m.moreWork(tip, m.home)) {
		m.home = tip
	}
	if err := m.popTo(base); err != nil {
		return err
	}
	if err := r.look(); err != nil {
		return err
	}
	err := m.window.run(r, m.coins != nil)
	if err != errJudge {
		return err
	}
	v, err := m.judge(r.failed)
	if err != nil {
		return err
	}
	return m.condemn(r.failed, v)
}

// look makes the archived blocks of the path readable for the workers, where the set has to be told of them.
func (r *route) look() (err error) {
	r.view = nil
	if r.m.coins == nil {
		return nil
	}
	for _, l := range r.path {
		if _, ok := r.m.t.Archived(l); ok {
			r.view, err = r.m.t.Snapshot()
			return err
		}
	}
	return nil
}

// popTo takes blocks off the chain until base is its tip.
func (m *writer) popTo(base tables.HeaderLink) error {
	for {
		if tip, _ := m.t.Tip(); tip == base {
			return nil
		}
		if m.stopped() {
			return errStopped
		}
		if err := m.confirm.Pop(); err != nil {
			return fullSet(err)
		}
		m.report.Popped++
		if err := m.lap(); err != nil {
			return err
		}
	}
}

func (m *writer) moreWork(a, b tables.HeaderLink) bool {
	return m.t.Header(a).Work().Cmp(m.t.Header(b).Work()) > 0
}

// jobOf describes the block of a header, from its oldest body.
func (m *writer) jobOf(l tables.HeaderLink, j *job) {
	row := m.t.Header(l)
	*j = job{l: l, hash: row.Hash(), mtp: row.MTP()}
	j.context, j.placed, j.listed = m.context(l, &j.hash), true, m.coins != nil
	if b, ok := m.t.Live().Block(l); ok {
		j.archived, j.first, j.view = true, b.FirstOut, m.route.view
		return
	}
	j.assumed = m.assumes(l)
	if n, ok := m.bodies.first(&m.tree.vertices[l]); ok {
		m.locate(n, j)
	}
}

// locate fills in where the bytes of body n are.
func (m *writer) locate(n uint32, j *job) {
	j.body, j.place = n, m.bodies.all[n].place
	switch j.place.File {
	case inBatch:
		j.raw = m.batch.bytes(j.place)
	case inMemory:
		j.raw = m.held[n].raw
	case inPending:
		raw, ok := m.t.Pending(&j.hash)
		if j.raw = raw; !ok {
			j.raw = []byte{} // the tables gave it up for others: no block
		}
	}
}

// bodyFailed puts on record that a body breaks a rule, and forgets it; its header is not to blame. A record that does
// not even decode may have a damaged length and cover others, which are looked for.
func (m *writer) bodyFailed(s *slot) error {
	place := s.place
	if place.File == inPending {
		m.report.Lost++
	} else {
		m.report.reject(&s.hash, m.heightOf(s.l), s.verdict.Reason)
	}
	m.blame(s, s.verdict, true)
	m.forget(s.l, s.body)
	if s.decodes || place.File >= gone {
		return nil
	}
	return m.resync(place)
}

func (m *writer) heightOf(l tables.HeaderLink) int64 {
	if l == none {
		return -1
	}
	return int64(m.tree.vertices[l].height)
}

// forget takes a body from its header, and from the tables if it is pending. Where it was the last one, and the
// block is not archived, the header's branch is not complete any more.
func (m *writer) forget(l tables.HeaderLink, n uint32) {
	m.letGo(n)
	if l == none {
		m.bodies.drop(n)
		return
	}
	v := &m.tree.vertices[l]
	if m.bodies.all[n].place.File == inPending {
		hash := m.t.Header(l).Hash()
		m.dropPending(&hash, n)
	}
	m.bodies.detach(v, n)
	if _, archived := m.t.Archived(l); v.body == 0 && !archived {
		m.tree.withdraw(l)
	}
}

// condemn marks a block as invalid for good, and with it all that stands on it.
func (m *writer) condemn(s *slot, v validate.Verdict) error {
	m.report.reject(&s.hash, m.heightOf(s.l), v.Reason)
	m.blame(s, v, false)
	if !s.archived {
		m.forget(s.l, s.body)
	}
	if err := m.t.SetState(s.l, tables.StateInvalid); err != nil {
		return err
	}
	m.tree.invalidate(s.l, m.forgetStored)
	if m.below(s.l) {
		return &ConsensusFailure{Hash: s.hash, Height: m.tree.vertices[s.l].height, Reason: v.Reason}
	}
	return errTurn
}

// pushed counts a block that was confirmed, and forgets where it came from.
func (m *writer) pushed(s *slot) {
	m.done += int64(s.place.Len)
	if s.archived {
		return
	}
	r, size := &m.report, len(s.raw)
	if s.assumed {
		r.Assumed++
	}
	r.Blocks++
	r.Txs += uint64(len(s.block.Txs))
	r.Inputs += uint64(len(s.block.Ins))
	r.Outputs += uint64(len(s.block.Outs))
	r.WireBytes += uint64(size)
	m.forget(s.l, s.body)
	m.forgetStored(s.l)
}

// forgetStored forgets what the tables and memory keep of a block that is archived, or will not be.
func (m *writer) forgetStored(l tables.HeaderLink) {
	for {
		n, ok := m.bodies.stored(&m.tree.vertices[l])
		if !ok {
			return
		}
		m.forget(l, n)
	}
}
