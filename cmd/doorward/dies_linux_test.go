package main

import (
	"os/exec"
	"syscall"
)

// diesWithTest has a process end with the test, however that ends.
func diesWithTest(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
