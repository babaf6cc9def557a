package btcdpeer

import "syscall"

// tied makes a process end with the thread that started it.
func tied() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
