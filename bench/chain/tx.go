package chain

import (
	"encoding/binary"

	wire "stele/chain"
)

const (
	keyHash   = 22  // bytes of a P2WPKH script
	maxFanOut = 256 // outputs
	oldAge    = 100 // blocks: see Stats.Old

	sequence = 0xfffffffd // replaceable, no relative lock
)

// shares draws small numbers: a value in lo..hi with the weight of its line, in hundredths.
type shares []struct{ lo, hi, percent int }

// The means are 2.40 inputs and 2.70 outputs. Most transactions pay one party and themselves; the tails are
// consolidations and payouts.
var (
	inputShares  = shares{{1, 1, 60}, {2, 2, 20}, {3, 3, 8}, {4, 8, 8}, {9, 25, 4}}
	outputShares = shares{{1, 1, 18}, {2, 2, 65}, {3, 3, 7}, {4, 10, 8}, {11, 34, 2}}
)

func (s shares) draw(g *Source) int {
	n := g.rng.IntN(100)
	for i := range s {
		if n -= s[i].percent; n < 0 {
			return s[i].lo + g.rng.IntN(s[i].hi-s[i].lo+1)
		}
	}
	return s[len(s)-1].hi
}

// ordinary appends a transaction that spends coins of the pool.
func (g *Source) ordinary() {
	g.spent = g.spent[:0]
	for range min(inputShares.draw(g), g.pool.live) {
		c := g.pool.draw(g.rng)
		g.spent = append(g.spent, c)
		switch {
		case c.born == g.height:
			g.stats.Own++
		case g.height-c.born > oldAge:
			g.stats.Old++
		}
	}
	outs := outputShares.draw(g)
	g.transaction(outs)
	g.stats.Txs++
	g.stats.Ins += uint64(len(g.spent))
	g.stats.Outs += uint64(outs)
}

// fanOut appends a transaction that splits one coin evenly.
func (g *Source) fanOut(c coin) {
	g.spent = append(g.spent[:0], c)
	g.transaction(maxFanOut)
	g.stats.FanOuts++
}

// transaction appends one that spends g.spent to a number of outputs, and puts these into the pool. It is written
// without its witness first, which is what the txid is of.
func (g *Source) transaction(outs int) {
	b := binary.LittleEndian.AppendUint32(g.plain[:0], 2)
	b = wire.AppendCompactSize(b, uint64(len(g.spent)))
	total := int64(0)
	for i := range g.spent {
		c := &g.spent[i]
		total += c.value
		b = append(b, c.txid[:]...)
		b = binary.LittleEndian.AppendUint32(b, c.vout)
		b = append(b, 0)
		b = binary.LittleEndian.AppendUint32(b, sequence)
	}
	fee := min(total/2, int64(len(b)+outs*(keyHash+9)+27*len(g.spent))*int64(1+g.rng.IntN(8)))
	g.fees += fee
	g.values = g.split(g.values[:0], total-fee, outs)
	b = wire.AppendCompactSize(b, uint64(outs))
	g.payees = g.payees[:0]
	for _, v := range g.values {
		n := uint16(g.rng.IntN(keyCount))
		g.payees = append(g.payees, n)
		b = g.payment(b, v, n)
	}
	lock := uint32(0)
	if g.rng.IntN(5) == 0 {
		lock = g.height - 1 // final, as wallets set it
	}
	b = binary.LittleEndian.AppendUint32(b, lock)
	g.plain = b
	g.stripped += len(b)
	txid := wire.DoubleSHA256(b)
	g.txids = append(g.txids, txid)
	g.wtxids = append(g.wtxids, g.appendWithWitness())
	for i, v := range g.values {
		g.pool.add(coin{txid: txid, vout: uint32(i), born: g.height, value: v, key: g.payees[i]})
	}
}

// appendWithWitness appends g.plain to the block's body with a witness for each input, and returns the wtxid.
func (g *Source) appendWithWitness() wire.Hash {
	start, end := len(g.body), len(g.plain)-4
	b := append(g.body, g.plain[:4]...)
	b = append(b, 0, 1)
	b = append(b, g.plain[4:end]...)
	for i := range g.spent {
		b = g.witness(b, g.spent[i].key)
	}
	b = append(b, g.plain[end:]...)
	g.body = b
	return wire.DoubleSHA256(b[start:])
}

// split divides a total into a number of values, each of a random part of what is left, and every other one rounded to
// three digits, as payments are and change is not. The sum is exact.
func (g *Source) split(dst []int64, total int64, n int) []int64 {
	if n == maxFanOut {
		for range n - 1 {
			dst = append(dst, total/int64(n))
		}
		return append(dst, total-total/int64(n)*int64(n-1))
	}
	for left := n; left > 1; left-- {
		v := g.rng.Int64N(2*(total/int64(left)) + 1)
		if v = min(v, total); g.rng.IntN(2) == 0 {
			v = rounded(v)
		}
		dst = append(dst, v)
		total -= v
	}
	return append(dst, total)
}

// rounded keeps the first three digits of a value.
func rounded(v int64) int64 {
	unit := int64(1)
	for v/unit >= 1000 {
		unit *= 10
	}
	return v - v%unit
}

// payment appends an output: value 8, length 1, 0, 20, key hash.
func (g *Source) payment(b []byte, value int64, to uint16) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(value))
	b = append(b, keyHash, 0, 20)
	return append(b, g.keys[to].program[:]...)
}

// witness appends the stack of an input that spends a key hash: a signature and a compressed key.
func (g *Source) witness(b []byte, by uint16) []byte {
	at := len(b) + 1
	b = append(b, 2, 0) // the length comes when it is known
	b = append(b, 0x30, 0, 0x02, 32)
	r := len(b)
	b = g.random(b, 32)
	if b[r] |= 0x01; b[r]&0x80 != 0 { // never a leading zero; a set top bit asks for one in front
		b = append(b, 0)
		copy(b[r+1:], b[r:])
		b[r], b[r-1] = 0, 33
	}
	b = append(b, 0x02, 32)
	s := len(b)
	b = g.random(b, 32)
	b[s] = b[s]&0x3f | 0x01 // below half of the group's order
	b[at+2] = byte(len(b) - at - 3)
	b = append(b, 1) // SIGHASH_ALL
	b[at] = byte(len(b) - at - 1)
	b = append(b, 33)
	return append(b, g.keys[by].public[:]...)
}

func (g *Source) random(b []byte, n int) []byte {
	b = append(b, make([]byte, n)...)
	_, _ = g.bytes.Read(b[len(b)-n:])
	return b
}
