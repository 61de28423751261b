// Package folder is the folder that holds a congregation, as a command finds it: its owner and mode, whether it has a store, the names
// that the program keeps in it, and what a killed process left there.
//
//	doorward.db, doorward.*     the store and what belongs to it (package kv)
//	index                       the search index
//	control.sock                the control socket of serve
//	.doorward-<purpose>-<n>     work folders: copies and files under a temporary name
package folder
