package docs

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/kv/table"
)

const freeBodies = 10

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

// freeDoc is a free document but its bodies.
type freeDoc struct {
	seq     uint64 // of its row in the log; 0: the document is new
	deleted bool   // its winner is
	tree    rev.Tree
}

func loadFreeDoc(r *engine.View, db *freeDatabase, id string) (*freeDoc, error) {
	row, err := r.Get(table.FreeDocBucket, db.key(id))
	if err != nil || row == nil {
		return nil, err
	}
	return parseFreeDoc(row)
}

// freeDocHead is the bytes of a document's row before its tree: sequence 8, deleted 1.
const freeDocHead = 9

func parseFreeDoc(row []byte) (d *freeDoc, err error) {
	c := table.Cutter{Rest: row}
	d = &freeDoc{seq: c.Uint64(), deleted: c.Byte() == 1}
	if d.tree, err = rev.ParseTree(c.Rest); err != nil || c.Short {
		return nil, fmt.Errorf("%w: %w", engine.ErrCorrupt, rev.ErrTree)
	}
	return d, nil
}

// row is what parseFreeDoc reads.
func (d *freeDoc) row() []byte {
	return d.tree.Append(append(binary.BigEndian.AppendUint64(nil, d.seq), table.Flag(d.deleted)))
}

// bodyKey names a revision's body.
func (db *freeDatabase) bodyKey(id string, rev rev.ID) []byte {
	return table.AppendRevision(db.key(id, "\x00"), rev)
}

// write stores one revision and answers its name.
func (db *freeDatabase) write(o *table.Tx, p auth.Principal, in *merge.DocWrite) (rev.ID, error) {
	doc, err := loadFreeDoc(o.View.View, db, in.ID)
	if err != nil {
		return rev.ID{}, err
	}
	if doc == nil {
		doc = &freeDoc{}
	}
	path, leaf := in.Path, rev.Node{Deleted: in.Deleted, Held: true}
	if path == nil {
		leaf.At, leaf.Key = o.Stamp, p.Key()
		if path, err = doc.edit(in); err != nil {
			return rev.ID{}, err
		}
	}
	isNew := len(path) > 0 && !doc.tree.Has(path[0])
	if isNew && !p.IsOperator() {
		if err := o.Store.Limits.MayBranch(&doc.tree, path); err != nil {
			return rev.ID{}, err
		}
	}
	if _, err := doc.tree.Graft(path, leaf); err != nil {
		return rev.ID{}, fmt.Errorf("%w: %w", merge.ErrDocument, err)
	}
	if !isNew {
		return path[0], nil
	}
	if err := putBody(o, db, in, path[0]); err != nil {
		return rev.ID{}, err
	}
	if err := trim(o, db, in.ID, doc); err != nil {
		return rev.ID{}, err
	}
	if err := placeFree(o, db, in.ID, doc); err != nil {
		return rev.ID{}, err
	}
	return path[0], sweepLoose(o, db)
}

// edit is the path of a new edit: ErrConflict where its parent is not a leaf.
func (d *freeDoc) edit(in *merge.DocWrite) (path []rev.ID, err error) {
	parent := in.Parent
	if parent == (rev.ID{}) && d.deleted && !in.Deleted {
		parent = d.tree.Winner().Revision // a document that was deleted is made again
	}
	isLeaf := func(n rev.Node) bool { return n.Revision == parent }
	if parent == (rev.ID{}) && d.seq != 0 || parent != (rev.ID{}) && !slices.ContainsFunc(d.tree.Leaves(), isLeaf) {
		return nil, &table.Conflict{Reason: "the document has another revision"}
	}
	next := rev.Next(parent, in.Deleted, hashed(in.Content, in.Attachments))
	return append([]rev.ID{next}, d.tree.Path(parent)...), nil
}

// trim forgets what is too far from every leaf, and drops the bodies that are not kept.
func trim(o *table.Tx, db *freeDatabase, id string, doc *freeDoc) error {
	dropped := doc.tree.Stem(table.RevsLimit)
	for _, rev := range doc.heldInner(max(0, doc.tree.Len()-freeBodies)) {
		doc.tree.Hold(rev, false)
		dropped = append(dropped, rev)
	}
	for _, rev := range dropped {
		if err := dropBody(o, db, id, rev); err != nil {
			return err
		}
	}
	return nil
}

// placeFree puts a document's row, moves its row in the log to the end, and counts.
func placeFree(o *table.Tx, db *freeDatabase, id string, doc *freeDoc) error {
	seq, last, err := table.FreeCounters(o.View.View)
	if err != nil {
		return err
	}
	if doc.seq != 0 {
		o.Delete(table.FreeLogBucket, db.seqKey(doc.seq))
		db.count(doc.deleted, -1)
	}
	seq++
	doc.seq, db.Seq, doc.deleted = seq, seq, doc.tree.Winner().Deleted
	db.count(doc.deleted, 1)
	o.Put(table.FreeDocBucket, db.key(id), doc.row())
	o.Put(table.FreeLogBucket, db.seqKey(seq), []byte(id))
	table.PutFreeCounters(o.Tx, seq, last)
	putDatabase(o.Tx, db)
	o.Rung = append(o.Rung, table.FeedName{Free: db.Name})
	return nil
}

func (db *freeDatabase) seqKey(seq uint64) []byte {
	return binary.BigEndian.AppendUint64(db.key(), seq)
}

// count counts a document in or out.
func (db *freeDatabase) count(deleted bool, n int) {
	if deleted {
		db.Deleted += n
	} else {
		db.Docs += n
	}
}

// putBody stores a revision's body and what it needs of blobs: ErrNoBlob.
func putBody(o *table.Tx, db *freeDatabase, in *merge.DocWrite, rev rev.ID) error {
	for i := range in.Attachments {
		a := &in.Attachments[i]
		blob, err := blob(o.View.View, db, a.SHA256)
		if err != nil {
			return err
		}
		if blob == nil {
			return fmt.Errorf("%w: document's attachment %d", ErrNoBlob, i+1)
		}
		a.Blob = blob.Blob
		if a.RevPos == 0 {
			a.RevPos = rev.Generation
		}
		o.Put(table.FreeRefBucket, db.refKey(a.SHA256, in.ID, rev), nil)
	}
	o.Put(table.FreeBodyBucket, db.bodyKey(in.ID, rev), appendBody(nil, in.Content, in.Attachments))
	return nil
}

// dropBody removes a revision's body, if it is there; blobs that nothing needs any more become loose.
func dropBody(o *table.Tx, db *freeDatabase, id string, rev rev.ID) error {
	key := db.bodyKey(id, rev)
	row, err := o.Get(table.FreeBodyBucket, key)
	if err != nil || row == nil {
		return err
	}
	_, attachments, err := parseBody(row)
	if err != nil {
		return err
	}
	for _, a := range attachments {
		o.Delete(table.FreeRefBucket, db.refKey(a.SHA256, id, rev))
	}
	o.Delete(table.FreeBodyBucket, key)
	for _, a := range attachments {
		if err := loosen(o, db, a.SHA256); err != nil {
			return err
		}
	}
	return nil
}
