// Package office is the centre's side of its laptops. It promises that a code and a key work once and for one laptop, that two laptops never
// get the same ids, and that a revoked laptop reads nothing and brings only its check-ins.
//
//	Enrol      staff say what a laptop may do; the centre gives a code for a day        enrol.go
//	Exchange   the laptop brings the code and the hash of its secret, and gets a key    enrol.go
//	Exchanged  the databases that it exchanges with the centre, and when it drops one   exchanged.go
//	Along      what of a file of all records a laptop takes                             along.go
//	Lease      ids that no other store gives                                            lease.go
//	NoteContact, Venues, RevokeVenue, WipeVenue                                         venues.go
//	WriterTie  how a laptop stands to a scope it writes to, by all its enrolments       venues.go
//
// An enrolment is a record (kind node), and Enrolled is the record as the centre reads it. The enrolment says which databases a laptop
// exchanges; whether a single document is taken is decided in kv/access and kv/merge, from the tie. The package speaks no HTTP: sync answers
// laptops with it. The laptop's side is kv/laptop.
package office
