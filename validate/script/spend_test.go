package script_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"stele/chain"
	"stele/validate/script"
)

// spend is a transaction in pieces, which tests make and alter.
type spend struct {
	version, lock uint32
	ins           []input
	outs          []output
}

type input struct {
	txid    chain.Hash
	vout    uint32
	script  []byte
	seq     uint32
	witness [][]byte
	coin    chain.Coin // what it spends
}

type output struct {
	value  int64
	script []byte
}

// raw is the transaction on the wire: with marker and flag where a stack is not empty.
func (s *spend) raw() []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, s.version)
	witness := slices.ContainsFunc(s.ins, func(in input) bool { return len(in.witness) > 0 })
	if witness {
		b = append(b, 0, 1)
	}
	b = chain.AppendCompactSize(b, uint64(len(s.ins)))
	for i := range s.ins {
		in := &s.ins[i]
		b = le.AppendUint32(append(b, in.txid[:]...), in.vout)
		b = append(chain.AppendCompactSize(b, uint64(len(in.script))), in.script...)
		b = le.AppendUint32(b, in.seq)
	}
	b = chain.AppendCompactSize(b, uint64(len(s.outs)))
	for _, out := range s.outs {
		b = le.AppendUint64(b, uint64(out.value))
		b = append(chain.AppendCompactSize(b, uint64(len(out.script))), out.script...)
	}
	for i := range s.ins {
		if !witness {
			break
		}
		b = chain.AppendCompactSize(b, uint64(len(s.ins[i].witness)))
		for _, item := range s.ins[i].witness {
			b = append(chain.AppendCompactSize(b, uint64(len(item))), item...)
		}
	}
	return le.AppendUint32(b, s.lock)
}

// block decodes raw.
func (s *spend) block(tb testing.TB) *chain.Block {
	tb.Helper()
	return decodeTx(tb, s.raw())
}

func (s *spend) coins() []chain.Coin {
	coins := make([]chain.Coin, len(s.ins))
	for i := range coins {
		coins[i] = s.ins[i].coin
	}
	return coins
}

// clone copies what tests alter, down to the bytes.
func (s *spend) clone() *spend {
	c := *s
	c.ins, c.outs = slices.Clone(s.ins), slices.Clone(s.outs)
	for i := range c.ins {
		in := &c.ins[i]
		in.script, in.coin.Script = slices.Clone(in.script), slices.Clone(in.coin.Script)
		in.witness = slices.Clone(in.witness)
		for k := range in.witness {
			in.witness[k] = slices.Clone(in.witness[k])
		}
	}
	for i := range c.outs {
		c.outs[i].script = slices.Clone(c.outs[i].script)
	}
	return &c
}

// take is the transaction tx of b in pieces.
func take(b *chain.Block, tx int, coins []chain.Coin) *spend {
	t := &b.Txs[tx]
	s := &spend{version: t.Version, lock: t.LockTime}
	for i := range int(t.Ins) {
		in := &b.Ins[int(t.FirstIn)+i]
		txid, vout := b.Outpoint(int(t.FirstIn) + i)
		x := input{txid: *txid, vout: vout, script: b.Bytes(in.Script), seq: in.Sequence}
		if i < len(coins) {
			x.coin = coins[i]
		}
		for _, item := range b.Items[in.FirstItem:][:in.Items] {
			x.witness = append(x.witness, b.Bytes(item))
		}
		s.ins = append(s.ins, x)
	}
	for _, out := range b.Outs[t.FirstOut:][:t.Outs] {
		s.outs = append(s.outs, output{out.Value, b.Bytes(out.Script)})
	}
	return s
}

func decodeTx(tb testing.TB, raw []byte) *chain.Block {
	tb.Helper()
	b := new(chain.Block)
	if err := b.DecodeTx(raw); err != nil {
		tb.Fatalf("%x: %v", raw[:min(len(raw), 40)], err)
	}
	return b
}

