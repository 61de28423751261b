// Package announce tells phones in the same network under which name they find this machine, by multicast DNS (RFC 6762): porta.local is
// answered with the address of the network that the question came from. It needs no internet and no server of names.
//
// Start answers on every network that the machine is in, and looks again now and then, because a laptop changes networks. A machine in no
// network answers nothing until it is in one. The package chooses no name: authority and serve do. It serves no page.
package announce
