package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"pgregory.net/rapid"
)

var rows4 = BodySpec{Name: "rows", Kind: "rows", Width: 4}

func TestBodyRoundTrip(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d Disk) {
		b := mustOpen(t, d, rows4, 0)
		must(t, b.Reserve(12))
		b.Append([]byte("abcd"))
		copy(b.Grow(4), "efgh")
		if got := string(b.At(0, 8)); got != "abcdefgh" || b.Len() != 8 || b.Flushed() != 0 {
			t.Fatalf("tail holds %q, Len %d, Flushed %d", got, b.Len(), b.Flushed())
		}
		must(t, b.Sync())
		b.Append([]byte("ijkl"))
		if got := string(b.Data()) + string(b.At(8, 4)); got != "abcdefghijkl" {
			t.Fatalf("data and tail are %q", got)
		}
		must(t, b.Close())
		b = mustOpen(t, d, rows4, 4) // the manifest covered one row
		if b.Len() != 4 || string(b.At(0, 4)) != "abcd" {
			t.Fatalf("reopened with %d bytes: %q", b.Len(), b.Data())
		}
		must(t, b.Reserve(8))
		b.Append([]byte("mnop"))
		must(t, b.Flush())
		if got := b.Grow(4); !bytes.Equal(got, make([]byte, 4)) {
			t.Fatalf("Grow gives %x, want zeros", got)
		}
	})
}

func TestBodyMistakesPanic(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d Disk) {
		b := mustOpen(t, d, rows4, 0)
		panics(t, "beyond the 0 bytes reserved", func() { b.Append([]byte("abcd")) })
		panics(t, "beyond the 0 bytes reserved", func() { b.Grow(4) })
		must(t, b.Reserve(8))
		b.Append([]byte("abcd"))
		must(t, b.Flush())
		b.Append([]byte("efgh"))
		panics(t, "straddle the flushed length 4", func() { b.At(0, 8) })
		panics(t, "beyond its 8 bytes", func() { b.At(4, 8) })
		panics(t, "out of range", func() { b.At(-4, 4) })
		panics(t, "out of range", func() { b.At(2, -1) })
		panics(t, "", func() { b.At(1<<63-2, 4) })
	})
}

func TestBodySpecLimits(t *testing.T) {
	long := string(bytes.Repeat([]byte("x"), 33))
	for _, s := range []BodySpec{{Name: long, Width: 1}, {Name: "x", Kind: long[:17], Width: 1}, {Name: "x"},
		{Name: "", Width: 1}, {Name: "../x", Width: 1}, {Name: LockName, Width: 1}} {
		if b, err := OpenBody(newTestMem(t), s, testID, 0); err == nil || b != nil {
			t.Errorf("%+v was opened", s)
		}
	}
	_, err := OpenBody(newTestMem(t), rows4, testID, 6)
	fails[*Damaged](t, err, "not a number of rows of 4 bytes")
}

// writeBody makes a body of n bytes of data and closes it.
func writeBody(t *testing.T, d Disk, s BodySpec, n int) {
	t.Helper()
	b := mustOpen(t, d, s, 0)
	must(t, b.Reserve(int64(n)))
	b.Append(bytes.Repeat([]byte{7}, n))
	must(t, b.Sync())
	must(t, b.Close())
}

func TestBodyOpenRefuses(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d Disk) {
		_, err := OpenBody(d, rows4, testID, 4)
		fails[*Damaged](t, err, "rows is missing")
		writeBody(t, d, rows4, 100)
		_, err = OpenBody(d, rows4, testID, 1<<20)
		fails[*Damaged](t, err, "rows is cut short", "1048576 that the manifest covers")
		_, err = OpenBody(d, rows4, [16]byte{9}, 100)
		fails[*Foreign](t, err, "store id of file rows is 010203", "want 0900")
		other := rows4
		other.Width = 5
		_, err = OpenBody(d, other, testID, 100)
		fails[*Foreign](t, err, "row width of file rows is 4, want 5")
		other = rows4
		other.Kind = "slab"
		_, err = OpenBody(d, other, testID, 0)
		fails[*Foreign](t, err, `kind of file rows is "rows", want "slab"`)
		b := mustOpen(t, d, rows4, 100)
		if !bytes.Equal(b.Data(), bytes.Repeat([]byte{7}, 100)) {
			t.Fatal("a refused open changed the data")
		}
	})
}

