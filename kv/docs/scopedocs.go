package docs

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/oklog/ulid/v2"

	"doorward/kv/access"
	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// scopeDocs is the database of a scope's records. Its parts are what a principal may read and write (scopeAccess), its documents of
// unknown kinds (docStore), and a revision that is written to it (push).
type scopeDocs struct {
	name string
	*scopeAccess
}

// unknown are the documents of kinds that this version does not know.
func (db *scopeDocs) unknown() docStore { return docStore{table.OpaqueDocuments(db.scope)} }

// recordDatabase finds a database of records by its name; nil for any other name. Its church or event need not exist yet.
func recordDatabase(v *table.View, name string) *scopeDocs {
	scope, ok := scopes.Parse(name)
	if !ok && name != table.Mirror {
		return nil
	}
	return &scopeDocs{name, &scopeAccess{v: v, scope: scope}}
}

// reserved tells whether a name is that of a database of records that exists.
func (ds *Set) reserved(name string) (there bool, err error) {
	err = ds.tables.View(func(v *table.View) error {
		if db := recordDatabase(v, name); db != nil {
			err := db.exists()
			there = err == nil
			if !errors.Is(err, table.ErrNotFound) {
				return err
			}
		}
		return nil
	})
	return there, err
}

// info describes the database. It was created with the store.
func (db *scopeDocs) info() (DatabaseInfo, error) {
	if db.v.Lists.Doubtful {
		return DatabaseInfo{}, fmt.Errorf("%w: the databases of a damaged record are not known", engine.ErrCorrupt)
	}
	n := db.v.Lists.Count.Of(db.scope)
	info := DatabaseInfo{Name: db.name, Docs: n.Live, Deleted: n.Deleted}
	if node, err := ulid.ParseStrict(db.v.Store.Identity.Node()); err == nil {
		info.Created = ulid.Time(node.Time()).UTC()
	}
	err := db.rows(db.v, Feed{Descending: true}, func(c table.ScopeChange) (bool, error) {
		info.Seq = c.Seq
		return false, nil
	})
	return info, err
}

func (db *scopeDocs) feed() table.FeedName { return table.FeedName{Scope: db.scope} }

// localPrefix begins with 0, which is the number of no free database.
func (db *scopeDocs) localPrefix() []byte { return table.AppendScope([]byte{0}, db.scope) }

// scopesOf lists the databases of records that p may read.
func scopesOf(v *table.View, p auth.Principal) (all []DatabaseInfo, err error) {
	names := []string{table.Mirror}
	add := func(s scopes.Scope) { names = append(names, s.String()) }
	add(scopes.Scope{Sort: scopes.Reference})
	add(scopes.Scope{Sort: scopes.ReferenceFinance})
	for k, sorts := range map[*record.Kind][]scopes.Sort{
		record.Church: {scopes.Church, scopes.ChurchFinance},
		record.Event:  {scopes.Event, scopes.EventNames, scopes.EventHolders, scopes.EventLabels},
	} {
		for _, id := range table.IDsOf(v, k) {
			for _, sort := range sorts {
				add(scopes.Scope{Sort: sort, ID: id.Int()})
			}
		}
	}
	for _, name := range names {
		db := recordDatabase(v, name)
		switch err := db.maySee(p); {
		case errors.Is(err, engine.ErrCorrupt):
			return nil, err
		case err != nil:
			continue
		}
		info, err := db.info()
		if err != nil {
			return nil, err
		}
		all = append(all, info)
	}
	return all, nil
}

// chunk and upload refuse, because records have no attachments.
func (db *scopeDocs) chunk(*table.View, [32]byte, uint64) ([]byte, bool, error) {
	return nil, false, table.ErrNotFound
}

func (db *scopeDocs) upload(*table.Tx, auth.Principal, *upload, []byte, bool) (merge.Blob, error) {
	return merge.Blob{}, table.Refused("records have no attachments")
}

func (db *scopeDocs) discard(*table.Tx, *upload) (bool, error) { return false, nil }

