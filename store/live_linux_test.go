package store

import "testing"

// TestLiveRecordDiskFull wants no signal where there is no room for the page.
func TestLiveRecordDiskFull(t *testing.T) {
	dir := mountOn(t, "tmpfs", "tmpfs", 0, "size=64k")
	d, err := OpenDir(dir, DirOptions{Create: true})
	must(t, err)
	defer d.Close()
	f, err := d.Open("filler", FileOptions{})
	must(t, err)
	for size := int64(PageSize); f.Allocate(size) == nil; size += PageSize {
	}
	r, err := d.OpenLive()
	fails[*DiskFull](t, err, LiveName)
	if r != nil {
		t.Fatal("a record without a page")
	}
}
