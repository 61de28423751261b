package docs

import (
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// find reads a document of the database. It returns the zero document if the reader sees none.
func (db *scopeDocs) find(v *table.View, id string) (d document, err error) {
	if table.IsOpaque(id) {
		return db.unknown().find(v, id)
	}
	k, st, err := db.access.find(id)
	if err != nil || st == nil {
		return d, err
	}
	return recordDocument(v, k, st)
}

// recordDocument is a record as a document.
func recordDocument(v *table.View, k *record.Kind, st *table.Stored) (document, error) {
	tree, err := table.LoadTree(v, k, st)
	body := func(n rev.Node) (DocRevision, error) { return revision(v, k, st, n) }
	return document{k.DocID(st.ID), table.Document{Seq: st.Seq, Deleted: st.Deleted, Tree: tree}, body}, err
}

// read reads a document, and notes that a record was read.
func (db *scopeDocs) read(v *table.View, id string, ask Ask) (Doc, error) {
	d, err := db.find(v, id)
	if err != nil {
		return Doc{}, err
	}
	if k, of, ok := record.ParseDocID(id); ok && d.Seq != 0 {
		v.Store.Reads.Note(db.access.reader, k, 1)
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
	for _, rev := range a.Revisions {
		if !tree.Has(rev) {
			a.Revisions = nil
			break
		}
	}
	return a
}

// revision is a record's revision as a document's.
func revision(v *table.View, k *record.Kind, st *table.Stored, n rev.Node) (r DocRevision, err error) {
	r = DocRevision{Revision: n.Revision, Deleted: n.Deleted}
	switch {
	case n.Ended:
		r.Body = []byte(merge.EndedBody)
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
