package kv

import "doorward/kv/record"

// Target names what an operation is about.
type Target struct {
	Surface record.Surface // V1 or Admin: decides the permission that is needed and the shape of the reply
	Kind    *record.Kind   // record.Ticket on Admin takes and shows the form of record.TicketForm
	ID      record.ID      // zero for Create and List
	IfMatch string         // a revision; "" = whatever is there
	Once    *Once          // nil = no Idempotency-Key
}

// Once makes a create happen once: the answer of the first is kept for 72 hours.
type Once struct {
	Key  [32]byte // hash of api key, method, path and value
	Body [32]byte // hash of the body: another one under the same Key is ErrKeyReused
}

// Reply is one record as the surface shows it.
type Reply struct {
	ID       record.ID
	JSON     []byte
	Revision string
	Replayed bool // the kept answer of an earlier request
}

// Retrieve reads one record. ErrNotFound, *Forbidden, ErrCorrupt.
func (s *Store) Retrieve(p Principal, t Target) (Reply, error) { panic("kv") }

// Create makes a record. The patch's faults, with those that only the store can see added, come back as record.Faults.
func (s *Store) Create(p Principal, t Target, patch *record.Patch) (Reply, error) { panic("kv") }

// Update changes a record. A patch that changes nothing makes no revision.
func (s *Store) Update(p Principal, t Target, patch *record.Patch) (Reply, error) { panic("kv") }

// Delete leaves a tombstone. *Conflict where other records refer to this one.
func (s *Store) Delete(p Principal, t Target) error { panic("kv") }

// Query is a page of a kind. Results stand in id order.
type Query struct {
	Surface       record.Surface
	Kind          *record.Kind
	Where         []Where // all must hold; each field is Indexed, or "updated_at"
	Search        *record.Search
	Offset, Limit int
}

// Where is one condition. Either In is set, or From and To, both inclusive, nil = open.
type Where struct {
	Field    string
	In       []any // int64, bool, string, or nil for null; any of them
	From, To any   // time.Time or int64
}

// Page is what a list answers.
type Page struct {
	Count   int    // all matches
	Results []byte // the page's records: a JSON array
	IDs     []record.ID
}

// List reads a page. A church or regional that the principal cannot see counts as unknown: record.Faults with
// "Select a valid choice…" under the field's name.
func (s *Store) List(p Principal, q Query) (Page, error) { panic("kv") }
