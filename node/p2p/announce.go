package p2p

import (
	"sync"

	"stele/chain"
)

// maxAnnounced is how many blocks are announced by their headers; of more the last is named by inv (Core).
const maxAnnounced = 8

// tips is what a peer has, as far as we know.
type tips struct {
	mu      sync.Mutex
	best    Point      // of most work among the headers that it told of and that we know
	unknown chain.Hash // the last that it told of and that we do not know; zero: none
	sent    chain.Hash // the last header that we told it of; zero: none
}

// announcer tells peers of new tips.
type announcer struct{ m *Manager }

// told notes that p was sent a header, and all below it.
func (announcer) told(p *peer, hash chain.Hash) {
	p.tips.mu.Lock()
	p.tips.sent = hash
	p.tips.mu.Unlock()
}

// has tells whether p is known to have a block of the best chain: what it told of, or was told of, is that block or
// stands above it, be it on a branch that has been left.
func (a announcer) has(p *peer, hash *chain.Hash, height uint32) bool {
	p.tips.mu.Lock()
	best, sent := p.tips.best.Hash, p.tips.sent
	p.tips.mu.Unlock()
	for _, known := range [...]chain.Hash{best, sent} {
		if known == *hash {
			return true
		}
		if !known.IsZero() && a.m.sync.shared(known) >= height {
			return true
		}
	}
	return false
}

// tip tells all peers of blocks that were confirmed, lowest first.
func (a announcer) tip(hashes []chain.Hash) {
	if len(hashes) == 0 || a.m.chain.Status().Initial {
		return
	}
	last := hashes[len(hashes)-1]
	known := a.m.chain.Know(&last)
	var run []chain.Header
	if len(hashes) <= maxAnnounced {
		run = a.headers(hashes)
	}
	for _, p := range a.m.connected() {
		a.one(p, run, hashes, &known)
	}
}

// headers are those of a run of blocks, or none where it is not one: part of the news was lost then.
func (a announcer) headers(hashes []chain.Hash) []chain.Header {
	run := make([]chain.Header, len(hashes))
	for i := range hashes {
		k := a.m.chain.Know(&hashes[i])
		if k.Knowledge == Nothing || i > 0 && k.Header.Prev != hashes[i-1] {
			return nil
		}
		run[i] = k.Header
	}
	return run
}

// one tells p: by the headers from the first that it lacks where it asked for that and has what they stand on.
func (a announcer) one(p *peer, run []chain.Header, hashes []chain.Hash, last *Known) {
	if p.kind == Feeler || p.kind == AddrFetch || a.has(p, &last.Hash, last.Height) {
		return
	}
	first := last.Height + 1 - uint32(len(hashes)) // height of hashes[0]
	if p.wantsHeaders.Load() {
		for i := range run {
			if a.has(p, &hashes[i], first+uint32(i)) {
				continue
			}
			if !a.has(p, &run[i].Prev, first+uint32(i)-1) {
				break
			}
			p.post(cmdHeaders, encodeHeaders(run[i:]))
			a.told(p, last.Hash)
			return
		}
	}
	p.post(cmdInv, encodeInv(invBlock, []chain.Hash{last.Hash}))
}
