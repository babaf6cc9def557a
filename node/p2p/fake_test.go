package p2p

import (
	"context"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"stele/chain"
	"stele/internal/chaintest"
	"stele/validate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeChain is a node without rules but proof of work and merkle roots. It keeps all in maps and confirms a block as
// soon as all below it are here.
type fakeChain struct {
	mu      sync.Mutex
	headers map[chain.Hash]*Known
	bodies  map[chain.Hash][]byte
	best    []chain.Hash // the best chain of headers by height
	tip     []chain.Hash // the confirmed chain by height
	bad     map[chain.Hash]bool
	initial bool
	room    int64
	events  chan Event
	fault   error    // of the next PutBlock
	put     []PeerID // who gave the blocks that were taken
	most    int      // headers in the tree beside genesis, at most
}

func newFakeChain() *fakeChain {
	g := chaintest.Genesis()
	h, _ := chain.ParseHeader(g.Raw)
	c := &fakeChain{
		headers: map[chain.Hash]*Known{}, bodies: map[chain.Hash][]byte{g.Hash: g.Raw}, bad: map[chain.Hash]bool{},
		room: 64 << 20, events: make(chan Event, 1024), best: []chain.Hash{g.Hash}, tip: []chain.Hash{g.Hash},
	}
	c.headers[g.Hash] = &Known{
		Point: Point{0, g.Hash, chain.BlockWork(h.Bits)}, Header: h, MTP: h.Time, Knowledge: BlockHere, Best: true,
	}
	return c
}

// with is a chain that has these blocks already.
func (c *fakeChain) with(blocks ...*chaintest.Block) *fakeChain {
	for _, b := range blocks {
		h, _ := chain.ParseHeader(b.Raw)
		_, _ = c.PutHeaders(context.Background(), []chain.Header{h}, false)
		_ = c.PutBlock(&b.Hash, b.Raw, 0)
	}
	for len(c.events) > 0 {
		<-c.events
	}
	c.put = nil
	return c
}

func (c *fakeChain) Params() *chain.Params { return chain.Regtest() }

func (c *fakeChain) point(list []chain.Hash) Point { return c.headers[list[len(list)-1]].Point }

func (c *fakeChain) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	tip := c.point(c.tip)
	return Status{Headers: c.point(c.best), Downloaded: tip, Validated: tip, Confirmed: tip, Initial: c.initial}
}

func (c *fakeChain) Locator() []chain.Hash {
	c.mu.Lock()
	defer c.mu.Unlock()
	var l []chain.Hash
	for at, step := len(c.best)-1, 1; at >= 0; at -= step {
		if l = append(l, c.best[at]); len(l) > 10 {
			step *= 2
		}
	}
	if l[len(l)-1] != c.best[0] {
		l = append(l, c.best[0])
	}
	return l
}

func (c *fakeChain) PutHeaders(_ context.Context, hs []chain.Header, _ bool) (HeadersResult, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var r HeadersResult
	for _, h := range hs {
		hash := h.Hash()
		if k := c.headers[hash]; k != nil {
			if k.Knowledge == Condemned {
				r.Invalid = validate.ReasonDuplicateInvalid
				return r, nil
			}
			r.Last = k.Point
			continue
		}
		parent := c.headers[h.Prev]
		switch {
		case parent == nil:
			r.Unconnected = true
			return r, nil
		case parent.Knowledge == Condemned:
			r.Invalid = "bad-prevblk"
			return r, nil
		}
		k := &Known{Point: Point{parent.Height + 1, hash, parent.Work.Add(chain.BlockWork(h.Bits))}, Header: h, MTP: h.Time,
			Knowledge: HeaderHere}
		c.headers[hash] = k
		c.most = max(c.most, len(c.headers)-1)
		r.Last = k.Point
		r.Added++
		if k.Work.Cmp(c.point(c.best).Work) > 0 {
			c.follow(hash)
		}
	}
	return r, nil
}

// follow makes hash the tip of the best chain of headers.
func (c *fakeChain) follow(hash chain.Hash) {
	var up []chain.Hash
	for k := c.headers[hash]; !k.Best; k = c.headers[k.Header.Prev] {
		up = append(up, k.Hash)
	}
	slices.Reverse(up)
	fork := int(c.headers[up[0]].Height)
	for _, h := range c.best[fork:] {
		c.headers[h].Best = false
	}
	c.best = append(c.best[:fork:fork], up...)
	for _, h := range up {
		c.headers[h].Best = true
	}
	c.send(Event{Kind: ChainMoved})
	c.advance()
}

