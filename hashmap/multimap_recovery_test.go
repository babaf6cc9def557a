package hashmap

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"stele/store"
)

// A merge that a crash tore leaves any subset of the lines that it wrote, and anything in the overflow lines that the
// manifest does not count. Nothing that was merged before is lost; and the replay mends it, in one batch or in several,
// and however often it is torn again.
func TestMultimapTornMerges(t *testing.T) {
	for seed := range cellsTestSeeds(60) {
		coin := rand.New(rand.NewPCG(seed, 2))
		f := newMultiFixture(t, cellsTestDisk(1<<16), MultimapSpec{
			Buckets: 1 + coin.Uint64N(3), Once: coin.IntN(2) == 0, MergePairs: 1 + coin.IntN(40),
		})
		keys := []uint64{0, 1, 1 << 63, 1<<63 + 1, 0x5555555555555555, 1<<64 - 1}[:1+coin.IntN(6)]
		change := func() {
			for range 1 + coin.IntN(40) {
				value := uint64(len(f.log))
				if !f.spec.Once && coin.IntN(2) == 0 {
					value = coin.Uint64N(20)
				}
				f.add(keys[coin.IntN(len(keys))], value)
			}
		}
		for range 5 {
			change()
			for range coin.IntN(3) { // merges that no manifest knows of, or that one does
				f.merge()
				if coin.IntN(2) == 0 {
					f.settle()
				}
				change()
			}
			for again := true; again; again = coin.IntN(3) == 0 {
				before := f.disk.Clone()
				f.merge()
				f.tear(before, coin)
				f.check()
				batch := 1 + coin.IntN(60)
				f.replay(func() {
					if coin.IntN(2*batch) == 0 {
						f.check()
					}
					if coin.IntN(batch) == 0 {
						f.merge()
						f.check()
						if coin.IntN(2) == 0 {
							f.settle()
						}
					}
				})
				f.check()
			}
		}
		f.merge()
		f.settle()
		f.open()
		f.check()
		if t.Failed() || f.m.Len() != 0 || f.m.View().mending {
			t.Fatalf("seed %d: %d pairs in memory, mending %v after all were merged", seed, f.m.Len(), f.m.View().mending)
		}
		f.checkPairs(seed)
	}
}

// checkPairs counts the pairs in the lines: each once, and those that nothing tells apart once together.
func (f *multiFixture) checkPairs(seed uint64) {
	f.t.Helper()
	type place struct{ bucket, tag, value uint64 }
	g, want := f.m.View().file, make(map[place]bool)
	for a := range f.has {
		bucket, tag := g.place(f.m.mix(a.key))
		want[place{bucket, tag, a.value}] = true
	}
	if s, _ := f.m.Survey(); s.Pairs != uint64(len(want)) {
		f.t.Fatalf("seed %d: the lines have %d pairs, want %d", seed, s.Pairs, len(want))
	}
}