// A file under another's name is told by its header page.
func TestBodyRenamed(t *testing.T) {
	d := newTestMem(t)
	writeBody(t, d, rows4, 100)
	d.nodes["other"] = d.nodes["rows"]
	other := rows4
	other.Name = "other"
	_, err := OpenBody(d, other, testID, 100)
	fails[*Foreign](t, err, `name of file other is "rows", want "other"`)
	delete(d.nodes, "other")
}

// poke changes bytes of a file behind the store's back.
func poke(t testing.TB, d *MemDisk, name string, off int64, p ...byte) {
	t.Helper()
	copy(d.nodes[name].mapping.Bytes()[off:], p)
}

func TestBodyHeaderFlips(t *testing.T) {
	d := newTestMem(t)
	writeBody(t, d, rows4, 8)
	page := bytes.Clone(d.nodes["rows"].mapping.Bytes()[:PageSize])
	for i := range page {
		poke(t, d, "rows", int64(i), page[i]^1<<(i*5%8))
		_, err := OpenBody(d, rows4, testID, 8)
		fails[*Damaged](t, err, "rows ", "header page")
		poke(t, d, "rows", int64(i), page[i])
	}
	mustOpen(t, d, rows4, 8)
}

// A header page that a crash tore while the file was made is made again, but only where no manifest covers data.
func TestBodyTornCreation(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d Disk) {
		f, err := d.Open("rows", FileOptions{})
		must(t, err)
		must(t, f.Allocate(100))
		must(t, f.WriteAt([]byte("stelebdy"), 0))
		must(t, f.Close())
		_, err = OpenBody(d, rows4, testID, 4)
		fails[*Damaged](t, err, "checksum")
		b := mustOpen(t, d, rows4, 0)
		must(t, b.Reserve(4))
		b.Append([]byte("abcd"))
		must(t, b.Close())
		mustOpen(t, d, rows4, 0)
	})
}

func TestBodyTruncate(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d Disk) {
		b := mustOpen(t, d, rows4, 0)
		must(t, b.Reserve(1000))
		for i := range 10 {
			binary.LittleEndian.PutUint32(b.Grow(4), uint32(i))
		}
		must(t, b.Truncate(32)) // within the tail
		must(t, b.Flush())
		for _, bad := range []int64{-4, 33, 36, 1000} {
			fails[*Fault](t, b.Truncate(bad), "truncate rows")
		}
		must(t, b.Truncate(12)) // below what is flushed
		if b.Len() != 12 || b.Flushed() != 12 || binary.LittleEndian.Uint32(b.At(8, 4)) != 2 {
			t.Fatalf("after the cut: Len %d, %x", b.Len(), b.Data())
		}
		must(t, b.Reserve(4))
		b.Append([]byte("abcd"))
		must(t, b.Flush())
		if string(b.At(12, 4)) != "abcd" {
			t.Fatalf("appended after the cut: %q", b.At(12, 4))
		}
	})
}

// A flush that fails leaves everything as it was and can be repeated.
func TestBodyFlushAgain(t *testing.T) {
	d := newTestMem(t)
	b := mustOpen(t, d, rows4, 0)
	must(t, b.Reserve(8))
	b.Append([]byte("abcd"))
	broken := errors.New("broken cable")
	d.SetHook(func(op Op, name string) error {
		if op == OpWrite {
			return broken
		}
		return nil
	})
	if err := b.Sync(); !errors.Is(err, broken) {
		t.Fatalf("Sync says %v", err)
	}
	if b.Flushed() != 0 || b.Len() != 4 || d.Health().Err() != nil {
		t.Fatalf("a failed write left Flushed %d, Len %d, health %v", b.Flushed(), b.Len(), d.Health().Err())
	}
	d.SetHook(nil)
	must(t, b.Sync())
	if string(b.Data()) != "abcd" {
		t.Fatalf("data are %q", b.Data())
	}
}

