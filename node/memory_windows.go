package node

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// memoryStatus is MEMORYSTATUSEX: the call wants its size in the first word, and the second 8-byte field is the total.
type memoryStatus struct {
	length, load uint32
	totalPhys    uint64
	rest         [6]uint64
}

var globalMemoryStatus = windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")

// machineMemory returns the bytes of memory of the machine, zero where it does not tell.
func machineMemory() int64 {
	s := memoryStatus{length: uint32(unsafe.Sizeof(memoryStatus{}))}
	if ok, _, _ := globalMemoryStatus.Call(uintptr(unsafe.Pointer(&s))); ok == 0 {
		return 0
	}
	return int64(s.totalPhys)
}
