package kv

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"doorward/kv/record"
)

// FreePage is the largest number of rows that a method of free databases answers at once.
const FreePage = 1000

// FreeDoc is a free document: its whole tree, and the revisions that were asked for.
type FreeDoc struct {
	ID        string
	Seq       uint64 // of its latest change
	Deleted   bool   // its winner is a tombstone
	Tree      record.Tree
	Revisions []FreeRevision
}

// FreeRevision is one revision of a document. Body is its canonical JSON without members that begin with "_"; nil where the
// store does not have it (Tree.Has tells whether the revision is known).
type FreeRevision struct {
	Revision    record.Revision
	Deleted     bool
	Body        []byte
	Attachments []Attachment // by name
}

// FreeAsk says which of a document's revisions to read; the zero FreeAsk asks for the winner.
type FreeAsk struct {
	Revisions []record.Revision
	Leaves    bool // all of them, the winner first, instead
	Latest    bool // instead of a revision the leaves that follow from it
}

// ReadFree reads a document, deleted or not: ErrNotFound.
func (s *Store) ReadFree(p Principal, database, id string, ask FreeAsk) (doc FreeDoc, err error) {
	err = s.freeView(p, database, func(v *sight, db *FreeDatabase) error {
		d, err := v.freeDoc(db, id)
		if err != nil || d == nil {
			return orNotFound(err)
		}
		doc = FreeDoc{ID: id, Seq: d.seq, Deleted: d.deleted, Tree: d.tree}
		for _, rev := range ask.of(&d.tree) {
			r := FreeRevision{Revision: rev, Deleted: d.tree.Find(rev).Deleted}
			row, err := v.get(freeBodyBucket, db.bodyKey(id, rev))
			if err != nil {
				return err
			}
			if row != nil {
				if r.Body, r.Attachments, err = parseBody(bytes.Clone(row)); err != nil {
					return err
				}
			}
			doc.Revisions = append(doc.Revisions, r)
		}
		return nil
	})
	return doc, err
}

