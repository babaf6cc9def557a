package script

import (
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"hash"

	"stele/chain"
)

// Widths in bytes of what transactions and signature hashes are made of.
const (
	outpointSize = chain.HashSize + 4
	sequenceSize = 4
	valueSize    = 8
	blankSize    = outpointSize + 1 + sequenceSize // an input whose script is empty
)

// stateStride is how many bytes of a blank form lie between two saved SHA-256 states; a multiple of its 64-byte blocks. A
// hash that begins at a state repeats at most one stride of what inputs before it share.
const stateStride = 512

// digest is a SHA-256 whose state can be saved and taken up again without allocating.
type digest interface {
	hash.Hash
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

func newDigest() digest { return sha256.New().(digest) }

// stateSize is the length of a saved state. Its contents are the library's own business.
var stateSize = len(appendState(nil, newDigest()))

// appendState saves d. The error that the interface has is for hashes that cannot.
func appendState(dst []byte, d digest) []byte {
	dst, _ = d.AppendBinary(dst)
	return dst
}

// Tx is one transaction made ready for the scripts of its inputs: the hashes and bytes that they share. It is read-only
// from one Reset to the next, so that several goroutines may check inputs of it, each with its own Engine. The zero Tx
// is ready for Reset.
//
// Its blank form is the transaction without witness and with empty input scripts, in one run. A legacy signature hash
// with SIGHASH_ALL is the form with one script put in at the end of its own outpoint, and four bytes after it:
//
//	| version 4 | count | outpoint 36 | 00 | sequence 4 | ... | count | outputs | lock time 4 |
//	                    first                                 outs    outBody
//
// states are SHA-256 states after every stateStride bytes of the form, up to the last input that may need one; there are
// none where fewer than two inputs share bytes.
type Tx struct {
	block *chain.Block
	row   *chain.Tx
	ins   []chain.In   // of this transaction, as outputs and coins are
	outs  []chain.Out  //
	coins []chain.Coin // the caller's

	form     []byte
	first    int // offset in form of the first outpoint
	outCount int // of the count of outputs
	outBody  int // of the first output
	outShift int // what to add to an output's offset in Raw to have that in form

	states []byte
	digest digest

	shared  sharedHashes
	scratch []byte
}

// sharedHashes are what inputs of later kinds commit to in common (BIP143, BIP341). Those of BIP143 are the SHA-256 of
// single ones that BIP341 has. Which of them are set is in has.
type sharedHashes struct {
	has                                         needs
	prevouts, sequences, outputs                [32]byte // single
	prevoutsTwice, sequencesTwice, outputsTwice [32]byte // BIP143
	amounts, scripts                            [32]byte // single, BIP341
}

// needs tells which hashes some input of a transaction can ask for.
type needs uint8

const (
	needLegacy needs = 1 << iota
	needWitness
	needTaproot
)

// Reset makes t stand for transaction tx of b; coins has what each of its inputs spends, in order. Both are held until the
// next Reset and must not change. A coinbase has no coins and is never Reset. Nothing is allocated once the buffers have
// grown to the largest transaction.
//
// Hashes are computed for those kinds of inputs only that the transaction has. What decides it is the coin and whether
// there is a witness, not flags: fewer rules only mean fewer questions.
func (t *Tx) Reset(b *chain.Block, tx int, coins []chain.Coin) {
	row := &b.Txs[tx]
	t.block, t.row, t.coins = b, row, coins
	t.ins = b.Ins[row.FirstIn:][:row.Ins]
	t.outs = b.Outs[row.FirstOut:][:row.Outs]
	t.layForm()

	t.shared.has = 0
	t.states = t.states[:0]
	legacy, last := 0, 0
	for in := range t.ins {
		need := t.needs(in)
		t.shared.has |= need
		if need&needLegacy != 0 {
			legacy, last = legacy+1, in
		}
	}
	if legacy > 1 {
		t.saveStates(t.scriptAt(last))
	}
	if t.shared.has&(needWitness|needTaproot) != 0 {
		t.share()
	}
}

// layForm writes the blank form.
func (t *Tx) layForm() {
	raw := t.block.Raw
	form := binary.LittleEndian.AppendUint32(t.form[:0], t.row.Version)
	form = chain.AppendCompactSize(form, uint64(len(t.ins)))
	t.first = len(form)
	outs := t.row.Body + 1 // where outputs begin in Raw; right below for a transaction without inputs
	for i := range t.ins {
		in := &t.ins[i]
		form = append(form, raw[in.Prevout:][:outpointSize]...)
		form = append(form, 0)
		form = binary.LittleEndian.AppendUint32(form, in.Sequence)
		outs = in.Script.Off + in.Script.Len + sequenceSize
	}
	t.outCount = len(form)
	t.outBody = t.outCount + chain.CompactSizeLen(uint64(len(t.outs)))
	t.outShift = t.outCount - int(outs)
	form = append(form, raw[outs:t.row.Wit]...)
	t.form = binary.LittleEndian.AppendUint32(form, t.row.LockTime)
}

// scriptAt is the offset in the form of the byte that stands for the script of input in.
func (t *Tx) scriptAt(in int) int { return t.first + in*blankSize + outpointSize }

// output is output i as it is on the wire.
func (t *Tx) output(i int) []byte {
	script := t.outs[i].Script
	end := t.outShift + int(script.Off+script.Len)
	size := valueSize + chain.CompactSizeLen(uint64(script.Len)) + int(script.Len)
	return t.form[end-size : end]
}

// allOutputs are the outputs without their count.
func (t *Tx) allOutputs() []byte { return t.form[t.outBody : len(t.form)-4] }

// saveStates saves the states for hashes that leave the form at end at the latest.
func (t *Tx) saveStates(end int) {
	if end < stateStride {
		return
	}
	if t.digest == nil {
		t.digest = newDigest()
	}
	t.digest.Reset()
	for at := stateStride; at <= end; at += stateStride {
		t.digest.Write(t.form[at-stateStride : at])
		t.states = appendState(t.states, t.digest)
	}
}

// state is the last saved state at or before byte end of the form, and where that is; nil is the beginning.
func (t *Tx) state(end int) (state []byte, at int) {
	n := min(end/stateStride, len(t.states)/stateSize)
	if n == 0 {
		return nil, 0
	}
	return t.states[(n-1)*stateSize:][:stateSize], n * stateStride
}

// share computes the hashes of sharedHashes that are needed.
func (t *Tx) share() {
	s, gather := &t.shared, t.scratch[:0]
	for i := range t.ins {
		gather = append(gather, t.block.Raw[t.ins[i].Prevout:][:outpointSize]...)
	}
	s.prevouts = sha256.Sum256(gather)
	gather = gather[:0]
	for i := range t.ins {
		gather = binary.LittleEndian.AppendUint32(gather, t.ins[i].Sequence)
	}
	s.sequences = sha256.Sum256(gather)
	s.outputs = sha256.Sum256(t.allOutputs())
	if s.has&needWitness != 0 {
		s.prevoutsTwice = sha256.Sum256(s.prevouts[:])
		s.sequencesTwice = sha256.Sum256(s.sequences[:])
		s.outputsTwice = sha256.Sum256(s.outputs[:])
	}
	if s.has&needTaproot != 0 {
		gather = gather[:0]
		for i := range t.coins {
			gather = binary.LittleEndian.AppendUint64(gather, uint64(t.coins[i].Value))
		}
		s.amounts = sha256.Sum256(gather)
		gather = gather[:0]
		for i := range t.coins {
			gather = chain.AppendCompactSize(gather, uint64(len(t.coins[i].Script)))
			gather = append(gather, t.coins[i].Script...)
		}
		s.scripts = sha256.Sum256(gather)
	}
	t.scratch = gather
}

// needs tells which kinds of signature hash input in can ask for, whatever the flags. Later kinds need a witness: a
// program without one fails or is not run. A legacy hash is out of the question only where no legacy script holds a
// check: the coin is a witness program and the input's script is empty, or the coin is P2SH and the input's script is
// one push of a witness program.
func (t *Tx) needs(in int) (need needs) {
	coin, script := t.coins[in].Script, t.scriptSig(in)
	if t.ins[in].Items > 0 {
		need = needWitness
		if isTaproot(coin) {
			need = needTaproot
		}
	}
	switch {
	case len(script) == 0 && isProgram(coin):
	case len(script) > 0 && int(script[0]) == len(script)-1 && isProgram(script[1:]) && payToScriptHash(coin):
	default:
		need |= needLegacy
	}
	return need
}

// scriptSig is the script of input in.
func (t *Tx) scriptSig(in int) []byte { return t.block.Bytes(t.ins[in].Script) }

// isTaproot tells whether an output's script is OP_1 and a push of 32 bytes (BIP341).
func isTaproot(script []byte) bool {
	const size = 2 + 32
	return len(script) == size && script[0] == op1 && script[1] == 32
}

func isProgram(script []byte) bool {
	_, _, ok := witnessProgram(script)
	return ok
}
