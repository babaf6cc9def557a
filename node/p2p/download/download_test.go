package download

import (
	"math/rand/v2"
	"testing"
	"time"
)

const mib = 1 << 20

func sameSizes(n int, size int64) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = size
	}
	return all
}

// mixedSizes are those of mainnet: mostly one to two megabytes, some nearly empty.
func mixedSizes(n int, seed uint64) []int64 {
	rnd := rand.New(rand.NewPCG(seed, 1))
	all := make([]int64, n)
	for i := range all {
		all[i] = 1_200_000 + rnd.Int64N(800_000)
		if rnd.IntN(20) == 0 {
			all[i] = 300 + rnd.Int64N(2_000)
		}
	}
	return all
}

func fast(rate int64) script { return script{rate: rate, latency: 80 * time.Millisecond} }

// TestEightPeers: five fast peers, one slow, one that stalls, one that lies. The time is that of the fast ones' links
// together, within 1.3 times.
func TestEightPeers(t *testing.T) {
	for name, others := range map[string][]script{
		"slow, stalling, lying": {
			{rate: 100_000, latency: time.Second}, {rate: 4 * mib, latency: 50 * time.Millisecond, stall: 5 * time.Second},
			{rate: 4 * mib, latency: 50 * time.Millisecond, mutant: 1},
		},
		"slow ones": {
			{rate: 50_000, latency: 3 * time.Second}, {rate: 200_000, latency: time.Second},
			{rate: 20_000, latency: time.Second},
		},
		"stalling from the start": {
			{rate: mib, stall: 1}, {rate: mib, stall: 1}, {rate: mib, trickle: true},
		},
		"dropping": {
			{rate: 4 * mib, leave: 3 * time.Second}, {rate: 8 * mib, leave: 9 * time.Second}, {rate: mib, lacks: 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			scripts := append([]script{fast(8 * mib), fast(6 * mib), fast(4 * mib), fast(3 * mib), fast(4 * mib)}, others...)
			m := newSim(t, Options{}, mixedSizes(1000, 7), scripts...)
			least := time.Duration(float64(m.total()) / (25 * mib) * float64(time.Second))
			took := m.run(10 * least)
			st := m.s.Stats()
			t.Logf("%v, least %v: %.2f; %+v; dropped %v", took, least, float64(took)/float64(least), st, m.drops)
			if took > least*13/10 {
				t.Errorf("took %v where the fast peers need %v", took, least)
			}
			for id := PeerID(1); id <= 5; id++ {
				if why, ok := m.drops[id]; ok {
					t.Errorf("fast peer %d was dropped: %v", id, why)
				}
			}
		})
	}
}

// TestNarrowWindow: with room for a second of blocks the window is at its end most of the time, so that whoever holds
// the front sets the pace; hedges keep the time within 1.3 all the same.
func TestNarrowWindow(t *testing.T) {
	scripts := []script{
		fast(8 * mib), fast(6 * mib), fast(4 * mib), fast(3 * mib), fast(4 * mib),
		{rate: 100_000, latency: time.Second}, {rate: 400_000, latency: time.Second}, {rate: 4 * mib, stall: 5 * time.Second},
	}
	m := newSim(t, Options{Window: 48 * mib}, mixedSizes(1000, 8), scripts...)
	least := time.Duration(float64(m.total()) / (25 * mib) * float64(time.Second))
	if took := m.run(10 * least); took > least*13/10 {
		t.Errorf("took %v where the fast peers need %v; %+v", took, least, m.s.Stats())
	}
}

// TestSlowNode: a node that deals with 5 MiB a second and has room for 32 MiB never holds much more, and is never left
// without the block that it waits for.
func TestSlowNode(t *testing.T) {
	m := newSim(t, Options{}, mixedSizes(300, 9), fast(8*mib), fast(8*mib), fast(20*mib), script{rate: 200_000, stall: 0})
	m.room, m.speed = 32*mib, 5*mib
	least := time.Duration(float64(m.total()) / float64(m.speed) * float64(time.Second))
	most := int64(0)
	for m.done < len(m.wants) {
		m.step()
		most = max(most, m.held)
		if m.now > least*12/10+5*time.Second {
			t.Fatalf("after %v at block %d; the node alone needs %v; %+v", m.now, m.done, least, m.s.Stats())
		}
	}
	if limit := m.room + 2*m.largest + m.room/4; most > limit {
		t.Errorf("the node held %d bytes, over %d", most, limit)
	}
}