// An operation fails at every point of a merge in turn: pairs and watermark stay, and the next attempt succeeds.
func TestMultimapMergeFails(t *testing.T) {
	ops := []store.Op{store.OpOpen, store.OpAllocate, store.OpWrite, store.OpRewrite}
	failed := make(map[store.Op]int)
	for round := range 2 * len(ops) * 5 {
		once, op, n := round%2 == 0, ops[round/2%len(ops)], round/2/len(ops)
		for _, first := range []bool{true, false} {
			f := newMultiFixture(t, cellsTestDisk(2<<20), MultimapSpec{Once: once, Buckets: 20_000, MergePairs: 100})
			for i := range uint64(500) {
				f.add(i%7<<61, i)
			}
			if !first {
				f.merge()
				f.settle()
				for i := range uint64(100) {
					f.add(i%9<<60, 1000+i)
				}
			}
			f.keep()
			state, calls, cause := f.m.State(), 0, errors.New("broken")
			f.disk.SetHook(func(have store.Op, _ string) error {
				if have == op {
					if calls++; calls == n+1 {
						return cause
					}
				}
				return nil
			})
			f.seal()
			err := f.m.MergeSealed()
			if err == nil {
				continue // the merge has fewer such operations
			}
			failed[op]++
			if !errors.Is(err, cause) {
				t.Fatalf("%v %d: %v", op, n, err)
			}
			if got := f.m.State(); got != state {
				t.Fatalf("%v %d: state %+v after a failed merge, want %+v", op, n, got, state)
			}
			f.check()
			f.settle() // a manifest in between takes no file away
			f.add(1<<61, 5000)
			f.merge()
			f.check()
			f.settle()
			f.open()
			f.check()
			if s, _ := f.m.Survey(); s.Pairs != uint64(len(f.log)) {
				t.Fatalf("%v %d: %d pairs in the lines, want %d", op, n, s.Pairs, len(f.log))
			}
		}
	}
	for _, op := range ops {
		if failed[op] == 0 {
			t.Errorf("no merge failed in %v", op)
		}
	}
}

func TestMultimapDiskFull(t *testing.T) {
	f := newMultiFixture(t, cellsTestDisk(4<<20), MultimapSpec{Once: true})
	f.add(1<<40, 1)
	f.merge()
	f.settle()
	f.disk.SetCapacity(f.disk.Used() + 1000)
	for i := range uint64(20_000) {
		f.add(i%3<<62, i+2)
	}
	f.seal()
	var full *store.DiskFull
	for range 2 {
		if err := f.m.MergeSealed(); !errors.As(err, &full) {
			t.Fatalf("merge onto a full disk: %v", err)
		}
		if st := f.m.State(); st != f.durable || f.m.Len() != 20_000 {
			t.Fatalf("after a full disk: %+v with %d pairs in memory", st, f.m.Len())
		}
	}
	if err := f.m.Rebuild(50_000, func(uint64, func(key, value uint64)) error { return nil }); !errors.As(err, &full) {
		t.Fatalf("rebuild onto a full disk: %v", err)
	}
	for key := range uint64(3) {
		if got := f.m.View().All(nil, key<<62); len(got) != (20_000+2-int(key))/3 {
			t.Fatalf("key %d has %d values", key, len(got))
		}
	}
	f.disk.SetCapacity(-1)
	f.merge()
	f.settle()
	s, problems := f.m.Survey()
	if f.m.Len() != 0 || s.Pairs != 20_001 || len(problems) > 0 {
		t.Fatalf("after there was room: %d pairs in memory, %+v %v", f.m.Len(), s, problems)
	}
}

// A manifest that is older than the one which the last merge relied on cannot have its chains back: it is refused.
func TestMultimapOlderManifest(t *testing.T) {
	f := newMultiFixture(t, cellsTestDisk(1<<16), MultimapSpec{Buckets: 1})
	more := func() {
		for range 10 {
			f.add(5, uint64(len(f.log)))
		}
		f.merge()
		f.settle()
	}
	more()
	older := f.durable
	more()
	more()
	var ahead *Ahead
	if _, err := OpenMultimap(f.disk.Clone(), cellsTestID, f.spec, older); !errors.As(err, &ahead) {
		t.Fatalf("an older manifest: %v", err)
	}
	if want := (Ahead{Name: "conflict.multi-1", Stamp: 30, Existing: 10}); *ahead != want {
		t.Fatalf("an older manifest is %+v, want %+v", *ahead, want)
	}
	f.open()
	f.check()
}

