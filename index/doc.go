// Package index finds people by what is typed. It holds only what can be deleted at any moment and rebuilt from the store.
//
// An Index follows the store's change log on a goroutine of its own and keeps, in bleve's index scorch, one document for each
// record of the kinds with Searched or Document fields. It is a desk.Finder: it names candidates, and says up to which
// sequence of the log it has looked; the store adds what has changed since, reads each candidate and decides. So an index that is
// late costs time, one that names too many costs time, and only one that names too few would be wrong: there are no false negatives.
//
// # The folder
//
//	<data>/index/<mapping>/           bleve's files; the name is a hash of the fields that are searched and of how they are analysed
//	<data>/index/<mapping>.opening    there while the index is being opened: found at the start, opening it ended the process
//	<data>/index/<mapping>.new/       the next index, while it is being built
//	<data>/index/<mapping>.old/       the one that it has just replaced
//
// An index is never built in its place. A new one is built beside, written to disk and closed, and then takes the place of the old one by
// two renames. Until then searches use the old one. A process that ends between any two steps leaves the old index, the new one or none,
// and an index that is missing is built again. What lies under another name than <mapping> is removed once an index is in use.
//
// The cursor lies in the same snapshot as the documents it speaks of, with the store's realm, node and epoch, and a checksum. Before
// an index is used, each segment is held against the checksum that it ends with, bleve's own small file is written again from
// what was read, and the documents are compared with the store's records. What is damaged, foreign or ahead of the store is
// replaced by a new index. Until then, and where the folder cannot be written, Find answers desk.ErrNoIndex.
//
// What happens to the files of an open index is seen as far as it makes bleve fail on goroutines of ours; checksums are read when it
// is opened. A program that writes into the files of a running server may end it, or make it find too few records until its next start.
//
// # A document
//
// Its id is the kind's number, 1 byte, and the record's id, 8. Its fields have terms only: no frequencies, norms, positions or
// stored values. All texts are folded by names.Fold, as the store folds what it compares.
//
//	h   the kind's number, 1 byte; the same with the church or event, 8
//	g   of each text: every 3 bytes in a row of text, NUL, NUL
//	d   the same of the digits of phones and numbers
//	c   the digits of a document, as names.CPF has them
//	w   the words of names, as names.Words splits them; NUL of a name with more than 32 of them
//	v   the words of names as they are written, by names.WrittenWords, where w has them otherwise
//	s   the sounds of the words of w, by names.Sound
//	n   the first word of a name; NUL and how many words it has, 1 byte, particles not counted
//
// A text of 3 bytes or more occurs only where all of its grams do, a shorter one where a gram begins with it. One edit in a word
// or in its beginning, and two, are found by a Levenshtein automaton that walks the dictionary of w; one edit on /v1, where apostrophes
// count, that of v too. Two words that were typed as one, D Avila as Davila, are found by trying all ways to part it, in w and in s.
//
// # Deletion
//
// A segment is never changed: what is deleted or replaced is marked, and its words stay in the file. Some time after
// (Config.Sweep), all segments are written into one new segment, and the old files are removed.
//
// What the store releases, because another store keeps it, leaves no row in the log. When the store reports a release,
// and when an index is opened, the index deletes the documents that have no record any more, at once. Then the segments are
// written again without them. A record without its document is damage.
package index
