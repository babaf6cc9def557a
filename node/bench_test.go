package node

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"stele/chain"
	"stele/internal/mainnet"
	"stele/node/blockfile"
	"stele/store"
	"stele/tables"
	"stele/validate/script"
)

// BenchmarkImportMainnet imports the first 14,132 mainnet blocks (3.2 MB) into a store on disk, and reports the
// time of each stage.
func BenchmarkImportMainnet(b *testing.B) {
	input := mainBlocks(b)
	path := filepath.Join(b.TempDir(), "main.blk")
	if err := os.WriteFile(path, input, 0o600); err != nil {
		b.Fatal(err)
	}
	for name, options := range map[string]func() ImportOptions{
		"file":   func() ImportOptions { return ImportOptions{Paths: []string{path}, StopHeight: -1} },
		"stream": func() ImportOptions { return streamOptions(input) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(input)))
			spent := map[string]float64{}
			for b.Loop() {
				b.StopTimer()
				d, err := store.OpenDir(b.TempDir(), store.DirOptions{Create: true})
				if err != nil {
					b.Fatal(err)
				}
				tb, err := tables.Create(d, chain.Main(), tables.Options{PendingBytes: 64 << 20})
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				rep, err := Import(context.Background(), tb, options())
				b.StopTimer()
				if err != nil || rep.Tip.Height != 14_131 {
					b.Fatal(rep, err)
				}
				for _, s := range rep.Stages {
					spent[s.Name] += s.Seconds
				}
				if err := tb.Close(); err != nil {
					b.Fatal(err)
				}
				if err := d.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			for stage, s := range spent {
				b.ReportMetric(s*1000/float64(b.N), stage+"-ms")
			}
		})
	}
}

// BenchmarkPublish imports the same blocks into a store on disk, with a publication after each chunk, and reports what
// one costs. Five in a second are what an import has.
func BenchmarkPublish(b *testing.B) {
	o := ImportOptions{Paths: []string{filepath.Join(b.TempDir(), "main.blk")}, StopHeight: -1, publishEvery: 1}
	if err := os.WriteFile(o.Paths[0], mainBlocks(b), 0o600); err != nil {
		b.Fatal(err)
	}
	var spent, count float64
	for b.Loop() {
		b.StopTimer()
		d, err := store.OpenDir(b.TempDir(), store.DirOptions{Create: true})
		if err != nil {
			b.Fatal(err)
		}
		tb, err := tables.Create(d, chain.Main(), tables.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		rep, err := Import(context.Background(), tb, o)
		b.StopTimer()
		if err != nil {
			b.Fatal(err)
		}
		s := stageOf(b, rep, "publish")
		spent, count = spent+s.Seconds, count+float64(s.Count)
		if err := errors.Join(tb.Close(), d.Close()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(spent/count*1e6, "µs/publication")
	b.ReportMetric(count/float64(b.N), "publications")
}

// counting is an errand that does nothing with its blocks.
type counting struct {
	plain
	jobs []job
	at   int
	seen int
	bad  int
}

func (c *counting) next(j *job) bool {
	if c.at == len(c.jobs) {
		return false
	}
	*j = c.jobs[c.at]
	c.at++
	return true
}

func (c *counting) turn(s *slot) error {
	c.seen++
	if s.fault != nil || !s.verdict.OK() {
		c.bad++
	}
	return nil
}

// fileJobs opens a file of blocks and describes them all.
func fileJobs(tb testing.TB, content []byte) (*blockfile.Set, []job) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "input.blk")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		tb.Fatal(err)
	}
	set, err := blockfile.Open([]string{path}, blockfile.Options{Magic: chain.Main().Magic})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { set.Close() })
	var jobs []job
	err = set.Index(func(r *blockfile.Record) bool {
		h, _ := chain.ParseHeader(r.Header[:])
		jobs = append(jobs, job{place: r.Place, hash: h.Hash()})
		return true
	})
	if err != nil {
		tb.Fatal(err)
	}
	return set, jobs
}

func quietWindow(p *chain.Params, threads int, set *blockfile.Set) *window {
	w := newWindow(threads, limits{}.fill(threads, 1<<30), func() preparer {
		return newPreparer(p, script.Default(), set.ReadBlock)
	})
	w.waited, w.lap, w.idle = func(bool) {}, func() error { return nil }, func() error { return nil }
	return w
}

// Reading, checking and encoding blocks allocates nothing once the buffers have grown: less than one object for every
// chunk of 64 blocks, of which the handoff's closure is one.
func TestWindowAllocatesNothingPerBlock(t *testing.T) {
	set, jobs := fileJobs(t, mainBlocks(t))
	w := quietWindow(chain.Main(), 1, set)
	defer w.close()
	c := &counting{jobs: jobs}
	run := func() {
		c.at = 0
		if err := w.run(c, false); err != nil {
			t.Fatal(err)
		}
	}
	run() // buffers grow
	run()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	if c.seen != 3*mainnet.Count || c.bad != 0 {
		t.Fatalf("%d blocks, of which %d are bad", c.seen, c.bad)
	}
	chunks := uint64(mainnet.Count/mostLimits.chunkBlocks + 1)
	if n := after.Mallocs - before.Mallocs; n > 3*chunks {
		t.Fatalf("%d objects for %d blocks", n, mainnet.Count)
	}
}

// BenchmarkWindow is what one thread prepares of early blocks.
func BenchmarkWindow(b *testing.B) {
	set, jobs := fileJobs(b, mainBlocks(b))
	w := quietWindow(chain.Main(), 1, set)
	defer w.close()
	b.SetBytes(mainnet.Size)
	for b.Loop() {
		if err := w.run(&counting{jobs: jobs}, false); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReimport is an import of what is archived already.
func BenchmarkReimport(b *testing.B) {
	input := mainBlocks(b)
	d := store.NewMemDisk()
	tb, err := tables.Create(d, chain.Main(), tables.Options{PendingBytes: 64 << 20})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		o := ImportOptions{Paths: []string{"-"}, Stdin: bytes.NewReader(input), StopHeight: -1}
		if _, err := Import(context.Background(), tb, o); err != nil {
			b.Fatal(err)
		}
	}
}
