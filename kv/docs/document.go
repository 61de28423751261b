package docs

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/entry"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/kv/value"
)

// document is a document of a database, whatever it is kept as: a record, a free document, or one of an unknown kind. The zero
// document is one that is not there.
type document struct {
	id string
	table.Document
	body   func(rev.Node) (DocRevision, error) // reads a revision's body
	scopes []string                            // of Doc
}

// read returns the revisions that are asked for. It returns ErrNotFound for the zero document.
func (d *document) read(ask Ask) (Doc, error) {
	doc := Doc{ID: d.id, Seq: d.Seq, Deleted: d.Deleted, Tree: d.Tree, Scopes: d.scopes}
	if d.Seq == 0 {
		return Doc{}, table.ErrNotFound
	}
	for _, rev := range ask.of(&d.Tree) {
		n := d.Tree.Find(rev)
		n.Revision = rev // the tree may not know it
		r, err := d.body(n)
		if err != nil {
			return doc, err
		}
		doc.Revisions = append(doc.Revisions, r)
	}
	return doc, nil
}

// change returns the document's latest change, on request with the winner's body.
func (d *document) change(bodies bool) (c DocChange, err error) {
	c = DocChange{Seq: d.Seq, ID: d.id, Deleted: d.Deleted, Leaves: d.Tree.Leaves()}
	if bodies {
		c.Tree, c.Scopes = d.Tree, d.scopes
		c.Winner, err = d.body(c.Leaves[0])
	}
	return c, err
}

// missing returns those of the revisions asked for that the document does not have.
func (d *document) missing(asked merge.Revs) (m MissingRevs) {
	m.ID = asked.ID
	m.Missing, m.PossibleAncestors = d.Tree.Missing(asked.Revisions)
	return m
}

// Doc is a document: its whole tree, and the revisions that were asked for.
type Doc struct {
	ID        string
	Seq       uint64 // of its latest change
	Deleted   bool   // its winner is a tombstone
	Tree      rev.Tree
	Revisions []DocRevision
	Scopes    []string // the databases that it is in, if it was read from all records; otherwise nil
}

// DocRevision is one revision of a document. Body is its canonical JSON without members that begin with "_"; nil where the
// store does not have it (Tree.Has tells whether the revision is known).
type DocRevision struct {
	Revision    rev.ID
	Deleted     bool
	Body        []byte
	Attachments []merge.Attachment // by name
}

// Ask says which of a document's revisions to read; the zero Ask asks for the winner.
type Ask struct {
	Revisions []rev.ID
	Leaves    bool // all of them, the winner first, instead
	Latest    bool // instead of a revision the leaves that follow from it
}

// of lists the revisions that are asked for, each once.
func (a Ask) of(tree *rev.Tree) (revs []rev.ID) {
	leaves := tree.Leaves()
	add := func(rev rev.ID) {
		if !slices.Contains(revs, rev) {
			revs = append(revs, rev)
		}
	}
	if a.Leaves {
		for _, leaf := range leaves {
			add(leaf.Revision)
		}
		return revs
	}
	for _, rev := range a.Revisions {
		found := false
		for _, leaf := range leaves {
			if a.Latest && slices.Contains(tree.Path(leaf.Revision), rev) {
				add(leaf.Revision)
				found = true
			}
		}
		if !found {
			add(rev)
		}
	}
	if a.Revisions == nil && len(leaves) > 0 {
		add(leaves[0].Revision)
	}
	return revs
}

// Range says which documents to list.
type Range struct {
	From       string // the first id; "" = from the end where it begins
	Past       bool   // leaves From itself out
	Limit      int    // at most DocPage
	Descending bool
}

// Feed says which changes to read.
type Feed struct {
	Since      uint64
	Limit      int // at most DocPage
	Descending bool
	Before     uint64   // with Descending: only what is before it; 0 = all
	IDs        []string // only these documents; nil = all
	Bodies     bool     // with the winners' bodies; the page ends earlier where they are large
	unnamed    bool     // rows need not name their documents: they are counted
}

// DocChange is a document at its latest sequence.
type DocChange struct {
	Seq     uint64
	ID      string
	Deleted bool
	Removed bool        // it has left the database; its one leaf is the last revision that the database saw
	Leaves  []rev.Node  // the winner first
	Winner  DocRevision // with Feed.Bodies
	Tree    rev.Tree    // with Feed.Bodies
	Scopes  []string    // as of Doc, with Feed.Bodies
}

// MissingRevs lists the revisions that the database does not have, and those of its own that may be their ancestors.
type MissingRevs struct {
	ID                         string
	Missing, PossibleAncestors []rev.ID
}

// DocResult is the result of a DocWrite. It has the new revision, or an error: ErrNotFound (there is no database of this name),
// *Conflict, *Forbidden, ErrDocument, ErrRevision, ErrTooLarge, ErrNoBlob, or the DocWrite's Wrong.
type DocResult struct {
	Revision rev.ID
	Err      error
	Kept     bool // refused, and kept whole for staff
}

const maxName = 1 << 10

// CheckDocID returns ErrDocumentID for an id that is empty, reserved, not UTF-8, too long, or has a zero byte.
func CheckDocID(id string) error {
	reserved := strings.HasPrefix(id, "_") && (!strings.HasPrefix(id, "_design/") || id == "_design/")
	if id == "" || reserved || len(id) > merge.MaxDocID || !utf8.ValidString(id) || strings.ContainsRune(id, 0) {
		return ErrDocumentID
	}
	return nil
}

// canonicalDoc returns an object with its keys sorted by bytes at every depth, numbers as they were written, and the shortest
// escapes. It returns ErrDocument for a text that is no object or has an outermost member that begins with "_", or ErrTooLarge.
// A canonical body is returned as it is.
func canonicalDoc(body []byte) ([]byte, error) {
	if merge.IsCanonical(body) {
		return body, nil
	}
	return MakeCanonical(body)
}

// MakeCanonical is the canonical form of an object, made by the full parser.
func MakeCanonical(body []byte) ([]byte, error) {
	var members []value.Named
	reserved := false
	err := value.ReadObject(body, func(name string, v jsontext.Value) {
		reserved = reserved || strings.HasPrefix(name, "_")
		members = append(members, value.Named{Name: []byte(name), Value: value.Compact(v)})
	})
	switch {
	case err != nil || len(bytes.TrimSpace(body)) == 0: // the parser's error may quote the document
		return nil, fmt.Errorf("%w: not a JSON object of at most %d levels", merge.ErrDocument, merge.MaxDocDepth)
	case reserved:
		return nil, fmt.Errorf("%w: a member begins with an underscore", merge.ErrDocument)
	}
	out := value.AppendObject(make([]byte, 0, len(body)), members)
	if len(out) > merge.MaxDoc {
		return nil, entry.ErrTooLarge
	}
	return out, nil
}

// hashed is the text inside the revision's hash: the body, and the attachments as name → hex SHA-256.
func hashed(body []byte, attachments []merge.Attachment) []byte {
	if len(attachments) == 0 {
		return body
	}
	text := []byte(`{"_attachments":{`)
	for _, a := range attachments {
		text, _ = jsontext.AppendQuote(value.AppendComma(text), a.Name) // checked to be UTF-8
		text = append(hex.AppendEncode(append(text, `:"`...), a.SHA256[:]), '"')
	}
	text = append(text, '}')
	if len(body) > len("{}") {
		text = append(text, ',')
	}
	return append(text, body[1:]...)
}