// Between State and Retire no merge begins, and State beside a merge says what that merge cannot hurt.
func TestMultimapUnsettled(t *testing.T) {
	f := newMultiFixture(t, cellsTestDisk(1<<16), MultimapSpec{Buckets: 1, Once: true})
	more := func() {
		for range 10 {
			f.add(5, uint64(len(f.log)))
		}
	}
	more()
	f.merge()
	f.durable = f.m.State()
	more()
	if err := f.m.Merge(uint64(f.applied)); !errors.Is(err, ErrUnsettled) {
		t.Fatalf("a merge between State and Retire: %v", err)
	}
	f.check()
	if err := f.m.Retire(); err != nil {
		t.Fatal(err)
	}
	f.merge()
	more()
	f.merge()
	more()
	f.seal()
	// A merge that fails on its way has rewritten lines: the state of the two before it is not safe any more.
	f.disk.SetHook(func(op store.Op, _ string) error {
		if op == store.OpRewrite {
			return errors.New("broken")
		}
		return nil
	})
	if err := f.m.MergeSealed(); err == nil {
		t.Fatal("the merge did not fail")
	}
	if got := f.m.State(); got != f.durable {
		t.Fatalf("state %+v beside a merge, want the durable %+v", got, f.durable)
	}
	f.disk.SetHook(nil)
	if err := f.m.Retire(); err != nil {
		t.Fatal(err)
	}
	f.merge()
	f.check()
	f.open() // at the durable state
	f.replay(nil)
	f.check()
}

// Of a torn merge, pairs are in lines that the replay has not reached: a view finds each of its values once, whether
// the pair is in a line, in a delta or in both, while batches of the replay push new lines before the torn ones.
func TestMultimapMending(t *testing.T) {
	for _, old := range []int{3, 10} { // the torn line is the home line, then an overflow line
		f := newMultiFixture(t, cellsTestDisk(1<<16), MultimapSpec{Buckets: 1, Once: true})
		for range old {
			f.add(5, uint64(len(f.log)))
		}
		f.merge()
		f.settle()
		adopted, watermark := f.durable, f.durable.Watermark
		for range 40 {
			f.add(5, uint64(len(f.log)))
		}
		f.merge()
		// Everything survives but the overflow lines that the manifest does not count.
		file, err := f.disk.Open("conflict.multi-1", store.FileOptions{MustExist: true})
		if err != nil {
			t.Fatal(err)
		}
		garbage := multiEnd(1, f.durable.Entries)
		if err := file.WriteAt(make([]byte, file.Size()-garbage), garbage); err != nil {
			t.Fatal(err)
		}
		torn := f.disk.Clone()
		f.open()
		if to := f.m.MergingTo(); to != uint64(len(f.log)) || !f.m.View().mending {
			t.Fatalf("merging to %d, mending %v after a torn merge to %d", to, f.m.View().mending, len(f.log))
		}
		for i := 0; f.applied < len(f.log); i++ {
			f.m.Add(5, f.log[f.applied].value)
			f.applied++
			f.check()
			if i%2 == 1 {
				f.merge()
				f.check()
			}
			if to := f.m.MergingTo(); to != uint64(len(f.log)) {
				t.Fatalf("merging to %d, though pairs up to %d may be in the lines", to, len(f.log))
			}
		}
		f.merge()
		f.settle()
		f.open()
		f.check()
		if f.m.View().mending {
			t.Error("mending after the replay was merged")
		}
		f.checkPairs(0)

		// The torn file, rebuilt before the replay: nothing is left to mend.
		f.disk, f.durable = torn, adopted
		f.open()
		f.rebuild(2)
		f.replay(nil)
		f.check()
		if v := f.m.View(); v.mending || f.m.MergingTo() != watermark {
			t.Errorf("after a rebuild: mending %v, merging to %d", v.mending, f.m.MergingTo())
		}
		f.settle()
		f.open()
		if f.m.MergingTo() != watermark {
			t.Errorf("the rebuilt file says that it was merged to %d, want %d", f.m.MergingTo(), watermark)
		}
		f.replay(nil)
		f.check()
	}
}

