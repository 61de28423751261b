// Package merge places a revision that arrives from a replica: it grafts the revision into the record's tree, chooses the winner, merges
// what two sides changed, joins records that were made twice, and lists for staff what no rule can decide.
package merge
