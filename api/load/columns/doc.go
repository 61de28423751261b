// Package columns decides which column of a table gives which field, and asks where it cannot decide.
//
//	the header     the row among the first fifty that names the most fields                header.go
//	the system     that wrote the file, known by its titles                                header.go
//	the columns    what the operator says, else titles (package words) and values          choose.go, package profile
//	admission      each column that may decide on it is understood, or there is a Question decide.go
//	dates          the order of day and month, column by column                            advice.go
//	stray rows     the header once more, a line of totals, a heading                       stray.go
//
// Columns are chosen twice: by titles alone while the header is looked for, and then with a profile of each column's values. A
// column that may decide on admission and is not understood becomes a Question, and nothing is written before it is answered.
package columns
