// Package query reads query strings: parameters, the filters of lists as conditions for the store, and the part of a list that
// is asked for (contract.md §5).
package query
