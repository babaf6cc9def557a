package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"stele/hashmap"
	"stele/store"
)

var hashExperiment = Experiment{
	Name:  "hash",
	About: "the truncating map against hash functions before it, and against rows chained from heads",
	Keys: []Key{
		{Name: "hash.probe_vs_random", Reach: 1.02, Most: true},
		{Name: "hash.time_vs_djb2", Reach: 1},
		{Name: "hash.time_vs_xxh3", Reach: 1},
		{Name: "hash.lines_vs_chains", Reach: 1.2},
	},
	Run: runHash,
}

// key is what rows are found by: a txid.
type key = [32]byte

// function makes 64 bits of a key, which choose its bucket.
type function struct {
	name string
	of   func(*key) uint64 // nil: not linked
}

// functions are called in the same way, the truncation too, so that it is not the call that is measured.
func functions() []function {
	return []function{{"truncation", truncate}, {"djb2", djb2}, {"xxh3", hashXXH3}}
}

// truncate takes the bits that are there.
func truncate(k *key) uint64 { return binary.LittleEndian.Uint64(k[:]) }

// djb2 is Bernstein's hash: times 33, plus the byte.
func djb2(k *key) uint64 {
	h := uint64(5381)
	for _, b := range k {
		h = h*33 + uint64(b)
	}
	return h
}

// hashRowWidth is the width of a transaction's row, which begins with its key.
const hashRowWidth = 42

// table is a truncating map over rows of its own, whose keys begin with what a function makes of them: so the map's
// window, at bit 0, is the function's value. All else is as the map does it for every function. What a merge would
// compute again is in the row; a function that costs time would cost a little more.
type table struct {
	function
	disk *store.MemDisk
	body *store.Body
	m    *hashmap.Map
	rows uint32

	put, get, merge time.Duration // of processor time
}

// newTable makes a table of at most so many rows in memory: no disk is measured.
func newTable(f function, rows int) (*table, error) {
	d := store.NewMemDisk()
	size := int64(rows+1) * hashRowWidth
	d.SetReserveCap(2*size + 1<<20)
	t := &table{function: f, disk: d}
	var id [16]byte
	var err error
	spec := store.BodySpec{Name: "rows", Kind: "bench", Width: hashRowWidth, Reserve: size + size/8 + 1<<20}
	if t.body, err = store.OpenBody(d, spec, id, 0); err != nil {
		return nil, err
	}
	t.m, err = hashmap.OpenMap(d, id, hashmap.Spec{Name: "rows", UniformBits: 256},
		hashmap.Rows{Body: t.body, Width: hashRowWidth}, hashmap.State{})
	return t, err
}

// place puts the function's value in front of a key.
func (t *table) place(k *key) key {
	placed := *k
	binary.LittleEndian.PutUint64(placed[:], t.of(k))
	return placed
}

// insert appends rows and makes them findable.
func (t *table) insert(keys []key) error {
	if err := t.body.Reserve(int64(len(keys)) * hashRowWidth); err != nil {
		return err
	}
	for i := range keys {
		placed := t.place(&keys[i])
		copy(t.body.Grow(hashRowWidth), placed[:])
		if err := t.m.Insert(t.rows); err != nil {
			return err
		}
		t.rows++
	}
	return t.body.FlushIfLarge()
}

// find looks keys up one by one.
func (t *table) find(keys []key, links []uint32) {
	v := t.m.View()
	for i := range keys {
		placed := t.place(&keys[i])
		link, ok := v.Find(&placed, t.rows)
		if !ok {
			link = hashmap.NoLink
		}
		links[i] = link
	}
}

// mergeAll puts all rows into lines.
func (t *table) mergeAll() error {
	if err := t.body.Flush(); err != nil {
		return err
	}
	return t.m.Merge(t.rows)
}

// hashing runs the experiment.
type hashing struct {
	o      *Options
	result Result
	tr     *trace
}

func runHash(ctx context.Context, o Options) (*Result, error) {
	h := &hashing{o: &o}
	var err error
	if h.tr, err = o.makeTrace(ctx); err != nil {
		return nil, err
	}
	for _, f := range []func(context.Context) error{h.alone, h.probes, h.times, h.chains} {
		if err := f(ctx); err != nil {
			return nil, err
		}
	}
	return &h.result, nil
}

