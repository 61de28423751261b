// Package serve runs a server over a folder until a signal ends it.
//
// The order of a start is: settings, addresses, store, index, control socket, the venue's loop. The order of an end is the reverse, so
// that nothing which was answered is lost. A restore is one request on the control socket:
//
//	command                                              server
//	makes a store of the backup in a work folder
//	POST /control/restore?folder=…&realm=…&node=…   →    stops listening, finishes what was begun, closes the store
//	                                                     keeps the store's file beside, moves the restored file to its place
//	                                                     opens the store and listens at the same addresses
//	{"kept":"…"}                                    ←    answers the request
//
// Until the restored file has left the work folder the command can withdraw it.
package serve
