//go:build !linux

package control

import "net"

// processOf is not known here.
func processOf(net.Conn) int { return 0 }

// stateText is not known here.
func stateText(int) string { return "" }
