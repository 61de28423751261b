// Package feed reads the log of all changes for followers inside this program: the search index, exports and requests that wait.
//
//	Replay    a page of the log after a sequence, with the records' bodies
//	Await     waits until the log has more
//	Each      every live record of a kind that the caller sees, as JSON; *LeftOut names the damaged ones
//	Export    the same for the whole store alone
//
// A follower keeps the last sequence that it has handled and asks for the changes after it. A sequence is valid within one epoch; where a
// sequence of another epoch goes on, the tables say (kv/table, Epochs). Each page is read in a View of its own, and none is open while the
// follower works. The log has every record, so all but Each need denomination level. The package writes nothing.
package feed
