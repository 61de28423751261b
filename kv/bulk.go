package kv

import "doorward/kv/record"

// MaxRows is how many rows one bulk operation takes.
const MaxRows = 100

// Row is one record of a bulk import. The patch may carry "external_id"; ID is zero where the source gives none.
type Row struct {
	Kind  *record.Kind
	ID    record.ID
	Patch *record.Patch
}

// Fate is what became of a row.
type Fate string

// The fates.
const (
	Created   Fate = "created"
	Updated   Fate = "updated"
	Unchanged Fate = "unchanged"
	Rejected  Fate = "rejected"
)

// RowResult is one row's fate; Err says why it was rejected (record.Faults, *Conflict, …).
type RowResult struct {
	Fate Fate
	ID   record.ID
	Err  error
}

// Upsert writes up to MaxRows rows, each on its own: a bad one is rejected and blocks none. A row finds its record by
// external_id within its event or kind, else by id, else, a ticket, by event and code. dryRun decides all and writes nothing.
func (s *Store) Upsert(p Principal, rows []Row, dryRun bool) ([]RowResult, error) { panic("kv") }

// Vacant tells a store that holds no records but keys.
func (s *Store) Vacant() (bool, error) { panic("kv") }
