// Package query reads query strings (contract.md §5).
//
//	Query        the parameters ordered by name, and the address of another page made of them
//	Filter       a parameter that narrows a list
//	Part         the part of a list that is asked for: conditions for the store, limit and offset
//
// What cannot be read is a fault by the parameter's name; an unknown parameter is ignored. The package asks no store, and decides nothing
// about permissions.
package query
