// Package rehearsal tries an event on a copy of its store: simulated helpers scan all tickets through the routes that phones use, as if the
// event began now. The store itself is only read.
//
//	copy      of the store, in a work folder that is removed in the end
//	stage     a server over the copy, on loopback; its clock stands at the beginning of the event
//	helper    signs in with a ticket of the door, scans, keeps what its cut cable does not let through, hands it in
//	Report    what the doors have seen, how fast, what was lost or let in twice, and what the event lacks
//
// Each helper is cut off once: the answer to one scan is lost on its way, and those that follow reach nothing. Of these the helper lets
// every other guest in and hands the scans in afterwards, and asks again about the rest. One ticket of ten is scanned a second time at
// another door. In the end the stage is opened again, and every admission that was answered must be in it.
package rehearsal
