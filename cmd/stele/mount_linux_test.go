package main

import (
	"testing"

	"golang.org/x/sys/unix"
)

// readOnly mounts a folder a second time, for reading only; "" where that is not allowed.
func readOnly(t testing.TB, dir string) string {
	t.Helper()
	m := t.TempDir()
	if unix.Mount(dir, m, "", unix.MS_BIND, "") != nil {
		return ""
	}
	t.Cleanup(func() { _ = unix.Unmount(m, unix.MNT_DETACH) })
	if unix.Mount("", m, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "") != nil {
		return ""
	}
	return m
}

// tiny mounts an empty file system of a size; "" where that is not allowed.
func tiny(t testing.TB, size string) string {
	t.Helper()
	m := t.TempDir()
	if unix.Mount("tmpfs", m, "tmpfs", 0, "size="+size) != nil {
		return ""
	}
	t.Cleanup(func() { _ = unix.Unmount(m, unix.MNT_DETACH) })
	return m
}
