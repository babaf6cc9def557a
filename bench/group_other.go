//go:build !linux

package bench

import "errors"

// memoryGroup is a limit on the memory of processes, cached pages of files included; there is none on this system.
type memoryGroup struct{}

var errNoGroups = errors.New("this system has no control groups")

func newMemoryGroup(int64) (*memoryGroup, error) { return nil, errNoGroups }

func (*memoryGroup) processes() string { return "" }

func (*memoryGroup) killed() bool { return false }

func (*memoryGroup) remove() error { return nil }

func joinGroup(string) error { return errNoGroups }
