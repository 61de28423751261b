// Package kv opens a store: one congregation's records in one file, and the desks that serve them.
//
// A store survives a power cut with everything it has acknowledged. One goroutine writes; an answer is given after the commit that
// holds it. Every method of a desk takes the Principal first. It returns ErrNotFound for what lies outside the principal's scope, and
// *Forbidden for what the principal may not do.
//
// The rooms, from the bottom up: engine (bytes), table (one record and its rows; the format of the file), entry (one record for a
// principal), ticket, keys, desk, feed, door, merge, inbox, office, laptop, docs, erase, upkeep, backup. A room uses only rooms below it. Each
// exports functions on the table's transaction; only a desk opens one.
//
// # Copies
//
// A sequence leaves the store with its epoch, which is another one after every restore and in every copy that is noticed: a
// folder that lies on another machine, or whose sidecar file has another inode or was made or written at another moment, begins a new epoch when it is opened, and a
// peer notices by their sessions two copies that cannot tell by themselves, at the second one's first contact.
//
// A copy that is put back where the folder was may be given the inode that its sidecar had before, but not the moment at which that
// was made. What nobody can tell is a copy whose files were written into those that are there, with their times kept (cp -a): it goes
// on in its old epoch, with sequences and facts that peers know already, for a copy holds all that lies in the folder. A backup and
// restore are the way back, which always begin a new epoch. A restored store gives none of the ids that the one whose place it
// takes has given, and passes over many more, for that one may be gone or may not be the last.
//
// Before both have met a peer nothing can tell two copies of a whole disk apart. What both give meanwhile out of one lease they
// give twice under one id: the centre keeps both histories as one record's, shows one, and lists every field in which they differ
// for staff. Leases are burned once the copies are noticed, so that it ends there. A laptop's disk is not to be cloned; a second
// laptop joins by a code of its own.
//
// # Opening
//
// A file that cannot be used as it is ends in one sentence (BadFile) that names it, and the newest backup where one is known: the file
// doorward.backup beside the store tells of that, and doorward.verify of the last check (upkeep.go). A folder that has one of the files beside, and no store, is no new folder (gone.go).
// Damaged values keep no file shut (damage.go): the lists are made of what is sound (relist.go). Only rows of meta by which the store knows
// which store it is, and what it has given, are not guessed.
//
// Before bbolt opens a file, whoever holds its lock looks at its heads and at every page that they lead to (guard.go), for bbolt's own
// look ends the process where a page leads out of the file.
//
// # Erasing
//
// Who is erased gets an empty tombstone on every leaf, and no body of any revision stays, neither of the person nor of what named
// the person; tickets stay valid without a name, and what a laptop that had not heard of it makes of one gets a revision without names
// put upon it. A laptop that is told which revisions were the first without names puts what it made itself upon those, where it can make
// them anew (erasestand.go), and empties in place what stands on none of them, for it may be given nothing more. Of whom a ticket was taken
// from a row is kept, so that names beside which nothing says whose they are can be found (former.go), and what is left of that person
// goes (leftover.go). A file beside the store says what was erased, by keyed hashes (ledger.go): no restore replaces it, and what it says
// is done before anybody is served. What cannot be, as on a full disk, is shown to nobody until it is done (concealed.go).
// Compacting takes the bytes out of the file's free pages.
package kv