func (db *scopeDocs) write(o *table.Tx, p auth.Principal, in *merge.DocWrite) (rev.ID, error) {
	db.reader = p
	return (&push{db.scopeAccess, o, p, in}).store()
}

// list lists the live documents.
func (db *scopeDocs) list(v *table.View, r Range) (ids []string, err error) {
	kinds, limit := db.kinds(), min(r.Limit, DocPage)
	if r.Descending {
		slices.Reverse(kinds)
	}
	for _, k := range kinds {
		if len(ids) >= limit {
			break
		}
		if v.Lists.Kind(k).Doubtful && db.scope.Sort != 0 {
			return nil, table.ErrDoubtful(k)
		}
		for _, id := range r.part(k, liveIDs(v, db.scope, k), limit-len(ids)) {
			ids = append(ids, k.DocID(id))
		}
	}
	others, err := db.unknown().list(v, r)
	ids = append(ids, others...)
	slices.Sort(ids)
	if r.Descending {
		slices.Reverse(ids)
	}
	return ids[:min(len(ids), limit)], err
}

// liveIDs are the ids of a kind's live records in a scope.
func liveIDs(v *table.View, s scopes.Scope, k *record.Kind) *table.IdList {
	lists := v.Lists.Kind(k)
	switch {
	case s.ID != 0 && k == record.Event && s.Sort == scopes.Event:
		id := record.Int(s.ID)
		if !lists.All.Contains(id) {
			return nil
		}
		one := (*table.IdList)(nil).Own(0)
		one.Push(id)
		return one
	case s.ID != 0:
		return lists.Home.Of(s.ID)
	case s.Sort == scopes.Reference && k.Class == record.Shared:
		return lists.Home.Of(0)
	}
	return lists.All
}

// part cuts the ids of a kind that a range asks for, ascending.
func (r Range) part(k *record.Kind, l *table.IdList, limit int) []record.ID {
	start := l.Len() // how many ids lie before From; of a descending range, up to From
	if r.From != "" || !r.Descending {
		start = sort.Search(start, func(i int) bool {
			id := k.DocID(l.At(i))
			if r.Descending != r.Past { // ascending: the first id that is not before From, or with Past the first after it
				return id > r.From
			}
			return id >= r.From
		})
	}
	if !r.Descending {
		return l.Page(nil, start, limit)
	}
	from := max(0, start-limit)
	return l.Page(nil, from, start-from)
}

// find reads a document of the database. It returns the zero document if the reader sees none.
func (db *scopeDocs) find(v *table.View, id string) (d document, err error) {
	if table.IsOpaque(id) {
		return db.unknown().find(v, id)
	}
	k, of, ok := record.ParseDocID(id)
	if !ok {
		return d, nil
	}
	st, err := v.LoadAny(k, of)
	if err != nil || !db.holds(k, st) {
		return d, err
	}
	return db.document(v, k, st)
}

// document is a record as a document.
func (db *scopeDocs) document(v *table.View, k *record.Kind, st *table.Stored) (document, error) {
	tree, err := table.LoadTree(v, k, st)
	body := func(n rev.Node) (DocRevision, error) { return revision(v, k, st, n) }
	d := document{id: k.DocID(st.ID), Document: table.Document{Seq: st.Seq, Deleted: st.Deleted, Tree: tree}, body: body}
	for _, s := range st.Scopes {
		if db.scope.Sort == 0 && s.Sort != 0 { // a document of any other database is in that
			d.scopes = append(d.scopes, s.String())
		}
	}
	return d, err
}

// read reads a document, and notes that a record was read.
func (db *scopeDocs) read(v *table.View, id string, ask Ask) (Doc, error) {
	d, err := db.find(v, id)
	if err != nil {
		return Doc{}, err
	}
	if k, of, ok := record.ParseDocID(id); ok && d.Seq != 0 {
		v.Store.Reads.Note(db.reader, k, 1)
		gone, err := table.IsErased(v, k, of)
		if err != nil {
			return Doc{}, err
		}
		if gone {
			ask = ask.ofErased(&d.Tree)
		}
	}
	return d.read(ask)
}

