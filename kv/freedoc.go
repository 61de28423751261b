package kv

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"doorward/kv/engine"
	"doorward/kv/rev"
)

// RevsLimit is how many revisions from every leaf a free document's tree knows; of the last freeBodies it keeps the bodies, and
// those of all leaves.
const (
	RevsLimit  = 50
	freeBodies = 10
)

// prepareDoc checks what a document is without looking at the store.
func prepareDoc(in DocWrite) (*DocWrite, error) {
	if in.Wrong != nil {
		return nil, in.Wrong
	}
	if err := CheckDocID(in.ID); err != nil {
		return nil, err
	}
	var err error
	switch {
	case in.Canonical.text != nil:
		in.canonical = in.Canonical.text
	case in.Body == nil:
		in.canonical = []byte("{}")
	default:
		in.canonical, err = canonicalDoc(in.Body)
	}
	if err != nil {
		return nil, err
	}
	in.Attachments = slices.Clone(in.Attachments)
	slices.SortFunc(in.Attachments, func(a, b Attachment) int { return strings.Compare(a.Name, b.Name) })
	for i, a := range in.Attachments {
		again := i > 0 && in.Attachments[i-1].Name == a.Name
		if again || a.Name == "" || a.Name[0] == '_' || len(a.Name) > maxName || len(a.Type) > maxName || !utf8.ValidString(a.Name+a.Type) {
			return nil, fmt.Errorf("%w: the name or type of an attachment", ErrDocument)
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
	row, err := r.Get(freeDocBucket, db.key(id))
	if err != nil || row == nil {
		return nil, err
	}
	return parseFreeDoc(row)
}

// freeDocHead is the bytes of a document's row before its tree: sequence 8, deleted 1.
const freeDocHead = 9

func parseFreeDoc(row []byte) (d *freeDoc, err error) {
	c := cutter{rest: row}
	d = &freeDoc{seq: c.uint64(), deleted: c.byte() == 1}
	if d.tree, err = rev.ParseTree(c.rest); err != nil || c.short {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, rev.ErrTree)
	}
	return d, nil
}

// row is what parseFreeDoc reads.
func (d *freeDoc) row() []byte {
	return d.tree.Append(append(binary.BigEndian.AppendUint64(nil, d.seq), flag(d.deleted)))
}

// bodyKey names a revision's body.
func (db *freeDatabase) bodyKey(id string, rev rev.ID) []byte {
	return appendRevision(db.key(id, "\x00"), rev)
}

func appendRevision(dst []byte, rev rev.ID) []byte {
	return rev.AppendHash(binary.BigEndian.AppendUint64(dst, rev.Generation))
}

// write stores one revision and answers its name.
func (db *freeDatabase) write(o *op, p Principal, in *DocWrite) (rev.ID, error) {
	doc, err := loadFreeDoc(o.sight.View, db, in.ID)
	if err != nil {
		return rev.ID{}, err
	}
	if doc == nil {
		doc = &freeDoc{}
	}
	path, leaf := in.Path, rev.Node{Deleted: in.Deleted, Held: true}
	if path == nil {
		leaf.At, leaf.Key = o.stamp, p.Key()
		if path, err = doc.edit(in); err != nil {
			return rev.ID{}, err
		}
	}
	isNew := len(path) > 0 && !doc.tree.Has(path[0])
	if isNew && !p.IsOperator() {
		if err := o.store.limits.mayBranch(&doc.tree, path); err != nil {
			return rev.ID{}, err
		}
	}
	if _, err := doc.tree.Graft(path, leaf); err != nil {
		return rev.ID{}, fmt.Errorf("%w: %w", ErrDocument, err)
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
func (d *freeDoc) edit(in *DocWrite) (path []rev.ID, err error) {
	parent := in.Parent
	if parent == (rev.ID{}) && d.deleted && !in.Deleted {
		parent = d.tree.Winner().Revision // a document that was deleted is made again
	}
	isLeaf := func(n rev.Node) bool { return n.Revision == parent }
	if parent == (rev.ID{}) && d.seq != 0 || parent != (rev.ID{}) && !slices.ContainsFunc(d.tree.Leaves(), isLeaf) {
		return nil, &Conflict{Reason: "the document has another revision"}
	}
	next := rev.Next(parent, in.Deleted, hashed(in.canonical, in.Attachments))
	return append([]rev.ID{next}, d.tree.Path(parent)...), nil
}

// trim forgets what is too far from every leaf, and drops the bodies that are not kept.
func trim(o *op, db *freeDatabase, id string, doc *freeDoc) error {
	dropped := doc.tree.Stem(RevsLimit)
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
func placeFree(o *op, db *freeDatabase, id string, doc *freeDoc) error {
	seq, last, err := freeCounters(o.sight.View)
	if err != nil {
		return err
	}
	if doc.seq != 0 {
		o.delete(freeLogBucket, db.seqKey(doc.seq))
		db.count(doc.deleted, -1)
	}
	seq++
	doc.seq, db.Seq, doc.deleted = seq, seq, doc.tree.Winner().Deleted
	db.count(doc.deleted, 1)
	o.put(freeDocBucket, db.key(id), doc.row())
	o.put(freeLogBucket, db.seqKey(seq), []byte(id))
	putFreeCounters(o.tx, seq, last)
	putDatabase(o.tx, db)
	o.rung = append(o.rung, feedName{free: db.Name})
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
func putBody(o *op, db *freeDatabase, in *DocWrite, rev rev.ID) error {
	for i := range in.Attachments {
		a := &in.Attachments[i]
		blob, err := blob(o.sight.View, db, a.SHA256)
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
		o.put(freeRefBucket, db.refKey(a.SHA256, in.ID, rev), nil)
	}
	o.put(freeBodyBucket, db.bodyKey(in.ID, rev), appendBody(nil, in.canonical, in.Attachments))
	return nil
}

// dropBody removes a revision's body, if it is there; blobs that nothing needs any more become loose.
func dropBody(o *op, db *freeDatabase, id string, rev rev.ID) error {
	key := db.bodyKey(id, rev)
	row, err := o.Get(freeBodyBucket, key)
	if err != nil || row == nil {
		return err
	}
	_, attachments, err := parseBody(row)
	if err != nil {
		return err
	}
	for _, a := range attachments {
		o.delete(freeRefBucket, db.refKey(a.SHA256, id, rev))
	}
	o.delete(freeBodyBucket, key)
	for _, a := range attachments {
		if err := loosen(o, db, a.SHA256); err != nil {
			return err
		}
	}
	return nil
}