// credit makes the pair of transactions that Core's script tests use, and gives the second, which spends the first's
// only output.
func credit(scriptSig, pubKey []byte, witness [][]byte, value int64) *spend {
	first := &spend{
		version: 1,
		ins:     []input{{vout: ^uint32(0), script: []byte{op0, op0}, seq: ^uint32(0)}},
		outs:    []output{{value, pubKey}},
	}
	return &spend{
		version: 1,
		ins: []input{{
			txid: chain.DoubleSHA256(first.raw()), script: scriptSig, seq: ^uint32(0), witness: witness,
			coin: chain.Coin{Value: value, Script: pubKey},
		}},
		outs: []output{{value: value}},
	}
}

// judge asks for verdicts in both modes, and fails the test where they differ.
type judge struct {
	v     *memo
	e     *script.Engine
	tx    script.Tx
	batch script.Batch

	inputs   int // judged, each in both modes
	deferred int // of which the deferred run alone decided
	rerun    int // the others
	checks   int // put off
}

func newJudge() *judge {
	v := &memo{real: backend(), known: map[script.Check]bool{}}
	return &judge{v: v, e: script.NewEngine(v)}
}

func (j *judge) reset(b *chain.Block, tx int, coins []chain.Coin) { j.tx.Reset(b, tx, coins) }

// take makes s the transaction that is judged.
func (j *judge) take(tb testing.TB, s *spend) {
	tb.Helper()
	j.reset(s.block(tb), 0, s.coins())
}

// verdict is the immediate one. The deferred one must agree with it: where the run failed for certain, by the same
// reason; where it passed and all that it assumed is true, by passing.
func (j *judge) verdict(tb testing.TB, in int, f script.Flags) script.Error {
	tb.Helper()
	want := j.e.Verify(&j.tx, in, f)
	j.batch.Reset()
	j.batch.Input = uint32(in)
	have, certain := j.e.Defer(&j.tx, in, f, &j.batch)
	j.inputs++
	j.checks += len(j.batch.Checks)
	all := true
	for i := range j.batch.Checks {
		if j.batch.Checks[i].Input != uint32(in) {
			tb.Errorf("input %d: a check of input %d", in, j.batch.Checks[i].Input)
		}
		all = j.batch.Checks[i].Run(j.v) && all
	}
	switch {
	case !certain || have == script.OK && !all:
		j.rerun++
		return want
	case have != want:
		tb.Errorf("input %d, flags %v: deferred %s, immediate %s", in, f.Names(), have.Name(), want.Name())
	}
	j.deferred++
	return want
}

// judgeSpend is the verdict over one input of s.
func (j *judge) judgeSpend(tb testing.TB, s *spend, in int, f script.Flags) script.Error {
	tb.Helper()
	j.take(tb, s)
	return j.verdict(tb, in, f)
}

// memo answers a question that was put before without the curve. Vectors ask the same ones under many flags.
type memo struct {
	real  script.Verifier
	known map[script.Check]bool
}

func (m *memo) Name() string { return m.real.Name() + ", remembered" }

func (m *memo) ask(c script.Check) bool {
	c.Input = 0
	answer, ok := m.known[c]
	if !ok {
		if len(m.known) == 1<<17 {
			clear(m.known)
		}
		answer = c.Run(m.real)
		m.known[c] = answer
	}
	return answer
}

func (m *memo) ECDSA(key []byte, rs *[64]byte, hash *[32]byte) bool {
	c := script.Check{Kind: script.KindECDSA, Size: uint8(len(key)), Sig: *rs, Hash: *hash}
	copy(c.Key[:], key)
	return m.ask(c)
}

func (m *memo) Schnorr(key *[32]byte, sig *[64]byte, hash *[32]byte) bool {
	c := script.Check{Kind: script.KindSchnorr, Size: 32, Sig: *sig, Hash: *hash}
	copy(c.Key[:], key[:])
	return m.ask(c)
}

func (m *memo) Tweak(out, internal, tweak *[32]byte, odd bool) bool {
	c := script.Check{Kind: script.KindTweak, Size: 32, Odd: odd, Hash: *tweak}
	copy(c.Key[:], out[:])
	copy(c.Sig[:], internal[:])
	return m.ask(c)
}