func TestBodyFlushIfLarge(t *testing.T) {
	d := newTestMem(t)
	b := mustOpen(t, d, BodySpec{Name: "slab", Kind: "slab", Width: 1}, 0)
	must(t, b.Reserve(2<<20))
	b.Append(make([]byte, 1<<20))
	must(t, b.FlushIfLarge())
	if b.Flushed() != 0 {
		t.Fatal("a tail of 1 MiB was flushed")
	}
	b.Append([]byte{1})
	must(t, b.FlushIfLarge())
	if b.Flushed() != 1<<20+1 {
		t.Fatal("a tail over 1 MiB was not flushed")
	}
}

// The space that a file may take is its reserve; beyond it the error is no full disk.
func TestBodyReserveIsTheLimit(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d Disk) {
		b := mustOpen(t, d, rows4, 0)
		must(t, b.Reserve(testCap-PageSize))
		err := b.Reserve(testCap - PageSize + 1)
		if !errors.Is(err, ErrReserve) {
			t.Fatalf("one byte more: %v", err)
		}
		fails[*Fault](t, err, "allocate rows")
		b.Append(make([]byte, testCap-PageSize))
		must(t, b.Flush())
	})
}

func TestReserveAllIsAllOrNothing(t *testing.T) {
	const files, ask = 6, 10_000
	for k := range files {
		d := newTestMem(t)
		var bodies []*Body
		var needs []Need
		for i := range files {
			s := BodySpec{Name: fmt.Sprint("body", i), Kind: "slab", Width: 1}
			bodies = append(bodies, mustOpen(t, d, s, 0))
			needs = append(needs, Need{bodies[i], ask})
		}
		d.SetHook(func(op Op, name string) error {
			if op == OpAllocate && name == bodies[k].Name() {
				return &DiskFull{Name: name, Need: pages(ask), Err: errCapacity}
			}
			return nil
		})
		full := fails[*DiskFull](t, ReserveAll(needs...), bodies[k].Name(), "free some space")
		if want := (files - int64(k)) * pages(ask); full.Need != want {
			t.Errorf("file %d found no room: %d bytes reported missing, want %d over all files", k, full.Need, want)
		}
		for _, b := range bodies {
			if b.Len() != 0 {
				t.Errorf("%s holds %d bytes after a refused reservation", b.Name(), b.Len())
			}
		}
		if d.Health().Err() != nil {
			t.Error("a full disk was kept as a failure")
		}
		d.SetHook(nil)
		must(t, ReserveAll(needs...))
		for _, b := range bodies {
			b.Append(make([]byte, ask))
			must(t, b.Sync())
		}
	}
}

// Where the step does not fit, the bare need still does.
func TestAllocateBareNeed(t *testing.T) {
	d := newTestMem(t)
	b := mustOpen(t, d, rows4, 0)
	d.SetCapacity(d.Used() + 3*PageSize)
	must(t, b.Reserve(2*PageSize+4))
	if b.Size() != 4*PageSize || d.Used() != 4*PageSize {
		t.Fatalf("the file takes %d bytes, the disk %d, want 4 pages", b.Size(), d.Used())
	}
	full := fails[*DiskFull](t, b.Reserve(3*PageSize+4), "rows")
	if full.Need != PageSize {
		t.Fatalf("%d bytes are missing, want a page", full.Need)
	}
	b.Append(make([]byte, 3*PageSize)) // what is reserved may still be used
	must(t, b.Sync())
	d.SetCapacity(1 << 20)
	must(t, b.Reserve(1))
}

