//go:build unix

package console

import (
	"os/signal"
	"syscall"
)

// KeepInBackground lets a program that reads from a terminal go on when a shell puts it into the background. Its reads fail there.
func KeepInBackground() { signal.Ignore(syscall.SIGTTIN) }
