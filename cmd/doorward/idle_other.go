//go:build !linux

package main

import (
	"os"
	"os/exec"
)

// startIdle starts a child that computes on one processor. Other systems have no class for what nobody waits for.
func startIdle(child *exec.Cmd) error {
	child.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=400")
	return child.Start()
}
