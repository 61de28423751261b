// Package engine keeps ordered bytes in one bbolt file: checked values, one writer, group commit. It knows no record, and nothing above it
// names bbolt.
//
// # Rows
//
// A row has a bucket, a key and a value. Buckets are numbered; a Schema names them. Each value ends with 4 bytes of CRC32C over the bucket's
// number, the key and the value, so a row that is damaged or strays into another bucket is noticed. The error of such a row is ErrCorrupt.
//
// # Reading
//
// A View is one committed state. Its Version tells which: versions grow with each commit, and keep growing when Rewrite puts another file in
// place. What a caller keeps in memory beside the file goes by them.
//
// # Writing
//
//	Do, DoAll → queue → one goroutine: operations of a group → one commit → answers
//
// The writer drains what waits, doors first. It runs each operation on an overlay of its own, so an operation that fails leaves nothing.
// Those that succeed make one batch of puts and deletes, which becomes durable in one commit; then the callers have their answers. The
// first error of a commit stops writing for good, because what the disk holds is not known then. Free space is checked before each commit, so
// that a full disk never fails a sync: imports are refused first, then other changes, and below a reserve whatever would write.
//
// Three hooks tell the layer above of a group: Begin before its first operation, Seal when it is whole and not yet durable, Committed when it
// is durable and no caller has its answer yet.
//
// # Opening
//
// bbolt ends the process when a page leads out of the file. So its two heads and each page that they lead to are read, under the file's lock,
// before bbolt opens it: a file that does not fit is a *BadFile, and nothing in it is changed.
//
// # Rewriting
//
// Rewrite copies all rows into a new file, from a View, while writing goes on. It then copies what was written since, again and again, and the
// last rows while the writer waits; the new file takes the name of the old one. The new file has no free pages, so what was deleted is in it no
// more.
package engine
