package hashmap

import (
	"math/rand/v2"
	"slices"

	"pgregory.net/rapid"

	"stele/store"
)

// multiAdd is a record of the log that a multimap is derived from in these tests.
type multiAdd struct{ key, value uint64 }

// multiFixture keeps a multimap beside its log, which is the model: a view must have what was added before it was
// taken, and may have what can be told apart from that by nothing that lines keep.
type multiFixture struct {
	t       rapid.TB
	disk    *store.MemDisk
	spec    MultimapSpec
	m       *Multimap
	log     []multiAdd
	has     map[multiAdd]bool // pairs of the log
	used    map[uint64]bool   // values of the log
	applied int               // records of the log that were added since the multimap was opened, or are in the file
	mark    uint64            // of the sealed delta
	durable State             // what the last durable manifest says
	views   []multiKept
	// ordered: no crash has torn a merge, so that answers come in the log's order.
	ordered bool
}

type multiKept struct {
	view    MultiView
	applied int
}

func newMultiFixture(t rapid.TB, disk *store.MemDisk, spec MultimapSpec) *multiFixture {
	spec.Name = "conflict"
	f := &multiFixture{t: t, disk: disk, spec: spec, ordered: true}
	f.has, f.used = make(map[multiAdd]bool), make(map[uint64]bool)
	f.open()
	f.replay(nil)
	return f
}

// open opens the multimap as a crash leaves it, without the replay.
func (f *multiFixture) open() {
	f.t.Helper()
	m, err := OpenMultimap(f.disk, cellsTestID, f.spec, f.durable)
	if err != nil {
		f.t.Fatalf("open at %+v: %v", f.durable, err)
	}
	f.m, f.views, f.applied = m, nil, int(f.durable.Watermark)
	f.ordered = f.ordered && m.MergingTo() <= f.durable.Watermark
}

// replay adds what the log says from the watermark on, and calls after for each record.
func (f *multiFixture) replay(after func()) {
	for f.applied < len(f.log) {
		f.m.Add(f.log[f.applied].key, f.log[f.applied].value)
		f.applied++
		if after != nil {
			after()
		}
	}
}

func (f *multiFixture) add(key, value uint64) {
	a := multiAdd{key, value}
	if f.spec.Once && f.used[value] {
		return
	}
	f.used[value] = true
	f.log = append(f.log, a)
	f.has[a] = true
	f.replay(nil)
}

func (f *multiFixture) keep() { f.views = append(f.views, multiKept{f.m.View(), f.applied}) }

func (f *multiFixture) seal() {
	f.t.Helper()
	f.mark = uint64(f.applied)
	if err := f.m.Seal(f.mark); err != nil {
		f.t.Fatal(err)
	}
}

func (f *multiFixture) merge() {
	f.t.Helper()
	if err := f.m.Merge(uint64(f.applied)); err != nil {
		f.t.Fatal(err)
	}
}

// settle writes the manifest.
func (f *multiFixture) settle() {
	f.t.Helper()
	f.durable = f.m.State()
	if err := f.m.Retire(); err != nil {
		f.t.Fatal(err)
	}
}

func (f *multiFixture) rebuild(buckets uint64) {
	f.t.Helper()
	err := f.m.Rebuild(buckets, func(to uint64, yield func(key, value uint64)) error {
		for _, a := range f.log[:to] {
			yield(a.key, a.value)
		}
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

// tear crashes in a merge that began on disk before: any subset of the lines that it wrote survives.
func (f *multiFixture) tear(before *store.MemDisk, coin *rand.Rand) {
	f.t.Helper()
	v := f.m.View()
	if v.file == nil {
		f.open()
		return
	}
	f.disk = cellsTear(f.t, before, f.disk, v.file.file.Name(), store.PageSize, lineSize, coin)
	f.open()
}

// want returns the values of a key in the first records of the log, the newest first and each once.
func (f *multiFixture) want(key uint64, records int) []uint64 {
	var want []uint64
	for _, a := range f.log[:records] {
		if a.key == key && !slices.Contains(want, a.value) {
			want = append(want, a.value)
		}
	}
	slices.Reverse(want)
	return want
}

// check asks every kept view, and a new one, for every key of the log, and has the lines verified.
func (f *multiFixture) check() {
	f.t.Helper()
	f.keep()
	keys := []uint64{0, 1<<64 - 1, 12345}
	for _, a := range f.log {
		if !slices.Contains(keys, a.key) {
			keys = append(keys, a.key)
		}
	}
	for i := range f.views {
		for _, key := range keys {
			f.checkKey(i, key)
		}
	}
	f.views = f.views[:len(f.views)-1]
	if problems := f.m.Verify(); len(problems) > 0 {
		f.t.Fatalf("verify: %v", problems)
	}
}

func (f *multiFixture) checkKey(i int, key uint64) {
	f.t.Helper()
	k := &f.views[i]
	got := k.view.All([]uint64{7, 7}, key)
	if len(got) < 2 || got[0] != 7 || got[1] != 7 {
		f.t.Fatalf("what was in dst is gone: %v", got)
	}
	got = got[2:]
	var own []uint64
	for j, value := range got {
		if slices.Contains(got[:j], value) {
			f.t.Fatalf("view %d of %d: key %#x has %d twice: %v", i, len(f.views), key, value, got)
		}
		if f.has[multiAdd{key, value}] {
			own = append(own, value)
		} else if !f.alike(k, key, value) {
			f.t.Fatalf("view %d of %d: key %#x has %d, which nothing looks like", i, len(f.views), key, value)
		}
	}
	want := f.want(key, k.applied)
	for _, value := range want {
		if !slices.Contains(own, value) {
			f.t.Fatalf("view %d of %d: key %#x has %v and not %d, want %v", i, len(f.views), key, got, value, want)
		}
	}
	if i == len(f.views)-1 && f.ordered && f.spec.Once && !slices.Equal(own, want) {
		f.t.Fatalf("key %#x has %v, want %v in this order", key, own, want)
	}
}

// alike tells whether the log has the value with another key of the same bucket and tag.
func (f *multiFixture) alike(k *multiKept, key, value uint64) bool {
	g := k.view.file
	if g == nil {
		return false
	}
	bucket, tag := g.place(f.m.mix(key))
	for _, a := range f.log {
		if a.value == value {
			if b, t := g.place(f.m.mix(a.key)); b == bucket && t == tag {
				return true
			}
		}
	}
	return false
}
