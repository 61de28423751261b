// Package importer is what an import shows an operator: the file that is read, the plan of its columns before anything is written,
// and the report of its rows afterwards.
//
// Source is the file: it is read once for the plan and once for the import, so standard input is kept in a temporary file. Report is the
// answer of the server; PrintPlan shows which column gives which field, Print what became of the rows. The server decides both (api/load):
// this package parses no row.
package importer
