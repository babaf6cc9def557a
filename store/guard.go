package store

import (
	"errors"
	"runtime"
	"runtime/debug"
	"sync"
	"unsafe"
)

// regions knows every live mapping of the process, so that the address of a memory fault can be traced to a file.
// It is written when a file is mapped or unmapped and read only after a fault.
var regions struct {
	sync.Mutex
	list []region
}

type region struct {
	base, size uintptr
	name       string
}

var errMemoryFault = errors.New("the mapped page could not be read (input/output error, or the file was cut short)")

func addRegion(b []byte, name string) {
	if len(b) == 0 {
		return
	}
	regions.Lock()
	defer regions.Unlock()
	r := region{base: uintptr(unsafe.Pointer(unsafe.SliceData(b))), size: uintptr(len(b)), name: name}
	regions.list = append(regions.list, r)
}

func dropRegion(b []byte) {
	if len(b) == 0 {
		return
	}
	base := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	regions.Lock()
	defer regions.Unlock()
	for i, r := range regions.list {
		if r.base == base {
			regions.list[i] = regions.list[len(regions.list)-1]
			regions.list = regions.list[:len(regions.list)-1]
			return
		}
	}
}

// findRegion returns the file and the offset that addr lies in.
func findRegion(addr uintptr) (name string, off int64, ok bool) {
	regions.Lock()
	defer regions.Unlock()
	for _, r := range regions.list {
		if addr-r.base < r.size {
			return r.name, int64(addr - r.base), true
		}
	}
	return "", 0, false
}

// Guard calls f and turns a memory fault at a mapped address into a *Fault. Every other panic goes on. Faults are
// switched for the calling goroutine alone: what f starts in others needs its own Guard. Costs about 10 ns.
func Guard(f func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		r := recover()
		if r == nil {
			return
		}
		fault := faultOf(r)
		if fault == nil {
			panic(r)
		}
		err = fault
	}()
	return f()
}

// faultOf returns the store fault behind a recovered value, or nil if it is anything else. The runtime's memory errors
// tell their address by an Addr method; a nil dereference has none and stays a panic.
func faultOf(r any) *Fault {
	e, ok := r.(runtime.Error)
	if !ok {
		return nil
	}
	a, ok := e.(interface{ Addr() uintptr })
	if !ok {
		return nil
	}
	name, off, ok := findRegion(a.Addr())
	if !ok {
		return nil
	}
	return &Fault{Op: "read", Name: name, Off: off, Err: errMemoryFault}
}
