package node

import (
	"bytes"
	"os"
	"path"
	"strconv"

	"golang.org/x/sys/unix"
)

// machineMemory returns the bytes of memory that there are for this process: the machine's, or less where a control group
// (version 2) that it is in, or one above that, has a limit. Zero where nothing is known.
func machineMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	total := int64(info.Totalram) * int64(info.Unit)
	groups, _ := os.ReadFile("/proc/self/cgroup")
	for line := range bytes.Lines(groups) {
		group, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("0::"))
		for at := path.Clean("/" + string(group)); ok; at = path.Dir(at) {
			total = min(total, groupMemory(at, total))
			ok = at != "/"
		}
	}
	return total
}

// groupMemory returns the limit of one control group; total where it has none.
func groupMemory(group string, total int64) int64 {
	limit, err := os.ReadFile(path.Join("/sys/fs/cgroup", group, "memory.max"))
	if err != nil {
		return total
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(limit)), 10, 64)
	if err != nil || n <= 0 { // "max"
		return total
	}
	return n
}