// advance confirms what can be. The confirmed chain is left only for one of more work.
func (c *fakeChain) advance() {
	n := 0
	for n < len(c.best) && c.bodies[c.best[n]] != nil {
		n++
	}
	if c.headers[c.best[n-1]].Work.Cmp(c.point(c.tip).Work) <= 0 {
		return
	}
	fork := 0
	for fork < len(c.tip) && fork < n && c.tip[fork] == c.best[fork] {
		fork++
	}
	c.tip = slices.Clone(c.best[:n])
	c.send(Event{Kind: TipMoved, Hashes: slices.Clone(c.tip[fork:])})
}

func (c *fakeChain) send(e Event) {
	select {
	case c.events <- e:
	default:
	}
}

func (c *fakeChain) Missing(dst []Want, limit int) []Want {
	c.mu.Lock()
	defer c.mu.Unlock()
	for height, hash := range c.best {
		if c.bodies[hash] == nil && len(dst) < limit {
			dst = append(dst, Want{Hash: hash, Height: uint32(height)})
		}
	}
	return dst
}

func (c *fakeChain) PutBlock(hash *chain.Hash, raw []byte, from PeerID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.fault; err != nil {
		c.fault = nil
		return err
	}
	var b chain.Block
	if err := b.Decode(raw); err != nil {
		c.send(Event{Kind: Refused, Hash: *hash, From: from, Reason: err.Error(), Mutated: true})
		return nil
	}
	root, _ := chain.MerkleRoot(b.Txids(nil))
	switch k := c.headers[*hash]; {
	case root != k.Header.Merkle:
		c.send(Event{Kind: Refused, Hash: *hash, From: from, Reason: "bad-txnmrklroot", Mutated: true})
		return nil
	case c.bad[*hash]:
		c.condemn(*hash)
		c.send(Event{Kind: Refused, Hash: *hash, From: from, Reason: "bad-cb-amount"})
		return nil
	default:
		k.Knowledge = BlockHere
	}
	c.bodies[*hash] = raw
	c.put = append(c.put, from)
	c.advance()
	return nil
}

// condemn marks a header and all upon it, and goes back to the chain below.
func (c *fakeChain) condemn(hash chain.Hash) {
	k := c.headers[hash]
	k.Knowledge = Condemned
	for again := true; again; {
		again = false
		for _, o := range c.headers {
			if p := c.headers[o.Header.Prev]; p != nil && p.Knowledge == Condemned && o.Knowledge != Condemned {
				o.Knowledge, again = Condemned, true
			}
		}
	}
	if k.Best {
		for _, h := range c.best[k.Height:] {
			c.headers[h].Best = false
		}
		c.best = c.best[:k.Height]
		c.send(Event{Kind: ChainMoved})
	}
}

func (c *fakeChain) Room() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.room
}

func (c *fakeChain) setRoom(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.room = n
}

func (c *fakeChain) Events() <-chan Event { return c.events }

func (c *fakeChain) Know(hash *chain.Hash) Known {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.headers[*hash]; k != nil {
		return *k
	}
	return Known{}
}

func (c *fakeChain) HeadersAfter(locator []chain.Hash, stop chain.Hash, limit int, dst []chain.Header) []chain.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	from := 1
	for _, hash := range locator {
		if k := c.headers[hash]; k != nil && int(k.Height) < len(c.tip) && c.tip[k.Height] == hash {
			from = int(k.Height) + 1
			break
		}
	}
	for _, hash := range c.tip[min(from, len(c.tip)):] {
		if limit--; limit < 0 {
			break
		}
		if dst = append(dst, c.headers[hash].Header); hash == stop {
			break
		}
	}
	return dst
}

func (c *fakeChain) AppendBlock(dst []byte, hash *chain.Hash, witness bool) ([]byte, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	raw := c.bodies[*hash]
	return append(dst, raw...), raw != nil, nil
}

// confirmed is the height of the confirmed tip.
func (c *fakeChain) confirmed() uint32 { return c.Status().Confirmed.Height }

// blocks makes n blocks on parent.
func blocks(parent *chaintest.Block, n int, salt uint32) []*chaintest.Block {
	all := make([]*chaintest.Block, n)
	for i := range all {
		parent = parent.Next(salt)
		all[i] = parent
	}
	return all
}
