package sync

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"doorward/kv"
	"doorward/kv/record"
)

// sequence is a place in a source's feed, in whatever JSON the source gives it; nil is its beginning.
type sequence = json.RawMessage

// Peer is one end of a replication: a database of this process, one at a server, or a file.
type Peer interface {
	// Identify says which database the peer is.
	Identify(ctx context.Context) (Identity, error)
	// checkpoint reads what keep has written. It returns the zero checkpoint if there is none.
	checkpoint(ctx context.Context, id string) (checkpoint, error)
	keep(ctx context.Context, id string, c checkpoint) error
	// feed calls fn with what changed after a place, in order. A live feed ends with ctx alone.
	feed(ctx context.Context, w wish, fn func(*batch) error) error
	// read calls fn with revisions that the target lacks. It leaves out what the peer no longer has.
	read(ctx context.Context, missing []kv.MissingRevs, fn func(*replica) error) error
	// missing returns the offered revisions that the peer lacks.
	missing(ctx context.Context, offers []kv.Revs) ([]kv.MissingRevs, error)
	// write stores revisions. It returns those that the peer refuses for good; they keep none of the others out.
	write(ctx context.Context, replicas []*replica) ([]Denial, error)
}

// Identity says which database a peer is.
type Identity struct {
	Head           // realm, node, epoch and database, as far as the peer says
	ID      string // names the peer in checkpoints; "" = it keeps none
	CodeKey []byte // of the realm, if the source's operator copies all records
}

// wish says what of a feed is wanted.
type wish struct {
	since    sequence
	live     bool
	waits    bool            // this request for changes waits until there are some
	ids      []string        // nil: all documents
	selector json.RawMessage // nil: all documents
	carry    bool            // the feed brings the revisions along, also where it does not begin at the beginning
	records  bool            // the target keeps records
	lacked   func(ctx context.Context, offers []kv.Revs) ([]kv.MissingRevs, error)
}

// batch is some changes that follow one another.
type batch struct {
	offers   []kv.Revs
	carried  bool // the feed brings the revisions along
	replicas []*replica
	denied   []Denial // of what cannot be offered
	left     []string // the documents that have left the source, and live on elsewhere
	upto     sequence
}

// replica is one revision of a document on its way.
type replica struct {
	id        string
	path      []record.Revision // it and those before, newest first
	deleted   bool
	body      []byte       // without the members that begin with "_"
	canonical kv.Canonical // body, where that has been found out
	parts     []part
	author    author
	scopes    []string
	seq       sequence          // of its change, where a feed carries it
	held      []record.Revision // of the target's revisions those that may come before
	// content writes the bytes of an attachment.
	content func(ctx context.Context, p *part, w io.Writer) error
}

// rev is the revision itself.
func (r *replica) rev() record.Revision { return r.path[0] }

// size is about how much room the replica takes.
func (r *replica) size() int {
	n := len(r.id) + len(r.body) + 40*len(r.path)
	for i := range r.parts {
		n += 200 + int(min(max(r.parts[i].Length, 0), inline))*4/3
	}
	return n
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
func denial(r *replica, err error) Denial {
	return Denial{ID: r.id, Rev: r.rev().String(), Error: "forbidden", Reason: Reason(err)}
}

// reasons say why a revision is refused. The first error that matches counts.
var reasons = []struct {
	err  error
	text string
}{
	{kv.ErrConflict, "Document update conflict."},
	{errStub, "A stub of an attachment that is not there."},
	{kv.ErrNoBlob, "A stub of an attachment that is not there."},
	{errLength, "An attachment is not as long as its document says."},
	{kv.ErrDocumentID, "A document's id is a text of 1 to 8192 bytes. Only reserved ids begin with an underscore."},
	{kv.ErrRevision, "Invalid rev format"},
	{errTooLarge, "The request's body is too large."},
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

// author is who made a revision, when, where and to which fields; the zero one is not known.
type author struct {
	At     int64    `json:"at,omitzero"`
	Key    int64    `json:"key,omitzero"`
	Node   string   `json:"node,omitzero"`
	Fields []string `json:"fields,omitzero"`
}
