// Package load imports the files that people have.
//
// A source is kept whole in a temporary file within the folder of the store, because it is read twice: through, for what its columns hold,
// and again to write it.
// Each step is a package:
//
//	sheet     the file as rows of text: a workbook, or lines between commas
//	columns   which column gives which field, and what must be asked
//	cells     the text of a cell as a JSON value (31/12/2026, 1.234,56, sim)
//	kinds     the kinds that a file may hold, and the names of their fields
//	words     the titles and words that people use
//
// This package opens a source by its content (open.go): a table (table.go), pretix's JSON (pretix.go) or one JSON
// object a line (NDJSON, ndjson.go), each line with its own "kind", or all of --kind. It then writes the rows (import.go).
//
// A column that may decide something and is not understood is a columns.Question: its column, its values with their counts, and
// the flags that answer it. An import with questions writes nothing. The kind's table in kv/record says what a field is, and
// nothing here repeats it. A row that repeats the header, a line of totals, a spreadsheet's error value and a number that it has
// cut short are refused.
//
// Rows go to the store in batches of table.MaxRows, each row on its own: a bad one is reported with its line, its column and a
// reason, and blocks none of the others; no reason repeats what the row holds. An import that is cut off leaves what it has
// written; the same file again finds that unchanged and goes on. A dry run decides everything and writes nothing.
//
// A row's record is found by the row's external_id, its id, a ticket's code or a person's CPF. A person that only looks like one in
// the store is listed, and not merged (item.go). A row that has none of these (not of tickets and memberships) is given an
// external_id made of what it holds, so that the same command completes an import:
//
//	file:  ++ 32 hex digits of SHA-256 over the kind, the fields in the table's order, and which row of that content it is
//
// Two rows that hold the same are two records and stay two. A row that is changed in the file is another record.
//
// A list of memberships may name its groups and people instead of giving their ids (members.go). The people of the store are read once.
package load
