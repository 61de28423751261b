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
// A sequence is valid within one epoch. A restore begins a new epoch, and so does a copy of the folder that is noticed: its sidecar
// file has another inode, was made or written at another moment, or lies on another machine. Two copies that cannot notice it
// themselves are noticed by their peer, which remembers the sessions of both, at the second copy's first contact.
//
// A copy made over the files of the folder with their times kept (cp -a) cannot be noticed. It goes on in its old epoch, with
// sequences and facts that peers know already. Backup and restore are the way back: a restore always begins a new epoch. A restored
// store repeats no id that it knows of and passes over many more, because the store that it replaces may have given ids since.
//
// Two copies of a whole disk cannot be told apart before both have met a peer. Until then both may mint one id out of one lease. The
// centre keeps both histories as one record's, shows one, and lists each field in which they differ for staff. It burns the leases
// once it notices the copies. A laptop's disk must not be cloned: a second laptop joins by a code of its own.
//
// # Opening
//
// A file that cannot be used ends in one sentence (engine.BadFile) that names the file, and the newest backup where one is known. The
// file doorward.backup beside the store names that backup, and doorward.verify the last check. A folder that has one of these files
// and no store is not a new folder.
//
// Damaged values keep no file shut: the lists are made of what is sound. Only the rows by which the store knows which store it is,
// what it has given and which log belongs to it are not guessed.
//
// # Erasing
//
// Erasing a person puts an empty tombstone on every leaf of the person's record and deletes the kept bodies of all revisions. Tickets
// stay valid without a name. What a laptop that has not heard of the erasure makes of a ticket gets a revision without names. The
// ledger beside the store remembers each erasure by keyed hashes; no restore replaces it, and an erasure that it names is finished
// before the store serves a request. What cannot be erased, as on a full disk, is hidden until it can be. Compacting removes the bytes
// from the free pages of the file.
package kv
