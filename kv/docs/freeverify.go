package docs

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"doorward/kv/engine"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// VerifyFree checks a row of the free databases against those that must agree with it. Rows of a deleted database are on their
// way out.
func VerifyFree(v *table.View, b engine.Bucket, key, value []byte) error {
	if b == table.FreeBucket {
		return verifyDatabase(v, key, value)
	}
	c := table.Cutter{Rest: key}
	id := c.Uvarint()
	if c.Short {
		return engine.ErrCorrupt
	}
	if dead, err := v.Get(table.FreeBucket, deadKey(id)); err != nil || dead != nil {
		return err
	}
	ds := docStore{table.FreeDocuments(id)}
	switch b {
	case table.FreeBlobBucket:
		return ds.blobs().verify(v, c.Rest)
	case table.FreeRefBucket:
		return ds.verifyRef(v, c.Rest)
	}
	return ds.verifyRow(v, b, c.Rest, value)
}

// VerifyOpaque checks a row of an opaque document, or of one in the log of its scope, against those that must agree with it.
func VerifyOpaque(v *table.View, b engine.Bucket, key, value []byte) error {
	s, rest, err := table.CutScope(key)
	if err != nil {
		return err
	}
	return docStore{table.OpaqueDocuments(s)}.verifyRow(v, b, rest, value)
}

// verifyDatabase checks that a database's counts are those of its documents.
func verifyDatabase(v *table.View, key, row []byte) error {
	if len(key) > 0 && key[0] == 0 {
		return nil
	}
	db, err := parseDatabase(string(key), row)
	if err != nil {
		return err
	}
	counted := DatabaseInfo{}
	err = v.Scan(db.Rows, db.Prefix, nil, func(_, row []byte) (bool, error) {
		d, err := table.ParseDocumentHead(row)
		if err != nil {
			return false, err
		}
		counted.count(d.Deleted, 1)
		counted.Seq = max(counted.Seq, d.Seq)
		return true, nil
	})
	if err == nil && !db.unsized {
		counted.Size, err = db.measure(v)
	}
	if err == nil && (counted.Docs != db.Docs || counted.Deleted != db.Deleted || counted.Seq != db.Seq || counted.Size != db.Size) {
		err = fmt.Errorf("database %d counts its documents wrongly", db.id)
	}
	return err
}

// verifyRow checks a row of a document, of a body or of the log. Others are not checked.
func (ds docStore) verifyRow(v *table.View, b engine.Bucket, key, row []byte) error {
	switch {
	case b == ds.Rows:
		return ds.verifyDocument(v, string(key), row)
	case b == ds.Bodies:
		return ds.verifyBody(v, key, row)
	case b == ds.Log && len(key) == 8:
		return ds.verifyLog(v, binary.BigEndian.Uint64(key), row)
	case b == ds.Log:
		return engine.ErrCorrupt
	}
	return nil
}

// verifyDocument checks a document's tree, its row in the log, and that the bodies which its tree says are held are there.
func (ds docStore) verifyDocument(v *table.View, id string, row []byte) error {
	d, err := table.ParseDocument(row)
	if err != nil {
		return err
	}
	needed := d.Tree.Leaves()
	if len(needed) == 0 {
		return fmt.Errorf("document at %d is not what its tree says", d.Seq)
	}
	logged, err := v.Get(ds.Log, ds.LogKey(d.Seq))
	if err != nil || !bytes.Equal(logged, ds.LogRow(id, &d)) {
		return errors.Join(err, fmt.Errorf("document at %d has no row in the log", d.Seq))
	}
	if needed[0].Deleted != d.Deleted {
		return fmt.Errorf("document at %d is not what its tree says", d.Seq)
	}
	for _, n := range d.Tree.Nodes() {
		if n.Held {
			needed = append(needed, n)
		}
	}
	for _, n := range needed {
		body, err := v.Get(ds.Bodies, ds.BodyKey(id, n.Revision))
		if err != nil || body == nil {
			return errors.Join(err, fmt.Errorf("document at %d lacks the body of %s", d.Seq, shownRevision(n.Revision)))
		}
	}
	return nil
}

