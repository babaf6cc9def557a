package bench

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// memoryGroup is a control group whose processes may have so much memory together, cached pages of files included.
type memoryGroup struct{ dir string }

// groupTrees are where the two versions of control groups stand, and what they call the limit.
var groupTrees = []struct{ dir, limit string }{
	{"/sys/fs/cgroup", "memory.max"},
	{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
}

// newMemoryGroup makes a group below the root of a tree. The error says why that cannot be: most often, that only an
// administrator may.
func newMemoryGroup(limit int64) (*memoryGroup, error) {
	var all []error
	for _, tree := range groupTrees {
		if _, err := os.Stat(filepath.Join(tree.dir, "cgroup.procs")); err != nil {
			all = append(all, err)
			continue
		}
		g := &memoryGroup{filepath.Join(tree.dir, fmt.Sprintf("stele-bench-%d", os.Getpid()))}
		if err := os.Mkdir(g.dir, 0o755); err != nil {
			all = append(all, err)
			continue
		}
		if err := writeGroup(filepath.Join(g.dir, tree.limit), limit); err != nil {
			all = append(all, err, g.remove())
			continue
		}
		return g, nil
	}
	return nil, errors.Join(all...)
}

// writeGroup writes a number into a file of a group that exists.
func writeGroup(path string, n int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strconv.FormatInt(n, 10))
	return errors.Join(err, f.Close())
}

// processes is the file that a process's number is written into to join the group.
func (g *memoryGroup) processes() string { return filepath.Join(g.dir, "cgroup.procs") }

// killed tells whether the system has killed a process of the group, for want of memory.
func (g *memoryGroup) killed() bool {
	for _, name := range []string{"memory.events", "memory.oom_control"} {
		b, _ := os.ReadFile(filepath.Join(g.dir, name))
		for line := range bytes.Lines(b) {
			if n, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("oom_kill ")); ok && string(n) != "0" {
				return true
			}
		}
	}
	return false
}

// remove removes the group, whose processes have ended.
func (g *memoryGroup) remove() error { return os.Remove(g.dir) }

// joinGroup puts this process into a group.
func joinGroup(processes string) error { return writeGroup(processes, int64(os.Getpid())) }
