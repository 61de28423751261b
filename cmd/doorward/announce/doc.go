// Package announce tells phones in the same network under which name they find this machine, by multicast DNS (RFC 6762): porta.local is
// answered with the address of the network that the question came from. It needs no internet and no server of names.
package announce
