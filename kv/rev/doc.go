// Package rev says which revisions a record or a free document has. It also merges the values of
// two branches. It is pure: no I/O, no clock, and it knows no record.
//
// An ID names one revision: the number of changes that made it, and a hash. Revisions that this program makes hash what they say, so
// two stores that make the same change make the same revision:
//
//	"3-fd747b4be2353439e6fae9337dc423c2"
//	 3                                   generation: the parent's and one
//	   fd747b4be2353439e6fae9337dc423c2  the first 16 bytes of SHA-256("0" or "1" for deleted, parent, line feed, canonical body)
//
// A Tree is what a store knows of all revisions of one document. It is the union of the paths that came, in whatever order:
//
//	1-a ─┬─ 2-b ── 3-c   the winner: the best leaf
//	     ├─ 2-d          another leaf that lives: a conflict
//	     └─ 2-e ── 3-f   a deleted leaf; Ended tells that it only ends a branch
//
// The winner is the same in every store that knows the same leaves: live before deleted, then the higher generation, then the higher
// hash. Tree.Append draws the bytes that a tree is stored as, and a Cutter reads them, as it reads the rows of kv/table.
//
// Sides are the three values of one field: the winner's, another leaf's, and those of the nearest common ancestor. A Rule chooses:
//
//	        base     winner   other
//	pick    valid    valid    blocked    → blocked, the side that changed
//	pick    valid    unpaid   blocked    → unpaid and a clash
//	strict  valid    unpaid   blocked    → blocked
//	first   null     2 May    1 May      → 1 May
package rev
