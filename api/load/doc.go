// Package load brings records in and out: it imports the files that people have, exports what it can import again, and makes
// a fictional congregation to try things on.
//
// An import decides by the content what a file is (open.go):
//
//	PK…        a workbook (.xlsx): the one sheet with a list, or the one that is named; dates as stored        workbook.go
//	           what it unpacks to is limited before it is read                                                 unzip.go, inspect.go
//	{…         one JSON object a line (NDJSON), each with its own "kind", or all of --kind                     ndjson.go
//	otherwise  rows between commas, semicolons or tabs, in UTF-8, UTF-16 or Windows-1252                       csv.go, text.go
//
// A source is kept whole in a temporary file (spool.go), because a table is read twice: through, for what its columns hold
// (profile.go), and again to write it. In between its columns are chosen (tablefile.go):
//
//	the header     the row among the first fifty that names the most fields                        header.go
//	the system     that wrote the file, known by its titles, and what it is known for              origin.go
//	the columns    what the map says, else titles (words.go) and values together                   choose.go
//	who gets in    every column that may decide it is understood, or the import asks               decide.go, state.go
//	dates          the order of day and month, column by column                                    dateorder.go
//
// What is not understood and may decide something is a Question: its column, its values with their counts, and the flags that
// answer it. An import with questions writes nothing. What a field is, says the kind's table in kv/record, and nothing here
// repeats it: cell.go undoes people's ways of writing (31/12/2026, 1.234,56, sim), and the table judges what is left.
// A row that repeats the header, a line of totals, a spreadsheet's error value and a number that it has cut short are refused.
//
// Rows go to the store in batches of kv.MaxRows, each row on its own: a bad one is reported with its line, its column and a
// reason, and blocks none of the others; no reason repeats what the row holds. An import that is cut off leaves what it has
// written; the same file again finds that unchanged and goes on. A dry run decides everything and writes nothing.
//
// A row's record is found by the row's external_id, its id, a ticket's code or a person's CPF. Who only looks like somebody is
// listed, and not merged (lookalike.go). A row that has none of these (not of tickets and memberships) is given an external_id made of what it holds (content.go), so that the same command completes an import:
//
//	file:  ++ 32 hex digits of SHA-256 over the kind, the fields in the table's order, and which row of that content it is
//
// Two rows that hold the same are two records and stay two. A row that is changed in the file is another record.
//
// An export is NDJSON (export.go), one record a line, or a table (flat.go) whose columns are the kind, the id and the fields:
//
//	{"kind":"church","id":1,"name":"Central",…}
//	kind,id,name,…
package load
