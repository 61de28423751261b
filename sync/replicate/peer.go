package replicate

import (
	"context"
	"encoding/json"
	"errors"

	"doorward/kv"
	"doorward/sync/input"
	"doorward/sync/line"
)

// Peer is one end of a replication: a database of this process, one at a server, or a file.
type Peer interface {
	// Identify says which database the peer is.
	Identify(ctx context.Context) (Identity, error)
	// Checkpoint reads what keep has written. It returns the zero checkpoint if there is none.
	Checkpoint(ctx context.Context, id string) (Checkpoint, error)
	Keep(ctx context.Context, id string, c Checkpoint) error
	// Feed calls fn with what changed after a place, in order. A live feed ends with ctx alone.
	Feed(ctx context.Context, w Wish, fn func(*Batch) error) error
	// Read calls fn with revisions that the target lacks. It leaves out what the peer no longer has.
	Read(ctx context.Context, missing []kv.MissingRevs, fn func(*line.Revision) error) error
	// Missing returns the offered revisions that the peer lacks.
	Missing(ctx context.Context, offers []kv.Revs) ([]kv.MissingRevs, error)
	// Write stores revisions. It returns those that the peer refuses for good; they keep none of the others out.
	Write(ctx context.Context, revisions []*line.Revision) ([]Denial, error)
}

// Identity says which database a peer is.
type Identity struct {
	line.Head        // realm, node, epoch and database, as far as the peer says
	ID        string // names the peer in checkpoints; "" = it keeps none
	CodeKey   []byte // of the realm, if the source's operator copies all records
}

// Wish says what of a feed is wanted.
type Wish struct {
	Since    line.Sequence
	Live     bool
	IDs      []string        // nil: all documents
	Selector json.RawMessage // nil: all documents
	Carry    bool            // the feed brings the revisions along, also where it does not begin at the beginning
	Records  bool            // the target keeps records
	Lacked   func(ctx context.Context, offers []kv.Revs) ([]kv.MissingRevs, error)
}

// Batch is some changes that follow one another.
type Batch struct {
	Offers    []kv.Revs
	Carried   bool // the feed brings the revisions along
	Revisions []*line.Revision
	Denied    []Denial // of what cannot be offered
	Left      []string // the documents that have left the source, and live on elsewhere
	Upto      line.Sequence
}

// Denial is a revision that the target does not take.
type Denial struct {
	ID     string `json:"id"`
	Rev    string `json:"rev,omitempty"`
	Error  string `json:"error"`
	Reason string `json:"reason"`
	Kept   bool   `json:"kept,omitzero"` // the target keeps it for its staff
}

// denial is the denial of a revision.
func denial(r *line.Revision, err error) Denial {
	return Denial{ID: r.ID, Rev: r.Rev().String(), Error: "forbidden", Reason: Reason(err)}
}

// reasons say why a revision is refused. The first error that matches counts.
var reasons = []struct {
	err  error
	text string
}{
	{kv.ErrConflict, "Document update conflict."},
	{line.ErrStub, "A stub of an attachment that is not there."},
	{kv.ErrNoBlob, "A stub of an attachment that is not there."},
	{line.ErrLength, "An attachment is not as long as its document says."},
	{kv.ErrDocumentID, "A document's id is a text of 1 to 8192 bytes. Only reserved ids begin with an underscore."},
	{kv.ErrRevision, "Invalid rev format"},
	{input.ErrTooLarge, "The request's body is too large."},
	{kv.ErrTooLarge, "The document is too large."},
}

// Reason says why a revision is refused; "" for an error that is not the revision's own.
func Reason(err error) string {
	var forbidden *kv.Forbidden
	if errors.As(err, &forbidden) {
		return forbidden.Error()
	}
	for _, r := range reasons {
		if errors.Is(err, r.err) {
			return r.text
		}
	}
	if errors.Is(err, kv.ErrDocument) {
		return err.Error()
	}
	return ""
}
