package download

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var worlds = flag.Int("download.worlds", 16, "random sets of eight peers that TestRandomPeers plays")

// randomPeers makes eight: three to six fast ones, whose rates add up to the one that is told, and others of every bad
// kind.
func randomPeers(rnd *rand.Rand) (scripts []script, fast int, rate int64) {
	fast = 3 + rnd.IntN(4)
	for i := range 8 {
		latency := time.Duration(20+rnd.IntN(400)) * time.Millisecond
		if i < fast {
			r := int64(2*mib + rnd.IntN(10*mib))
			rate += r
			scripts = append(scripts, script{rate: r, latency: latency})
			continue
		}
		bad := script{rate: int64(10_000 + rnd.IntN(4*mib)), latency: 4 * latency}
		when := time.Duration(1 + rnd.IntN(int(30*time.Second)))
		switch rnd.IntN(7) {
		case 0:
			bad.stall = when
		case 1:
			bad.leave = when
		case 2:
			bad.mutant = 1 + rnd.IntN(10)
		case 3:
			bad.lacks = 1 + rnd.IntN(5)
		case 4:
			bad.trickle = true
		default:
			bad.rate = int64(10_000 + rnd.IntN(300_000))
		}
		scripts = append(scripts, bad)
	}
	return scripts, fast, rate
}

// TestRandomPeers: the fast peers alone would need the time least; with the others it is less than 1.3 times that, in
// windows that hold a second or more of the fast ones' blocks. No fast peer is dropped.
func TestRandomPeers(t *testing.T) {
	for seed := range uint64(*worlds) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		scripts, fast, rate := randomPeers(rnd)
		window := []int64{64 * mib, 256 * mib}[rnd.IntN(2)]
		m := newSim(t, Options{Window: window}, mixedSizes(400, seed), scripts...)
		least := time.Duration(float64(m.total()) / float64(rate) * float64(time.Second))
		if took := m.run(20 * least); took > least*13/10 {
			t.Errorf("seed %d: took %v of %v; %+v", seed, took, least, scripts)
		}
		for id := range PeerID(fast) {
			if why, ok := m.drops[id+1]; ok {
				t.Errorf("seed %d: fast peer %d dropped: %v", seed, id+1, why)
			}
		}
	}
}

// FuzzMachine plays the machine of TestMachine with the fuzzer's choices.
func FuzzMachine(f *testing.F) {
	rnd := rand.NewChaCha8([32]byte{1})
	for n := range 4 {
		seed := make([]byte, 4096<<n)
		rnd.Read(seed)
		f.Add(seed)
	}
	f.Fuzz(rapid.MakeFuzz(playMachine))
}
