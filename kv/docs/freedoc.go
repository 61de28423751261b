package docs

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"doorward/kv/auth"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// prepareDoc checks what a document is without looking at the store.
func prepareDoc(in merge.DocWrite) (*merge.DocWrite, error) {
	if in.Wrong != nil {
		return nil, in.Wrong
	}
	if err := CheckDocID(in.ID); err != nil {
		return nil, err
	}
	var err error
	switch {
	case in.Canonical.Text != nil:
		in.Content = in.Canonical.Text
	case in.Body == nil:
		in.Content = []byte("{}")
	default:
		in.Content, err = canonicalDoc(in.Body)
	}
	if err != nil {
		return nil, err
	}
	in.Attachments = slices.Clone(in.Attachments)
	slices.SortFunc(in.Attachments, func(a, b merge.Attachment) int { return strings.Compare(a.Name, b.Name) })
	for i, a := range in.Attachments {
		again := i > 0 && in.Attachments[i-1].Name == a.Name
		if again || a.Name == "" || a.Name[0] == '_' || len(a.Name) > maxName || len(a.Type) > maxName || !utf8.ValidString(a.Name+a.Type) {
			return nil, fmt.Errorf("%w: the name or type of an attachment", merge.ErrDocument)
		}
	}
	return &in, nil
}

// write stores one revision and answers its name.
func (db *freeDatabase) write(o *table.Tx, p auth.Principal, in *merge.DocWrite) (rev.ID, error) {
	d, err := db.Load(o.View.View, in.ID)
	if err != nil {
		return rev.ID{}, err
	}
	path, leaf := in.Path, rev.Node{Deleted: in.Deleted, Held: true}
	if path == nil {
		leaf.At, leaf.Key = o.Stamp, p.Key()
		if path, err = in.EditOf(&d.Tree, hashed(in.Content, in.Attachments)); err != nil {
			return rev.ID{}, err
		}
	}
	if len(path) > 0 && !d.Tree.Has(path[0]) && !p.IsOperator() {
		if err := o.Store.Rules.Limits.MayBranch(&d.Tree, path); err != nil {
			return rev.ID{}, err
		}
	}
	isNew, err := db.add(o, &d, in, path, leaf)
	if err != nil {
		return rev.ID{}, err
	}
	if isNew {
		err = db.place(o, in.ID, &d)
	}
	return path[0], err
}

// place puts a document's row, moves its row in the log to the end, and counts.
func (db *freeDatabase) place(o *table.Tx, id string, d *table.Document) error {
	seq, last, err := table.FreeCounters(o.View.View)
	if err != nil {
		return err
	}
	if d.Seq != 0 {
		db.count(d.Deleted, -1)
	}
	db.Seq = seq + 1
	db.Place(o, id, d, db.Seq)
	db.count(d.Deleted, 1)
	table.PutFreeCounters(o.Tx, db.Seq, last)
	putDatabase(o.Tx, db)
	o.Rung = append(o.Rung, table.FeedName{Free: db.Name})
	return db.sweepLoose(o)
}

// count counts a document in or out.
func (db *DatabaseInfo) count(deleted bool, n int) {
	if deleted {
		db.Deleted += n
	} else {
		db.Docs += n
	}
}
