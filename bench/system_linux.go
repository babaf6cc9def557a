package bench

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// loadAverage is the number of runnable processes over the last minute.
func loadAverage() Number {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return None
	}
	first, _, _ := strings.Cut(string(b), " ")
	n, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return None
	}
	return Number(n)
}

func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if name, ok := strings.CutPrefix(s.Text(), "model name"); ok {
			return strings.TrimLeft(name, "\t :")
		}
	}
	return "unknown processor"
}

// pageBytes is what this process made the page cache write, in bytes: every page that it made dirty, once each time.
// Bytes that were dropped before they reached the disk, by a truncation, are counted off.
func pageBytes() Number { return processIO("write_bytes") - processIO("cancelled_write_bytes") }

// diskReads is what this process had read from disks, in bytes: by calls and by page faults, read-ahead included.
func diskReads() Number { return processIO("read_bytes") }

// processIO returns one of the counts that the system keeps of this process's input and output.
func processIO(name string) Number {
	b, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return None
	}
	for line := range bytes.Lines(b) {
		have, value, _ := strings.Cut(strings.TrimSpace(string(line)), ": ")
		if have != name {
			continue
		}
		if v, err := strconv.ParseInt(value, 10, 64); err == nil {
			return Number(v)
		}
	}
	return None
}

// majorFaults is the number of page faults of this process that waited for a disk.
func majorFaults() Number {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return None
	}
	return Number(used.Majflt)
}

// dropCache forgets the clean pages of a file, so that it is read from its disk again.
func dropCache(f *os.File) error {
	const dontNeed = 4
	_, _, errno := syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, dontNeed, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
