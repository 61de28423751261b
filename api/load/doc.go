// Package load brings records in and out: it imports the files that people have, exports what it can import again, and makes
// a fictional congregation to try things on.
//
// An import decides by the content what a file is (open.go):
//
//	PK…        a workbook (.xlsx): the first sheet with a recognisable header; dates as workbooks store them   workbook.go
//	           what it unpacks to is limited before it is read                                                 unzip.go, inspect.go
//	{…         one JSON object a line (NDJSON), each with its own "kind", or all of --kind                     ndjson.go
//	otherwise  rows between commas, semicolons or tabs, in UTF-8, UTF-16 or Windows-1252                       csv.go, text.go
//
// A table's header is the row among the first fifty that names the most fields, by their own names or by what people call
// them (words.go). What a field is, says the kind's table in kv/record, and nothing here repeats it: cell.go undoes people's
// ways of writing (31/12/2026, 1.234,56, sim, Pago), and the table judges what is left.
//
// Of two titles for one field the more specific counts, and the other is named as not read; between equals the map decides.
// A row that repeats the header, a line of totals, a spreadsheet's error value and a number that it has cut short are refused.
//
// Rows go to the store in batches of kv.MaxRows, each row on its own: a bad one is reported with its line, its column and a
// reason, and blocks none of the others; no reason repeats what the row holds. An import that is cut off leaves what it has
// written; the same file again finds that unchanged and goes on. A dry run decides everything and writes nothing.
//
// A row's record is found by the row's external_id, its id or a ticket's code. A row that has none of them (not of tickets
// and memberships) is given an external_id made of what it holds (content.go), so that the same command completes an import:
//
//	file:  ++ 32 hex digits of SHA-256 over the kind, the fields in the table's order, and which row of that content it is
//
// Two rows that hold the same are two records and stay two. A row that is changed in the file is another record.
//
// An export is NDJSON, one record a line:
//
//	{"kind":"church","id":1,"name":"Central",…}
package load
