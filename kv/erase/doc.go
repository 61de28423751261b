// Package erase removes what the store knows of a person: the person's record, what names the person, every kept revision and every answer
// that shows them. The ledger beside the store remembers what was erased by keyed hashes, so no restore and no old laptop brings it back.
package erase
