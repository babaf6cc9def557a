package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

// Eight readers read rows below a published count while one writer grows the file underneath, in dozens of steps.
func TestReadersDuringGrowth(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d Disk) {
		const total, width, readers = 60_000, 40, 8
		b := mustOpen(t, d, BodySpec{Name: "rows", Kind: "rows", Width: width}, 0)
		must(t, b.Reserve(width))
		base := unsafe.SliceData(b.file.Mapping().Bytes())
		var published atomic.Int64
		var wg sync.WaitGroup
		errs := make([]error, readers)
		for r := range readers {
			wg.Go(func() {
				errs[r] = Guard(func() error { return readRows(b, &published, total, width, uint64(r)) })
			})
		}
		steps, size := 0, b.Size()
		for i := range total {
			if i%50 == 0 {
				must(t, b.Flush())
				published.Store(int64(i))
				must(t, b.Reserve(50*width))
			}
			if b.Size() != size {
				steps, size = steps+1, b.Size()
			}
			row := b.Grow(width)
			for j := 0; j < width; j += 8 {
				binary.LittleEndian.PutUint64(row[j:], uint64(i)*uint64(j+1))
			}
		}
		must(t, b.Flush())
		published.Store(total)
		wg.Wait()
		must(t, errors.Join(errs...))
		if steps < 20 {
			t.Errorf("the file grew in %d steps, too few to show anything", steps)
		}
		if unsafe.SliceData(b.file.Mapping().Bytes()) != base {
			t.Error("the base has moved")
		}
	})
}

// readRows reads random published rows, by At and by a view's Data, until all are published.
func readRows(b *Body, published *atomic.Int64, total, width int64, seed uint64) error {
	rnd := seeded(seed)
	for done := false; !done; {
		n := published.Load()
		if done = n == total; n == 0 {
			continue
		}
		data := b.Data()
		for range 50 {
			i := rnd.Int64N(n)
			row := b.At(i*width, int(width))
			if i&1 == 0 {
				row = data[i*width:][:width]
			}
			for j := 0; j < len(row); j += 8 {
				if got := binary.LittleEndian.Uint64(row[j:]); got != uint64(i)*uint64(j+1) {
					return fmt.Errorf("row %d of %d published holds %d at %d", i, n, got, j)
				}
			}
		}
	}
	return nil
}

// Aligned words that are rewritten under readers are never seen torn: each is loaded with all its bytes alike.
func TestRewriteUnderReaders(t *testing.T) {
	for name, open := range diskKinds {
		t.Run(name, func(t *testing.T) {
			const words, rounds = 1024, 400
			d := open(t)
			f, err := d.Open("lines", FileOptions{Random: true})
			must(t, err)
			must(t, f.Allocate(8*words))
			m := f.Mapping().Bytes()
			var stop atomic.Bool
			var wg sync.WaitGroup
			errs := make([]error, 4)
			for r := range errs {
				wg.Go(func() {
					for i := r; !stop.Load(); i = (i + 7) % words {
						v := atomic.LoadUint64((*uint64)(unsafe.Pointer(&m[8*i])))
						if v != v%256*0x0101010101010101 {
							errs[r] = fmt.Errorf("word %d is %016x", i, v)
							return
						}
					}
				})
			}
			p := make([]byte, 8*words)
			for i := range rounds {
				for j := range p {
					p[j] = byte(i + 1)
				}
				n := 8 * (1 + i*37%words)
				must(t, f.Rewrite(p[:n], 8*int64(i)%int64(8*words-n+8)))
			}
			stop.Store(true)
			wg.Wait()
			must(t, errors.Join(errs...))
			panics(t, "aligned 8-byte words", func() { _ = f.Rewrite(p[:8], 4) })
			panics(t, "aligned 8-byte words", func() { _ = f.Rewrite(p[:4], 8) })
			fails[*Fault](t, f.Rewrite(p[:8], f.Size()), "beyond")
			fails[*Fault](t, f.WriteAt(p[:8], f.Size()-4), "beyond")
		})
	}
}

// A checkpoint syncs what is flushed while the writer goes on.
func TestSyncBesideTheWriter(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d Disk) {
		b := mustOpen(t, d, rows4, 0)
		var stop atomic.Bool
		var wg sync.WaitGroup
		var err error
		wg.Go(func() {
			for !stop.Load() && err == nil {
				err = errors.Join(b.SyncFlushed(), d.Sync())
				_ = b.Size() + b.Flushed()
			}
		})
		for i := range 2000 {
			must(t, b.Reserve(40))
			copy(b.Grow(40), fmt.Sprintf("%040d", i))
			must(t, b.Flush())
		}
		stop.Store(true)
		wg.Wait()
		must(t, err)
		must(t, b.Close())
	})
}

// Of many failures the first is kept, by whichever goroutine it comes.
func TestHealthKeepsTheFirst(t *testing.T) {
	var h Health
	must(t, h.Err())
	first := &Fault{Op: "sync", Name: "first", Off: -1}
	if err := h.fail(first); err != error(first) {
		t.Fatalf("the first failure returns %v", err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() { _ = h.fail(&Fault{Op: "sync", Name: fmt.Sprint(i), Off: -1}) })
	}
	wg.Wait()
	if h.Err() != error(first) {
		t.Fatalf("the failure kept is %v", h.Err())
	}
}

func TestGuardLetsOtherPanicsGo(t *testing.T) {
	panics(t, "mine", func() { _ = Guard(func() error { panic("mine") }) })
	panics(t, "nil pointer", func() {
		var p *Fault
		_ = Guard(func() error { return p.Err })
	})
	panics(t, "index out of range", func() {
		var s []int
		_ = Guard(func() error { return fmt.Errorf("%d", s[len(s)]) })
	})
	want := errors.New("an error")
	if err := Guard(func() error { return want }); err != want {
		t.Fatalf("Guard returns %v", err)
	}
}
