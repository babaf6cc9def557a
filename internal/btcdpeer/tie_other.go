//go:build !linux

package btcdpeer

import "syscall"

func tied() *syscall.SysProcAttr { return nil }
