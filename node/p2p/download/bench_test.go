package download

import (
	"testing"
	"time"
)

// BenchmarkBlock: a block arrives, and the plan for the next one is made, with 100 peers and 20,000 wanted blocks.
func BenchmarkBlock(b *testing.B) {
	s, now, next := benchScheduler()
	for b.Loop() {
		p := s.peers[next%len(s.peers)]
		next++
		now = now.Add(time.Millisecond)
		if len(p.owes) > 0 {
			hash := p.owes[0].hash
			s.Block(now, p.id, &hash, 1<<20)
		}
		s.Plan(now, 1<<40, 0)
		if s.Short() {
			b.StopTimer()
			s, now, next = benchScheduler()
			b.StartTimer()
		}
	}
}

func benchScheduler() (*Scheduler, time.Time, int) {
	s, now := New(Options{Window: 2 << 30}), time.Unix(1e9, 0)
	s.Refill(wantsOf(1, 20_000))
	for id := range PeerID(100) {
		s.Join(now, id+1, Peer{Height: 1 << 20})
	}
	s.Plan(now, 1<<40, 0)
	return s, now, 0
}

// BenchmarkRefill: the same list of 20,000 again, less one.
func BenchmarkRefill(b *testing.B) {
	s, wants := New(Options{}), wantsOf(1, 40_000)
	for i := 0; b.Loop(); i++ {
		s.Refill(wants[i%20_000 : i%20_000+20_000])
	}
}
