package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"unsafe"

	"stele/hashmap"
	"stele/store"
)

// Chained rows, as the original keeps them: an array of heads, and in front of each row the link of the next one in its
// bucket, newest first. Links are stored plus one; zero ends a chain.
//
//	heads  | link 4 | link 4 | ...                    one a bucket
//	rows   | next 4 | key 32 | value 10 | ...         46 bytes, the same value as our rows of 42
type chained struct {
	heads, rows unsafe.Pointer
	buckets     uint64
	files       [2]store.File
}

const (
	chainHead  = 4
	chainNext  = 4
	chainWidth = chainNext + hashRowWidth
)

// find returns the link plus one and the first byte of the value, or zeros. The bucket is scaled, as ours; the
// original's modulo would cost it a division.
func (c *chained) find(k *key) (stored uint32, value byte) {
	bucket, _ := bits.Mul64(truncate(k), c.buckets)
	stored = *(*uint32)(unsafe.Add(c.heads, bucket*chainHead))
	for stored != 0 {
		row := unsafe.Add(c.rows, uint64(stored-1)*chainWidth)
		if *(*key)(unsafe.Add(row, chainNext)) == *k {
			return stored, *(*byte)(unsafe.Add(row, chainNext+len(k)))
		}
		stored = *(*uint32)(row)
	}
	return 0, 0
}

// newChained makes the two files on a disk.
func newChained(d store.Disk, keys []key, buckets uint64) (*chained, error) {
	heads, rows := make([]byte, buckets*chainHead), make([]byte, len(keys)*chainWidth)
	for i := range keys {
		bucket, _ := bits.Mul64(truncate(&keys[i]), buckets)
		head, row := heads[bucket*chainHead:][:chainHead], rows[i*chainWidth:]
		copy(row, head)
		copy(row[chainNext:], keys[i][:])
		binary.LittleEndian.PutUint32(head, uint32(i+1))
	}
	c := &chained{buckets: buckets}
	for i, data := range [2][]byte{heads, rows} {
		f, err := writeFile(d, []string{"heads", "chained"}[i], data)
		if err != nil {
			return nil, err
		}
		c.files[i] = f
	}
	c.heads, c.rows = unsafe.Pointer(&c.files[0].Mapping().Bytes()[0]), unsafe.Pointer(&c.files[1].Mapping().Bytes()[0])
	return c, nil
}

