package merge

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv/access"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/kv/ticket"
	"doorward/kv/value"
)

// Arrival is a revision of a record that comes from another store, or from a client that writes documents. It holds what every step
// of the merge needs, so that the document is read once.
type Arrival struct {
	Kind    *record.Kind
	ID      record.ID
	Path    []rev.ID      // the revision and its ancestors, newest first
	Node    rev.Node      // of the revision
	content               // Doc is nil: the revision deletes the record
	Lost    *record.Doc   // of a deletion: an edit that it ended; nil = none
	Via     scopes.Scope  // of the database that the revision comes through; zero = the mirror
	Before  *table.Stored // the record as it is stored; nil = there is none
	Unseen  bool          // the writer may not learn that the record exists
	Guest   ulid.ULID     // the laptop that writes, if it may write only what it has made itself
	Tree    rev.Tree      // the record's tree; Graft adds the revision to it
}

// content is the body of one revision, read once: the document, its bytes and its lookups.
type content struct {
	Doc     *record.Doc
	body    record.Body        // of Doc
	ready   table.ReadyLookups // of Doc; nil = they are not made yet
	foreign bool               // the revision's hash is not that of the body
}

// newContent is the content of a revision that this store makes.
func newContent(d *record.Doc) content { return content{Doc: d, body: d.Encode()} }

// Authored is the revision's node in the tree, with the author that the other server has named.
func (in *DocWrite) Authored(o *table.Tx) rev.Node {
	n := rev.Node{Deleted: in.Deleted, Held: true, Key: in.Author.Key, Node: in.Author.Node, Fields: in.Author.Fields}
	if n.Node.String() == o.Store.Identity.Node() {
		n.Node = ulid.ULID{} // this store has made it
	}
	if !in.Author.At.IsZero() {
		n.At = in.Author.At.UnixMicro()
	}
	return n
}

// EditOf returns the path of a new edit of a document. It returns *Conflict if the edit's parent is no leaf. An edit without a parent
// is the first revision, or follows the tombstone. hashed is what the revision's hash covers.
func (in *DocWrite) EditOf(t *rev.Tree, hashed []byte) ([]rev.ID, error) {
	parent, winner := in.Parent, t.Winner()
	if parent == (rev.ID{}) && winner.Deleted && !in.Deleted {
		parent = winner.Revision
	}
	isLeaf := func(n rev.Node) bool { return n.Revision == parent }
	if (parent != (rev.ID{}) || t.Len() > 0) && !slices.ContainsFunc(t.Leaves(), isLeaf) {
		return nil, &table.Conflict{Reason: "the document has another revision"}
	}
	return append([]rev.ID{rev.Next(parent, in.Deleted, hashed)}, t.Path(parent)...), nil
}

// Edit is EditOf for the record. A writer that may not learn that the record exists makes a first revision.
func (a *Arrival) Edit(in *DocWrite) ([]rev.ID, error) {
	t := &a.Tree
	if a.Unseen && (in.Deleted || !a.Before.Deleted) {
		t = &rev.Tree{}
	}
	if in.Deleted {
		return in.EditOf(t, nil) // the hash of a deletion covers no body
	}
	return in.EditOf(t, in.Content)
}

// Read reads the revision's body into the arrival.
func (a *Arrival) Read(in *DocWrite) (err error) {
	if in.Deleted {
		a.Node.Ended = string(in.Content) == rev.EndedBody
		a.Node.Into = record.MergedInto(a.Kind, a.ID, in.Content)
		return a.readLost(in.Content)
	}
	if in.opened == nil {
		in.open(a.Kind)
	}
	a.content = in.opened.content
	return in.opened.err
}

// Flag adds a flag to a fact. The fact keeps its revision, so every store has the same fact.
func (a *Arrival) Flag(word string) {
	if flags := value.ReadTexts(a.Doc.Value("flags")); !slices.Contains(flags, word) {
		a.Doc.Set("flags", value.Texts(append(flags, word)...))
		a.remake(a.Doc)
	}
}

// remake replaces the arrival's body. The revision's hash is then not that of the body.
func (a *Arrival) remake(d *record.Doc) {
	a.content = newContent(d)
	a.foreign = true
}

// nameFields names the fields that an arrival changes: those that differ from its latest ancestor of which a body is here. The
// other server has named the fields of a single edit. Of several edits that arrive as one, it has named only the fields of the
// last.
func nameFields(o *table.Tx, a *Arrival) error {
	if a.Doc == nil || a.Before == nil {
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

// IsKnown tells whether the record has the revision already.
func (a *Arrival) IsKnown() bool { return a.Tree.Has(a.Path[0]) }

// ScopesOfArrival returns the scopes that the revision puts the record in. A membership of a person that is not here yet is in
// the scope that it came through.
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
		person, err := o.Load(record.Person, record.Int(a.Doc.Int("person")))
		if err != nil {
			return all, err
		}
		if person == nil {
			home = a.Via.ID
		}
	}
	copy(all[:], a.Kind.Scopes(a.ID, home))
	if a.Kind == record.HolderName {
		all[0].Sort, err = ticket.SortOfName(o.View, a.ID, record.Int(a.Doc.Int("ticket_id")), a.Via.Sort)
	}
	return all, err
}

