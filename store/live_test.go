package store

import (
	"bytes"
	"testing"
)

// liveDisks are the disks that keep a live record here.
func liveDisks(t *testing.T) map[string]func() LiveRecord {
	mem, dir := NewMemDisk(), t.TempDir()
	open := func(d LiveDisk) LiveRecord {
		r, err := d.OpenLive()
		must(t, err)
		return r
	}
	return map[string]func() LiveRecord{
		"mem": func() LiveRecord { return open(mem) },
		"dir": func() LiveRecord {
			d, err := OpenDir(dir, DirOptions{Create: true})
			must(t, err)
			defer d.Close()
			return open(d)
		},
	}
}

// TestLiveRecord stores, opens again as the next process would, and voids.
func TestLiveRecord(t *testing.T) {
	for name, open := range liveDisks(t) {
		t.Run(name, func(t *testing.T) {
			r := open()
			if r == nil {
				t.Skip("this file system keeps no live record")
			}
			if _, ok := r.Load(); ok {
				t.Fatal("a new record holds something")
			}
			for _, want := range []string{"one", "two", "a longer third", "4"} {
				r.Store([]byte(want))
				again := open() // the first is not closed: a killed process does not close
				if got, ok := again.Load(); !ok || string(got) != want {
					t.Fatalf("loaded %q, %v, want %q", got, ok, want)
				}
				must(t, r.Close())
				r = again
				_, _ = r.Load()
			}
			r.Void()
			if _, ok := open().Load(); ok {
				t.Fatal("a voided record holds something")
			}
			must(t, r.Close())
		})
	}
}

// TestLiveRecordTorn flips every byte of both slots, and wants the older record or the newer one, never a third.
func TestLiveRecordTorn(t *testing.T) {
	d := NewMemDisk()
	r, err := d.OpenLive()
	must(t, err)
	r.Store([]byte("older"))
	r.Store([]byte("newer"))
	whole := bytes.Clone(d.live)
	seen := map[string]int{}
	for i := range whole {
		copy(d.live, whole)
		d.live[i] ^= 0x40
		again, err := d.OpenLive()
		must(t, err)
		got, ok := again.Load()
		if !ok {
			t.Fatalf("byte %d: neither record is found", i)
		}
		seen[string(got)]++
	}
	if seen["older"] == 0 || seen["newer"] == 0 || len(seen) != 2 {
		t.Fatalf("found %v", seen)
	}
}

// TestLiveRecordPlace wants a record of another boot or mount not to be found.
func TestLiveRecordPlace(t *testing.T) {
	d := NewMemDisk()
	r, err := d.OpenLive()
	must(t, err)
	r.Store([]byte("here"))
	other := &livePage{page: d.live, place: [placeSize]byte{1}}
	if got, ok := other.Load(); ok {
		t.Fatalf("another place finds %q", got)
	}
}