func writeFile(d store.Disk, name string, data []byte) (store.File, error) {
	f, err := d.Open(name, store.FileOptions{Reserve: int64(len(data)) + 1<<20, Random: true})
	if err != nil {
		return nil, err
	}
	err = f.Allocate(int64(len(data)))
	for off := 0; err == nil && off < len(data); off += 1 << 20 {
		err = f.WriteAt(data[off:min(off+1<<20, len(data))], int64(off))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (c *chained) close(d store.Disk) error {
	err := errors.Join(c.files[0].Close(), c.files[1].Close())
	return errors.Join(err, d.Remove("heads"), d.Remove("chained"))
}

// Rows and lookups of the comparison.
const (
	chainRows    = 5_000_000
	chainLookups = 1 << 18 // in a turn
)

// comparing holds our map against chained rows.
type comparing struct {
	h    *hashing
	disk *store.Dir
	body *store.Body
	m    *hashmap.Map
	keys []key
}

// chains looks keys up in lines and in chained rows, heads and links, of the same memory: at the load at which lines
// begin, half way, and where they are full. The key is of full lines: the heads of the original are as many as the table
// will need one day, so it is there that the two have the same memory. The other two give chains more heads than they
// would have had.
func (h *hashing) chains(ctx context.Context) (err error) {
	c := &comparing{h: h, keys: randomKeys(max(2_000, int(chainRows*h.o.Scale)), 1)}
	c.disk, err = store.OpenDir(filepath.Join(h.o.Dir, "chains"), store.DirOptions{Create: true, Verb: "bench"})
	if err != nil {
		return err
	}
	defer c.disk.Close()
	var id [16]byte
	spec := store.BodySpec{Name: "rows", Kind: "bench", Width: hashRowWidth}
	if c.body, err = store.OpenBody(c.disk, spec, id, 0); err != nil {
		return err
	}
	c.m, err = hashmap.OpenMap(c.disk, id, hashmap.Spec{Name: "rows", UniformBits: 256},
		hashmap.Rows{Body: c.body, Width: hashRowWidth}, hashmap.State{})
	if err != nil {
		return err
	}
	var ratios []Number
	for _, rows := range []int{len(c.keys) / 2, len(c.keys) * 3 / 4, len(c.keys)} {
		h.o.Note(fmt.Sprintf("lines and chains of %d rows", rows))
		n, err := c.at(ctx, rows)
		if err != nil {
			return err
		}
		ratios = n // in the end, of full lines
	}
	h.result.ratio("hash.lines_vs_chains", slowest(ratios...))
	return nil
}

// grow brings the map to so many rows, all in lines.
func (c *comparing) grow(rows int) error {
	have := int(c.body.Len() / hashRowWidth)
	for i := have; i < rows; i++ {
		if err := c.body.Reserve(hashRowWidth); err != nil {
			return err
		}
		copy(c.body.Grow(hashRowWidth), c.keys[i][:])
		if err := errors.Join(c.body.FlushIfLarge(), c.m.Insert(uint32(i))); err != nil {
			return err
		}
	}
	if err := c.body.Flush(); err != nil {
		return err
	}
	return c.m.Merge(uint32(rows))
}

// at compares the two at so many rows: hits, and misses.
func (c *comparing) at(ctx context.Context, rows int) ([]Number, error) {
	if err := c.grow(rows); err != nil {
		return nil, err
	}
	s := c.m.Stats()
	buckets := (uint64(s.Bytes) - uint64(rows)*chainNext) / chainHead
	chains, err := newChained(c.disk, c.keys[:rows], buckets)
	if err != nil {
		return nil, err
	}
	defer func() { _ = chains.close(c.disk) }()
	note := fmt.Sprintf("%d rows, %.1f bytes a row: lines at load %.2f, chains at %.2f",
		rows, float64(s.Bytes)/float64(rows), s.Load, float64(rows)/float64(buckets))
	var ratios []Number
	for _, hit := range []bool{true, false} {
		n, err := c.race(ctx, chains, rows, hit, fmt.Sprintf("chains.%.0f", 100*s.Load), note)
		if err != nil {
			return nil, err
		}
		ratios = append(ratios, n...)
	}
	return ratios, nil
}

// race looks the same keys up in both, in turns. Every turn has other keys than the last. They come in three ways:
//
//   - alone: a key is known when the lookup before it has its answer and the first byte of the row's value. A miss has
//     none to wait for: there the processor runs ahead, as it does in a loop.
//   - many: keys are known beforehand, and each side does what it does best, we in groups. Chains are looked up one by
//     one, and the processor overlaps what it can.
//   - loop: the same keys one by one on both sides, though we need not; no part of the key.
func (c *comparing) race(
	ctx context.Context, chains *chained, rows int, hit bool, name, note string,
) (ratios []Number, err error) {
	q := c.questions(rows, hit)
	name += map[bool]string{true: ".hit", false: ".miss"}[hit]
	v, below := c.m.View(), uint32(rows)
	find := func(k *key) (stored uint32, value byte) {
		link, ok := v.Find(k, below)
		if !ok {
			return 0, 0
		}
		return link + 1, c.value(link)
	}
	groups := func(keys []key, stored []uint32) {
		v.FindGroup(keys, below, stored)
		for i := range stored {
			if stored[i]++; stored[i] != 0 {
				stored[i] += uint32(c.value(stored[i] - 1))
			}
		}
	}
	chain := q.asked("chains", oneByOne(chains.find))
	for _, m := range []struct {
		name          string
		lines, chains way
		counts        bool
	}{
		{"alone", q.asked("lines", dependent(find)), q.asked("chains", dependent(chains.find)), true},
		{"many", q.asked("lines", groups), chain, true},
		{"loop", q.asked("lines", oneByOne(find)), chain, false},
	} {
		name := name + "." + m.name
		times, err := c.h.o.inTurns(ctx, []way{m.lines, m.chains})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		var medians [2]Number
		for i, side := range []string{".lines", ".chains"} {
			medians[i] = c.h.result.median(name+side, "ns", scaled(times[i], 1/float64(q.turn)), note)
		}
		n := c.h.result.single(name, "ratio", medians[1]/medians[0], "times faster, medians")
		if m.counts {
			ratios = append(ratios, n)
		}
	}
	return ratios, nil
}

// value reads the first byte of a row behind its key, which is zero in every row.
func (c *comparing) value(link uint32) byte {
	return c.body.At(int64(link)*hashRowWidth+int64(len(key{})), 1)[0]
}

// questions are keys in random order, enough for some turns, and the links plus one that must be found.
type questions struct {
	keys       []key
	want, have []uint32
	turn       int // keys of one
}

func (c *comparing) questions(rows int, hit bool) *questions {
	const turns = 4
	q := &questions{turn: min(chainLookups, rows)}
	n := turns * q.turn
	q.want, q.have = make([]uint32, n), make([]uint32, n)
	if !hit {
		q.keys = randomKeys(n, 2)
		return q
	}
	q.keys = make([]key, n)
	r := rand.New(rand.NewPCG(seed, uint64(rows)))
	for i := range q.keys {
		q.want[i] = uint32(r.IntN(rows)) + 1
		q.keys[i] = c.keys[q.want[i]-1]
	}
	return q
}

// dependent looks up one after the other: a value decides which key is next.
func dependent(find func(*key) (uint32, byte)) func(keys []key, stored []uint32) {
	return func(keys []key, stored []uint32) {
		last := byte(0)
		for i := range keys {
			at := i + int(last)
			stored[at], last = find(&keys[at])
		}
	}
}

// oneByOne looks up keys that are all known.
func oneByOne(find func(*key) (uint32, byte)) func(keys []key, stored []uint32) {
	return func(keys []key, stored []uint32) {
		for i := range keys {
			found, value := find(&keys[i])
			stored[i] = found + uint32(value)
		}
	}
}

// asked is a way to look up the keys of a turn, whose answers are compared.
func (q *questions) asked(name string, find func(keys []key, stored []uint32)) way {
	from := 0
	return way{name: name, reps: 1, do: func() error {
		to := from + q.turn
		find(q.keys[from:to], q.have[from:to])
		if !slices.Equal(q.have[from:to], q.want[from:to]) {
			return fmt.Errorf("%s do not find the rows that there are", name)
		}
		from = to % len(q.keys)
		return nil
	}}
}
