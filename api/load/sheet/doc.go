// Package sheet reads a file as rows of text. It knows neither kinds nor columns.
//
//	PK…        a workbook (.xlsx), one sheet at a time                                                workbook.go
//	           the size of what it unpacks to is limited before it is read                            unzip.go
//	otherwise  rows between commas, semicolons, tabs or bars, in UTF-8, UTF-16 or Windows-1252        csv.go
//
// A row that cannot be read has a fault and the column of the fault. It blocks no other row. A source is kept whole in a temporary
// file (open.go), because it is read twice.
package sheet
