package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/scopes"
)

// mirror is the name of the database of all records.
const mirror = "records"

// scopeDocs is the database of a scope's records, or of all records where the scope is zero.
type scopeDocs struct {
	v      *sight
	name   string
	scope  scopes.Scope
	reader Principal // whom maySee has judged
}

// scopeDocs finds a database of records by its name; nil for any other name. Those of the operator's alone need not hold
// anything yet.
func recordDatabase(v *sight, name string) *scopeDocs {
	scope, ok := scopes.Parse(name)
	if !ok && name != mirror {
		return nil
	}
	return &scopeDocs{v: v, name: name, scope: scope}
}

// ofRecords tells the name of a database of records.
func ofRecords(name string) bool {
	_, ok := scopes.Parse(name)
	return ok || name == mirror
}

// reserved tells whether a database of records has a name.
func (s *Store) reserved(name string) (there bool, err error) {
	err = s.view(func(v *sight) error {
		if db := recordDatabase(v, name); db != nil {
			err := db.there()
			there = err == nil
			if !errors.Is(err, ErrNotFound) {
				return err
			}
		}
		return nil
	})
	return there, err
}

// info tells of the database. Its creation is the store's.
func (db *scopeDocs) info() (DatabaseInfo, error) {
	if db.v.lists.doubtful {
		return DatabaseInfo{}, fmt.Errorf("%w: nobody knows which databases have a damaged record", ErrCorrupt)
	}
	n := db.v.lists.count.of(db.scope)
	info := DatabaseInfo{Name: db.name, Docs: n.live, Deleted: n.deleted}
	if node, err := ulid.ParseStrict(db.v.store.identity.node); err == nil {
		info.Created = ulid.Time(node.Time()).UTC()
	}
	err := db.rows(Feed{Descending: true}, func(c scopeChange) (bool, error) {
		info.Seq = c.Seq
		return false, nil
	})
	return info, err
}

func (db *scopeDocs) feed() feedName { return feedName{scope: db.scope} }

// localPrefix begins with 0, which is no free database's number.
func (db *scopeDocs) localPrefix() []byte { return appendScope([]byte{0}, db.scope) }

// maySee answers nil where p may read every record of the database (sync.md §1), and notes who reads.
func (db *scopeDocs) maySee(p Principal) error {
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
func (db *scopeDocs) mayHold(p Principal) error {
	tie, err := tieToScope(db.v, p, db.scope)
	if err == nil && !auth.Opens(p, auth.Spot{Scope: db.scope, Tie: tie}) {
		err = &Forbidden{CurrentScopes: []string{}, Reason: "the database lies beyond the key's level or class"}
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
	st, err := db.v.loadAny(k, record.Int(db.scope.ID))
	if err == nil && st == nil {
		err = ErrNotFound
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
func (db *scopeDocs) holds(k *record.Kind, st *stored) bool {
	return st != nil && db.shows(k) && (db.scope.Sort == 0 || st.in(db.scope))
}

// rows calls fn with the rows of the database's log.
func (db *scopeDocs) rows(f Feed, fn func(scopeChange) (bool, error)) error {
	b, prefix := scopeLogBucket, appendScope(nil, db.scope)
	if db.scope.Sort == 0 {
		b, prefix = logBucket, nil
	}
	from := f.Since + 1
	if f.Descending {
		from = f.Before - 1 // 0 - 1 is beyond all
	}
	return db.v.walk(b, f.Descending, prefix, binary.BigEndian.AppendUint64(slices.Clip(prefix), from), func(key, row []byte) (bool, error) {
		if len(key) != len(prefix)+8 {
			return false, ErrCorrupt
		}
		seq := binary.BigEndian.Uint64(key[len(prefix):])
		if seq <= f.Since {
			return false, nil
		}
		c, err := parseScopeLog(seq, row)
		switch {
		case err != nil:
			return false, err
		case !db.shows(c.Kind):
			return true, nil
		}
		return fn(c)
	})
}

// parseScopeLog reads a row of a scope's log.
func parseScopeLog(seq uint64, row []byte) (c scopeChange, err error) {
	if len(row) > 0 && row[0] == opaqueKind {
		return parseOpaqueLog(seq, row)
	}
	c.Change, c.removed, err = parseLogRow(seq, row)
	return c, err
}

// scopeChange is one row of a scope's log. removed tells that the record has left; the revision is then the last that the scope
// saw.
type scopeChange struct {
	Change
	removed bool
	doc     string // of a kind that this version does not know; Kind is nil then
}

// ringScopes wakes those who listen to the databases of the records that have changed.
func (b *bells) ringScopes(changes []listChange) {
	b.mu.Lock()
	quiet := len(b.ropes) == 0
	b.mu.Unlock()
	if quiet {
		return
	}
	names := []feedName{{}}
	for i := range changes {
		for _, m := range [2]*scopeMark{&changes[i].from, &changes[i].to} {
			for _, s := range m.scopes {
				if name := (feedName{scope: s}); !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	if len(changes) > 0 {
		b.ring(names)
	}
}

// scopesOf lists the databases of records that p may read.
func scopesOf(v *sight, p Principal) (all []DatabaseInfo, err error) {
	names := []string{mirror}
	add := func(s scopes.Scope) { names = append(names, s.String()) }
	add(scopes.Scope{Sort: scopes.Reference})
	add(scopes.Scope{Sort: scopes.ReferenceFinance})
	for k, sorts := range map[*record.Kind][]scopes.Sort{
		record.Church: {scopes.Church, scopes.ChurchFinance},
		record.Event:  {scopes.Event, scopes.EventNames, scopes.EventHolders},
	} {
		ids := v.lists.kind(k).all
		for _, id := range ids.page(nil, 0, ids.len()) {
			for _, sort := range sorts {
				add(scopes.Scope{Sort: sort, ID: id.Int()})
			}
		}
	}
	for _, name := range names {
		db := recordDatabase(v, name)
		switch err := db.maySee(p); {
		case errors.Is(err, ErrCorrupt):
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
func (db *scopeDocs) chunk(*sight, [32]byte, uint64) ([]byte, bool, error) {
	return nil, false, ErrNotFound
}

func (db *scopeDocs) upload(*op, *upload, []byte, bool) (Blob, error) {
	return Blob{}, &Forbidden{CurrentScopes: []string{}, Reason: "records have no attachments"}
}