// A rebuild after a torn or a failed merge starts with clean lines: nothing of the merge is in them, and nothing of it
// is left to be careful about.
func TestMultimapRebuildAfterFailure(t *testing.T) {
	f := newMultiFixture(t, cellsTestDisk(1<<16), MultimapSpec{Buckets: 1, Once: true})
	for range 20 {
		f.add(5, uint64(len(f.log)))
	}
	f.merge()
	f.settle()
	for range 20 {
		f.add(5, uint64(len(f.log)))
	}
	f.seal()
	f.disk.SetHook(func(op store.Op, _ string) error {
		if op == store.OpRewrite {
			return errors.New("broken")
		}
		return nil
	})
	if err := f.m.MergeSealed(); err == nil {
		t.Fatal("the merge did not fail")
	}
	f.disk.SetHook(nil)
	f.rebuild(2)
	if f.m.half || f.m.busy || f.m.MergingTo() != f.durable.Watermark {
		t.Errorf("half %v, busy %v, merging to %d after a rebuild", f.m.half, f.m.busy, f.m.MergingTo())
	}
	f.check()
	f.merge()
	f.check()
	f.settle()
	f.open()
	f.check()
	f.checkPairs(0)
}

// Files go when no manifest can name them: not the one that the last State named, nor one that is being made.
func TestMultimapRetire(t *testing.T) {
	f := newMultiFixture(t, cellsTestDisk(1<<16), MultimapSpec{Buckets: 1, Once: true})
	for range 20 {
		f.add(5, uint64(len(f.log)))
	}
	f.merge()
	files := func(want ...string) {
		t.Helper()
		if names, err := f.disk.List(); err != nil || !slices.Equal(names, want) {
			t.Fatalf("files %v, %v, want %v", names, err, want)
		}
	}
	f.durable = f.m.State()
	f.rebuild(2)
	if err := f.m.Retire(); err != nil {
		t.Fatal(err)
	}
	files("conflict.multi-1", "conflict.multi-2")
	f.settle()
	files("conflict.multi-2")
	err := f.m.Rebuild(3, func(to uint64, yield func(key, value uint64)) error {
		f.settle() // a checkpoint beside the rebuild
		for _, a := range f.log[:to] {
			yield(a.key, a.value)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	files("conflict.multi-2", "conflict.multi-3")
	f.settle()
	files("conflict.multi-3")
	f.open()
	f.check()
}

// A replay finds an entry in a line that a torn merge wrote. What was read may be in memory only, so the line is
// written again, though nothing in it changes.
func TestMultimapFoundIsWrittenAgain(t *testing.T) {
	f := newMultiFixture(t, cellsTestDisk(1<<16), MultimapSpec{Buckets: 1, Once: true})
	for range 20 {
		f.add(5, uint64(len(f.log)))
	}
	f.merge()
	g := f.m.View().file
	tag := uint64(5) >> multiTagShift << multiTagShift
	for value, line := range map[uint64]uint64{19: 1, 8: 0} { // 7 in the home line, 7 in line 0, 6 in line 1
		w := newMultiMerge(g, 0, 10, true)
		w.start = g.written.Load()
		home := slices.Clone(g.mapping.Bytes()[store.PageSize : store.PageSize+lineSize])
		if err := w.insert(0, home, []uint64{tag | value + 1}); err != nil {
			t.Fatal(err)
		}
		if len(w.held) != 1 || w.held[0].number != line || w.held[0].line != w.copyLine(line) || len(w.fresh) != 0 {
			t.Errorf("value %d: %d lines held, want line %d as it is", value, len(w.held), line)
		}
	}
}

// A pair that is added again while it is being merged is in both deltas of a view that was taken before, once.
func TestMultimapAddedAgain(t *testing.T) {
	f := newMultiFixture(t, cellsTestDisk(1<<16), MultimapSpec{Buckets: 1})
	f.add(5, 1)
	f.add(5, 2)
	f.seal()
	f.keep()
	if err := f.m.MergeSealed(); err != nil {
		t.Fatal(err)
	}
	f.add(5, 1)
	f.check()
	f.merge()
	f.check()
	f.checkPairs(0)
}
