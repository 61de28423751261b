package merge

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/keys"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/kv/value"
)

// Arrival is a revision of a record that somebody has made elsewhere, or in another way than by a patch.
type Arrival struct {
	Kind    *record.Kind
	Id      record.ID
	Path    []rev.ID           // newest first
	Node    rev.Node           // of the first
	Doc     *record.Doc        // nil: it deletes the record
	body    record.Body        // of doc
	Lost    *record.Doc        // of a deletion: an edit that ended with it; nil: none
	ready   table.ReadyLookups // of doc
	foreign bool               // the revision is not made of the body
	late    bool               // it was made before the names were erased that doc does not have any more
	Via     scopes.Scope       // of the database that it came through; zero: the mirror
	Before  *table.Stored      // the record as it is; nil: new
	Unseen  bool               // whoever brings it cannot know that there is a record
	Guest   ulid.ULID          // the laptop that brings it, where it may bring only what it has made itself
	Tree    rev.Tree           // before the arrival
}

// Authored is the tree's node of a revision, with what its server tells of who made it.
func (in *DocWrite) Authored(o *table.Tx) rev.Node {
	n := rev.Node{Deleted: in.Deleted, Held: true, Key: in.Author.Key, Node: in.Author.Node, Fields: in.Author.Fields}
	if n.Node.String() == o.Store.Identity.Node {
		n.Node = ulid.ULID{} // it comes home
	}
	if !in.Author.At.IsZero() {
		n.At = in.Author.At.UnixMicro()
	}
	return n
}

// Edit is the path of a new edit.
func (a *Arrival) Edit(in *DocWrite) ([]rev.ID, error) {
	parent := in.Parent
	if parent == (rev.ID{}) && a.Before != nil && a.Before.Deleted && !in.Deleted {
		parent = a.Before.Revision // a record that was deleted is made again
	}
	if parent != (rev.ID{}) || a.Before != nil && !a.Unseen {
		isLeaf := false
		for _, leaf := range a.Tree.Leaves() {
			isLeaf = isLeaf || leaf.Revision == parent
		}
		if !isLeaf {
			return nil, &table.Conflict{Reason: "the document has another revision"}
		}
	}
	return append([]rev.ID{rev.Next(parent, in.Deleted, a.hashed(in))}, a.Tree.Path(parent)...), nil
}

// hashed is the body inside the revision's hash: a deletion has none.
func (a *Arrival) hashed(in *DocWrite) []byte {
	if in.Deleted {
		return nil
	}
	return in.Content
}

// Read opens the body.
func (a *Arrival) Read(in *DocWrite) (err error) {
	if in.Deleted {
		a.Node.Ended = string(in.Content) == EndedBody
		a.Node.Into = record.MergedInto(a.Kind, a.Id, in.Content)
		return a.readLost(in.Content)
	}
	if in.opened == nil {
		in.open(a.Kind)
	}
	a.Doc, a.body, a.ready, a.foreign = in.opened.doc, in.opened.body, in.opened.ready, in.opened.foreign
	return in.opened.err
}

// Flag marks a fact. It keeps the revision that it came under: wherever it goes from here it is the same fact.
func (a *Arrival) Flag(word string) {
	if flags := keys.Texts(a.Doc.Value("flags")); !slices.Contains(flags, word) {
		a.Doc.Set("flags", value.Texts(append(flags, word)...))
		a.remake(a.Doc)
	}
}

// remake gives the revision another body than it came with.
func (a *Arrival) remake(d *record.Doc) {
	a.Doc, a.body, a.ready, a.foreign = d, d.Encode(), nil, true
}

// nameFields names the fields that an arrival changes: those in which it differs from the latest revision before it that is here. Of one
// edit its own server may have named them. Of several that come as one, only the last is named by it.
func nameFields(o *table.Tx, a *Arrival) error {
	if a.Doc == nil || a.Before == nil || a.late {
		return nil
	}
	i := slices.IndexFunc(a.Path, a.Tree.Has)
	if i < 1 || i == 1 && len(a.Node.Fields) > 0 {
		return nil
	}
	was, err := table.DocOf(o.View, a.Kind, a.Before, a.Path[i])
	if err != nil || was == nil {
		return err
	}
	for _, name := range a.Doc.Differs(was) {
		if !slices.Contains(a.Node.Fields, name) {
			a.Node.Fields = append(slices.Clip(a.Node.Fields), name)
		}
	}
	return nil
}

// IsKnown tells a revision that the record has already.
func (a *Arrival) IsKnown() bool { return a.Tree.Has(a.Path[0]) }

