// Package ledger is the file beside the store that says what was erased, by keyed hashes. Lines are only ever added. No restore replaces the
// file.
package ledger
