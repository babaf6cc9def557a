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

// raceRows are the rows of the race test: row n has the key of n, but every eighth repeats the key of the row seven
// before, so that there are newer rows to be found.
const raceRows = 6000

type mapRace struct {
	*mapFixture
	all  []mapKey
	now  atomic.Pointer[published]
	done atomic.Bool
}

// newest is the newest row with the key of row n, which repeats none, below a limit.
func (r *mapRace) newest(n, below uint32) uint32 {
	if n%8 == 1 && n+7 < below {
		return n + 7
	}
	return n
}

func (r *mapRace) publish() {
	r.flush()
	r.now.Store(&published{r.m.View(), uint32(len(r.keys))})
}

// read looks up until the writer is done, at times in a view that was replaced long ago.
func (r *mapRace) read(t *testing.T, seed uint32) {
	old := *r.now.Load()
	for i := seed; !r.done.Load() && !t.Failed(); i++ {
		p := *r.now.Load()
		if i%64 == 0 {
			p, old = old, p
		}
		if p.rows > 0 {
			r.look(t, p, i*2654435761%p.rows)
		}
		absent := mapKeyOf(raceRows + uint64(i))
		if link, ok := p.view.Find(&absent, p.rows); ok {
			t.Errorf("an absent key is row %d", link)
		}
	}
}

// look looks for row n and the group that begins with it.
func (r *mapRace) look(t *testing.T, p published, n uint32) {
	if n != 0 && n%8 == 0 {
		n -= 7
	}
	want := r.newest(n, p.rows)
	if link, ok := p.view.Find(&r.all[n], p.rows); !ok || link != want {
		t.Errorf("row %d below %d: %d, %v, want %d", n, p.rows, link, ok, want)
	}
	if links := p.view.FindAll(nil, &r.all[n], p.rows); links[0] != want || links[len(links)-1] != n {
		t.Errorf("row %d below %d: all are %v", n, p.rows, links)
	}
	group := r.all[n:min(n+40, p.rows)]
	var dst [40]uint32
	p.view.FindGroup(group, p.rows, dst[:len(group)])
	for j, link := range dst[:len(group)] {
		if g := n + uint32(j); g%8 != 0 && link != r.newest(g, p.rows) {
			t.Errorf("row %d below %d: the group finds %d", g, p.rows, link)
		}
	}
}

// write inserts all rows, merging in between: beside itself, by itself, in place and by growth.
func (r *mapRace) write(t *testing.T) {
	merging := make(chan error, 1)
	merging <- nil
	for n := 0; n < raceRows; n += 50 {
		r.add(r.all[n : n+50]...)
		r.publish()
		switch n / 50 % 6 {
		case 1:
			if err := <-merging; err != nil {
				t.Fatal(err)
			}
			if err := r.m.Seal(uint32(n)); err != nil {
				t.Fatal(err)
			}
			r.publish()
			go func() { merging <- r.m.MergeSealed() }()
		case 4:
			r.merge()
			r.publish()
		case 5:
			r.m.State()
			if err := r.m.Retire(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := <-merging; err != nil {
		t.Fatal(err)
	}
}

// TestReadersBesideWriter runs readers over the heap twin, which the race detector sees, while the writer inserts,
// merges and retires.
func TestReadersBesideWriter(t *testing.T) {
	spec := txidSpec()
	spec.MergeBytes = 100 * lineSize // many batches and ranges
	r := mapRace{mapFixture: newMapFixture(t, store.NewMemDisk(), spec, crowded), all: mapKeysOf(0, raceRows)}
	for n := 8; n < raceRows; n += 8 {
		r.all[n] = r.all[n-7]
	}
	r.now.Store(&published{r.m.View(), 0})
	var readers sync.WaitGroup
	for seed := range uint32(4) {
		readers.Go(func() { r.read(t, seed) })
	}
	r.write(t)
	r.done.Store(true)
	readers.Wait()
	r.merge()
	if problems := r.m.Verify(raceRows); len(problems) != 0 {
		t.Fatalf("Verify: %q", problems)
	}
	if st := r.m.State(); st.Generation < 5 || st.Watermark != raceRows {
		t.Fatalf("state %+v, want several generations", st)
	}
}
