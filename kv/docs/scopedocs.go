package docs

import (
	"errors"
	"fmt"

	"github.com/oklog/ulid/v2"

	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// scopeDocs is the database of a scope's records. Its parts are what a principal may read and write (scopeAccess), its documents of
// unknown kinds (docStore), and a revision that is written to it (push).
type scopeDocs struct {
	name   string
	access *scopeAccess
}

// unknown are the documents of kinds that this version does not know.
func (db *scopeDocs) unknown() docStore { return docStore{table.OpaqueDocuments(db.access.scope)} }

// recordDatabase finds a database of records by its name; nil for any other name. Its church or event need not exist yet.
func recordDatabase(v *table.View, name string) *scopeDocs {
	scope, ok := scopes.Parse(name)
	if !ok && name != table.Mirror {
		return nil
	}
	return &scopeDocs{name: name, access: &scopeAccess{v: v, scope: scope}}
}

// reserved tells whether a name is that of a database of records that exists.
func (ds *Set) reserved(name string) (there bool, err error) {
	err = ds.tables.View(func(v *table.View) error {
		if db := recordDatabase(v, name); db != nil {
			err := db.access.exists()
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
	if db.access.v.Lists.Doubtful {
		return DatabaseInfo{}, fmt.Errorf("%w: the databases of a damaged record are not known", engine.ErrCorrupt)
	}
	n := db.access.v.Lists.Count.Of(db.access.scope)
	info := DatabaseInfo{Name: db.name, Docs: n.Live, Deleted: n.Deleted}
	if node, err := ulid.ParseStrict(db.access.v.Store.Identity.Node()); err == nil {
		info.Created = ulid.Time(node.Time()).UTC()
	}
	err := db.rows(db.access.v, Feed{Descending: true}, func(c table.ScopeChange) (bool, error) {
		info.Seq = c.Seq
		return false, nil
	})
	return info, err
}

func (db *scopeDocs) feed() table.FeedName { return table.FeedName{Scope: db.access.scope} }

// localPrefix begins with 0, which is the number of no free database.
func (db *scopeDocs) localPrefix() []byte { return table.AppendScope([]byte{0}, db.access.scope) }

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
		ids := v.Lists.Kind(k).All
		for _, id := range ids.Page(nil, 0, ids.Len()) {
			for _, sort := range sorts {
				add(scopes.Scope{Sort: sort, ID: id.Int()})
			}
		}
	}
	for _, name := range names {
		db := recordDatabase(v, name)
		switch err := db.access.maySee(p); {
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

func (db *scopeDocs) upload(*table.Tx, *upload, []byte, bool) (merge.Blob, error) {
	return merge.Blob{}, &auth.Forbidden{CurrentScopes: []string{}, Reason: "records have no attachments"}
}

func (db *scopeDocs) maySee(p auth.Principal) error { return db.access.maySee(p) }

func (db *scopeDocs) mayWrite(p auth.Principal) error { return db.access.mayWrite(p) }

func (db *scopeDocs) write(o *table.Tx, p auth.Principal, in *merge.DocWrite) (rev.ID, error) {
	db.access.reader = p
	return (&push{db.access, o, p, in}).store()
}
