package download

import (
	"slices"
	"time"

	"stele/chain"
)

// mean is an exponential mean of sizes, which weighs the first ones equally.
type mean struct {
	value float64
	n     int
}

func (m *mean) add(x float64) {
	m.n = min(m.n+1, 64)
	m.value += (x - m.value) / float64(m.n)
}

// owed is a block that a peer was asked for and has not sent.
type owed struct {
	hash     chain.Hash
	asked    time.Duration
	due      time.Duration // when it was expected as it was asked for
	relieved bool          // given back, or lost to another peer: does not count in flight any more
	alone    bool          // the peer owed nothing when it was asked for
}

// peer is what is known of one.
type peer struct {
	Peer
	id      PeerID
	owes    []owed // in the order in which they were asked for, which is mostly that in which they come
	resting bool   // was relieved: gets nothing new before it owes nothing

	latency time.Duration // from a request to its first block, of an idle peer; 0: not known
	rate    float64       // bytes a second while it owes; 0: not known
	partial int64         // bytes received of the block that is coming
	fresh   int64         // bytes since the last fold
	folded  time.Duration // of the last fold, moved by the time in which it owed nothing
	carried time.Duration // while it owes nothing: since the last fold it owed for so long
	heard   time.Duration // last bytes, or when it began to owe

	busy      time.Duration // time since the last comparison in which it owed
	got       int64         // bytes in that time
	slow      int           // comparisons in a row that it lost
	notFound  int
	exhausted bool // found nothing to ask in this Plan
}

// has tells whether the peer should have the block of the best chain at height.
func (p *peer) has(height uint32) bool {
	return height <= p.Height && (!p.Limited || height+limitedDepth > p.Height)
}

// eta is the time after which one more block would have come, where a block has weight bytes.
func (p *peer) eta(weight int64) time.Duration {
	latency, rate := p.latency, p.rate
	if latency == 0 {
		latency = firstLatency
	}
	if rate == 0 {
		rate = firstRate
	}
	return latency + time.Duration(float64(p.debt(1, weight))/max(rate, 1)*float64(time.Second))
}

// debt is the bytes that the peer would owe with more blocks.
func (p *peer) debt(more int, weight int64) int64 { return int64(len(p.owes)+more) * weight }

// budget is what the peer may owe: as much as it sends while a request travels, and in depth.
func (p *peer) budget(depth time.Duration) int64 {
	if p.rate == 0 {
		return firstBudget
	}
	return int64(p.rate * (depth + 2*p.latency).Seconds())
}

// fold brings the rate up to date. Time in which the peer owed nothing does not count.
func (p *peer) fold(now time.Duration) {
	const (
		least = 250 * time.Millisecond
		fade  = 2 * time.Second
	)
	if len(p.owes) == 0 {
		return
	}
	passed := now - p.folded
	if passed < least {
		return
	}
	got := float64(p.fresh) / passed.Seconds()
	switch {
	case p.rate != 0:
		p.rate += (got - p.rate) * float64(passed) / float64(passed+fade)
		p.rate = max(p.rate, 1)
	case got != 0:
		p.rate = got
	}
	p.busy += passed
	p.got += p.fresh
	p.fresh, p.folded = 0, now
}

// hear takes note of bytes.
func (p *peer) hear(now time.Duration, n int64) {
	p.fresh += n
	p.heard = now
}

// find gives the place of a block in owes, or -1.
func (p *peer) find(hash *chain.Hash) int {
	return slices.IndexFunc(p.owes, func(o owed) bool { return o.hash == *hash })
}

// add lets the peer owe a block.
func (p *peer) add(now time.Duration, hash *chain.Hash, weight int64) {
	alone := len(p.owes) == 0
	if alone {
		p.heard, p.folded = now, now-p.carried
	}
	p.owes = append(p.owes, owed{hash: *hash, asked: now, due: now + p.eta(weight), alone: alone})
}

// settle takes a debt away.
func (p *peer) settle(now time.Duration, i int) owed {
	o := p.owes[i]
	p.owes = slices.Delete(p.owes, i, i+1)
	if len(p.owes) == 0 {
		p.resting, p.carried = false, now-p.folded
	}
	return o
}

// measure notes the latency where the block that came shows it.
func (p *peer) measure(now time.Duration, o *owed, size int64) {
	if !o.alone {
		return
	}
	took := now - o.asked
	if p.rate > 0 {
		took -= time.Duration(float64(size) / p.rate * float64(time.Second))
	}
	took = max(took, time.Millisecond)
	if p.latency == 0 {
		p.latency = took
	}
	p.latency += (took - p.latency) / 4
}
