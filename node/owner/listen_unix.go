//go:build unix

package owner

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"runtime"
	"syscall"
)

// maxAddress is the longest path of a socket: sun_path has 108 bytes on linux and 104 elsewhere, one of which ends it.
var maxAddress = map[bool]int{true: 107, false: 103}[runtime.GOOS == "linux"]

// listen binds the socket of a store's folder at the first place that takes it. Who calls it has the store's lock.
func listen(folder string) (*net.UnixListener, error) {
	failed := []error{errors.New("no place for a socket has a path that is short enough")}
	for _, p := range places(folder) {
		l, err := p.bind()
		if err == nil {
			return l, nil
		}
		failed = append(failed, err)
	}
	if len(failed) > 1 {
		failed = failed[1:]
	}
	return nil, errors.Join(failed...)
}

func (p *place) bind() (*net.UnixListener, error) {
	if err := p.prepare(); err != nil {
		return nil, err
	}
	if err := removeSocket(p.path); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: p.path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(p.path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// mine reports whether a file belongs to this process's user.
func mine(st fs.FileInfo) bool {
	s, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

// absent reports whether nobody listens at an address.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}
