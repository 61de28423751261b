// Package backup puts files in place: a backup with its manifest, an export, a restored copy.
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
// new manifest. Two backups into one folder take turns.
package backup
