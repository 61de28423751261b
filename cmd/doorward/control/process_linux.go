package control

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"syscall"
)

// processOf is the process that listens at the other end of a connection; 0 = unknown.
func processOf(c net.Conn) (pid int) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return 0
	}
	conn, err := u.SyscallConn()
	if err != nil {
		return 0
	}
	_ = conn.Control(func(fd uintptr) { // without an answer the process is unknown
		if peer, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			pid = int(peer.Pid)
		}
	})
	return pid
}

// stateText says what state a process is in, and what ends it; "" = unknown.
func stateText(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	end := bytes.LastIndexByte(stat, ')') // the name before it may hold any byte
	if err != nil || end < 0 || len(stat) < end+3 {
		return ""
	}
	switch stat[end+2] {
	case 'T', 't':
		return fmt.Sprintf("it is stopped, as by Ctrl-Z, and goes on after: kill -CONT %d", pid)
	case 'D':
		return "it waits for a disk"
	case 'R':
		return "it is running"
	case 'S', 'I':
		return "it is asleep"
	case 'Z', 'X':
		return "it has ended"
	}
	return ""
}
