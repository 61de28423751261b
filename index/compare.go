package index

import (
	"fmt"
	"math"
	"slices"

	bleve "github.com/blevesearch/bleve_index_api"

	"doorward/kv/auth"
	"doorward/kv/disk"
)

// unknown is the number of releases to assume where released records have not been looked for yet.
const unknown = math.MaxUint64

// compare holds the documents against the store's records: errBroken where one is missing or there twice. What has changed since the
// log was read is left out. A document without its record is no damage: the log has no row for a release, and the
// last process may have ended before it deleted the document.
func (f *follower) compare() error {
	released := f.store.Tables.Commits.Releases()
	have, want, err := f.both()
	if err != nil {
		return err
	}
	changed, err := f.changed()
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(lacking(want, have), func(id string) bool { return changed[id] })
	if twice := len(have) - len(slices.Compact(slices.Clone(have))); len(missing)+twice > 0 {
		return fmt.Errorf("%w: it lacks %d of %d records, and holds %d twice", errBroken, len(missing), len(want), twice)
	}
	if f.released = released; len(lacking(have, want)) > 0 {
		f.released = unknown
	}
	return nil
}

// forget deletes the documents of records that the store has released since the last call. It reports whether there were any. While the
// disk is nearly full it deletes nothing.
func (f *follower) forget() (some bool, err error) {
	released := f.store.Tables.Commits.Releases()
	if released == f.released || f.store.Tables.Folder.Room.Check(disk.Imports) != nil {
		return false, nil
	}
	have, want, err := f.both()
	if err != nil {
		return false, err
	}
	gone := lacking(have, want)
	for some := range slices.Chunk(gone, batchRows) {
		b := bleve.NewBatch()
		for _, id := range some {
			b.Delete(id)
		}
		if err := f.engine.write(b); err != nil {
			return false, err
		}
	}
	f.released = released
	return len(gone) > 0, f.count()
}

// both returns the ids of the documents and the ids of the store's records, each sorted. The documents are read first, so a record that
// comes back between the two reads is in both lists.
func (f *follower) both() (have, want []string, err error) {
	if have, err = f.engine.documentIDs(); err != nil {
		return nil, nil, err
	}
	for _, k := range f.kinds {
		ids, err := f.store.Desk.IDs(auth.Operator(), k)
		if err != nil {
			return nil, nil, err
		}
		for _, id := range ids {
			want = append(want, documentID(k, id))
		}
	}
	slices.Sort(have)
	slices.Sort(want)
	return have, want, nil
}

// lacking are the ids of one sorted list that another does not have.
func lacking(ids, other []string) (out []string) {
	for _, id := range ids {
		for len(other) > 0 && other[0] < id {
			other = other[1:]
		}
		if len(other) == 0 || other[0] != id {
			out = append(out, id)
		}
	}
	return out
}

// changed are the documents of records that have changed since the log was read.
func (f *follower) changed() (map[string]bool, error) {
	changed := map[string]bool{}
	for at := f.at.Load(); ; {
		page, upto, err := f.store.Log.Replay(auth.Operator(), at, batchRows, f.kinds...)
		for _, r := range page {
			changed[documentID(r.Kind, r.ID)] = true
		}
		if err != nil || upto == at {
			return changed, err
		}
		at = upto
	}
}