// ofErased asks for the empty tombstones instead of the revisions below them, so that a client's copy is deleted too.
func (a Ask) ofErased(tree *rev.Tree) Ask {
	a.Latest = true
	if slices.ContainsFunc(a.Revisions, func(rev rev.ID) bool { return !tree.Has(rev) }) {
		a.Revisions = nil
	}
	return a
}

// revision is a record's revision as a document's.
func revision(v *table.View, k *record.Kind, st *table.Stored, n rev.Node) (r DocRevision, err error) {
	r = DocRevision{Revision: n.Revision, Deleted: n.Deleted}
	switch {
	case n.Ended:
		r.Body = []byte(rev.EndedBody)
		return r, nil
	case n.Deleted && n.Into != 0:
		r.Body = []byte(record.Tombstone(k, n.Into))
		return r, nil
	case n.Deleted:
		r.Body, err = merge.LostBody(v, k, st, n)
		return r, err
	case !n.Held:
		return r, nil
	case n.Revision != st.Revision:
		if st, err = table.KeptBody(v, k, st.ID, n.Revision); err != nil || st == nil {
			return r, err
		}
	}
	if r.Body, err = k.CanonicalOf(st.Body); err != nil {
		err = st.Corrupt(k, err)
	}
	return r, err
}

// missing returns the revisions of a document that the database does not have. A document that has left the database counts as
// unknown: revisions that a peer has made of it since must come.
func (db *scopeDocs) missing(v *table.View, asked merge.Revs) (MissingRevs, error) {
	if k, id, ok := record.ParseDocID(asked.ID); ok {
		if gone, err := table.IsErased(v, k, id); err != nil || gone {
			return MissingRevs{ID: asked.ID}, err // no revision of an erased document is wanted
		}
	}
	d, err := db.find(v, asked.ID)
	return d.missing(asked), err
}

// rows calls fn with the rows of the log that the reader sees.
func (db *scopeDocs) rows(v *table.View, f Feed, fn func(table.ScopeChange) (bool, error)) error {
	b, prefix := table.ScopeLogBucket, table.AppendScope(nil, db.scope)
	if db.scope.Sort == 0 {
		b, prefix = table.LogBucket, nil
	}
	return walkLog(v, b, prefix, f, func(seq uint64, row []byte) (bool, error) {
		c, err := table.ParseScopeLog(seq, row)
		if err != nil || !db.shows(c.Kind) {
			return err == nil, err
		}
		return fn(c)
	})
}

// change reads the document that a row of the log names. Most rows tell all of it.
func (db *scopeDocs) change(v *table.View, c table.ScopeChange, bodies bool) (d DocChange, err error) {
	if c.Kind == nil {
		return db.unknown().change(v, c, bodies)
	}
	if c.Removed || !c.Branched && !bodies {
		d = DocChange{Seq: c.Seq, ID: c.Kind.DocID(c.ID), Deleted: c.Deleted, Removed: c.Removed}
		d.Leaves = []rev.Node{{Revision: c.Revision, Deleted: c.Deleted}}
		return d, nil
	}
	st, err := v.LoadAny(c.Kind, c.ID)
	if err != nil || st == nil || st.Seq != c.Seq {
		return d, table.OrCorrupt(err)
	}
	doc, err := db.document(v, c.Kind, st)
	if err != nil {
		return d, err
	}
	if bodies {
		v.Store.Reads.Note(db.reader, c.Kind, 1)
	}
	return doc.change(bodies)
}

