// Package export writes records so that package load reads them into an empty store.
//
// An export is NDJSON, one record a line, or a table with columns for the kind, the id and the fields:
//
//	{"kind":"church","id":1,"name":"Central",…}
//	kind,id,name,…
package export
