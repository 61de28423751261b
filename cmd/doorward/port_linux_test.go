package main

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// holdPort takes a free port of 127.0.0.1 and holds it until release is called: a socket is bound to it and never listens. So the system gives the
// port to nobody that asks for any, nor to a connection that begins here, and a server that asks for it by number gets it.
func holdPort() (port string, release func(), err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", nil, err
	}
	err = errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), // listeners set it, too
		unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	if err != nil {
		return "", nil, errors.Join(err, unix.Close(fd))
	}
	bound, err := unix.Getsockname(fd)
	if err != nil {
		return "", nil, errors.Join(err, unix.Close(fd))
	}
	at, ok := bound.(*unix.SockaddrInet4)
	if !ok {
		return "", nil, errors.Join(fmt.Errorf("bound to %T", bound), unix.Close(fd))
	}
	return strconv.Itoa(at.Port), func() { _ = unix.Close(fd) }, nil
}
