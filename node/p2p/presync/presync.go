package presync

import (
	"crypto/sha256"
	"encoding/binary"

	"stele/chain"
	"stele/validate"
)

const (
	maxPerSecond = 6           // headers that the rule of the median time past allows in a second, for ever (Core)
	maxFuture    = 2 * 60 * 60 // seconds that a header may be ahead of the clock (Core: MAX_FUTURE_BLOCK_TIME)
)

// sizes are N and B of a network.
type sizes struct {
	period uint32 // headers from one bit to the next
	buffer int    // headers that stand above one before it is released
}

// sizesOf are those of Core 31 (kernel/chainparams.cpp, m_headers_sync_params). A network that Core does not have gets
// main's, which suit a chain as long as that one.
func sizesOf(p *chain.Params) sizes {
	switch p.Name {
	case "testnet3":
		return sizes{673, 14_460}
	case "testnet4":
		return sizes{606, 16_092}
	case "signet":
		return sizes{620, 15_724}
	case "regtest":
		return sizes{275, 7_017}
	}
	return sizes{641, 15_218}
}

// Start is a header of our chain, to which the first header of the peer connects.
type Start struct {
	Hash    chain.Hash
	Height  uint32
	Bits    uint32
	MTP     uint32       // median time past, Unix seconds: of the header itself and the ten before it
	Work    chain.Work   // of the chain up to and with it
	Locator []chain.Hash // hashes from it down, as for a getheaders message; kept, not copied
}

// Phase tells what a Sync is about.
type Phase uint8

// The phases, in order.
const (
	Presync Phase = iota
	Redownload
	Over
)

// Status says what the caller is to do.
type Status uint8

const (
	More   Status = iota // ask for what comes after Result.Locator
	Done                 // all that was promised was released; the peer may have more
	Failed               // Result.Reason says why; the Sync is over
)

// Result is the answer to a Put.
type Result struct {
	Status   Status
	Reason   Reason         // of Failed
	Released []chain.Header // in order, good until the next Put
	Locator  []chain.Hash   // of More, good until the next Put
}

// Sync is the state of one peer's headers. See the package comment.
type Sync struct {
	params  *chain.Params
	start   Start
	minimum chain.Work
	sizes   sizes
	secret  [32]byte
	offset  uint32 // heights with this rest modulo the period have a bit
	maxBits int64

	phase Phase
	tip   tip // of the phase that runs
	seen  uint32
	bits  bitQueue
	ring  ring
	met   bool // phase 2 has the minimum work: no more bits are compared, nothing is held back

	released []chain.Header
	locator  []chain.Hash
}

// tip is the last header that was taken.
type tip struct {
	hash   chain.Hash
	height uint32
	bits   uint32
	work   chain.Work
}

// New starts phase 1. minimum is the work that the peer's chain must have, start's included; now the time of day in
// Unix seconds; secret must be random, and of this Sync alone.
func New(p *chain.Params, start Start, minimum chain.Work, now int64, secret [32]byte) *Sync {
	s := &Sync{params: p, start: start, minimum: minimum, sizes: sizesOf(p), secret: secret}
	s.rewind()
	s.seen = start.Height
	seconds := max(now-int64(start.MTP)+maxFuture, 0)
	s.maxBits = maxPerSecond * seconds / int64(s.sizes.period)
	key := s.keyed(nil)
	s.offset = binary.LittleEndian.Uint32(key[:]) % s.sizes.period
	return s
}

// rewind goes to the start of the chain.
func (s *Sync) rewind() {
	s.tip = tip{s.start.Hash, s.start.Height, s.start.Bits, s.start.Work}
}

// Put takes the headers of one message. full tells that it held as many as a message can, so that there may be more. The
// headers are not kept; Put does not allocate but for bits (1 KiB for 8192 of them), and for what it releases.
func (s *Sync) Put(hs []chain.Header, full bool) Result {
	s.released = s.released[:0]
	switch s.phase {
	case Presync:
		return s.count(hs, full)
	case Redownload:
		return s.compare(hs, full)
	}
	return Result{Status: Failed, Reason: ReasonOver}
}

// count is phase 1.
func (s *Sync) count(hs []chain.Header, full bool) Result {
	for i := range hs {
		if r := s.take(&hs[i], i == 0); r != ReasonNone {
			return s.fail(r)
		}
		if s.tip.height%s.sizes.period != s.offset {
			continue
		}
		if s.bits.n >= s.maxBits {
			return s.fail(ReasonTooLong)
		}
		s.bits.push(s.bit(&s.tip.hash))
	}
	s.seen = s.tip.height
	if s.tip.work.Cmp(s.minimum) >= 0 {
		s.phase = Redownload
		s.rewind()
		s.ring.open(s.sizes.buffer + 1)
		return s.more()
	}
	if !full {
		return s.fail(ReasonShort)
	}
	return s.more()
}

