package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"testing"
)

// FuzzOpenDamaged opens a store whose manifest and body header were changed: bytes replaced, files cut, and, under fix,
// every checksum made good again, so that the fields behind them are reached. The answer is one of the typed errors, or
// what is served carries a checksum that matches and lies within its file.
func FuzzOpenDamaged(f *testing.F) {
	d := NewMemDisk()
	d.SetReserveCap(4 * PageSize)
	m := create(f, d)
	for _, p := range []string{"first", "second"} {
		_, err := m.Write([]byte(p))
		must(f, err)
	}
	b := mustOpen(f, d, rows4, 0)
	must(f, b.Reserve(8))
	b.Append([]byte("abcdefgh"))
	must(f, b.Sync())
	manifest, body := d.nodes[ManifestName].mapping.Bytes()[:manifestSize], d.nodes["rows"].mapping.Bytes()[:PageSize+8]

	f.Add([]byte{}, uint16(0), uint16(manifestSize), uint16(len(body)), uint16(8), false)
	f.Add([]byte{}, uint16(0), uint16(0), uint16(0), uint16(0), false)
	f.Add([]byte{}, uint16(0), uint16(5000), uint16(100), uint16(4), true)
	for _, at := range []uint16{0, preFormat, preNetwork, preState, preSum, PageSize, PageSize + slotSequence,
		PageSize + slotLength, 2*PageSize + slotLength, manifestSize, manifestSize + hdrFormat, manifestSize + hdrWidth,
		manifestSize + hdrID, manifestSize + hdrSum} {
		f.Add([]byte{0x55, 0xff, 0xff}, at, uint16(manifestSize), uint16(len(body)), uint16(8), true)
		f.Add([]byte{0, 0, 0, 0}, at, uint16(manifestSize), uint16(len(body)), uint16(8), false)
	}
	// A preamble of the right checksum with something in its zeros.
	f.Add([]byte("0"), uint16(83), uint16(manifestSize), uint16(len(body)), uint16(0), true)
	f.Fuzz(func(t *testing.T, patch []byte, at, manifestLen, bodyLen, covered uint16, fix bool) {
		both := append(bytes.Clone(manifest), body...) // the patch may fall on either
		if int(at) < len(both) {
			copy(both[at:], patch)
		}
		if fix {
			fixSums(both)
		}
		d := NewMemDisk()
		d.SetReserveCap(4 * PageSize)
		defer d.Discard()
		put := func(name string, p []byte) []byte {
			n := d.newNode(name, 4*PageSize)
			copy(n.mapping.Bytes(), p)
			n.size.Store(int64(len(p)))
			return p
		}
		put(ManifestName, both[:min(int(manifestLen), manifestSize)])
		rows := put("rows", both[manifestSize:][:min(int(bodyLen), len(body))])
		fuzzManifest(t, d)
		b, err := OpenBody(d, rows4, testID, int64(covered))
		if typed(t, err) && (b.Len() != int64(covered) || covered > 0 && !bytes.Equal(b.Data(), rows[PageSize:][:covered])) {
			t.Fatalf("a body of %d bytes was opened as %x", covered, b.Data())
		}
	})
}

// fixSums makes every checksum of a manifest and of the header page behind it match.
func fixSums(b []byte) {
	pre := sumPage(0, b, preSum)
	binary.LittleEndian.PutUint64(b[preSum:], pre)
	for i := 1; i < 3; i++ {
		slot := b[i*PageSize:]
		binary.LittleEndian.PutUint64(slot, sumPage(pre, slot, 0))
	}
	page := b[manifestSize:]
	binary.LittleEndian.PutUint64(page[hdrSum:], sumPage(0, page, hdrSum))
}

func fuzzManifest(t *testing.T, d *MemDisk) {
	m, err := openManifest(d)
	if !typed(t, err) {
		return
	}
	seq, payload, ok := m.Latest()
	if !ok || seq == 0 || len(payload) > MaxPayload {
		t.Fatalf("latest is %d, %d bytes, %v", seq, len(payload), ok)
	}
	next, err := m.Write([]byte("next"))
	if err != nil || next != seq+1 {
		t.Fatalf("the sequence after %d is %d, %v", seq, next, err)
	}
	m, err = openManifest(d)
	must(t, err)
	if _, p, _ := m.Latest(); string(p) != "next" {
		t.Fatalf("latest is %q after a write", p)
	}
}

// typed tells success from the errors that damaged files may give, and ends the test on any other.
func typed(t *testing.T, err error) bool {
	t.Helper()
	var damaged *Damaged
	var foreign *Foreign
	if err != nil && !errors.As(err, &damaged) && !errors.As(err, &foreign) && !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("untyped error %T: %v", err, err)
	}
	return err == nil
}
