package docs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// scopeDocs is the database of a scope's records, or of all records where the scope is zero.
type scopeDocs struct {
	v      *table.View
	name   string
	scope  scopes.Scope
	reader auth.Principal // whom maySee has judged
}

// scopeDocs finds a database of records by its name; nil for any other name. Those of the operator's alone need not hold
// anything yet.
func recordDatabase(v *table.View, name string) *scopeDocs {
	scope, ok := scopes.Parse(name)
	if !ok && name != table.Mirror {
		return nil
	}
	return &scopeDocs{v: v, name: name, scope: scope}
}

// reserved tells whether a database of records has a name.
func (ds *Set) reserved(name string) (there bool, err error) {
	err = ds.tables.View(func(v *table.View) error {
		if db := recordDatabase(v, name); db != nil {
			err := db.there()
			there = err == nil
			if !errors.Is(err, table.ErrNotFound) {
				return err
			}
		}
		return nil
	})
	return there, err
}

// info tells of the database. Its creation is the store's.
func (db *scopeDocs) info() (DatabaseInfo, error) {
	if db.v.Lists.Doubtful {
		return DatabaseInfo{}, fmt.Errorf("%w: nobody knows which databases have a damaged record", engine.ErrCorrupt)
	}
	n := db.v.Lists.Count.Of(db.scope)
	info := DatabaseInfo{Name: db.name, Docs: n.Live, Deleted: n.Deleted}
	if node, err := ulid.ParseStrict(db.v.Store.Identity.Node); err == nil {
		info.Created = ulid.Time(node.Time()).UTC()
	}
	err := db.rows(Feed{Descending: true}, func(c table.ScopeChange) (bool, error) {
		info.Seq = c.Seq
		return false, nil
	})
	return info, err
}

func (db *scopeDocs) feed() table.FeedName { return table.FeedName{Scope: db.scope} }

// localPrefix begins with 0, which is no free database's number.
func (db *scopeDocs) localPrefix() []byte { return table.AppendScope([]byte{0}, db.scope) }

// maySee answers nil where p may read every record of the database (sync.md §1), and notes who reads.
func (db *scopeDocs) maySee(p auth.Principal) error {
	if err := p.Check("sync", "GET"); err != nil {
		return err
	}
	db.reader = p
	if err := db.mayHold(p); err != nil {
		return err
	}
	if p.IsOperator() {
		return nil // a replicator fills a database before the record comes that it is about
	}
	if p.IsLaptop() {
		return db.there()
	}
	for _, k := range db.kinds() {
		if k.Class == record.Everyones {
			continue
		}
		if err := p.Check(k.Resource, "GET"); err != nil {
			return err
		}
	}
	return db.there()
}

// mayHold answers nil where p's level and class hold what the database is about.
func (db *scopeDocs) mayHold(p auth.Principal) error {
	tie, err := entry.TieToScope(db.v, p, db.scope)
	if err == nil && !auth.Opens(p, auth.Spot{Scope: db.scope, Tie: tie}) {
		err = &auth.Forbidden{CurrentScopes: []string{}, Reason: "the database lies beyond the key's level or class"}
	}
	return err
}

// there answers ErrNotFound where the database is about a church or an event that was never there.
func (db *scopeDocs) there() error {
	k := record.Event
	switch db.scope.Sort {
	case 0, scopes.Reference, scopes.ReferenceFinance:
		return nil
	case scopes.Church, scopes.ChurchFinance:
		k = record.Church
	}
	st, err := db.v.LoadAny(k, record.Int(db.scope.ID))
	if err == nil && st == nil {
		err = table.ErrNotFound
	}
	return err
}

// kinds are the kinds of the records that the reader finds in the database, by name.
func (db *scopeDocs) kinds() []*record.Kind {
	all := record.KindsIn(db.scope.Sort)
	if db.scope.Sort == 0 {
		all = slices.Clone(record.Kinds())
	}
	all = slices.DeleteFunc(all, func(k *record.Kind) bool { return !db.shows(k) })
	slices.SortFunc(all, func(a, b *record.Kind) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return all
}

// shows tells whether the reader sees records of a kind here: at event level nothing of the reference but what everybody sees.
// nil is a kind that this version does not know.
func (db *scopeDocs) shows(k *record.Kind) bool {
	return db.scope.Sort != scopes.Reference || auth.Reads(db.reader, k, auth.Spot{Scope: db.scope, Tie: auth.Own})
}

// holds tells whether a record is in the database and the reader sees it there.
func (db *scopeDocs) holds(k *record.Kind, st *table.Stored) bool {
	return st != nil && db.shows(k) && (db.scope.Sort == 0 || st.In(db.scope))
}

// rows calls fn with the rows of the database's log.
func (db *scopeDocs) rows(f Feed, fn func(table.ScopeChange) (bool, error)) error {
	b, prefix := table.ScopeLogBucket, table.AppendScope(nil, db.scope)
	if db.scope.Sort == 0 {
		b, prefix = table.LogBucket, nil
	}
	from := f.Since + 1
	if f.Descending {
		from = f.Before - 1 // 0 - 1 is beyond all
	}
	return db.v.Walk(b, f.Descending, prefix, binary.BigEndian.AppendUint64(slices.Clip(prefix), from), func(key, row []byte) (bool, error) {
		if len(key) != len(prefix)+8 {
			return false, engine.ErrCorrupt
		}
		seq := binary.BigEndian.Uint64(key[len(prefix):])
		if seq <= f.Since {
			return false, nil
		}
		c, err := table.ParseScopeLog(seq, row)
		switch {
		case err != nil:
			return false, err
		case !db.shows(c.Kind):
			return true, nil
		}
		return fn(c)
	})
}

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

// chunk and upload: records have no attachments.
func (db *scopeDocs) chunk(*table.View, [32]byte, uint64) ([]byte, bool, error) {
	return nil, false, table.ErrNotFound
}

func (db *scopeDocs) upload(*table.Tx, *upload, []byte, bool) (merge.Blob, error) {
	return merge.Blob{}, &auth.Forbidden{CurrentScopes: []string{}, Reason: "records have no attachments"}
}