// of lists the revisions that are asked for, each once.
func (a FreeAsk) of(tree *record.Tree) (revs []record.Revision) {
	leaves := tree.Leaves()
	add := func(rev record.Revision) {
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

// FreeRange says which documents to list.
type FreeRange struct {
	From       string // the first id; "" = from the end where it begins
	Past       bool   // leaves From itself out
	Limit      int    // at most FreePage
	Descending bool
}

// FreeRow is one live document of a list.
type FreeRow struct {
	ID     string
	Seq    uint64
	Winner record.Revision
}

// ListFree lists the live documents of a database in the order of their ids' bytes. Fewer than Limit rows are the last.
func (s *Store) ListFree(p Principal, database string, r FreeRange) (page []FreeRow, err error) {
	err = s.freeView(p, database, func(v *sight, db *FreeDatabase) error {
		prefix, from := db.key(), db.key(r.From)
		if r.Descending && r.From == "" {
			from = db.key("\xff") // no id has this byte
		}
		return v.walk(freeDocBucket, r.Descending, prefix, from, func(key, row []byte) (bool, error) {
			if len(page) >= min(r.Limit, FreePage) {
				return false, nil
			}
			if len(row) < freeDocHead {
				return false, ErrCorrupt
			}
			if row[freeDocHead-1] == 1 || r.Past && bytes.Equal(key, from) {
				return true, nil
			}
			d, err := parseFreeDoc(row)
			if err != nil {
				return false, err
			}
			page = append(page, FreeRow{ID: string(key[len(prefix):]), Seq: d.seq, Winner: d.tree.Winner().Revision})
			return true, nil
		})
	})
	return page, err
}

// walk is scan, or scan the other way.
func (v *sight) walk(b bucket, down bool, prefix, from []byte, fn func(key, value []byte) (bool, error)) error {
	if !down {
		return v.scan(b, prefix, from, fn)
	}
	c := v.in(b).Cursor()
	key, sealed := c.Seek(from)
	if key == nil {
		key, sealed = c.Last()
	}
	for ; key != nil && bytes.Compare(key, prefix) >= 0; key, sealed = c.Prev() {
		if bytes.Compare(key, from) > 0 || !bytes.HasPrefix(key, prefix) {
			continue
		}
		value, err := unseal(b, key, sealed)
		if err != nil {
			return err
		}
		if more, err := fn(key, value); err != nil || !more {
			return err
		}
	}
	return nil
}

// FreeFeed says which changes to read.
type FreeFeed struct {
	Since      uint64
	Limit      int // at most FreePage
	Descending bool
	Before     uint64   // with Descending: only what is before it; 0 = all
	IDs        []string // only these documents; nil = all
}

// FreeChange is a document at its latest sequence.
type FreeChange struct {
	Seq     uint64
	ID      string
	Deleted bool
	Leaves  []record.TreeNode // the winner first
}

// FreeChanges reads a database's log after a sequence, oldest first or newest first. Fewer than Limit rows are the last.
func (s *Store) FreeChanges(p Principal, database string, f FreeFeed) (page []FreeChange, err error) {
	err = s.freeView(p, database, func(v *sight, db *FreeDatabase) error {
		if f.IDs != nil {
			page, err = v.freeChangesOf(db, f)
			return err
		}
		from := db.seqKey(f.Since + 1)
		if f.Descending {
			from = db.seqKey(f.Before - 1) // 0 - 1 is beyond all
		}
		return v.walk(freeLogBucket, f.Descending, db.key(), from, func(key, id []byte) (bool, error) {
			seq := binary.BigEndian.Uint64(key[len(key)-8:])
			if len(page) >= min(f.Limit, FreePage) || seq <= f.Since {
				return false, nil
			}
			c, err := v.freeChange(db, string(id))
			if err != nil || c == nil || c.Seq != seq {
				return false, orCorrupt(err)
			}
			page = append(page, *c)
			return true, nil
		})
	})
	return page, err
}

func orCorrupt(err error) error {
	if err == nil {
		return ErrCorrupt
	}
	return err
}

// freeChange is a document's latest change; nil where there is no such document.
func (v *sight) freeChange(db *FreeDatabase, id string) (*FreeChange, error) {
	d, err := v.freeDoc(db, id)
	if err != nil || d == nil {
		return nil, err
	}
	return &FreeChange{Seq: d.seq, ID: id, Deleted: d.deleted, Leaves: d.tree.Leaves()}, nil
}

// freeChangesOf looks at the named documents alone.
func (v *sight) freeChangesOf(db *FreeDatabase, f FreeFeed) (page []FreeChange, err error) {
	ids := slices.Compact(slices.Sorted(slices.Values(f.IDs)))
	for _, id := range ids {
		c, err := v.freeChange(db, id)
		if err != nil {
			return nil, err
		}
		if c != nil && c.Seq > f.Since && (!f.Descending || c.Seq <= f.Before-1) {
			page = append(page, *c)
		}
	}
	slices.SortFunc(page, func(a, b FreeChange) int {
		if (a.Seq < b.Seq) != f.Descending {
			return -1
		}
		return 1
	})
	return page[:min(len(page), f.Limit, FreePage)], nil
}

// AwaitFree returns nil once a database has a change after a sequence; ErrNotFound once it is gone, or the error of ctx.
func (s *Store) AwaitFree(ctx context.Context, p Principal, database string, since uint64) error {
	var failed error
	err := s.bell.await(ctx, func() bool {
		db, err := s.FreeDatabase(p, database)
		failed = err
		return err != nil || db.Seq > since
	})
	if err == nil {
		err = failed
	}
	return err
}

// FreeRevs names revisions of a document that somebody has.
type FreeRevs struct {
	ID        string
	Revisions []record.Revision
}

// FreeMissing is which of them the database does not have, and which of its own may be their ancestors.
type FreeMissing struct {
	ID                         string
	Missing, PossibleAncestors []record.Revision
}

// MissingFree answers _revs_diff, one answer for each document in the same order.
func (s *Store) MissingFree(p Principal, database string, asked []FreeRevs) (answers []FreeMissing, err error) {
	for part := range slices.Chunk(asked, FreePage) {
		err = s.freeView(p, database, func(v *sight, db *FreeDatabase) error {
			for _, a := range part {
				d, err := v.freeDoc(db, a.ID)
				if err != nil {
					return err
				}
				if d == nil {
					d = &freeDoc{}
				}
				m := FreeMissing{ID: a.ID}
				m.Missing, m.PossibleAncestors = d.tree.Missing(a.Revisions)
				answers = append(answers, m)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return answers, nil
}
