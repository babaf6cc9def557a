package node

import (
	"fmt"

	"stele/chain"
	"stele/node/blockfile"
	"stele/node/scripts"
	"stele/store"
	"stele/tables"
	"stele/tables/confirm"
	"stele/validate"
	"stele/validate/script"
)

// job is one block to be prepared.
type job struct {
	l        tables.HeaderLink // none: its header waits for its parent; then prepare tells the hash
	body     uint32
	place    blockfile.Place
	hash     chain.Hash
	context  validate.Place
	placed   bool              // context is known
	mtp      uint32            // of its header, valid where context is
	assumed  bool              // its scripts are not run
	listed   bool              // what it spends and makes is listed for the set of unspent outputs
	archived bool              // it was confirmed before, on a branch that was left: it is pushed as it stands
	first    tables.OutputLink // of an archived block: its first output
	view     *tables.View      // of an archived block that is to be rebuilt from its rows, as the set has to be told; else nil
	raw      []byte            // its bytes where they are in memory already, else nil
}

// slot is a block in the window: a job, and what was made of it on the way. Its buffers are reused by the next block.
type slot struct {
	job
	own     []byte // copy of pending bytes, which a checkpoint may move, or a block rebuilt
	block   chain.Block
	txids   []chain.Hash
	rows    tables.Rows
	verdict validate.Verdict
	decodes bool  // its bytes are a block
	fault   error // reading it failed: nothing is known of the block

	work    confirm.Work
	taken   bool          // by confirm, which has to be told how it ended
	refused error         // a fault of confirm, if this was the first block that it did not take
	running scripts.Block // valid while started
	started bool
	sound   bool   // amounts, fees and signature operations; valid when what was started is done
	amounts func() // finds that out; made once
}

// keep copies bytes that hold until the next checkpoint only.
func (s *slot) keep() {
	if s.raw != nil && s.place.File == inPending {
		s.own = append(s.own[:0], s.raw...)
		s.raw = s.own
	}
}

// preparer does all that a block needs before its turn comes and that does not depend on the blocks below it, but for
// their headers. One to a goroutine.
type preparer struct {
	p       *chain.Params
	read    func(p blockfile.Place, dst []byte) ([]byte, error)
	scratch validate.Scratch
	engine  *script.Engine // for the signatures of signet's blocks
	tx      script.Tx
}

func newPreparer(
	p *chain.Params, v script.Verifier, read func(blockfile.Place, []byte) ([]byte, error),
) preparer {
	return preparer{p: p, read: read, engine: script.NewEngine(v)}
}

// prepare reads the block of a slot into buf, if it is not in memory, decodes, checks and encodes it. It returns what
// is left of buf. Nothing is allocated once the buffers have grown.
func (p *preparer) prepare(s *slot, buf []byte) []byte {
	s.verdict, s.decodes, s.fault = pass, false, nil
	if s.archived {
		if s.fault = s.rebuild(); s.fault == nil && s.placed {
			s.fill()
		}
		return buf
	}
	if s.raw == nil {
		n := int(s.place.Len)
		if s.raw, s.fault = p.read(s.place, buf[:0:n]); s.fault != nil {
			return buf
		}
		buf = buf[n:]
	}
	if h, err := chain.ParseHeader(s.raw); err == nil {
		hash := h.Hash()
		if s.l == none {
			s.hash = hash
		}
		s.decodes = hash == s.hash && s.block.Decode(s.raw) == nil
	}
	if !s.decodes {
		s.verdict.Reason = reasonEncoding
		return buf
	}
	s.txids = s.block.Txids(s.txids[:0])
	if s.verdict = p.check(s); s.verdict.OK() {
		if s.fault = s.rows.Encode(&s.block, s.txids); s.fault == nil && s.placed {
			s.fill()
		}
	}
	return buf
}

// fill makes a block ready for confirm.
func (s *slot) fill() {
	w := &s.work
	w.Link, w.Block, w.Txids, w.Place, w.MTP = s.l, &s.block, s.txids, s.context, s.mtp
	w.Archived, w.FirstOut = s.archived, s.first
	if s.listed {
		w.Prepare()
	}
}

// rebuild makes an archived block from its rows, where somebody has to see it.
func (s *slot) rebuild() (err error) {
	if s.view == nil {
		return nil
	}
	if s.own, _, err = s.view.AppendBlock(s.own[:0], s.l); err != nil {
		return err
	}
	s.raw = s.own
	if err = s.block.Decode(s.raw); err != nil {
		return &store.Damaged{Name: "archive", What: fmt.Sprintf("block %v does not decode: %v", s.hash, err)}
	}
	s.txids = s.block.Txids(s.txids[:0])
	return nil
}

// check asks the rules of the phases check and accept. A block whose header has no place in the tree yet is asked for
// its weight, too, though that is one for accept: rows are made for what the weight bounds.
func (p *preparer) check(s *slot) validate.Verdict {
	v := validate.Signet(p.p, &s.hash, &s.block, s.txids, &p.scratch, p.signed)
	if v.OK() {
		v = validate.Check(p.p, &s.block, s.txids, &p.scratch)
	}
	switch {
	case !v.OK():
		return v
	case s.placed:
		return validate.Accept(&s.context, &s.block, s.txids, &p.scratch)
	}
	return validate.Weight(&s.block)
}

// signed runs the scripts of the transaction that carries the signature of a signet block.
func (p *preparer) signed(tx *chain.Block, coin *chain.Coin) bool {
	p.tx.Reset(tx, 0, []chain.Coin{*coin})
	return p.engine.Verify(&p.tx, 0, script.P2SH|script.Witness|script.DerSig|script.NullDummy) == script.OK
}
