package hashmap

import (
	"sync"
	"sync/atomic"
	"testing"

	"stele/store"
)

// published is what a writer tells its readers: a view, and how many rows they may look at.
type published struct {
	view MapView
	rows uint32
}

// TestReadersBesideWriter runs readers over the heap twin, which the race detector sees, while the writer inserts,
// merges in place, grows, retires, and merges in another goroutine. Row n has the key of n, but every eighth row
// repeats the key of the row seven before, so that there are newer rows to be found.
func TestReadersBesideWriter(t *testing.T) {
	const rows, readers = 6000, 4
	keys := mapKeysOf(0, rows)
	for n := 8; n < rows; n += 8 {
		keys[n] = keys[n-7]
	}
	newest := func(n, below uint32) uint32 {
		if n%8 == 1 && n+7 < below {
			return n + 7
		}
		return n
	}
	spec := txidSpec()
	spec.MergeBytes = 100 * lineSize // many batches and ranges
	f := newMapFixture(t, store.NewMemDisk(), spec, crowded)
	var now atomic.Pointer[published]
	now.Store(&published{f.m.View(), 0})
	var done atomic.Bool
	var wg sync.WaitGroup
	for r := range readers {
		wg.Go(func() {
			old := *now.Load()
			dst := make([]uint32, 40)
			for i := uint32(r); !done.Load(); i++ {
				p := *now.Load()
				if i%64 == 0 {
					p, old = old, p // some look again in a view that was replaced long ago
				}
				if p.rows == 0 {
					continue
				}
				n := i * 2654435761 % p.rows
				want := newest(n, p.rows)
				if link, ok := p.view.Find(&keys[n], p.rows); !ok || link != want {
					t.Errorf("row %d below %d: %d, %v, want %d", n, p.rows, link, ok, want)
					return
				}
				if all := p.view.FindAll(dst[:0], &keys[n], p.rows); all[len(all)-1] != n && n%8 != 0 || all[0] != want {
					t.Errorf("row %d below %d: all are %v", n, p.rows, all)
					return
				}
				absent := mapKeyOf(rows + uint64(i))
				if link, ok := p.view.Find(&absent, p.rows); ok {
					t.Errorf("an absent key is row %d", link)
					return
				}
				first := min(n, p.rows-min(p.rows, 40))
				some := keys[first:min(first+40, p.rows)]
				p.view.FindGroup(some, p.rows, dst[:len(some)])
				for j, link := range dst[:len(some)] {
					if n := first + uint32(j); n%8 != 0 && link != newest(n, p.rows) {
						t.Errorf("row %d below %d: the group finds %d", n, p.rows, link)
						return
					}
				}
			}
		})
	}
	publish := func() {
		f.flush()
		now.Store(&published{f.m.View(), uint32(len(f.keys))})
	}
	merging := make(chan error, 1)
	merging <- nil
	for n := 0; n < rows; n += 50 {
		f.add(keys[n : n+50]...)
		publish()
		switch n / 50 % 6 {
		case 1: // beside the writer
			if err := <-merging; err != nil {
				t.Fatal(err)
			}
			if err := f.m.Seal(uint32(n)); err != nil {
				t.Fatal(err)
			}
			publish()
			go func() { merging <- f.m.MergeSealed() }()
		case 4: // by the writer
			f.merge()
			publish()
		case 5:
			f.m.State()
			if err := f.m.Retire(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := <-merging; err != nil {
		t.Fatal(err)
	}
	done.Store(true)
	wg.Wait()
	f.merge()
	if problems := f.m.Verify(rows); len(problems) != 0 {
		t.Fatalf("Verify: %q", problems)
	}
	if st := f.m.State(); st.Generation < 5 || st.Watermark != rows {
		t.Fatalf("state %+v, want several generations", st)
	}
}
