// Package laptop is a laptop's own side of its centre. It promises that a laptop without a connection keeps serving its doors, and that
// nothing which only this laptop has is removed from its file.
//
//	Join, NoteUpstream      which centre the store has, and what that takes            upstream.go
//	TakeLease               ids that the centre has leased to this store               upstream.go
//	ReadyEvents, InProgress which doors it can serve, and which it serves now          events.go
//	Held, Release           a database that the centre keeps leaves the file           release.go
//	Leave                   so do documents that have left the laptop's databases      leave.go
//	TakeBack                a refused revision is replaced by what the centre has      leave.go
//	Take                    what of a file of its centre is for the laptop             stick.go
//	Mirror                  records pulled from another server; only at a centre       mirror.go
//
// What leaves the file gets no tombstone, and leaves after the centre has all changes of it.
//
// Each operation is one call of the laptop's loop (sync/venue) or of a pull (api/pull), and runs in transactions of bounded size. The loop
// decides when: this package sends nothing over the network, and does not know whether the centre is reached. The centre's side is
// kv/office.
package laptop
