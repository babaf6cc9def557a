package bench

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"
)

// Machine is where a result was measured, and how fast that machine was just then.
type Machine struct {
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	System  string `json:"system"`
	Go      string `json:"go"`
	Latency Number `json:"latency_ns"` // of a dependent load that misses every cache
	Copy    Number `json:"copy_gb_s"`  // 10^9 bytes copied a second, larger than the caches
	Load    Number `json:"load"`       // load average over one minute, before the experiment
}

func (m *Machine) String() string {
	return fmt.Sprintf("%s, %d cores, %s, %s; memory latency %s ns, copy %s GB/s, load %s",
		m.CPU, m.Cores, m.System, m.Go, short(m.Latency), short(m.Copy), short(m.Load))
}

// machineLines are 256 MiB in cache lines: more than the caches hold.
const machineLines = 4 << 20

// cacheLine is one link of a cycle through memory.
type cacheLine struct {
	next uint32
	_    [60]byte
}

// measureMachine takes the best of some short runs: whatever else the machine does makes them slower, never faster.
func measureMachine(lines int) Machine {
	m := Machine{
		CPU: cpuModel(), Cores: runtime.GOMAXPROCS(0), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
		Load: loadAverage(),
	}
	cycle := makeCycle(lines)
	m.Latency = Number(bestOf(3, func() { walk(cycle, lines/4) }).Nanoseconds()) / Number(lines/4)
	half := lines / 2
	elapsed := bestOf(5, func() { copy(cycle[:half], cycle[half:2*half]) })
	m.Copy = Number(half) * 64 / Number(elapsed.Nanoseconds())
	return m
}

// makeCycle links all lines in one cycle of random order (Sattolo), so that no prefetcher knows the next one.
func makeCycle(lines int) []cacheLine {
	c := make([]cacheLine, lines)
	for i := range c {
		c[i].next = uint32(i)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := lines - 1; i > 0; i-- {
		j := r.IntN(i)
		c[i].next, c[j].next = c[j].next, c[i].next
	}
	return c
}

// walkEnd keeps the compiler from leaving walk out.
var walkEnd uint32

func walk(c []cacheLine, steps int) {
	at := walkEnd % uint32(len(c))
	for range steps {
		at = c[at].next
	}
	walkEnd = at
}

func bestOf(n int, f func()) time.Duration {
	best := time.Duration(1<<63 - 1)
	for range n {
		start := time.Now()
		f()
		best = min(best, time.Since(start))
	}
	return best
}