// latest finds a document's row in the log. Its Seq is 0 if there is none.
func (db *scopeDocs) latest(v *table.View, doc string) (c table.ScopeChange, err error) {
	if table.IsOpaque(doc) {
		return db.unknown().latest(v, doc)
	}
	k, id, ok := record.ParseDocID(doc)
	if !ok || !db.shows(k) {
		return c, nil
	}
	st, err := v.LoadAny(k, id)
	if err != nil || st == nil {
		return c, err
	}
	if db.holds(k, st) {
		c.Change = table.Change{Seq: st.Seq, Kind: k, ID: id, Revision: st.Revision, Deleted: st.Deleted, Branched: st.Branched}
		return c, nil
	}
	left, err := v.Get(table.LeftBucket, table.LeftKey(k, id, db.scope))
	if err != nil || len(left) != 8 {
		return c, err
	}
	seq := binary.BigEndian.Uint64(left)
	row, err := v.Get(table.ScopeLogBucket, table.ScopeSeqKey(nil, db.scope, seq))
	if err != nil || row == nil {
		return c, table.OrCorrupt(err)
	}
	return table.ParseScopeLog(seq, row)
}

// scopeAccess says what a principal may read and write in the database of a scope; the zero scope is all records.
type scopeAccess struct {
	v      *table.View
	scope  scopes.Scope
	reader auth.Principal // that maySee or mayWrite has judged
}

// maySee returns nil if p may read every record of the database (sync.md §1). From then on p is the reader.
func (a *scopeAccess) maySee(p auth.Principal) error {
	if err := p.Check("sync", "GET"); err != nil {
		return err
	}
	a.reader = p
	if err := a.inReach(p); err != nil {
		return err
	}
	if p.IsOperator() {
		return nil // a replicator fills a database before its church or event arrives
	}
	if p.IsLaptop() {
		return a.exists()
	}
	for _, k := range a.kinds() {
		if k.Class == record.Everyones {
			continue
		}
		if err := p.Check(k.Resource, "GET"); err != nil {
			return err
		}
	}
	return a.exists()
}

// inReach returns nil if the database is within p's level and class.
func (a *scopeAccess) inReach(p auth.Principal) error {
	tie, err := entry.TieToScope(a.v, p, a.scope)
	if err == nil && !access.Opens(p, access.Spot{Scope: a.scope, Tie: tie}) {
		err = table.Refused("the database lies beyond the key's level or class")
	}
	return err
}

// exists returns ErrNotFound if the database is of a church or an event that never existed.
func (a *scopeAccess) exists() error {
	k := record.Event
	switch a.scope.Sort {
	case 0, scopes.Reference, scopes.ReferenceFinance:
		return nil
	case scopes.Church, scopes.ChurchFinance:
		k = record.Church
	}
	st, err := a.v.LoadAny(k, record.Int(a.scope.ID))
	if err == nil && st == nil {
		err = table.ErrNotFound
	}
	return err
}