// scopes are where the revision puts the record. A membership whose person is not here yet is where it came from.
func ScopesOfArrival(o *table.Tx, a *Arrival) (all [2]scopes.Scope, err error) {
	if a.Doc == nil {
		if a.Before != nil {
			return a.Before.Scopes, nil
		}
		all[0] = a.Via
		return all, nil
	}
	home, err := table.HomeOf(o, a.Kind, a.Doc)
	if err != nil {
		return all, err
	}
	if a.Kind == record.Membership && home == 0 && a.Via.Sort == scopes.Church {
		home = a.Via.ID
	}
	copy(all[:], a.Kind.Scopes(a.Id, a.Doc, home))
	return all, nil
}

// opened is what a document of a record says, as far as that is known without the store: it is read before the writer's turn.
type opened struct {
	doc     *record.Doc
	body    record.Body // of doc
	ready   table.ReadyLookups
	foreign bool // the revision is not made of the body
	err     error
}

// OpenRecord opens the document of a record; one that is none, or that deletes the record, is left as it is.
func (in *DocWrite) OpenRecord() error {
	if in.Parent.Text != "" || slices.ContainsFunc(in.Path, func(r rev.ID) bool { return r.Text != "" }) {
		return ErrRevision
	}
	k, id, ok := record.ParseDocID(in.ID)
	if !ok || in.Deleted {
		return nil
	}
	if in.open(k); in.opened.err == nil && !k.Fact {
		in.opened.ready = table.LookupKeys(k, id, in.opened.doc, 0)
	}
	return nil
}

// open opens the document of a kind.
func (in *DocWrite) open(k *record.Kind) {
	in.opened = &opened{}
	in.opened.doc, in.opened.err = in.decode(k)
	if in.opened.err == nil {
		in.opened.body, in.opened.foreign = in.opened.doc.Encode(), !in.isOurs(in.opened.doc)
	}
}

func (in *DocWrite) decode(k *record.Kind) (*record.Doc, error) {
	if len(in.Content) > entry.MaxRecordDoc {
		return nil, table.Refused("the document is too large for a record")
	}
	d, err := k.Adopt(record.Body{Shown: in.Content[1 : len(in.Content)-1]})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	for _, name := range d.Unknown() {
		if _, known := k.Field(name); known {
			return nil, table.Refused("a derived field is no part of a record")
		}
	}
	return d, nil
}

// isOurs tells a revision that is made of the body in our way; a new edit's will be.
func (in *DocWrite) isOurs(d *record.Doc) bool {
	if !d.IsAllOf(in.Content) {
		return false
	}
	var parent rev.ID
	if len(in.Path) > 1 {
		parent = in.Path[1]
	}
	return len(in.Path) == 0 || rev.Next(parent, false, in.Content) == in.Path[0]
}

// Verb says what a revision does to its record. A record that the writer cannot know is none.
func (a *Arrival) Verb() auth.Verb {
	switch {
	case a.Doc == nil:
		return auth.Delete
	case a.Before == nil || a.Unseen:
		if a.Kind.Fact && (len(a.Path) > 1 || a.Path[0].Generation != 1) {
			return auth.Change
		}
		return auth.Make
	case a.Before.Deleted:
		return auth.Remake
	}
	return auth.Change
}

// Closes tells a tombstone that only ends a branch which a merge took in: the record stays.
func (a *Arrival) Closes() bool {
	return a.Node.Ended && !slices.Contains(a.Path, a.Before.Revision)
}

// AnyNew is one of a document's fields that the record has not as it is; "" where it has them all.
func (a *Arrival) AnyNew(d *record.Doc, names []string) string {
	for _, name := range names {
		if a.Before == nil || !bytes.Equal(a.Before.Body.Member(name), d.Value(name)) {
			return name
		}
	}
	return ""
}

// IsOnlyOf tells that one node alone has made all revisions of a record.
func (a *Arrival) IsOnlyOf(node string) bool {
	own, err := ulid.ParseStrict(node)
	return err == nil && a.Node.Node == own && table.IsOnlyOf(&a.Tree, own)
}

// SettleBranch gives an edit beside the present revision its values as they are stored: a merge takes them over as they stand, and
// no revision follows that would set them. One that stands on the present revision, however many lie between, keeps its body.
func (a *Arrival) SettleBranch(patch *record.Patch) {
	if a.Before == nil || slices.Contains(a.Path, a.Before.Revision) {
		return
	}
	settled := a.Doc.Clone()
	if len(settled.Apply(patch)) > 0 {
		a.remake(settled)
	}
}

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

// Named is a document's name, and nothing of what it says.
func (in *DocWrite) Named() *DocWrite {
	only := &DocWrite{ID: in.ID[:min(len(in.ID), MaxDocID)]}
	if len(in.Path) > 0 && in.Path[0] != (rev.ID{}) {
		only.Path = in.Path[:1]
	}
	return only
}

// WithoutNames is a document of a kind without what is personal in it, as far as it can be read at all.
func (in *DocWrite) WithoutNames(k *record.Kind) *DocWrite {
	less := *in
	less.Content = nil
	if d, err := in.decode(k); err == nil && !in.Deleted {
		less.Content = d.Erased().Canonical()
	}
	return &less
}