// The k-th call of each kind fails, for every k until nothing fails: the error is returned, the body keeps what it had,
// and what it had can be read and synced afterwards.
func TestBodyEveryCallFails(t *testing.T) {
	for _, op := range []Op{OpOpen, OpAllocate, OpWrite, OpTruncate} {
		for k := 0; ; k++ {
			d := newTestMem(t)
			calls, failed := 0, false
			d.SetHook(func(o Op, name string) error {
				if o == op {
					calls++
					failed = failed || calls == k+1
					if calls == k+1 {
						return &DiskFull{Name: name, Need: 1, Err: fs.ErrInvalid}
					}
				}
				return nil
			})
			model, b := runUntilFailure(t, d)
			if !failed {
				break
			}
			d.SetHook(nil)
			if b == nil { // not even created
				b = mustOpen(t, d, rows4, 0)
			}
			must(t, b.Sync())
			if got := b.Data(); !bytes.Equal(got, model) {
				t.Fatalf("%s %d failed: data are %x, want %x", op, k, got, model)
			}
		}
	}
}

// runUntilFailure appends, flushes and cuts; it returns what the body must hold when a call has failed.
func runUntilFailure(t *testing.T, d Disk) (model []byte, b *Body) {
	t.Helper()
	b, err := OpenBody(d, rows4, testID, 0)
	if err != nil {
		fails[*DiskFull](t, err)
		return nil, nil
	}
	for i := range 3 {
		if err := b.Reserve(100_000); err != nil {
			fails[*DiskFull](t, err)
			return model, b
		}
		p := bytes.Repeat([]byte{byte(i + 1)}, 100_000)
		b.Append(p)
		model = append(model, p...)
		if err := b.Flush(); err != nil {
			fails[*DiskFull](t, err)
			return model, b
		}
		model = model[:len(model)-40]
		if err := b.Truncate(int64(len(model))); err != nil {
			fails[*DiskFull](t, err)
			return model, b
		}
	}
	return model, b
}

func TestBodyAllocations(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d Disk) {
		b := mustOpen(t, d, rows4, 0)
		must(t, b.Reserve(1<<20))
		b.Append(make([]byte, 4096))
		must(t, b.Flush())
		row := []byte("abcd")
		check := func(what string, f func()) {
			t.Helper()
			if n := testing.AllocsPerRun(1000, f); n != 0 {
				t.Errorf("%s allocates %v times", what, n)
			}
		}
		check("At", func() { b.At(8, 4) })
		check("Data", func() { b.Data() })
		check("Append", func() { b.Append(row) })
		check("Grow", func() { copy(b.Grow(4), row) })
		check("At in the tail", func() { b.At(b.Len()-4, 4) })
		check("Append, Flush", func() {
			b.Append(row)
			if b.Flush() != nil {
				t.Fail()
			}
		})
		check("ReserveAll", func() {
			if ReserveAll(Need{b, 4}) != nil {
				t.Fail()
			}
		})
	})
}

// TestBodyMachine runs random calls against a byte slice.
func TestBodyMachine(t *testing.T) {
	for name, open := range diskKinds {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				m := bodyMachine{d: open(t)}
				m.spec = BodySpec{Name: "body", Kind: "rows", Width: rapid.IntRange(1, 9).Draw(r, "width")}
				m.body = mustOpen(t, m.d, m.spec, 0)
				defer m.d.Close()
				r.Repeat(rapid.StateMachineActions(&m))
			})
		})
	}
}

// bodyMachine is a body and what it must hold. starts are the offsets at which appends began: only ranges within one
// append, or within what is flushed, may be asked for.
type bodyMachine struct {
	d        Disk
	spec     BodySpec
	body     *Body
	model    []byte
	starts   []int
	reserved int // of the bytes beyond the model
	flushed  int
}

func (m *bodyMachine) rows(r *rapid.T) []byte {
	n := rapid.IntRange(1, 2000).Draw(r, "rows") * m.spec.Width
	return rapid.SliceOfN(rapid.Byte(), n, n).Draw(r, "bytes")
}

