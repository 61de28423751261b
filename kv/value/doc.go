// Package value reads and writes JSON values in the one form that records are stored in. It is pure, and knows no record.
//
//	kind        stored form
//	string      "João \"Zé\""                    the shortest escapes
//	integer     1234                             decimal
//	amount      "12.50"                          a string with two places; Cents reads it as 1250
//	date        "2026-05-01"
//	date-time   "2026-05-01T18:00:00Z"           UTC; six digits of a second if they are not zero
//	list        [1,2]                            no white space
//	object      {"b":1,"a":2}                    members in the order in which they were given, no white space
//
// A run is a text of members without the braces around them:
//
//	"full_name":"Ana Souza","gender":null,"church_id":3
//
// Find, ReadMember and ReadLabelled take a run apart without decoding it. They read a stored run; of any other bytes they return
// something, and never fail.
//
// The canonical form of a value is its stored form with the members of each object sorted by the bytes of their names, at every
// depth. Numbers keep their text. Revisions hash it, and Equal compares it.
package value
