// Package importer is what an import shows an operator: the file that is read, the plan of its columns before anything is written,
// and the report of its rows afterwards. The server decides both; this package reads the file twice and prints the answers.
package importer