// kinds lists the kinds of the records that the reader sees in the database, by name.
func (a *scopeAccess) kinds() []*record.Kind {
	all := record.KindsIn(a.scope.Sort)
	if a.scope.Sort == 0 {
		all = slices.Clone(record.Kinds())
	}
	all = slices.DeleteFunc(all, func(k *record.Kind) bool { return !a.shows(k) })
	slices.SortFunc(all, func(a, b *record.Kind) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// shows tells whether the reader sees records of a kind here. A reader of event level sees only those kinds of the reference that all
// readers see. nil is a kind that this version does not know.
func (a *scopeAccess) shows(k *record.Kind) bool {
	return a.scope.Sort != scopes.Reference || access.Reads(a.reader, k, access.Spot{Scope: a.scope, Tie: access.Own})
}

// holds tells whether a record is in the database and the reader sees it there.
func (a *scopeAccess) holds(k *record.Kind, st *table.Stored) bool {
	return st != nil && a.shows(k) && (a.scope.Sort == 0 || st.In(a.scope))
}

// spot is the database, with p's tie to it as a writer.
func (a *scopeAccess) spot(p auth.Principal) (access.Spot, error) {
	tie, err := office.WriterTie(a.v, p, nil, a.scope)
	return access.Spot{Scope: a.scope, Tie: tie}, err
}

// mayWrite returns nil if p may write some documents: each document is judged alone, because a client gives up a database that
// refuses a whole push. A laptop may bring what it may not read: the holders of tickets that it sold, and its check-ins after it
// is revoked.
func (a *scopeAccess) mayWrite(p auth.Principal) error {
	if err := p.Check("sync", "POST"); err != nil {
		return err
	}
	a.reader = p
	if p.IsLaptop() {
		spot, err := a.spot(p)
		if err != nil || access.Offers(p, spot) {
			return cmp.Or(err, a.exists())
		}
	}
	return a.maySee(a.reader)
}

// MayLeave returns *Forbidden for a change on a laptop that its centre would refuse (sync.md §1). The change would stay on this
// laptop and never reach another store, so its author gets the refusal at once. While the centre has not said what it takes,
// nothing is refused.
func MayLeave(o *table.Tx, k *record.Kind, before *table.Stored, next [2]scopes.Scope) error {
	if !o.Store.Identity.IsLeaf() {
		return nil
	}
	written := access.OfLaptops(k)
	if k.Fact || k.System && !written {
		return nil
	}
	u := o.Store.Identity.Upstream()
	switch {
	case u.Revoked:
		return table.Refused("this laptop is revoked at its centre: it sells and edits nothing more; check-ins are still recorded, for review")
	case u.Epoch == "":
		return nil
	case !written:
		return table.Refused("this kind of record is changed at the centre alone")
	case next == ([2]scopes.Scope{}):
		return table.Refused("the centre takes no record from this laptop that is of no church and of no event")
	}
	scopes := next[:]
	if before != nil {
		scopes = append(scopes, before.Scopes[:]...)
	}
	for _, s := range scopes {
		if err := isTaken(o, u, k, s); err != nil {
			return err
		}
	}
	if before == nil || !slices.ContainsFunc(scopes, u.IsGuestIn) {
		return nil
	}
	return isOursToChange(o, k, before)
}

var errNotTaken = table.Refused("the centre takes no such record from this laptop: it is to be changed there")

// isTaken returns *Forbidden if the centre takes no records of a kind in a scope from this laptop. The centre takes the
// databases that it has named. It also takes those of an event that the laptop's churches made since, if the laptop takes all
// their events along. An event itself goes with its church.
func isTaken(o *table.Tx, u *table.Upstream, k *record.Kind, s scopes.Scope) error {
	switch {
	case s.Sort == 0, slices.Contains(u.Pushes, s.String()), s.Sort.OfEvent() && k == record.Event:
		return nil
	case !s.Sort.OfEvent():
		return errNotTaken
	case slices.Contains(u.Over, s.String()):
		return table.Refused("the event is over: what is of it is changed at the centre alone")
	}
	event, err := o.Load(record.Event, record.Int(s.ID))
	if err != nil {
		return err
	}
	if event == nil || !slices.Contains(u.Pushes, scopes.Scope{Sort: scopes.Church, ID: event.Home(record.Event)}.String()) {
		return errNotTaken
	}
	if u.Chosen {
		return table.Refused("this laptop takes only those events along that it was enrolled for: what is of another is changed at the centre")
	}
	return nil
}

// isOursToChange returns *Forbidden for a record that another store has made or changed.
func isOursToChange(o *table.Tx, k *record.Kind, st *table.Stored) error {
	if k.OfTicket() { // the ticket says so where others have changed another of its records
		ticket, err := o.LoadAny(record.Ticket, entry.TicketOfPart(k, st.ID, st.Body))
		if err != nil {
			return err
		}
		if ticket != nil {
			if err := isOursToChange(o, record.Ticket, ticket); err != nil {
				return err
			}
		}
	}
	tree, err := table.LoadTree(o.View, k, st)
	if err == nil && slices.ContainsFunc(tree.Nodes(), func(n rev.Node) bool { return isTheirs(o, n) }) {
		err = table.Refused("somebody else has made or changed this, and of the event the centre takes only what this laptop has made: it is to be changed there")
	}
	return err
}

// isTheirs tells whether another store has made a revision of which this store knows more than the name.
func isTheirs(o *table.Tx, n rev.Node) bool {
	own := n.Node == (ulid.ULID{}) || n.Node.String() == o.Store.Identity.Node()
	return !own && table.IsTold(n)
}
