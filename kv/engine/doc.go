// Package engine keeps ordered bytes in one bbolt file with a log in front: checked values, one writer, group commit. It knows no record, and
// nothing above it names bbolt or the log.
//
// # Rows
//
// A row has a bucket, a key and a value. Buckets are numbered; a Schema names them. Each value ends with 4 bytes of CRC32C over the bucket's
// number, the key and the value, so a row that is damaged or strays into another bucket is noticed. The error of such a row is ErrCorrupt.
//
// # File and log
//
//	folder/                        ┌ a group: its rows, deletions too (tx.go)
//	  log/00000001.seg   … 41, 42, 43           appended and synced before an answer (package wal)
//	  a.db               everything up to 38    one transaction of bbolt for each fold
//	    bucket "engine"  log id, sequence 38    the mark: which log, and up to where (log.go)
//	    "gathered"       some rows up to 38     that are not in their buckets yet (fold.go)
//	memory               39 … 43                tables above the file (tx.go)
//
// A commit is one record of the log and one sync of bytes that were written before. Its rows go into an ordered table in memory, and readers see
// them; then the callers have their answers. A fold (fold.go) writes a table into the file, with the mark in the same transaction; then the segments
// of the log that have nothing else are used again. It runs at 8 MiB of rows, after 10 seconds, or when it is asked for, beside the writer. While doors
// are about it is put off for up to a minute, and is several small transactions, the mark in the last. Where the disk cannot keep up bulk work waits first, doors last.
// Under load rows with keys that come anywhere are gathered in a bucket of the engine's own and in memory, and spread into their buckets later (fold.go). All
// tables together take about 32 MiB.
//
// # Reading
//
// A View is one committed state: a transaction of bbolt that reads, under the tables, taken so that they show one moment (engine.go). Its Version is the
// sequence of its latest group. Sequences grow by one with each group, also when Rewrite puts another file in place. What a caller keeps
// in memory beside the file goes by them.
//
// # Writing
//
//	Do, DoAll → queue → one goroutine: operations of a group → log → readers → answers
//
// The writer drains what waits, doors first. It runs each operation on an overlay of its own, so an operation that fails leaves nothing.
// Those that succeed make one batch of puts and deletes, which becomes durable in one record. The first error of an append or a fold stops writing for good,
// because what the disk holds is not known then; the log has what a fold could not write. Room that is missing stops nothing: a fold is tried
// again, and the segment that a group will need is made and opened before the group is sealed. Where neither is possible changes are refused (*disk.Full; ErrBusy
// where too many files are open), until they are. Free space is checked before each group, with what the next fold may take, so that a full disk never fails a sync: imports are refused first, then other
// changes, and below a reserve whatever would write.
//
// Hooks tell the layer above of a group: Begin before its first operation, Kept when it has taken an operation's rows, Seal when it is whole and
// not yet durable, Committed when it is durable and no caller has its answer yet; Refused instead of Seal where it is given up.
//
// # Opening
//
// bbolt follows a page that leads astray without end, or ends the process. So the file's two heads, its list of free pages and each branch that they lead to
// are read, under the file's lock, before bbolt opens it. The leaves are read beside what the layer above derives from the file (Config.Derive), and Open
// returns when both are done. A file that does not fit is a *BadFile, and nothing in it is changed. Each fold writes the list of free pages, so bbolt need
// not look for them. Then what the log has beyond the mark is read into a table. A record that was torn in a crash was never answered, and is dropped. A log that is missing or damaged is a *BadFile that names the segment and
// the byte. A log that the file does not name is another's: it is set aside.
//
// A file names a log from its first write on. Close folds everything, ends the log, has the file name none, and removes the log: the file alone is whole.
// So is a file that CopyTo has made. A file that is only read is not folded; a copy of it has what its log has.
//
// # Rewriting
//
// Rewrite folds, writes zeros over the segments that held records until then, and copies all rows into a new file while writing goes on.
// It then copies what was folded since, again and again, and the last rows while no fold runs; the new file takes the name of the old one. The new file
// has no free pages, so what was deleted before is in it and in the log no more.
//
// # Following
//
// Follow reads the committed groups in order, out of the log.
package engine
