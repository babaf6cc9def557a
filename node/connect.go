package node

import (
	"fmt"
	"slices"

	"stele/chain"
	"stele/node/scripts"
	"stele/tables"
	"stele/validate"
	"stele/validate/script"
)

// context is where the block of header l stands, for the rules that ask for it.
func (m *importer) context(l tables.HeaderLink, hash *chain.Hash) validate.Place {
	row := m.t.Header(l)
	h := m.t.WireHeader(l)
	parent, _ := row.Parent() // genesis is archived with the store
	return validate.NewPlace(m.t.Params(), &h, hash, validate.Parent{
		Height: row.Height() - 1, MTP: m.t.Header(parent).MTP(),
	})
}

// confirmed judges the block of a slot, whose turn it is, by all rules that prepare could not ask, and confirms it when
// it breaks none: archives and pushes it. A block that is archived already has been through all of this, with
// the same blocks below it.
//
// The store is changed last, so a block that fails has never been seen by anyone.
func (m *importer) confirmed(s *slot) (validate.Verdict, error) {
	if s.archived {
		return pass, m.t.Push(s.l)
	}
	v := m.confirm.Decide(s.l, &s.block, s.txids)
	if v.Reason == validate.ReasonBIP30 {
		return v, nil
	}
	coins, err := m.confirm.Coins(&s.block)
	if err != nil {
		return pass, err
	}
	flags := script.FlagsAt(m.t.Params(), s.context.Height, &s.hash)
	ok := v.OK()
	if ok {
		ok, err = m.connect(s, coins, flags)
	}
	switch {
	case err != nil:
		return pass, err
	case !ok:
		return m.judge(s, coins, flags)
	}
	return pass, m.confirm.Commit(s.l, &s.rows)
}

// connect runs the scripts of the block's inputs on the workers, and judges its amounts meanwhile.
func (m *importer) connect(s *slot, coins []chain.Coin, flags script.Flags) (ok bool, err error) {
	if m.assumes(s.l) {
		m.report.Assumed++
		_, v := validate.Connect(&s.context, &s.block, s.txids, coins, m.mtpAt)
		return v.OK(), nil
	}
	m.scripts.Start(&m.running, &s.block, coins, flags)
	_, v := validate.Connect(&s.context, &s.block, s.txids, coins, m.mtpAt)
	m.watch.lap(stageConfirm)
	failure, err := m.scripts.Wait(m.ctx, &m.running)
	m.watch.lap(stageScripts)
	if err != nil {
		return false, errStopped
	}
	return v.OK() && failure.OK(), nil
}

// mtpAt is the median time past of the block at a height of the chain that the block in hand stands on.
func (m *importer) mtpAt(height uint32) uint32 {
	l, _ := m.t.Live().HeaderAt(height)
	return m.t.Header(l).MTP()
}

// judge repeats the rules of a block that broke one, in Core's order, and names the first. Where it finds none, what
// the workers said was wrong: that is a fault of ours, and no verdict on the block.
func (m *importer) judge(s *slot, coins []chain.Coin, flags script.Flags) (validate.Verdict, error) {
	found := len(coins) // where a prevout is missing, the coins end before it
	coins = slices.Grow(coins, len(s.block.Ins)-found)[:len(s.block.Ins)]
	engine, tx, ready := script.NewEngine(m.o.Verifier), new(script.Tx), -1
	c := &validate.Case{
		Coins:   coins,
		Missing: func(in int) bool { return in == found },
		MTPAt:   m.mtpAt,
		Script: func(position, input int) string {
			if t := &s.block.Txs[position]; ready != position {
				tx.Reset(&s.block, position, coins[t.FirstIn:][:t.Ins])
				ready = position
			}
			if err := engine.Verify(tx, input, flags); err != script.OK {
				return err.String()
			}
			return ""
		},
	}
	if m.assumes(s.l) {
		c.Script = nil
	}
	v := validate.Judge(&s.context, &s.block, s.txids, c)
	if v.OK() {
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
