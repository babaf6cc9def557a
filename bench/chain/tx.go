package chain

import (
	"encoding/binary"

	wire "stele/chain"
)

const (
	maxFanOut = 256     // outputs
	heaviest  = 100_000 // weight units of inputs at which a transaction gets no further one
)

// paying is an output that is being made.
type paying struct {
	value int64
	key   uint16
	kind  Kind
}

// made is a transaction of the block being made, in Source.plain; its inputs are Source.spends[first:first+n].
type made struct {
	at, end  int // of its bytes without witness
	outs     int // where the count of its outputs begins
	first, n int
	salt     uint64
	witness  bool
}

// ordinary adds a transaction that spends coins of the pool; false if no coin can be spent.
func (g *Source) ordinary() bool {
	n := g.mix.outputs.draw(g.rng)
	first := len(g.spends)
	if !g.spendSome(g.mix.inputs.draw(g.rng), ownFee+ownOutput*int64(n)) {
		return false
	}
	g.paid = g.paid[:0]
	change := g.rng.IntN(n)
	for i := range n {
		kind := Data
		if i == change || g.rng.IntN(1000) >= g.mix.data {
			kind = g.mix.someKind(g.rng)
		}
		g.paid = append(g.paid, paying{kind: kind})
	}
	total := int64(0)
	for i := first; i < len(g.spends); i++ {
		total += g.spends[i].value
	}
	size := 11 + 34*n + 70*(len(g.spends)-first) // about, in virtual bytes
	fee := min(total/4, int64(size*g.mix.rates.draw(g.rng)))
	g.split(total-fee, change)
	g.fees += fee
	g.stats.ordinary(g.height, g.spends[first:], g.paid)
	g.transaction(first)
	return true
}

// spendSome draws up to n coins, the first of which should have so much.
func (g *Source) spendSome(n int, worth int64) bool {
	weight, final := 0, g.mix.versions && g.rng.IntN(3) == 0
	for i := 0; i < n && weight < heaviest; i++ {
		at, ok := g.pool.choose(g.rng, g.height)
		for tries := 0; i == 0 && ok && tries < 12 && g.pool.coins[at].value < worth; tries++ {
			at, ok = g.pool.choose(g.rng, g.height)
		}
		if !ok {
			return i > 0
		}
		in := spend{coin: g.pool.take(at), sequence: 0xfffffffd} // replaceable, no relative lock
		switch {
		case in.kind == WitnessDelay:
			in.sequence = delay
		case final:
			in.sequence = 0xffffffff
		}
		weight += g.ring.weightBound(&in.coin)
		g.spends = append(g.spends, in)
	}
	return true
}

// fanOut adds a transaction that splits one coin evenly.
func (g *Source) fanOut(c coin) {
	first := len(g.spends)
	g.spends = append(g.spends, spend{c, 0xfffffffd})
	g.paid = g.paid[:0]
	for range maxFanOut {
		g.paid = append(g.paid, paying{kind: g.mix.someKind(g.rng)})
	}
	fee := int64(maxFanOut * 40)
	g.splitEvenly(c.value - fee)
	g.fees += fee
	g.stats.FanOuts++
	g.transaction(first)
}

// transaction adds one that spends g.spends from first on and pays g.paid, and puts what it pays into the pool. What
// does not enter its txid, the witness, is left for later.
func (g *Source) transaction(first int) {
	ins := g.spends[first:]
	version, lock := uint32(2), uint32(0)
	if g.rng.IntN(5) == 0 {
		lock = g.height - 1 // final, as wallets set it
		g.stats.Locked++
	}
	if g.mix.versions && g.rng.IntN(5) == 0 && !anyDelayed(ins) {
		version = 1
	}
	m := made{at: len(g.plain), first: first, n: len(ins), salt: g.rng.Uint64()}
	g.outs = g.appendOutputs(g.outs[:0])
	s := &g.signers[0]
	s.begin(version, lock, ins, g.outs, ^m.salt)
	b := binary.LittleEndian.AppendUint32(g.plain, version)
	b = wire.AppendCompactSize(b, uint64(len(ins)))
	bound := 2
	for i := range ins {
		b = appendOutpoint(b, &ins[i])
		b = s.script(b, i)
		b = binary.LittleEndian.AppendUint32(b, ins[i].sequence)
		bound += g.ring.witnessBound(&ins[i].coin)
		m.witness = m.witness || ins[i].kind.hasWitness()
	}
	m.outs = len(b)
	b = append(b, g.outs...)
	b = binary.LittleEndian.AppendUint32(b, lock)
	m.end = len(b)
	g.plain = b
	g.weight += 4*(m.end-m.at) + bound
	g.txs = append(g.txs, m)
	txid := wire.DoubleSHA256(b[m.at:])
	g.txids = append(g.txids, txid)
	for i := range g.paid {
		if p := &g.paid[i]; p.kind != Data {
			g.pool.add(coin{txid: txid, vout: uint32(i), born: g.height, value: p.value, key: p.key, kind: p.kind})
		}
	}
}

func anyDelayed(ins []spend) bool {
	for i := range ins {
		if ins[i].kind == WitnessDelay {
			return true
		}
	}
	return false
}

// appendOutputs appends the count and the outputs of g.paid: value 8, length, script.
func (g *Source) appendOutputs(b []byte) []byte {
	b = wire.AppendCompactSize(b, uint64(len(g.paid)))
	for i := range g.paid {
		p := &g.paid[i]
		b = binary.LittleEndian.AppendUint64(b, uint64(p.value))
		if p.kind == Data {
			b = g.appendData(b)
			continue
		}
		p.key = p.kind.someKey(g.rng)
		b = g.ring.appendScript(b, p.kind, p.key)
	}
	return b
}

// appendData appends a script that only carries data: RETURN and a push, mostly short, of up to 75 bytes.
func (g *Source) appendData(b []byte) []byte {
	n := 8 + g.rng.IntN(25)
	if g.rng.IntN(4) == 0 {
		n = 33 + g.rng.IntN(43)
	}
	b = append(b, byte(n+2), 0x6a, byte(n))
	b = append(b, make([]byte, n)...)
	_, _ = g.bytes.Read(b[len(b)-n:])
	return b
}
