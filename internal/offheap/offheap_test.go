package offheap

import (
	"runtime"
	"testing"
	"unsafe"
)

// TestMap: memory is zero, can be written to its end, stays what it is when it moves into huge pages, and goes.
func TestMap(t *testing.T) {
	const size = 4*HugePage + 4096
	b, err := Map(size)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) != size || uintptr(unsafe.Pointer(&b[0]))%4096 != 0 {
		t.Fatalf("%d bytes at %p", len(b), &b[0])
	}
	before := Resident()
	for i := range b {
		if b[i] != 0 {
			t.Fatalf("byte %d is %d", i, b[i])
		}
		b[i] = byte(i * 7)
	}
	if grown := Resident() - before; runtime.GOOS == "linux" && (before == 0 || grown < 3*HugePage) {
		t.Errorf("%d bytes more are resident after %d were written", grown, size)
	}
	Huge(b)
	Huge(b[:100])
	WantHuge(b[1:HugePage])
	for i := range b {
		if b[i] != byte(i*7) {
			t.Fatalf("byte %d changed to %d", i, b[i])
		}
	}
	Prefetch(unsafe.Pointer(&b[size-1]))
	Prefetch(nil)
	if err := Free(b); err != nil {
		t.Fatal(err)
	}
	if err := Free(nil); err != nil {
		t.Fatal(err)
	}
}

// TestReserve: what is mapped and not used costs no memory.
func TestReserve(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the heap stands in for mapped memory, or what is resident is not known")
	}
	before := Resident()
	b, err := Map(1 << 36)
	if err != nil {
		t.Skipf("64 GiB cannot be reserved here: %v", err)
	}
	b[len(b)-1] = 1
	if after := Resident(); after > before+64<<20 {
		t.Errorf("resident grew from %d to %d", before, after)
	}
	if err := Free(b); err != nil {
		t.Fatal(err)
	}
}
