package merge

import (
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv/rev"
)

// Revs names a document and the revisions of it that a peer has.
type Revs struct {
	ID        string
	Revisions []rev.ID
}

// DocWrite is one revision of a document to store.
type DocWrite struct {
	ID          string
	Parent      rev.ID   // of a new edit: the leaf that it changes; zero: it is the first, or follows the tombstone
	Path        []rev.ID // of a replicated revision: it and those before, newest first; nil: a new edit
	Deleted     bool
	Body        []byte       // an object without members that begin with "_"; nil: an empty one. It must not change afterwards
	Attachments []Attachment // all it has: Name, Type, SHA256, RevPos
	Author      Author       // of a replicated revision of a record, as far as its server tells
	Wrong       error        // what is known to be wrong with it: it is refused. nil: nothing
	Canonical   Canonical    // instead of Body: one that is known to be canonical
	Content     []byte
	opened      *opened // of a record, if it has been read already; nil: it has not
}

// Author says which key and node made a replicated revision, when, and which fields it changed. The zero Author means that this
// is unknown.
type Author struct {
	At     time.Time
	Key    int64
	Node   ulid.ULID
	Fields []string
}
