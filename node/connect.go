package node

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"stele/chain"
	"stele/node/scripts"
	"stele/tables"
	"stele/tables/confirm"
	"stele/utxo"
	"stele/validate"
	"stele/validate/script"
)

var (
	// errJudge ends a run at a block that breaks a rule, which the judge has to name: route.failed.
	errJudge = errors.New("a block failed")
	// errFull ends a run for want of memory for the set of unspent outputs.
	errFull = errors.New("the set of unspent outputs does not fit into memory")
)

// route is the errand of a run along a branch: its blocks are confirmed, connected and finalised.
//
//	prepared ─ take ─▶ confirm.Take, window by window: coins; then scripts and amounts begin, on the workers of node/scripts
//	                       │ beside the writer where there is a set, which take alone looks at; else by the writer
//	         ─ done ─▶     scripts and amounts have ended
//	         ─ turn ─▶ confirm.Put: archived and pushed; or what is wrong with the block is put on record
//	         ─ back ─▶ confirm.Drop, newest first, of what had no turn
type route struct {
	m      *writer
	path   []tables.HeaderLink
	at     int
	view   *tables.View // of archived blocks on the path, where the set has to be told of them
	failed *slot        // see errJudge

	all   []*slot // scratch of take
	works []*confirm.Work

	halted atomic.Bool // nothing more is taken: a block was refused, or a turn failed
	took   atomic.Int64
}

func (r *route) next(j *job) bool {
	if r.at == len(r.path) && !r.m.extend(r) || r.m.coinsWait() || r.m.quietWait() {
		return false
	}
	r.m.jobOf(r.path[r.at], j)
	r.at++
	return true
}

func (r *route) take(group []*chunk) {
	start := time.Now()
	all, ws := r.all[:0], r.works[:0]
	for _, c := range group {
		for i := range c.slots[:c.n] {
			s := &c.slots[i]
			s.taken, s.refused = false, nil
			all = append(all, s)
		}
	}
	for _, c := range group {
		if c.fault != nil || r.halted.Load() {
			break
		}
		good := 0
		for good < c.n && c.slots[good].fault == nil && c.slots[good].verdict.OK() {
			ws = append(ws, &c.slots[good].work)
			good++
		}
		if good < c.n {
			break
		}
	}
	r.all, r.works = all, ws
	var n int
	var err error
	if len(ws) > 0 {
		n, err = r.m.confirm.Take(ws)
	}
	for _, s := range all[:n] {
		s.taken = true
	}
	if n < len(all) {
		all[n].refused = err
		r.halted.Store(true)
	}
	if group[0].beside {
		r.took.Add(int64(time.Since(start)))
		r.m.coinBytes.Store(r.m.coins.Bytes())
	}
	for _, s := range all[:n] {
		r.m.begin(s)
	}
}

// fewInputs is how many inputs a block has whose amounts are looked at sooner than they are handed to a worker.
const fewInputs = 2

// begin has the scripts of a block run, and its amounts looked at, as far as that is to be done.
func (m *writer) begin(s *slot) {
	s.sound = s.archived
	if s.archived {
		return
	}
	if s.amounts == nil {
		s.amounts = func() {
			_, v := validate.Connect(&s.context, &s.block, s.txids, s.work.Coins, nil)
			s.sound = v.OK()
		}
	}
	if skip := s.assumed || len(s.block.Txs) == 1; skip && len(s.block.Ins) <= fewInputs {
		s.amounts()
		return
	}
	s.started = true
	m.scripts.Start(&s.running, scripts.Job{
		Block: &s.block, Coins: s.work.Coins, Flags: m.flags(s), Skip: s.assumed, Aside: s.amounts,
	})
}

func (m *writer) flags(s *slot) script.Flags {
	return script.FlagsAt(m.t.Params(), s.context.Height, &s.hash)
}

func (r *route) done(s *slot) <-chan struct{} {
	if !s.taken || !s.started {
		return nil
	}
	return s.running.Done()
}

// turn finalises a block, or puts on record what is wrong with it.
func (r *route) turn(s *slot) error {
	m := r.m
	if s.started && s.taken {
		s.started = false
		s.sound = s.running.Result().OK() && s.sound
	}
	switch {
	case m.stopped():
		return errStopped
	case !s.taken:
		return r.notTaken(s)
	case !s.sound:
		r.failed = s
		return errJudge
	}
	m.watch.lap(m.stage)
	err := m.confirm.Put(&s.work, &s.rows)
	m.watch.lap(stageFinalise)
	if err != nil {
		return err
	}
	s.taken = false
	m.pushed(s)
	return nil
}

