package main

import "os/exec"

// startIdle starts a child that computes on one processor at most, and where the system can tell only while that has nothing else to do:
// the others are the doors', whose memory it would crowd too. Idle time is scarcer than memory: it seldom collects garbage.
func startIdle(child *exec.Cmd) error {
	child.Env = append(child.Environ(), "GOMAXPROCS=1", "GOGC=400")
	return idly(child.Start)
}
