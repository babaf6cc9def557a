package node

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"stele/chain"
	"stele/internal/chaintest"
	"stele/node/blockfile"
	"stele/store"
	"stele/tables"
	"stele/validate/script"
)

// A page of the archive cannot be read in the middle of an import: the error says so, no block is blamed, and closing
// the store leaves the last checkpoint as it was, so that it opens when the page is back.
func TestMemoryFault(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a file cannot be cut under a mapping there")
	}
	c := core(t)
	for _, name := range []string{"tx", "header", "txs"} {
		for kind, options := range map[string]func(*testing.T, []byte) ImportOptions{
			"file": fileOptions, "stream": func(_ *testing.T, b []byte) ImportOptions { return streamOptions(b) },
		} {
			dir := t.TempDir()
			d, err := store.OpenDir(dir, store.DirOptions{Create: true, Verb: "test"})
			if err != nil {
				t.Fatal(err)
			}
			r := newRig(t, d, chain.Regtest())
			r.load(t, c.blocks[:300]...)
			before, height := r.t.Tip()
			path, manifest := filepath.Join(dir, name), filepath.Join(dir, store.ManifestName)
			whole, kept := readFile(t, path), readFile(t, manifest)
			if err := os.Truncate(path, store.PageSize); err != nil {
				t.Fatal(err)
			}
			o := options(t, file(r.p, c.blocks...))
			o.publishEvery = time.Hour
			rep, err := Import(context.Background(), r.t, o)
			var fault *store.Fault
			if !errors.As(err, &fault) || fault.Name != name || len(rep.Rejected) > 0 {
				t.Fatalf("%s, %s: error %v, report %+v", name, kind, err, rep)
			}
			if err := r.t.Close(); !errors.As(err, &fault) {
				t.Errorf("%s, %s: closed after a fault with %v", name, kind, err)
			}
			if !bytes.Equal(readFile(t, manifest), kept) {
				t.Errorf("%s, %s: a manifest was written after a fault", name, kind)
			}
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			r.open(t)
			if l, h := r.t.Tip(); l != before || h != height {
				t.Errorf("%s, %s: tip at %d, want %d", name, kind, h, height)
			}
			r.load(t, c.blocks...)
			r.wantCore(t, c)
			if err := errors.Join(r.t.Close(), d.Close()); err != nil {
				t.Error(err)
			}
		}
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// An import that ends by a panic leaves no checkpoint running, and a store that writes nothing any more.
func TestPanic(t *testing.T) {
	c := core(t)
	d := store.NewMemDisk()
	d.SetReserveCap(512 << 10)
	r := newRig(t, d, chain.Regtest())
	o := fileOptions(t, file(r.p, c.blocks...))
	o.limits, o.CheckpointEvery = limits{chunkBlocks: 4}, time.Nanosecond
	o.Progress = func(p Progress) {
		if p.Height > 0 {
			panic("a mistake")
		}
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = Import(context.Background(), r.t, o)
	}()
	image := d.Clone()
	if err := r.t.Close(); err == nil {
		t.Error("the store was closed as if nothing had happened")
	}
	r = &rig{disk: image, p: r.p}
	r.open(t)
	r.wantReplay(t, newLedger(r.p, c.blocks))
	r.load(t, c.blocks...)
	r.wantCore(t, c)
}

// Pending blocks are read ahead of their turn while a checkpoint moves them to another file and unmaps the one that they
// were in.
func TestPendingMoves(t *testing.T) {
	b := chaintest.Genesis()
	var all [][]byte
	for i := range uint32(60) {
		cb := chaintest.Coinbase(i+1, i)
		cb.Outs = append(cb.Outs, chaintest.Output{Script: bytes.Repeat([]byte{0x51}, 60_000)})
		b = b.NextWith(cb)
		all = append(all, b.Raw)
	}
	r := dirRig(t, chain.Regtest())
	if rep := r.load(t, all[1:]...); rep.Parked != 59 {
		t.Fatalf("report %+v", rep)
	}
	o := fileOptions(t, file(r.p, all[0]))
	o.limits = limits{deltas: 1, chunkBytes: 1, chunks: 2}
	if rep := r.run(t, o); rep.Lost != 0 || rep.Blocks != 60 {
		t.Fatalf("report %+v", rep)
	}
	r.wantTip(t, all[59])
	r.wantReplay(t, newLedger(r.p, all))
}

// A checkpoint that began before a reorganisation and does its work while blocks are popped does not end before the new
// chain is the better one: readers never see less than they saw.
func TestCheckpointInReorganisation(t *testing.T) {
	var m maker
	p := chain.Regtest()
	trunk, fork := m.branch(genesisAt(p), 5)
	old, _ := m.branch(fork, 41)
	side, _ := m.branch(fork, 45)
	r, d := hookRig(t, nil)
	r.load(t, append(trunk, old[:40]...)...)
	tb := r.t
	popped := make(chan struct{}) // closed when the first block was
	var once sync.Once
	var mu sync.Mutex
	var last chain.Work
	fell, below := false, 0
	look := func() {
		mu.Lock()
		defer mu.Unlock()
		v := tb.View()
		tip, height := v.Tip()
		work := v.Header(tip).Work()
		fell = fell || work.Cmp(last) < 0
		last = work
		if height == 46 {
			below++
		}
	}
	d.SetHook(func(op store.Op, _ string) error {
		if op == store.OpSync {
			<-popped
		}
		look()
		return nil
	})
	o := streamOptions(file(p, append(old[40:], side...)...))
	o.limits, o.CheckpointEvery, o.publishEvery = limits{chunkBlocks: 1, batchBlocks: 1}, time.Nanosecond, time.Nanosecond
	o.Between = func(tb *tables.Tables, _ func() error) {
		tip, height := tb.Tip()
		if seen, most := tb.View().Tip(); tip != seen && height < most {
			once.Do(func() { close(popped) })
			for range 200 {
				runtime.Gosched() // the checkpoint may come to its end meanwhile
			}
		}
		look()
	}
	rep := r.run(t, o)
	d.SetHook(nil)
	if fell || rep.Popped != 41 || below == 0 {
		t.Fatalf("less work shown: %v; %d popped, %d looks at the old tip", fell, rep.Popped, below)
	}
	if stageOf(t, rep, "sync").Count == 0 {
		t.Error("no checkpoint ran beside it")
	}
	r.wantTip(t, side[44])
}

// While no block is ready, readers see those that are confirmed, and checkpoints come to their end.
func TestIdleWriter(t *testing.T) {
	idle := make(chan struct{})
	read := func(_ blockfile.Place, dst []byte) ([]byte, error) {
		<-idle
		return dst, nil
	}
	w := newWindow(1, limits{}.fill(1, leastMemory), func() preparer {
		return newPreparer(chain.Regtest(), script.Default(), read)
	})
	defer w.close()
	times := 0
	w.waited, w.lap = func(bool) {}, func() error { return nil }
	w.idle = func() error {
		if times++; times == 3 {
			close(idle)
		}
		return nil
	}
	c := &counting{jobs: []job{{l: tables.HeaderLink(0), place: blockfile.Place{Len: 100}}}}
	if err := w.run(c, false); err != nil || c.seen != 1 || times < 3 {
		t.Fatalf("%v: %d blocks, idle %d times", err, c.seen, times)
	}
	stop := errors.New("stop")
	idle = make(chan struct{})
	w.idle = func() error {
		close(idle)
		return stop
	}
	c.at = 0
	if err := w.run(c, false); err != stop {
		t.Fatalf("run returned %v", err)
	}
}