// shownRevision is a revision in a report. A hash that is free text may say anything, and is left out.
func shownRevision(rev rev.ID) string {
	if rev.Text == "" {
		return rev.String()
	}
	return fmt.Sprintf("%d-…", rev.Generation)
}

// cutRevision takes a key apart into a document's id, which has no zero byte, and a revision.
func cutRevision(key []byte) (id string, rev rev.ID, err error) {
	name, rest, _ := bytes.Cut(key, []byte{0})
	if len(rest) < 8 {
		return "", rev, engine.ErrCorrupt
	}
	rev.Generation = binary.BigEndian.Uint64(rest)
	if !rev.SetHash(rest[8:]) {
		return "", rev, engine.ErrCorrupt
	}
	return string(name), rev, nil
}

// verifyBody checks that a body is canonical, that its document's tree holds it, and that its attachments are there.
func (ds docStore) verifyBody(v *table.View, key, row []byte) error {
	id, rev, err := cutRevision(key)
	if err != nil {
		return err
	}
	body, attachments, err := ds.parseBody(row)
	if err != nil {
		return err
	}
	d, err := ds.Load(v.View, id)
	if err != nil || !d.Tree.Find(rev).Held {
		return errors.Join(err, fmt.Errorf("body of %s is no document's, or of a document that is not there", shownRevision(rev)))
	}
	if canonical, err := canonicalDoc(body); err != nil || !bytes.Equal(canonical, body) {
		return fmt.Errorf("body of %s is not canonical", shownRevision(rev))
	}
	for i, a := range attachments {
		b, err := ds.blobs().find(v.View, a.SHA256)
		if err != nil || b == nil || b.Blob != a.Blob {
			return errors.Join(err, fmt.Errorf("body of %s: attachment %d has no blob", shownRevision(rev), i+1))
		}
		if row, err := v.Get(table.FreeRefBucket, ds.blobs().refKey(a.SHA256, id, rev)); err != nil || row == nil {
			return errors.Join(err, fmt.Errorf("body of %s: attachment %d is not noted", shownRevision(rev), i+1))
		}
	}
	return nil
}

// verifyLog checks that a row of the log is its document's latest change.
func (ds docStore) verifyLog(v *table.View, seq uint64, row []byte) error {
	c, err := ds.ParseLogRow(seq, row)
	if err != nil {
		return err
	}
	d, err := ds.Load(v.View, c.Doc)
	if err != nil || d.Seq != seq {
		return errors.Join(err, fmt.Errorf("row %d is not its document's latest change", seq))
	}
	return nil
}

// verify checks that a blob's chunks are what its row says.
func (bs blobs) verify(v *table.View, key []byte) error {
	if len(key) != sha256.Size {
		return engine.ErrCorrupt
	}
	b, err := bs.find(v.View, [32]byte(key))
	if err != nil || b == nil {
		return table.OrCorrupt(err)
	}
	sha, md, length := sha256.New(), md5.New(), int64(0)
	err = v.Scan(table.FreeChunkBucket, bs.chunksOf(b.upload), nil, func(_, chunk []byte) (bool, error) {
		sha.Write(chunk)
		md.Write(chunk)
		length += int64(len(chunk))
		return true, nil
	})
	if err == nil && (length != b.Length || [32]byte(sha.Sum(nil)) != b.SHA256 || [16]byte(md.Sum(nil)) != b.MD5) {
		err = fmt.Errorf("upload %d is not what its blob says", b.upload)
	}
	return err
}

// verifyRef checks that the revision which a row says needs a blob does.
func (ds docStore) verifyRef(v *table.View, key []byte) error {
	if len(key) < sha256.Size {
		return engine.ErrCorrupt
	}
	sum := [32]byte(key[:sha256.Size])
	id, rev, err := cutRevision(key[sha256.Size:])
	if err != nil {
		return err
	}
	row, err := v.Get(ds.Bodies, ds.BodyKey(id, rev))
	if err != nil {
		return err
	}
	_, attachments, err := ds.parseBody(row)
	if err != nil || !slices.ContainsFunc(attachments, func(a merge.Attachment) bool { return a.SHA256 == sum }) {
		return fmt.Errorf("a blob is noted for %s, which does not have it", shownRevision(rev))
	}
	return nil
}
