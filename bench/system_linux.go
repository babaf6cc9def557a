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
func pageBytes() Number {
	b, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return None
	}
	n := Number(0)
	for line := range bytes.Lines(b) {
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), ": ")
		v, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return None
		}
		switch name {
		case "write_bytes":
			n += Number(v)
		case "cancelled_write_bytes":
			n -= Number(v)
		}
	}
	return n
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
