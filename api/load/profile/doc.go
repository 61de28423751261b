// Package profile counts what the cells of a table's columns look like: how many are filled, their different values if these are
// few, and how many cells have each trait, for example a digit or a word of payment. It keeps no row.
package profile
