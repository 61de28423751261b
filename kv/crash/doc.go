// Package crash names the moments between two steps at which a power cut may leave only the first. A binary that is built with the
// tag crashpoints can be told to die at one of them, as tests of the real program do; in any other binary At is nothing.
//
//	DOORWARD_CRASH="after commit:7"    the process kills itself when it comes there for the seventh time
package crash

// Point is a moment at which a power cut may come.
type Point string

// The points.
const (
	BeforeLogRow    Point = "before log row"   // an operation has given a record its sequence, but no row yet
	BeforeRecord    Point = "before record"    // its log row is there, the record is not
	BeforeCommit    Point = "before commit"    // a group is whole, and not written
	AfterCommit     Point = "after commit"     // it is on disk, and no caller was told
	AmongAnswers    Point = "among answers"    // one of its callers was told
	BeforeLog       Point = "before log"       // a log is begun, and the file does not name it
	AfterLog        Point = "after log"        // the file names it, and nothing is in it
	BeforeFold      Point = "before fold"      // rows are in the log, and not in the file
	AmongFolds      Point = "among folds"      // a transaction of a fold is in the file, others may be missing
	AfterFold       Point = "after fold"       // they are in the file, and the log still has them
	BeforeAlone     Point = "before alone"     // the log has ended, and the file names it
	AfterAlone      Point = "after alone"      // the file names it no more, and it is there
	BeforeReply     Point = "before reply"     // a request is done, its answer not begun
	AfterReply      Point = "after reply"      // its answer is written, perhaps not sent
	AfterChunk      Point = "after chunk"      // a part of a blob is on disk, others are missing
	AfterBlob       Point = "after blob"       // a blob is whole, and no document needs it yet
	BeforeCreate    Point = "before create"    // a new store has a temporary name
	AfterCreate     Point = "after create"     // it has its own, and the folder is not synced
	BeforeReplace   Point = "before replace"   // a store is kept beside, the other one not in its place
	AfterReplace    Point = "after replace"    // it is in its place, and the folder is not synced
	BeforeCompacted Point = "before compacted" // a store is written again, under a temporary name
	AfterCompacted  Point = "after compacted"  // it is in its place, and the folder is not synced
	BeforeFile      Point = "before file"      // a file for a person, as a backup, has a temporary name
	AfterFile       Point = "after file"       // it has its own, and the folder is not synced
	BeforeAside     Point = "before aside"     // a new index is built beside, the old one in its place
	AfterAside      Point = "after aside"      // the old one is out of the way, the new one not in its place
)

// Points are all there are.
func Points() []Point {
	return []Point{BeforeLogRow, BeforeRecord, BeforeCommit, AfterCommit, AmongAnswers, BeforeLog, AfterLog,
		BeforeFold, AmongFolds, AfterFold, BeforeAlone, AfterAlone, BeforeReply, AfterReply, AfterChunk, AfterBlob,
		BeforeCreate, AfterCreate, BeforeReplace, AfterReplace, BeforeCompacted, AfterCompacted,
		BeforeFile, AfterFile, BeforeAside, AfterAside}
}

// Variable is the environment variable that an armed binary reads.
const Variable = "DOORWARD_CRASH"
