package presync

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"stele/chain"
)

// TestFlood: a million headers of the lowest difficulty, never enough work. What the Sync holds is its bits; the heap
// does not grow by more.
func TestFlood(t *testing.T) {
	p := easy()
	start := genesis(p)
	s := New(p, start, chain.Main().MinimumChainWork, now, [32]byte{8})
	message := make([]chain.Header, perMessage)
	prev := start.Hash
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const messages = 500
	for i := range messages {
		mineInto(message, p, prev, byte(i))
		prev = message[perMessage-1].Hash()
		r := s.Put(message, true)
		if r.Status != More || r.Locator[0] != prev || len(r.Released) != 0 {
			t.Fatalf("message %d: status %v, %v", i, r.Status, r.Reason)
		}
	}
	runtime.ReadMemStats(&after)
	if want := int64(1_000_000 / 641); s.bits.n < want || s.bits.n > want+1 || s.Taken() != 1_000_000 {
		t.Errorf("%d bits of %d headers", s.bits.n, s.Taken())
	}
	if s.Bytes() > 2<<10 {
		t.Errorf("holds %d bytes", s.Bytes())
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<10 { // the runtime's own included
		t.Errorf("allocated %d bytes in all", grown)
	}
}

// TestTooLong: a clock that allows few headers bounds the bits. Six a second for the two hours that a header may be
// ahead make 43,200 headers, 67 bits.
func TestTooLong(t *testing.T) {
	p := easy()
	start := genesis(p)
	s := New(p, start, chain.Main().MinimumChainWork, int64(start.MTP), [32]byte{9})
	prev, message := start.Hash, make([]chain.Header, perMessage)
	for sent := 0; ; sent += perMessage {
		mineInto(message, p, prev, 0)
		prev = message[perMessage-1].Hash()
		r := s.Put(message, true)
		if r.Status == More {
			continue
		}
		if r.Reason != ReasonTooLong || sent < 41_000 || sent > 44_000 || s.Bytes() != int64(32*cap(s.locator)) {
			t.Errorf("after %d headers: %v; %d bytes", sent, r.Reason, s.Bytes())
		}
		return
	}
}

// TestClockBefore: a clock before the start allows no bit, and nothing breaks.
func TestClockBefore(t *testing.T) {
	p := easy()
	s := New(p, genesis(p), chain.Main().MinimumChainWork, 0, [32]byte{})
	if r := s.Put(mine(p, p.GenesisHash, 700, 0), true); r.Reason != ReasonTooLong {
		t.Errorf("%v", r.Reason)
	}
}

// TestBound: the longest chain that can exist by the end of 2026 takes what the package comment says.
func TestBound(t *testing.T) {
	s := New(chain.Main(), genesis(chain.Main()), chain.Work{}, now, [32]byte{})
	for range s.maxBits {
		s.bits.push(true)
	}
	s.ring.open(s.sizes.buffer + 1)
	if got := s.Bytes(); got < 1_390_000 || got > 1_410_000 {
		t.Errorf("bits and buffer take %d bytes, documented are 1,393,000", got)
	}
	if unsafe.Sizeof(compact{}) != compactSize {
		t.Errorf("a compact header has %d bytes", unsafe.Sizeof(compact{}))
	}
}

// TestBitQueue against a plain slice, with pieces coming and going.
func TestBitQueue(t *testing.T) {
	var q bitQueue
	var model []bool
	rnd := rand.New(rand.NewPCG(1, 2))
	for step := range 200_000 {
		if rnd.IntN(100) < 55-step/20_000 {
			bit := rnd.IntN(2) == 1
			q.push(bit)
			model = append(model, bit)
			continue
		}
		bit, ok := q.pop()
		if ok != (len(model) > 0) || ok && bit != model[0] {
			t.Fatalf("step %d: popped %v, %v", step, bit, ok)
		}
		if ok {
			model = model[1:]
		}
	}
	if want := (len(model)+chunkBytes*8-1)/(chunkBytes*8) + 1; len(q.chunks) > want || q.n != int64(len(model)) {
		t.Errorf("%d pieces for %d bits", len(q.chunks), len(model))
	}
}

// TestPutAllocates nothing in phase 1 but a piece for 8192 bits, nothing in phase 2 but what it releases.
func TestPutAllocates(t *testing.T) {
	p := easy()
	hs := mine(p, p.GenesisHash, 200, 0)
	s := New(p, genesis(p), chain.Main().MinimumChainWork, now, [32]byte{})
	s.Put(hs, true)
	s.bits.push(true)
	tip := s.tip
	if n := testing.AllocsPerRun(20, func() {
		s.rewind()
		s.Put(hs, true)
	}); n != 0 || s.tip != tip {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkPut(b *testing.B) {
	p := easy()
	hs := mine(p, p.GenesisHash, perMessage, 0)
	s := New(p, genesis(p), chain.Main().MinimumChainWork, now, [32]byte{})
	for b.Loop() {
		s.rewind()
		s.Put(hs, true)
	}
	b.ReportMetric(float64(b.N)*perMessage/b.Elapsed().Seconds(), "headers/s")
}
