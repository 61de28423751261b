//go:build !linux

package main

import (
	"errors"
	"net"
)

// holdPort names a port that was free a moment ago: holding it is left to Linux.
func holdPort() (port string, release func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	_, port, err = net.SplitHostPort(l.Addr().String())
	return port, func() {}, errors.Join(err, l.Close())
}
