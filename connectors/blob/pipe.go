package blob

import "syscall"

// makePipe makes a named pipe that only this user opens.
func makePipe(path string) error { return syscall.Mkfifo(path, 0o600) }