func (m *bodyMachine) Append(r *rapid.T) {
	p := bytes.Repeat([]byte{rapid.Byte().Draw(r, "fill")}, rapid.IntRange(0, 9000).Draw(r, "rows")*m.spec.Width)
	if len(p) > m.reserved {
		panics(r, "reserved", func() { m.body.Append(p) })
		m.Reserve(r)
		return
	}
	m.body.Append(p)
	m.added(p)
}

func (m *bodyMachine) Grow(r *rapid.T) {
	p := m.rows(r)
	if len(p) > m.reserved {
		return
	}
	copy(m.body.Grow(len(p)), p)
	m.added(p)
}

func (m *bodyMachine) added(p []byte) {
	m.starts = append(m.starts, len(m.model))
	m.model = append(m.model, p...)
	m.reserved -= len(p)
}

func (m *bodyMachine) Reserve(r *rapid.T) {
	n := rapid.IntRange(0, 200_000).Draw(r, "reserve")
	err := m.body.Reserve(int64(n))
	if len(m.model)+n > testCap-PageSize {
		if !errors.Is(err, ErrReserve) {
			r.Fatalf("reserved %d bytes beyond %d: %v", n, len(m.model), err)
		}
		return
	}
	must(r, err)
	// What the file was rounded up to counts, too, but a reservation never shrinks.
	m.reserved = int(m.body.backed) - len(m.model)
	if m.reserved < n {
		r.Fatalf("Reserve(%d) backs %d bytes", n, m.reserved)
	}
}

func (m *bodyMachine) Flush(r *rapid.T) {
	must(r, m.body.Flush())
	m.flushed = len(m.model)
}

func (m *bodyMachine) FlushIfLarge(r *rapid.T) {
	large := len(m.model)-m.flushed > flushLarge
	must(r, m.body.FlushIfLarge())
	if large {
		m.flushed = len(m.model)
	}
}

func (m *bodyMachine) Truncate(r *rapid.T) {
	rows := len(m.model) / m.spec.Width
	keep := rapid.IntRange(max(0, rows-5000), rows).Draw(r, "keep") * m.spec.Width
	must(r, m.body.Truncate(int64(keep)))
	m.cut(keep)
}

func (m *bodyMachine) cut(keep int) {
	m.model = m.model[:keep]
	for len(m.starts) > 0 && m.starts[len(m.starts)-1] >= keep {
		m.starts = m.starts[:len(m.starts)-1]
	}
	m.flushed = min(m.flushed, keep)
	m.reserved = int(m.body.backed) - keep
}

// Reopen closes without a sync, as after a kill, and opens at a length that some manifest covered.
func (m *bodyMachine) Reopen(r *rapid.T) {
	keep := rapid.IntRange(0, m.flushed/m.spec.Width).Draw(r, "covered") * m.spec.Width
	must(r, m.body.Close())
	b, err := OpenBody(m.d, m.spec, testID, int64(keep))
	must(r, err)
	m.body = b
	m.cut(keep)
}

// Check is the invariant.
func (m *bodyMachine) Check(r *rapid.T) {
	b := m.body
	if b.Len() != int64(len(m.model)) || b.Flushed() != int64(m.flushed) {
		r.Fatalf("Len %d, Flushed %d; want %d, %d", b.Len(), b.Flushed(), len(m.model), m.flushed)
	}
	if !bytes.Equal(b.Data(), m.model[:m.flushed]) {
		r.Fatal("Data differs from the model")
	}
	end := len(m.model)
	for i := len(m.starts) - 1; i >= 0 && end > m.flushed; i-- {
		start := m.starts[i]
		if got := b.At(int64(start), end-start); start >= m.flushed && !bytes.Equal(got, m.model[start:end]) {
			r.Fatalf("append at %d of %d bytes reads differently", start, end-start)
		}
		end = start
	}
	if size := b.Size(); size < PageSize+int64(m.flushed) || size > testCap {
		r.Fatalf("the file takes %d bytes for %d", size, m.flushed)
	}
}
