package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	childRoles["limit"] = func(dir string) error {
		lim := unix.Rlimit{Cur: 8 << 30, Max: 8 << 30}
		if err := unix.Setrlimit(unix.RLIMIT_AS, &lim); err != nil {
			return err
		}
		d, err := OpenDir(dir, DirOptions{})
		if err != nil {
			return err
		}
		if _, err = d.Open("rows", FileOptions{}); err == nil {
			return errors.New("a terabyte was reserved under the limit")
		}
		fmt.Printf("%T: %v\n", err, err)
		_, err = d.Open("rows", FileOptions{Reserve: 1 << 30}) // what fits is mapped
		return err
	}
}

func TestAddressSpaceLimitSaysSo(t *testing.T) {
	out := runChild(t, "limit", t.TempDir())
	for _, part := range []string{"*store.Fault", "map rows", "1099511627776 bytes", "RLIMIT_AS is 8589934592", "\nok"} {
		if !strings.Contains(out, part) {
			t.Fatalf("under a limit of 8 GiB the child says %q, without %q", out, part)
		}
	}
}

// mountOn mounts something on a new folder until the test ends, or skips the test by name.
func mountOn(t *testing.T, source, kind string, flags uintptr, data string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount(source, dir, kind, flags, data); err != nil {
		t.Skipf("mounting is not permitted here (%v): %s needs a small or read-only file system", err, t.Name())
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// A tmpfs of 1 MiB is filled by three bodies that grow together. Every refusal leaves all of them as they were; when
// the disk has grown the same call goes on.
func TestDiskFullOnTmpfs(t *testing.T) {
	path := mountOn(t, "tmpfs", "tmpfs", 0, "size=1m")
	d := openTestDir(t, path)
	m := create(t, d)
	bodies := make([]*Body, 3)
	for i := range bodies {
		bodies[i] = mustOpen(t, d, BodySpec{Name: fmt.Sprint("body", i), Kind: "slab", Width: 1}, 0)
	}
	_, err := m.Write(nil)
	must(t, err)
	block := bytes.Repeat([]byte{5}, 10_000)
	blocks := 0
	add := func() error {
		if err := ReserveAll(Need{bodies[0], 10_000}, Need{bodies[1], 10_000}, Need{bodies[2], 10_000}); err != nil {
			return err
		}
		for _, b := range bodies {
			b.Append(block)
			must(t, b.Flush())
		}
		blocks++
		return nil
	}
	for err = add(); err == nil; err = add() {
	}
	full := fails[*DiskFull](t, err, "free some space")
	if !errors.Is(err, unix.ENOSPC) || full.Need <= 0 || full.Need > 3*12288 {
		t.Fatalf("the refusal is %v, %d bytes", err, full.Need)
	}
	var fs unix.Statfs_t
	must(t, unix.Statfs(path, &fs))
	if free := int64(fs.Bavail) * fs.Bsize; free >= full.Need { // the bare need was tried when the steps did not fit
		t.Fatalf("%d bytes were refused with %d free", full.Need, free)
	}
	check := func() {
		t.Helper()
		for _, b := range bodies {
			if !bytes.Equal(b.Data(), bytes.Repeat([]byte{5}, blocks*10_000)) {
				t.Fatalf("%s holds %d bytes, want %d blocks", b.Name(), len(b.Data()), blocks)
			}
			must(t, b.Sync())
		}
	}
	check()
	fails[*DiskFull](t, add())
	seq, err := m.Write([]byte("a full disk has room for a manifest"))
	if err != nil || seq != 2 {
		t.Fatalf("manifest on the full disk: %d, %v", seq, err)
	}
	must(t, unix.Mount("tmpfs", path, "tmpfs", unix.MS_REMOUNT, "size=4m"))
	must(t, add())
	check()
	must(t, d.Close())
	d = openTestDir(t, path)
	for _, b := range bodies {
		b = mustOpen(t, d, b.spec, int64(blocks)*10_000)
		if !bytes.Equal(b.Data(), bytes.Repeat([]byte{5}, blocks*10_000)) {
			t.Fatalf("%s changed", b.Name())
		}
	}
}

// A disk that is full before there is a store is a full disk, at every step of making one.
func TestDiskFullAtStart(t *testing.T) {
	path := mountOn(t, "tmpfs", "tmpfs", 0, "size=64k,nr_inodes=2") // the root and one more
	must(t, os.WriteFile(filepath.Join(path, "filler"), nil, 0o600))
	_, err := OpenDir(path, DirOptions{})
	fails[*DiskFull](t, err, "lock")
	_, err = OpenDir(filepath.Join(path, "sub"), DirOptions{Create: true})
	fails[*DiskFull](t, err, "sub")
	must(t, os.Remove(filepath.Join(path, "filler")))
	d := openTestDir(t, path)
	_, err = d.Open("rows", FileOptions{})
	fails[*DiskFull](t, err, "rows")
	must(t, unix.Mount("tmpfs", path, "tmpfs", unix.MS_REMOUNT, "size=8k,nr_inodes=9"))
	_, err = CreateManifest(d, testPreamble)
	fails[*DiskFull](t, err, "manifest")
	if _, err := openManifest(d); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("a store that found no room: %v", err)
	}
	must(t, unix.Mount("tmpfs", path, "tmpfs", unix.MS_REMOUNT, "size=20k"))
	m := create(t, d)
	b := mustOpen(t, d, rows4, 0) // the fifth page is for its text in the lock file
	_ = b
	_, err = m.Write([]byte("state"))
	must(t, err)
	_, err = OpenBody(d, BodySpec{Name: "more", Width: 1}, testID, 0)
	fails[*DiskFull](t, err, "more")
}

// The whole reserve is mapped once, for reading, kept out of core files, and without read-ahead where that was asked
// for.
func TestAdvice(t *testing.T) {
	path := t.TempDir()
	d := openTestDir(t, path)
	for name, random := range map[string]bool{"random": true, "sequential": false} {
		f, err := d.Open(name, FileOptions{Reserve: 1 << 20, Random: random})
		must(t, err)
		if n := len(f.Mapping().Bytes()); n != 1<<20 {
			t.Fatalf("%d bytes are mapped, want the reserve", n)
		}
		smaps, err := os.ReadFile("/proc/self/smaps")
		must(t, err)
		_, entry, ok := strings.Cut(string(smaps), filepath.Join(path, name)+"\n")
		if !ok {
			t.Fatalf("no mapping of %s", name)
		}
		_, flags, _ := strings.Cut(entry, "VmFlags:")
		flags, _, _ = strings.Cut(flags, "\n")
		has := func(flag string) bool { return strings.Contains(flags+" ", " "+flag+" ") }
		if !has("rd") || has("wr") || !has("dd") || has("rr") != random {
			t.Errorf("%s is mapped with %q", name, flags)
		}
	}
}

func TestReadOnlyMedium(t *testing.T) {
	path := t.TempDir()
	d := openTestDir(t, path)
	b := mustOpen(t, d, rows4, 0)
	must(t, b.Reserve(8))
	b.Append([]byte("abcdefgh"))
	must(t, b.Sync())
	_, err := create(t, d).Write([]byte("state"))
	must(t, err)
	must(t, d.Close())
	for _, lock := range []bool{true, false} { // with a lock file on the medium, and without
		if !lock {
			must(t, os.Remove(filepath.Join(path, LockName)))
		}
		medium := mountOn(t, path, "", unix.MS_BIND, "")
		must(t, unix.Mount("", medium, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
		if Writable(medium) {
			t.Fatal("a read-only medium is said to be writable")
		}
		_, err := OpenDir(medium, DirOptions{Create: true})
		if fails[*Fault](t, err, "lock"); !errors.Is(err, unix.EROFS) {
			t.Fatalf("opened for writing: %v", err)
		}
		d, err := OpenDir(medium, DirOptions{ReadOnly: true, ReserveCap: testCap})
		must(t, err)
		readOnlyStore(t, d)
		must(t, d.Close())
	}
}

// A file that is cut short beneath its mapping is a fault of the store, told by name and place, and no crash.
func TestGuardCatchesACutFile(t *testing.T) {
	path := t.TempDir()
	d := openTestDir(t, path)
	b := mustOpen(t, d, rows4, 0)
	must(t, b.Reserve(100_000))
	b.Append(bytes.Repeat([]byte{1}, 100_000))
	must(t, b.Flush())
	must(t, os.Truncate(filepath.Join(path, "rows"), 3*PageSize))
	sum := 0
	read := func(off int64, n int) error {
		return Guard(func() error {
			for _, c := range b.At(off, n) {
				sum += int(c)
			}
			return nil
		})
	}
	must(t, read(0, 2*PageSize))
	if sum != 2*PageSize {
		t.Fatalf("read a sum of %d below the cut", sum)
	}
	fault := fails[*Fault](t, read(2*PageSize, 4), "read rows", "could not be read")
	if fault.Off != 3*PageSize {
		t.Fatalf("fault at byte %d, want %d", fault.Off, 3*PageSize)
	}
	if err := Guard(func() error { copy(make([]byte, 8), b.At(50_000, 8)); return nil }); err == nil {
		t.Fatal("a copy from beyond the cut succeeded")
	}
	if _, err := OpenBody(d, rows4, testID, 100_000); err == nil {
		t.Fatal("the cut file was opened")
	}
	// The next process is told before it touches anything.
	must(t, d.Close())
	_, err := OpenBody(openTestDir(t, path), rows4, testID, 100_000)
	fails[*Damaged](t, err, "rows is cut short")
}

// A fault outside the store's files is not the store's: Guard lets it through.
func TestGuardLetsForeignFaultsGo(t *testing.T) {
	page, err := unix.Mmap(-1, 0, PageSize, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
	must(t, err)
	defer unix.Munmap(page)
	_, err = openTestDir(t, t.TempDir()).Open("below", FileOptions{}) // maps grow down, so this one lies below the page
	must(t, err)
	panics(t, "invalid memory address", func() {
		_ = Guard(func() error { return fmt.Errorf("read %d", page[8]) })
	})
}

// A sparse file (a copy that made holes) is backed before anything is promised on it, and keeps its bytes.
func TestHolesAreFilled(t *testing.T) {
	path := t.TempDir()
	d := openTestDir(t, path)
	writeBody(t, d, rows4, 4)
	must(t, os.Truncate(filepath.Join(path, "rows"), 1<<20)) // a hole of a megabyte
	f, err := d.Open("rows", FileOptions{})
	must(t, err)
	must(t, f.Allocate(1))
	st, err := os.Stat(filepath.Join(path, "rows"))
	must(t, err)
	if blocks := st.Sys().(*syscall.Stat_t).Blocks; f.Size() != 1<<20 || blocks*512 < 1<<20 {
		t.Fatalf("size %d, %d blocks of 512: the hole is still there", f.Size(), blocks)
	}
	must(t, f.Close())
	if b := mustOpen(t, d, rows4, 4); !bytes.Equal(b.Data(), []byte{7, 7, 7, 7}) {
		t.Fatalf("data are %x", b.Data())
	}
}

// The way of systems without an allocation call backs the same bytes and keeps what is there.
func TestBackByWriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	must(t, f.Truncate(3<<20+1))                           // the last piece is one byte
	for _, off := range []int64{0, 1<<20 - 2, 3<<20 - 4} { // both ends, and across two pieces
		_, err = f.WriteAt([]byte("words"), off)
		must(t, err)
	}
	must(t, backByWriting(f, 0, 3<<20+1, 5<<20+1))
	st, err := f.Stat()
	must(t, err)
	if hasHoles(st) || st.Size() != 5<<20+1 {
		t.Fatalf("size %d, holes %v", st.Size(), hasHoles(st))
	}
	b, err := os.ReadFile(path)
	must(t, err)
	want := make([]byte, 5<<20+1)
	for _, off := range []int64{0, 1<<20 - 2, 3<<20 - 4} {
		copy(want[off:], "words")
	}
	if !bytes.Equal(b, want) {
		t.Fatal("the bytes changed")
	}
}

// Opening, failing and closing many times leaves no descriptor and no mapping behind.
func TestNothingLeaks(t *testing.T) {
	count := func() (fds, maps int) {
		entries, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		regions.Lock()
		defer regions.Unlock()
		return len(entries), len(regions.list)
	}
	path := t.TempDir()
	round := func() {
		d := openTestDir(t, path)
		b := mustOpen(t, d, rows4, 0)
		_, err := OpenBody(d, rows4, testID, 1<<20)
		fails[*Damaged](t, err)
		_, err = openManifest(d)
		if err == nil {
			t.Fatal("a manifest out of nothing")
		}
		d.opts.ReserveCap = 0
		_, err = d.Open("huge", FileOptions{Reserve: 1 << 62})
		fails[*Fault](t, err)
		if _, err := OpenDir(path, DirOptions{}); err == nil {
			t.Fatal("opened twice")
		}
		_ = b // closed with the folder
		must(t, d.Close())
	}
	round()
	fds, maps := count()
	for range 20 {
		round()
	}
	if f, m := count(); f != fds || m != maps {
		t.Fatalf("%d descriptors and %d mappings, were %d and %d", f, m, fds, maps)
	}
}

// A failed fdatasync of one file stops the manifests of the whole folder.
func TestStickySyncOfAFolder(t *testing.T) {
	d := openTestDir(t, t.TempDir())
	m := create(t, d)
	_, err := m.Write([]byte("good"))
	must(t, err)
	b := mustOpen(t, d, rows4, 0)
	file := b.file.(*diskFile)
	whole := file.f
	file.f, err = os.Open("/dev/null") // cannot be synced: EINVAL
	must(t, err)
	fails[*Fault](t, b.Sync(), "sync rows")
	must(t, file.f.Close())
	file.f = whole
	fails[*Fault](t, b.Sync(), "sync rows")
	_, err = m.Write([]byte("bad"))
	fails[*Fault](t, err, "sync rows")
	fails[*Fault](t, d.Sync(), "sync rows")
	must(t, d.Close())
}
