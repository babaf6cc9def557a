package node

import (
	"bytes"
	"errors"
	"testing"

	"stele/chain"
	"stele/store"
	"stele/tables"
)

// TestBetween has the writer make checkpoints for somebody else, also in the middle of a reorganisation: there they are
// refused, and readers keep the chain of most work. One that was made is durable: it is what a power cut leaves.
func TestBetween(t *testing.T) {
	r := memRig(t, chain.Regtest())
	var m maker
	low, _ := m.branch(genesisAt(r.p), 10)
	high, _ := m.branch(genesisAt(r.p), 12)
	r.load(t, low...)
	var made, refused, calls int
	var work chain.Work
	o := streamOptions(file(r.p, high...))
	o.limits, o.publishEvery = limits{chunkBlocks: 1}, 1
	o.Between = func(tb *tables.Tables, checkpoint func() error) {
		calls++
		switch err := checkpoint(); {
		case errors.Is(err, ErrReorganising):
			refused++
		case err != nil:
			t.Error(err)
		default:
			made++
		}
		v := tb.View()
		tip, height := v.Tip()
		if w := v.Header(tip).Work(); w.Cmp(work) < 0 {
			t.Errorf("a checkpoint at height %d shows readers less work", height)
		} else {
			work = w
		}
	}
	r.run(t, o)
	r.wantTip(t, high[11])
	if refused < 10 || made < 2 || calls != made+refused {
		t.Errorf("%d calls: %d checkpoints, %d refused", calls, made, refused)
	}
}

// TestBetweenIsDurable copies the store as a backup, which takes what is durable, right after a checkpoint that somebody
// asked for.
func TestBetweenIsDurable(t *testing.T) {
	r := memRig(t, chain.Regtest())
	var m maker
	blocks, _ := m.branch(genesisAt(r.p), 30)
	seen := 0
	o := ImportOptions{Paths: []string{"-"}, Stdin: bytes.NewReader(file(r.p, blocks...)), StopHeight: -1, Verifier: verifier}
	o.limits = limits{chunkBlocks: 7, batchBlocks: 10}
	o.Between = func(tb *tables.Tables, checkpoint func() error) {
		if err := checkpoint(); err != nil {
			t.Error(err)
			return
		}
		d := store.NewMemDisk()
		d.SetReserveCap(512 << 10)
		if err := tb.Backup(d, nil); err != nil {
			t.Error(err)
			return
		}
		cp := &rig{disk: d, p: r.p}
		cp.open(t)
		defer cp.discard()
		_, height := cp.t.Tip()
		if _, want := tb.Tip(); height != want {
			t.Errorf("durable up to height %d of %d", height, want)
		}
		seen++
	}
	r.run(t, o)
	if seen < 4 {
		t.Errorf("called %d times", seen)
	}
}
