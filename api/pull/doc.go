// Package pull makes a store the mirror of another server that speaks this /v1.
//
// It assumes of the source what the public text of /v1 promises, and no more: lists with count and results under limit and offset,
// the members of each resource, HTTP Basic. It follows no link that an answer holds, takes both spellings of a path's end, ignores members
// that it does not know, and asks for a record by itself where a list shows less of it (list.go).
//
//	GET /v1/group/                        groups
//	GET /v1/people/                       people; with updated_at_after once all were read
//	GET /v1/group/{id}/memberships/       memberships, group by group
//	GET /v1/event/                        events; as people
//	GET /v1/financial_entries/            financial entries
//
// What comes only within other records (church, regional, role, account, supplier …) becomes a record of its own with the id and the
// members that are shown (shape.go). Every record keeps its id. What /v1 does not show has the default of the kind's table.
//
// A list is read by offset. If records come or go at the source while it is read, a page shifts; so a list is read again, at most three
// times, until each page begins with the last record of the one before and all hold as many different records as the count says. Only then
// what was pulled before and is not in it is reported as gone. It is not deleted here: the text does not promise that a missing record is
// deleted. Where only changes are read, the list's count is compared with what is here; if they differ, everything is read.
//
// Run reads the lists in the order of run.go's table and hands each page on: list.go reads it, shape.go turns a record into a row and
// adds the records that it names, and the mirror of kv/laptop writes up to 100 rows. What was changed or deleted here since the last pull is
// kept and listed. What the last pull left and the source has not changed is not written again; so a pull that was cut off goes on when it is
// run again. Report has what became of each kind.
//
// One request is under way at a time (source.go). 429 and 503 are obeyed with their Retry-After; what breaks off, is no JSON or is 5xx is
// tried again a few times, each time later. The secret goes to the host of the address alone.
package pull