// compare is phase 2.
func (s *Sync) compare(hs []chain.Header, full bool) Result {
	for i := range hs {
		prev := s.tip.hash
		if r := s.take(&hs[i], i == 0); r != ReasonNone {
			s.released = s.released[:0]
			return s.fail(r)
		}
		// Past the minimum the peer may have more than it had in phase 1, so bits are not compared any more.
		s.met = s.met || s.tip.work.Cmp(s.minimum) >= 0
		if !s.met && s.tip.height%s.sizes.period == s.offset {
			if r := s.check(); r != ReasonNone {
				s.released = s.released[:0]
				return s.fail(r)
			}
		}
		s.ring.push(&hs[i], &prev)
		if s.ring.n > s.sizes.buffer {
			s.released = append(s.released, s.ring.pop())
		}
	}
	if s.met {
		s.releaseAll()
		s.end()
		return Result{Status: Done, Released: s.released}
	}
	if !full {
		r := s.fail(ReasonCutShort)
		r.Released = s.released
		return r
	}
	r := s.more()
	r.Released = s.released
	return r
}

// releaseAll empties the ring. It takes memory once, for all of them.
func (s *Sync) releaseAll() {
	if n := len(s.released) + s.ring.n; n > cap(s.released) {
		all := make([]chain.Header, len(s.released), n)
		copy(all, s.released)
		s.released = all
	}
	for s.ring.n > 0 {
		s.released = append(s.released, s.ring.pop())
	}
}

// check compares the bit of the tip with the one of phase 1.
func (s *Sync) check() Reason {
	kept, ok := s.bits.pop()
	switch {
	case !ok:
		return ReasonOverrun
	case kept != s.bit(&s.tip.hash):
		return ReasonOther
	}
	return ReasonNone
}

// take judges a header by itself and as the child of the tip, and makes it the tip.
func (s *Sync) take(h *chain.Header, first bool) Reason {
	if h.Prev != s.tip.hash {
		if first {
			return ReasonUnconnected
		}
		return ReasonBroken
	}
	hash := h.Hash()
	if !validate.ProofOfWork(s.params, h.Bits, &hash).OK() {
		return ReasonHighHash
	}
	height := s.tip.height + 1
	if !Permitted(s.params, height, s.tip.bits, h.Bits) {
		return ReasonDifficulty
	}
	s.tip = tip{hash, height, h.Bits, s.tip.work.Add(chain.BlockWork(h.Bits))}
	return ReasonNone
}

// keyed is SHA-256 of the secret and data.
func (s *Sync) keyed(data []byte) [32]byte {
	var b [2 * chain.HashSize]byte
	n := copy(b[:], s.secret[:])
	n += copy(b[n:], data)
	return sha256.Sum256(b[:n])
}

// bit is what is kept of a block hash.
func (s *Sync) bit(hash *chain.Hash) bool { return s.keyed(hash[:])[0]&1 == 1 }

// more asks for what follows the tip.
func (s *Sync) more() Result {
	s.locator = append(s.locator[:0], s.tip.hash)
	if s.tip.hash == s.start.Hash {
		s.locator = s.locator[:0]
	}
	s.locator = append(s.locator, s.start.Locator...)
	if len(s.locator) == 0 {
		s.locator = append(s.locator, s.start.Hash)
	}
	return Result{Status: More, Locator: s.locator}
}

func (s *Sync) fail(r Reason) Result {
	s.end()
	return Result{Status: Failed, Reason: r}
}

// end lets go of everything but what the last Result shows.
func (s *Sync) end() { s.phase, s.bits, s.ring = Over, bitQueue{}, ring{} }

// Phase tells what the next headers are for.
func (s *Sync) Phase() Phase { return s.phase }

// Seen is the height up to which phase 1 has counted, for reports.
func (s *Sync) Seen() uint32 { return s.seen }

// Taken is the height of the last header that was taken in the phase that runs.
func (s *Sync) Taken() uint32 { return s.tip.height }

// Bytes is the memory that the Sync holds beside itself, the last Result's included.
func (s *Sync) Bytes() int64 {
	return s.bits.bytes() + s.ring.bytes() + chain.HeaderSize*int64(cap(s.released)) +
		chain.HashSize*int64(cap(s.locator))
}