// TestNoRoom: without any room the front alone is asked for, one block after the other.
func TestNoRoom(t *testing.T) {
	m := newSim(t, Options{}, sameSizes(40, mib), fast(8*mib), fast(8*mib))
	m.room = 1
	for m.done < len(m.wants) {
		m.step()
		st := m.s.Stats()
		if st.InFlight > 1 || m.now > time.Minute {
			t.Fatalf("%v: %+v", m.now, st)
		}
	}
}

// TestTinyBlocks: the first years are 300 bytes a block; requests must be long, as it is latency that costs.
func TestTinyBlocks(t *testing.T) {
	m := newSim(t, Options{}, sameSizes(20_000, 300), fast(8*mib), fast(8*mib), fast(8*mib), fast(8*mib))
	if took := m.run(time.Minute); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

// TestLonelySlowPeer: nobody is dropped for being slow alone, not even at 75 seconds a block.
func TestLonelySlowPeer(t *testing.T) {
	m := newSim(t, Options{}, sameSizes(5, 3*mib/2), script{rate: 20_000, latency: time.Second})
	if took := m.run(time.Hour); len(m.drops) != 0 || took > 410*time.Second {
		t.Errorf("took %v; dropped %v", took, m.drops)
	}
}

// TestLastHonestPeer: of eight one is honest, slower than the others claim to be; all others stall, lie, trickle or
// lack blocks. It ends, and the honest one is kept.
func TestLastHonestPeer(t *testing.T) {
	m := newSim(t, Options{}, sameSizes(60, mib), fast(2*mib),
		script{rate: 9 * mib, mutant: 1}, script{rate: 9 * mib, mutant: 2}, script{rate: mib, stall: 1},
		script{rate: 9 * mib, stall: 2 * time.Second}, script{trickle: true},
		script{rate: 9 * mib, lacks: 1}, script{rate: 9 * mib, leave: time.Second})
	took := m.run(5 * time.Minute)
	if _, ok := m.drops[1]; ok || took > 60*time.Second {
		t.Errorf("took %v; dropped %v", took, m.drops)
	}
	if m.bad == 0 {
		t.Error("no mutant was sent")
	}
}

// TestLateJoin: a fast peer that comes when two slow ones own the front takes over.
func TestLateJoin(t *testing.T) {
	m := newSim(t, Options{}, sameSizes(200, mib), script{rate: mib / 2}, script{rate: mib / 2},
		script{rate: 10 * mib, latency: 100 * time.Millisecond, late: 20 * time.Second})
	if took := m.run(2 * time.Minute); took > 40*time.Second {
		t.Errorf("took %v where 20 s and 18 s are due", took)
	}
}

// TestSleep: the clock jumps a day ahead and back again while blocks are on their way; nobody is blamed.
func TestSleep(t *testing.T) {
	m := newSim(t, Options{}, sameSizes(200, mib), fast(4*mib), fast(4*mib), fast(4*mib))
	for i := range 300 {
		m.step()
		switch i {
		case 100:
			m.start = m.start.Add(24 * time.Hour)
		case 200:
			m.start = m.start.Add(-48 * time.Hour)
		}
	}
	m.run(time.Minute)
	if len(m.drops) != 0 {
		t.Errorf("dropped %v", m.drops)
	}
}

// TestSamePlans: the same events give the same plans.
func TestSamePlans(t *testing.T) {
	var runs [2][]Stats
	for i := range runs {
		m := newSim(t, Options{}, mixedSizes(200, 3), fast(8*mib), fast(mib), script{rate: mib, stall: time.Second},
			fast(2*mib), script{rate: 3 * mib, mutant: 20})
		for m.done < len(m.wants) && m.now < time.Minute {
			m.step()
			runs[i] = append(runs[i], m.s.Stats())
		}
	}
	if len(runs[0]) != len(runs[1]) {
		t.Fatalf("%d and %d steps", len(runs[0]), len(runs[1]))
	}
	for i := range runs[0] {
		if runs[0][i] != runs[1][i] {
			t.Fatalf("step %d: %+v and %+v", i, runs[0][i], runs[1][i])
		}
	}
}
