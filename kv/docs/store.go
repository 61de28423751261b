package docs

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"doorward/kv/engine"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// docStore is the documents of a database that are no records: free ones, or those of unknown kinds. Only free documents have
// attachments.
type docStore struct{ table.Documents }

// blobs are the bytes of the documents' attachments.
func (ds docStore) blobs() blobs { return blobs{ds.Prefix} }

// find reads a document. It returns the zero document if there is none.
func (ds docStore) find(v *table.View, id string) (document, error) {
	d, err := ds.Load(v.View, id)
	if err != nil || d.Seq == 0 {
		return document{}, err
	}
	body := func(n rev.Node) (DocRevision, error) { return ds.revision(v, id, n) }
	return document{id: id, Document: d, body: body}, nil
}

func (ds docStore) read(v *table.View, id string, ask Ask) (Doc, error) {
	d, err := ds.find(v, id)
	if err != nil {
		return Doc{}, err
	}
	return d.read(ask)
}

func (ds docStore) missing(v *table.View, asked merge.Revs) (MissingRevs, error) {
	d, err := ds.find(v, asked.ID)
	return d.missing(asked), err
}

// revision reads a revision's body, if it is there.
func (ds docStore) revision(v *table.View, id string, n rev.Node) (r DocRevision, err error) {
	r = DocRevision{Revision: n.Revision, Deleted: n.Deleted}
	row, err := v.Get(ds.Bodies, ds.BodyKey(id, n.Revision))
	if err == nil && row != nil {
		r.Body, r.Attachments, err = ds.parseBody(bytes.Clone(row))
	}
	return r, err
}

// list lists the live documents.
func (ds docStore) list(v *table.View, r Range) (ids []string, err error) {
	from := ds.Key(r.From)
	if r.Descending && r.From == "" {
		from = ds.Key("\xff") // no id has this byte
	}
	err = v.Walk(ds.Rows, r.Descending, ds.Prefix, from, func(key, row []byte) (bool, error) {
		if len(ids) >= min(r.Limit, DocPage) {
			return false, nil
		}
		d, err := table.ParseDocumentHead(row)
		if err == nil && !d.Deleted && !(r.Past && bytes.Equal(key, from)) {
			ids = append(ids, string(key[len(ds.Prefix):]))
		}
		return err == nil, err
	})
	return ids, err
}

// rows calls fn with the rows of the log between the feed's bounds.
func (ds docStore) rows(v *table.View, f Feed, fn func(table.ScopeChange) (bool, error)) error {
	return walkLog(v, ds.Log, ds.Prefix, f, func(seq uint64, row []byte) (bool, error) {
		if f.unnamed {
			return fn(table.ScopeChange{Change: table.Change{Seq: seq}})
		}
		c, err := ds.ParseLogRow(seq, row)
		if err != nil {
			return false, err
		}
		return fn(c)
	})
}

// latest finds a document's row in the log. Its Seq is 0 if there is none.
func (ds docStore) latest(v *table.View, id string) (c table.ScopeChange, err error) {
	d, err := ds.Load(v.View, id)
	if err != nil || d.Seq == 0 {
		return c, err
	}
	return ds.ParseLogRow(d.Seq, ds.LogRow(id, &d))
}

// change reads the document that a row of the log names.
func (ds docStore) change(v *table.View, c table.ScopeChange, bodies bool) (DocChange, error) {
	d, err := ds.find(v, c.Doc)
	if err != nil || d.Seq != c.Seq {
		return DocChange{}, table.OrCorrupt(err)
	}
	return d.change(bodies)
}

// add adds a revision to a document and puts its body. It drops the bodies that need not be held. It returns ErrDocument if the path
// is none, and ErrNoBlob. A revision that is known changes nothing: isNew is false.
func (ds docStore) add(o *table.Tx, d *table.Document, in *merge.DocWrite, path []rev.ID, leaf rev.Node) (isNew bool, err error) {
	if isNew, err = d.Tree.Graft(path, leaf); err != nil {
		return false, fmt.Errorf("%w: %w", merge.ErrDocument, err)
	}
	if !isNew {
		return false, nil
	}
	if err := ds.putBody(o, in, path[0]); err != nil {
		return false, err
	}
	dropped, _ := table.Trim(&d.Tree)
	return true, ds.dropBodies(o, in.ID, dropped)
}

// putBody stores a revision's body, and that it needs its blobs. It returns ErrNoBlob if one is not there.
func (ds docStore) putBody(o *table.Tx, in *merge.DocWrite, rev rev.ID) error {
	for i := range in.Attachments {
		a := &in.Attachments[i]
		blob, err := ds.blobs().find(o.View.View, a.SHA256)
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
		o.Put(table.FreeRefBucket, ds.blobs().refKey(a.SHA256, in.ID, rev), nil)
	}
	o.Put(ds.Bodies, ds.BodyKey(in.ID, rev), ds.appendBody(in.Content, in.Attachments))
	return nil
}

// dropBodies removes the bodies of some revisions, as far as they are there. Blobs that no revision needs become loose.
func (ds docStore) dropBodies(o *table.Tx, id string, revs []rev.ID) error {
	for _, rev := range revs {
		key := ds.BodyKey(id, rev)
		row, err := o.Get(ds.Bodies, key)
		if err != nil {
			return err
		}
		if row == nil {
			continue
		}
		_, attachments, err := ds.parseBody(row)
		if err != nil {
			return err
		}
		o.Delete(ds.Bodies, key)
		for _, a := range attachments {
			o.Delete(table.FreeRefBucket, ds.blobs().refKey(a.SHA256, id, rev))
		}
		for _, a := range attachments {
			if err := ds.blobs().loosen(o, a.SHA256); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendBody makes a body's row: of a free document n uv, n × (name, type, revpos uv, length uv, MD5 16, SHA-256 32) and the JSON, of
// another the JSON alone.
func (ds docStore) appendBody(body []byte, attachments []merge.Attachment) (row []byte) {
	if !ds.IsFree() {
		return body
	}
	row = binary.AppendUvarint(nil, uint64(len(attachments)))
	for _, a := range attachments {
		for _, text := range []string{a.Name, a.Type} {
			row = append(binary.AppendUvarint(row, uint64(len(text))), text...)
		}
		row = binary.AppendUvarint(row, a.RevPos)
		row = binary.AppendUvarint(row, uint64(a.Length))
		row = append(append(row, a.MD5[:]...), a.SHA256[:]...)
	}
	return append(row, body...)
}

// parseBody reads a body's row. The JSON shares its memory.
func (ds docStore) parseBody(row []byte) (body []byte, attachments []merge.Attachment, err error) {
	if !ds.IsFree() {
		return row, nil, nil
	}
	c := table.Cutter{Rest: row}
	for n := c.Uvarint(); n > 0 && !c.Short; n-- {
		a := merge.Attachment{Name: string(c.Bytes(int(c.Uvarint()))), Type: string(c.Bytes(int(c.Uvarint()))), RevPos: c.Uvarint()}
		a.Length = int64(c.Uvarint())
		copy(a.MD5[:], c.Bytes(16))
		copy(a.SHA256[:], c.Bytes(32))
		attachments = append(attachments, a)
	}
	if c.Short {
		return nil, nil, engine.ErrCorrupt
	}
	return c.Rest, attachments, nil
}
