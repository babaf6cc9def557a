package node

import (
	"runtime"
	"testing"

	"stele/chain"
	"stele/store"
)

func TestMemory(t *testing.T) {
	const least, gib = 16 << 20, 1 << 30
	machine := machineMemory()
	if runtime.GOOS == "linux" && machine < 64<<20 {
		t.Errorf("the machine is said to have %d bytes", machine)
	}
	if got := Memory(0); got < least || machine > 0 && got > max(machine/2, least) {
		t.Errorf("half of %d bytes is %d", machine, got)
	}
	for given, want := range map[int64]int64{1: least, least - 1: least, least: least, 3 * gib: 3 * gib} {
		if got := Memory(given); got != want {
			t.Errorf("a budget of %d came to %d, want %d", given, got, want)
		}
	}
}

// What the shares can come to stays within the budget, and each part can work.
func TestLimits(t *testing.T) {
	for memory := int64(leastMemory); memory <= 64<<30; memory *= 2 {
		for _, threads := range []int{1, 2, 7, 64} {
			l := limits{}.fill(threads, memory)
			ahead := int64(l.chunks)*blockMemory + batches*int64(l.batchBytes)
			if l.chunks > 2 && l.deltas+ahead > memory*3/4 {
				t.Errorf("%d bytes, %d threads: deltas %d and %d ahead", memory, threads, l.deltas, ahead)
			}
			if l.deltas < memory/2 || l.chunks < 2 || l.chunks > 64 || l.batchBytes < 1<<20 || l.batchBytes > 32<<20 {
				t.Errorf("%d bytes, %d threads: %+v", memory, threads, l)
			}
		}
	}
	if l := (limits{}).fill(16, 64<<30); l.chunks != 64 || l.batchBytes != 32<<20 {
		t.Errorf("with plenty of memory: %+v", l)
	}
}

// The bytes that an import writes, every file and both manifest slots counted, are at most twice those of the archive
// that it made: about as many where the indexes are merged once, a quarter more where they are a dozen times. (How many
// checkpoints fit beside an import is a matter of time, but not how many there are at most.)
func TestBytesWritten(t *testing.T) {
	c := core(t)
	for name, in := range map[string]struct {
		p       *chain.Params
		content []byte
		cadence []int64 // of checkpoints, in wire bytes
	}{
		"mainnet":      {chain.Main(), mainBlocks(t), []int64{0, 250_000}},
		"core_regtest": {chain.Regtest(), file(chain.Regtest(), c.blocks...), []int64{0}},
	} {
		for _, every := range in.cadence {
			g := newGate(store.NewMemDisk(), false)
			r := newRig(t, g, in.p)
			made := g.total()
			o := fileOptions(t, in.content)
			o.CheckpointBytes = every
			o.limits.chunkBytes = 8 << 10
			rep := r.run(t, o)
			wrote, archive := g.total()-made, int64(0)
			for _, s := range r.t.Stats() {
				if s.Archive {
					archive += int64(s.BodyBytes + s.HeadBytes)
				}
			}
			t.Logf("%s: %d bytes written, %d of the archive, %d checkpoints beside it: %v", name, wrote, archive,
				stageOf(t, rep, "sync").Count, g.wrote)
			if wrote > 2*archive || wrote < archive/2 {
				t.Errorf("%s, a checkpoint every %d bytes: %d bytes written for an archive of %d", name, every, wrote, archive)
			}
		}
	}
}