// alone times each function over keys in the cache: what it adds where nothing waits for memory.
func (h *hashing) alone(ctx context.Context) error {
	keys := h.tr.ids[:min(len(h.tr.ids), 512)]
	var ways []way
	for _, f := range functions() {
		if f.of == nil {
			h.result.single("function."+f.name, "ns", None, needsTag)
			continue
		}
		ways = append(ways, way{name: f.name, do: func() error {
			end := uint64(0)
			for i := range keys {
				end += f.of(&keys[i])
			}
			runtime.KeepAlive(end) // else the compiler leaves the function out
			return nil
		}})
	}
	times, err := h.o.inTurns(ctx, ways)
	if err != nil {
		return err
	}
	for i := range ways {
		h.result.best("function."+ways[i].name, "ns", scaled(times[i], 1/float64(len(keys))), "a key, in the cache")
	}
	return nil
}

// times puts and gets what a long run of blocks does, with each function: a block with one, the same with the next.
// Merges are no part of it, since they compute nothing here.
func (h *hashing) times(ctx context.Context) error {
	totals, parts := map[string][]Number{}, map[string][]Number{}
	for run := range h.o.Runs {
		h.o.Note(fmt.Sprintf("puts and gets of %d blocks, run %d", len(h.tr.blocks), run+1))
		tables, err := h.timesOnce(ctx)
		if err != nil {
			return err
		}
		for _, t := range tables {
			puts, gets := Number(len(h.tr.ids)), Number(len(h.tr.spends))
			parts[t.name+".put"] = append(parts[t.name+".put"], Number(t.put.Nanoseconds())/puts)
			parts[t.name+".merge"] = append(parts[t.name+".merge"], Number(t.merge.Nanoseconds())/puts)
			parts[t.name+".get"] = append(parts[t.name+".get"], Number(t.get.Nanoseconds())/gets)
			totals[t.name] = append(totals[t.name], Number((t.put + t.get).Seconds()))
			t.disk.Discard()
		}
	}
	note := fmt.Sprintf("%d puts and %d gets in %d blocks", len(h.tr.ids), len(h.tr.spends), len(h.tr.blocks))
	medians := map[string]Number{}
	for _, f := range functions() {
		if f.of == nil {
			h.result.single("blocks."+f.name, "s", None, needsTag)
			medians[f.name] = None
			continue
		}
		medians[f.name] = h.result.median("blocks."+f.name, "s", totals[f.name], note)
		h.result.median("blocks."+f.name+".put", "ns", parts[f.name+".put"], "a row, into its body and the delta")
		h.result.median("blocks."+f.name+".get", "ns", parts[f.name+".get"], "")
		h.result.median("blocks."+f.name+".merge", "ns", parts[f.name+".merge"], "a row, into lines; not counted")
	}
	h.result.ratio("hash.time_vs_djb2", medians["djb2"]/medians["truncation"])
	h.result.ratio("hash.time_vs_xxh3", medians["xxh3"]/medians["truncation"])
	return nil
}

// timesOnce plays the whole trace with all functions. Each block begins with another one, so that none always comes
// first.
func (h *hashing) timesOnce(ctx context.Context) (tables []*table, err error) {
	for _, f := range functions() {
		if f.of == nil {
			continue
		}
		t, err := newTable(f, len(h.tr.ids))
		if err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	for b := range h.tr.blocks {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for i := range tables {
			t := tables[(b+i)%len(tables)]
			if err := h.tr.play(t, b); err != nil {
				return nil, fmt.Errorf("%s: block %d: %w", t.name, b, err)
			}
		}
	}
	return tables, nil
}

// randomKeys makes keys of random bits.
func randomKeys(n int, seed uint64) []key {
	r := rand.New(rand.NewPCG(seed, 1))
	keys := make([]key, n)
	for i := range keys {
		for at := 0; at < len(keys[i]); at += 8 {
			binary.LittleEndian.PutUint64(keys[i][at:], r.Uint64())
		}
	}
	return keys
}
