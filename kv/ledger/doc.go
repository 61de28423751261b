// Package ledger keeps the file beside the store that lists every erasure by a keyed hash. Lines are only added, and no restore replaces
// the file. Whatever backup takes the store's place, its erased records are erased again before the store serves a request.
//
// A line of erased.ledger:
//
//	realm 26, kind, keyed hash or a holding's ULID 32 hex, time, CRC32C of the line before it 8 hex
package ledger
