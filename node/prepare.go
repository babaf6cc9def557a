package node

import (
	"stele/chain"
	"stele/node/blockfile"
	"stele/tables"
	"stele/validate"
)

// job is one block to be prepared.
type job struct {
	l        tables.HeaderLink // none: its header waits for its parent; then prepare tells the hash
	body     uint32
	place    blockfile.Place
	hash     chain.Hash
	archived bool   // nothing to do: it is pushed as it stands
	raw      []byte // its bytes where they are in memory already, else nil
}

// slot is a block in the window: a job, and what a worker made of it. Its buffers are reused by the next block.
type slot struct {
	job
	own     []byte // copy of pending bytes, which a checkpoint may move
	block   chain.Block
	txids   []chain.Hash
	rows    tables.Rows
	verdict validate.Verdict
	decodes bool  // its bytes are a block
	fault   error // reading it failed: nothing is known of the block
}

// keep copies bytes that hold until the next checkpoint only.
func (s *slot) keep() {
	if s.raw != nil && s.place.File == inPending {
		s.own = append(s.own[:0], s.raw...)
		s.raw = s.own
	}
}

// preparer does all that a block needs before its turn comes and that does not depend on it. One to a goroutine.
type preparer struct {
	p       *chain.Params
	read    func(p blockfile.Place, dst []byte) ([]byte, error)
	scratch validate.Scratch
}

// prepare reads the block of a slot into buf, if it is not in memory, decodes, checks and encodes it. It returns what
// is left of buf. Nothing is allocated once the buffers have grown.
func (p *preparer) prepare(s *slot, buf []byte) []byte {
	s.verdict, s.decodes, s.fault = validate.Verdict{Tx: -1, Input: -1}, false, nil
	if s.archived {
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
	if s.verdict = validate.Check(p.p, &s.block, s.txids, &p.scratch); !s.verdict.OK() {
		return buf
	}
	if s.verdict = validate.Weight(&s.block); s.verdict.OK() {
		s.fault = s.rows.Encode(&s.block, s.txids)
	}
	return buf
}