// notTaken is the turn of the first block that confirm did not take.
func (r *route) notTaken(s *slot) error {
	switch {
	case s.fault != nil:
		return s.fault
	case s.refused != nil:
		return fullSet(s.refused)
	case s.verdict.OK():
		r.failed = s
		return errJudge
	case s.verdict.Condemns:
		return r.m.condemn(s, s.verdict)
	}
	if err := r.m.bodyFailed(s); err != nil {
		return err
	}
	return errTurn // the branch may have another body of this block: then it is chosen again
}

func (r *route) halt() { r.halted.Store(true) }

// back takes blocks that had no turn out of confirm again, when nobody is at their scripts any more.
func (r *route) back(chunks []*chunk) (failed error) {
	r.each(chunks, func(s *slot) {
		if s.started {
			s.running.Cancel()
		}
	})
	r.each(chunks, func(s *slot) {
		if s.started {
			<-s.running.Done()
			s.running.Result()
			s.started = false
		}
	})
	r.each(chunks, func(s *slot) {
		if s.taken = false; failed == nil {
			failed = r.m.confirm.Drop(&s.work)
		}
	})
	return fullSet(failed)
}

// fullSet is errFull for want of memory for the set of unspent outputs, and every other error as it is.
func fullSet(err error) error {
	var full *utxo.FullError
	if errors.As(err, &full) {
		return errFull
	}
	return err
}

// each calls f for every block that was taken and had no turn, newest first.
func (r *route) each(chunks []*chunk, f func(s *slot)) {
	for n := len(chunks) - 1; n >= 0; n-- {
		c := chunks[n]
		for i := c.n - 1; i >= c.at; i-- {
			if s := &c.slots[i]; s.taken {
				f(s)
			}
		}
	}
}

// context is where the block of header l stands, for the rules that ask for it.
func (m *writer) context(l tables.HeaderLink, hash *chain.Hash) validate.Place {
	row := m.t.Header(l)
	h := m.t.WireHeader(l)
	parent, _ := row.Parent() // genesis is archived with the store
	return validate.NewPlace(m.t.Params(), &h, hash, validate.Parent{
		Height: row.Height() - 1, MTP: m.t.Header(parent).MTP(),
	})
}

// judge repeats the rules of a block that broke one, in Core's order, and names the first. Its parent is the tip, and
// nothing is in flight. Where it finds no rule, what was said of the block was wrong: that is a fault of ours, and no
// verdict on the block.
func (m *writer) judge(s *slot) (validate.Verdict, error) {
	found, err := m.confirm.Resolve(&s.work)
	if err != nil {
		return pass, err
	}
	engine, tx, ready, flags := script.NewEngine(m.o.Verifier), new(script.Tx), -1, m.flags(s)
	c := &validate.Case{
		Coins: found.Coins, Repeats: found.Repeats, MTPAt: m.confirm.MTPAt,
		Missing: func(in int) bool { return in == found.Missing },
		Script: func(position, input int) string {
			if t := &s.block.Txs[position]; ready != position {
				tx.Reset(&s.block, position, found.Coins[t.FirstIn:][:t.Ins])
				ready = position
			}
			if err := engine.Verify(tx, input, flags); err != script.OK {
				return err.String()
			}
			return ""
		},
	}
	if s.assumed {
		c.Script = nil
	}
	v := validate.Judge(&s.context, &s.block, s.txids, c)
	switch {
	case found.Err != nil && found.Err() != nil:
		return pass, found.Err()
	case v.OK():
		return v, fmt.Errorf("block %v failed in parallel and passes in sequence", s.hash)
	}
	return v, nil
}

// pass is the verdict on a block that breaks no rule.
var pass = validate.Verdict{Tx: -1, Input: -1}

// newScripts starts the workers that run scripts. Checks are put off where the verifier gains from groups.
func newScripts(o *ImportOptions) *scripts.Checker {
	_, groups := o.Verifier.(script.GroupVerifier)
	return scripts.New(scripts.Options{Verifier: o.Verifier, Threads: o.Threads, Deferred: groups})
}
