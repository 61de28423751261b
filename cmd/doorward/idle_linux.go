package main

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// idly has start run on a thread that computes only while a processor has nothing else to do, and leaves it at once. A child inherits
// that from the thread that starts it, so that none of its own begins without; that thread ends with its goroutine, for not everybody may
// take such a thing back.
func idly(start func() error) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0) // a child is worth more than its manners
		started <- start()
	}()
	return <-started
}
