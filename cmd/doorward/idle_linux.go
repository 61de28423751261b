package main

import (
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// startIdle starts a child that computes only while a processor has nothing else to do, and leaves it at once. It inherits that from the
// thread that starts it, so that none of its own begins without; that thread ends with its goroutine, for not everybody may take such a
// thing back. Idle time is scarcer than memory: the child seldom collects garbage.
func startIdle(child *exec.Cmd) error {
	child.Env = append(os.Environ(), "GOGC=400")
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0) // a child is worth more than its manners
		started <- child.Start()
	}()
	return <-started
}
