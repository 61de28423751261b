package sync

import (
	"context"
	"encoding/json"
	"io"

	"doorward/kv"
	"doorward/kv/rev"
)

// sequence is a place in a source's feed, in whatever JSON the source gives it; nil is its beginning.
type sequence = json.RawMessage

// Source is an end that documents are copied from. A database of this process, one at a server, and a file are sources.
type Source interface {
	ledger
	// feed calls fn with what changed after a place, in order. A live feed ends with ctx alone.
	feed(ctx context.Context, w wish, fn func(*batch) error) error
	// read calls fn with revisions that the target lacks. What the source no longer has is left out.
	read(ctx context.Context, missing []kv.MissingRevs, fn func(*replica) error) error
}

// Target is an end that documents are copied to.
type Target interface {
	ledger
	// missing tells which of some revisions the target lacks.
	missing(ctx context.Context, offers []kv.Revs) ([]kv.MissingRevs, error)
	// write stores revisions. Those that are refused for good are its answer, and keep none of the others out.
	write(ctx context.Context, replicas []*replica) ([]Denial, error)
}

// ledger is where an end keeps how far a replication has come.
type ledger interface {
	// identity names the end for ever; "" for one that keeps nothing.
	identity(ctx context.Context) (string, error)
	// checkpoint reads what keep has written; the zero checkpoint where there is none.
	checkpoint(ctx context.Context, id string) (checkpoint, error)
	keep(ctx context.Context, id string, c checkpoint) error
}

// wish says what of a feed is wanted.
type wish struct {
	since    sequence
	live     bool
	ids      []string        // nil: all documents
	selector json.RawMessage // nil: all documents
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
	path      []rev.ID // it and those before, newest first
	deleted   bool
	body      []byte       // without the members that begin with "_"
	canonical kv.Canonical // body, where that has been found out
	parts     []part
	author    author
	scopes    []string
	seq       sequence // of its change, where a feed carries it
	held      []rev.ID // of the target's revisions those that may come before
	// content writes the bytes of an attachment.
	content func(ctx context.Context, p *part, w io.Writer) error
}

// rev is the revision itself.
func (r *replica) rev() rev.ID { return r.path[0] }

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

// deny is the denial of a replica.
func (r *replica) deny(err error) Denial {
	p := refuse(err, true)
	return Denial{ID: r.id, Rev: r.rev().String(), Error: p.Error, Reason: p.Reason}
}

// author is who made a revision, when, where and to which fields; the zero one is not known.
type author struct {
	At     int64    `json:"at,omitzero"`
	Key    int64    `json:"key,omitzero"`
	Node   string   `json:"node,omitzero"`
	Fields []string `json:"fields,omitzero"`
}
