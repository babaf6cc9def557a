package node

import (
	"bytes"
	"os"
	"path"
	"strconv"

	"golang.org/x/sys/unix"
)

// machineMemory returns the bytes of memory that there are for this process: the machine's, or less where a control group
// that it is in, or one above that, has a limit. Zero where nothing is known.
func machineMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	total := int64(info.Totalram) * int64(info.Unit)
	groups, _ := os.ReadFile("/proc/self/cgroup")
	for line := range bytes.Lines(groups) {
		folder, file, group := memoryGroup(bytes.TrimSpace(line))
		for at := path.Clean("/" + group); file != ""; at = path.Dir(at) {
			total = min(total, groupMemory(path.Join(folder, at, file), total))
			if at == "/" {
				break
			}
		}
	}
	return total
}

// memoryGroup reads a line of /proc/self/cgroup: where the limits of memory are, and the group below that. Version 2 has one
// tree, "0::/group"; in version 1 memory has its own, "N:memory:/group".
func memoryGroup(line []byte) (folder, file, group string) {
	if group, ok := bytes.CutPrefix(line, []byte("0::")); ok {
		return "/sys/fs/cgroup", "memory.max", string(group)
	}
	if f := bytes.SplitN(line, []byte(":"), 3); len(f) == 3 && bytes.Contains(f[1], []byte("memory")) {
		return "/sys/fs/cgroup/memory", "memory.limit_in_bytes", string(f[2])
	}
	return "", "", ""
}

// groupMemory returns the limit in the file of one control group; total where there is none.
func groupMemory(file string, total int64) int64 {
	limit, err := os.ReadFile(file)
	if err != nil {
		return total
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(limit)), 10, 64)
	if err != nil || n <= 0 { // "max"
		return total
	}
	return n
}
