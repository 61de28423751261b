// Package inbox keeps what staff has to decide: conflicts that the merge could not settle, records that were made twice and merged,
// and writes of laptops that were refused. An item is one of them. A Box shows the items within a principal's scope.
//
//	item       kept by                       what stands               the other
//	conflict   merge, for one field          the winner's value        the loser's value
//	           merge, for a whole record     the record is deleted     the edit that the deletion ended, or the double record
//	refusal    KeepRefusal                   the record as it is       the refused document
//
// Resolve applies a Choice about any item in one transaction: it writes what was chosen as the principal's own edit, after the checks
// of an edit of theirs, and takes the item off the list, both or neither. A double entry at a door is no item: both check-ins are facts
// and stay, and there is nothing to choose (kv/door lists them).
package inbox
