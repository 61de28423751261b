// Package profile counts what the cells of a table's columns look like: how many are filled, their different values if these are
// few, and how many cells have each trait, for example a digit or a word of payment. It keeps no row.
//
// Table takes the rows one by one; each Column then answers whether it may hold codes (IsCodes), amounts, or a number that counts the rows.
// Package columns chooses by these answers. The profile itself decides nothing, and knows no kind.
package profile