// opened is the content of a record's document, or why it cannot be read. It is read before the write transaction begins.
type opened struct {
	content
	err error
}

// OpenRecord reads the document of a record. A tombstone, and a document that is no record's, stay unread.
func (in *DocWrite) OpenRecord() error {
	if in.Parent.Text != "" || slices.ContainsFunc(in.Path, func(r rev.ID) bool { return r.Text != "" }) {
		return ErrRevision
	}
	k, id, ok := record.ParseDocID(in.ID)
	if !ok || in.Deleted {
		return nil
	}
	if in.open(k); in.opened.err == nil && !k.Fact {
		in.opened.ready = table.LookupKeys(k, id, in.opened.Doc, 0)
	}
	return nil
}

// open reads the document as a record of a kind.
func (in *DocWrite) open(k *record.Kind) {
	in.opened = &opened{}
	in.opened.Doc, in.opened.err = in.decode(k)
	if in.opened.err == nil {
		in.opened.body, in.opened.foreign = in.opened.Doc.Encode(), !in.isOurs(in.opened.Doc)
	}
}

// decode reads the document's members. It refuses derived fields.
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

// isOurs tells whether the revision's hash is that of the body as this program writes it. The hash of a new edit will be.
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

// Verb says what a revision does to its record. For a writer that may not see the record, the revision makes a new one.
func (a *Arrival) Verb() access.Verb {
	switch {
	case a.Doc == nil:
		return access.Delete
	case a.Before == nil || a.Unseen:
		if a.Kind.Fact && (len(a.Path) > 1 || a.Path[0].Generation != 1) {
			return access.Change
		}
		return access.Make
	case a.Before.Deleted:
		return access.Remake
	}
	return access.Change
}

// ClosesBranch tells whether a tombstone only ends a branch that a merge has taken in. The record stays.
func (a *Arrival) ClosesBranch() bool {
	return a.Node.Ended && !slices.Contains(a.Path, a.Before.Revision)
}

// FirstChanged returns the first of some fields that the document changes; "" = none.
func (a *Arrival) FirstChanged(d *record.Doc, names []string) string {
	for _, name := range names {
		if a.Before == nil || !bytes.Equal(a.Before.Body.Member(name), d.Value(name)) {
			return name
		}
	}
	return ""
}

// isOnlyOf tells whether one node has made all revisions of the record.
func (a *Arrival) isOnlyOf(node string) bool {
	own, err := ulid.ParseStrict(node)
	return err == nil && a.Node.Node == own && table.IsOnlyOf(&a.Tree, own)
}

// IsWhollyOf is isOnlyOf for all records of a ticket. The ticket has a flag if another node has changed one of its records. The
// node that sold the ticket may still bring records of it that were never here.
func (a *Arrival) IsWhollyOf(o *table.Tx, node string) (bool, error) {
	if !a.Kind.OfTicket() || !a.isOnlyOf(node) {
		return a.isOnlyOf(node), nil
	}
	var b record.Body
	if a.Before != nil {
		b = a.Before.Body
	}
	if a.Doc != nil {
		b = a.body
	}
	ticket, err := o.LoadAny(record.Ticket, entry.TicketOfPart(a.Kind, a.ID, b))
	if err != nil || ticket == nil {
		return err == nil, err
	}
	t, err := table.LoadTree(o.View, record.Ticket, ticket)
	own, _ := ulid.ParseStrict(node) // isOnlyOf has read it
	if err != nil || table.IsOnlyOf(&t, own) {
		return err == nil, err
	}
	// A part of a sale may come after others have changed the ticket: the connection broke off after the ticket itself.
	return a.Before == nil && a.Doc != nil && a.Kind != record.Ticket && table.IsBegunBy(&t, own), nil
}

// CheckPassOn returns *Forbidden if an event laptop's revision gives the ticket to another holding.
func (a *Arrival) CheckPassOn() error {
	if a.Kind != record.Ticket || a.Doc == nil || a.Before == nil || a.Before.Deleted {
		return nil
	}
	if h := entry.PresentOf(a.Before.Body); h.IsZero() || h == entry.IDOfHolding(a.Doc.Value("holding")) {
		return nil
	}
	return ticket.ErrPassedOn
}

// ApplyDefaults sets the derived values of an edit beside the present revision, because a merge copies them and no later
// revision sets them. An edit on top of the present revision keeps its body.
func (a *Arrival) ApplyDefaults(patch *record.Patch) {
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
	Canonical   bool         // Body is known to be canonical
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

// Named is the document's id and revision without its body.
func (in *DocWrite) Named() *DocWrite {
	only := &DocWrite{ID: in.ID[:min(len(in.ID), MaxDocID)]}
	if len(in.Path) > 0 && in.Path[0] != (rev.ID{}) {
		only.Path = in.Path[:1]
	}
	return only
}
