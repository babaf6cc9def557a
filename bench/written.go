package bench

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"stele/chain"
	"stele/internal/mainnet"
)

var writtenExperiment = Experiment{
	Name:  "written",
	About: "bytes that an import writes over the archive's, and what little memory costs",
	Keys: []Key{
		{Name: "written.vs_archive", Reach: 2, Most: true},
		{Name: "written.memory_tenth_time", Reach: 1.5, Most: true},
	},
	Run: runWritten,
}

// leastMemory is what the executable's --memory takes at least. An archive of which this is more than a tenth says
// nothing about little memory: its time has a row, and no part in the key.
const leastMemory = 16 << 20

func runWritten(ctx context.Context, o Options) (*Result, error) {
	w := &writing{o: o, ctx: ctx}
	blocks, err := mainnet.Blocks()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(o.Dir, "mainnet.blk")
	if err := os.WriteFile(path, blocks, 0o600); err != nil {
		return nil, err
	}
	if err := w.input("mainnet", path, chain.Main()); err != nil {
		return nil, err
	}
	f, err := o.makeChain("generated.blk", chainOptions(o.Scale))
	if err != nil {
		return nil, err
	}
	if err := w.input("generated", f.Path, chain.Regtest()); err != nil {
		return nil, err
	}
	w.result.ratio("written.vs_archive", worst(w.ratios...))
	w.result.ratio("written.memory_tenth_time", worst(w.times...))
	return &w.result, nil
}

type writing struct {
	o             Options
	ctx           context.Context
	result        Result
	ratios, times []Number
}

// input imports one block file again and again, with all the memory it likes and with a tenth of its archive in turns.
func (w *writing) input(name, path string, p *chain.Params) error {
	var all [2][]event
	tenth := int64(0)
	for range w.o.Runs {
		for i, memory := range []int64{0, tenth} {
			if i == 1 {
				tenth = max(all[0][0].Archive/10, leastMemory)
				memory = tenth
			}
			w.o.Note(fmt.Sprintf("%s: importing with memory for %s", name, memoryText(memory)))
			e, err := w.once(path, p, memory)
			if err != nil {
				return err
			}
			all[i] = append(all[i], e)
		}
	}
	for i, arm := range []string{"plenty", "tenth"} {
		w.rows(name+"."+arm, all[i])
	}
	plenty, little := seconds(all[0]), seconds(all[1])
	n := w.result.single(name+".tenth_time", "ratio", middle(little)/middle(plenty),
		"medians, memory for "+memoryText(tenth)+" over the default")
	if tenth > leastMemory {
		w.times = append(w.times, n)
	}
	return nil
}

func memoryText(n int64) string {
	if n == 0 {
		return "whatever it likes"
	}
	return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
}

// rows tells what the runs of one arm wrote. The system's account is in pages, that of the disk's wrapper in bytes.
func (w *writing) rows(name string, all []event) {
	var pages, counted []Number
	for _, e := range all {
		pages = append(pages, e.Pages/Number(e.Archive))
		counted = append(counted, Number(sum(e.Written))/Number(e.Archive))
	}
	last := all[len(all)-1]
	w.result.median(name+".seconds", "s", seconds(all), fmt.Sprintf("%d blocks, %.0f MB of archive, %d checkpoints",
		last.Height, float64(last.Archive)/1e6, last.Saves))
	counts := w.result.median(name+".counted_vs_archive", "ratio", counted, byFile(&last))
	system := w.result.median(name+".pages_vs_archive", "ratio", pages, "by the system's account of the process")
	w.ratios = append(w.ratios, counts)
	if system.Known() {
		w.ratios = append(w.ratios, system)
	}
}

func seconds(all []event) (s []Number) {
	for _, e := range all {
		s = append(s, Number(e.Seconds))
	}
	return s
}

func sum(written map[string]int64) (n int64) {
	for _, v := range written {
		n += v
	}
	return n
}

// byFile lists the files that were written most, in megabytes.
func byFile(e *event) string {
	names := slices.SortedFunc(maps.Keys(e.Written), func(a, b string) int { return int(e.Written[b] - e.Written[a]) })
	var parts []string
	for _, name := range names[:min(6, len(names))] {
		parts = append(parts, fmt.Sprintf("%s %.1f", name, float64(e.Written[name])/1e6))
	}
	return strings.Join(parts, ", ") + " MB"
}

// once imports the file into a new store in a process of its own.
func (w *writing) once(path string, p *chain.Params, memory int64) (event, error) {
	dir := filepath.Join(w.o.Dir, "store")
	if err := os.RemoveAll(dir); err != nil {
		return event{}, err
	}
	c, err := w.o.start(w.ctx, job{Dir: dir, Network: p.Name, Import: &importJob{Path: path, Stop: -1, Memory: memory}})
	if err != nil {
		return event{}, err
	}
	e, err := c.await(saidClosed)
	if err != nil {
		return e, err
	}
	return e, c.end()
}
