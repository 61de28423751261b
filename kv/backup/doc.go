// Package backup checks, copies and compacts the file of a store, and puts files in their place: a backup with its manifest, an export, a
// restored copy.
//
//	Keeper.CopyTo    the store as it is now, to a new file                                   copy.go
//	Keeper.Verify    every value of the store against every other that must agree with it    verify.go, treeverify.go
//	Keeper.Compact   the file again, without free pages                                      copy.go
//	Put, Replace     a whole and synced file at its name                                     put.go
//	ReplaceSeen      a restored file in the place of a store, which is kept beside it        copy.go
//
// A file is whole or it is not there. It is written under a temporary name in a work folder beside its place, synced, renamed, and
// its folder is synced. A name that leads to no regular file, as a pipe, is written to directly.
//
// A backup lies beside its manifest:
//
//	monday.db        the copy of the store
//	monday.db.json   Manifest: which store it is, and the SHA-256 of the copy
//
// At no moment does a manifest lie beside a file that it does not describe: the old manifest goes first, then the file comes, then the
// new manifest. If the file cannot come, the old manifest gets its name again. Two backups into one folder take turns.
//
// Sticks, the disks of other machines and encrypted folders may sync no folders and keep no modes. What leaves a store can lie there: it is
// written all the same, and the caller gets a sentence about what the disk does not keep.
//
// The package repairs nothing. When a backup is due, and how a command restores one, is decided in cmd/doorward/archive.
package backup
