// Package merge stores a revision that arrives from a replica. It promises that every store which has the same revisions shows the same
// record, in whatever order they arrive; that no value is lost without an entry for staff; and that no revision brings back an
// erased record.
//
// What happens when a revision arrives, in one write transaction:
//
//	1  Read        the document is read once into an Arrival, with the record and its tree as they are
//	2  RemoveErased  erased content is refused, or removed; a holding that names an erased person is erased (erase.go)
//	3  graft       the revision and its ancestors join the record's tree (adopt.go)
//	4  resolve     at the root, branches are merged by the field's rule; values that lose are listed for staff (adopt.go)
//	5  CarryOut    the winner's body becomes the record; losers keep theirs; tree, lookups, logs and scopes follow
//	6  duplicates  at the root, records with the same key become one; references follow (duplicate.go, duplicatemerge.go)
//	7  parts       the other records of a ticket follow: holdings, label, last digits, code (parts.go)
//
// A laptop or a copy does not merge (steps 4, 6 and 7 wait for the root) and keeps fewer bodies (adopt.go). Steps 1 and 2 are
// called by kv/docs, which judges in between whether the writer may make this change.
package merge
