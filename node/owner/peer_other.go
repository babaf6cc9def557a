//go:build !linux && !darwin

package owner

import "net"

// peer knows nothing here: the mode of the socket's file keeps others out.
func peer(*net.UnixConn) (uid int, known bool, err error) { return 0, false, nil }
