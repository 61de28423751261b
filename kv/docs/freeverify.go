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
	db := &freeDatabase{id: c.Uvarint()}
	if c.Short {
		return engine.ErrCorrupt
	}
	if dead, err := v.Get(table.FreeBucket, deadKey(db.id)); err != nil || dead != nil {
		return err
	}
	switch b {
	case table.FreeDocBucket:
		return verifyFreeDoc(v, db, string(c.Rest), value)
	case table.FreeBodyBucket:
		return verifyBody(v, db, c.Rest, value)
	case table.FreeLogBucket:
		return verifyFreeLog(v, db, c.Uint64(), string(value))
	case table.FreeBlobBucket:
		return verifyBlob(v, db, c.Rest)
	case table.FreeRefBucket:
		return verifyRef(v, db, c.Rest)
	}
	return nil
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
	counted := freeDatabase{}
	err = v.Scan(table.FreeDocBucket, db.key(), nil, func(_, row []byte) (bool, error) {
		if len(row) < freeDocHead {
			return false, engine.ErrCorrupt
		}
		counted.count(row[freeDocHead-1] == 1, 1)
		counted.Seq = max(counted.Seq, binary.BigEndian.Uint64(row))
		return true, nil
	})
	if err == nil && (counted.Docs != db.Docs || counted.Deleted != db.Deleted || counted.Seq != db.Seq) {
		err = fmt.Errorf("database %d counts its documents wrongly", db.id)
	}
	return err
}

// verifyFreeDoc checks a document's tree, its row in the log, and that the bodies which its tree says are held are there.
func verifyFreeDoc(v *table.View, db *freeDatabase, id string, row []byte) error {
	d, err := parseFreeDoc(row)
	if err != nil {
		return err
	}
	if d.tree.Len() == 0 || d.tree.Winner().Deleted != d.deleted {
		return fmt.Errorf("document at %d is not what its tree says", d.seq)
	}
	logged, err := v.Get(table.FreeLogBucket, db.seqKey(d.seq))
	if err != nil || string(logged) != id {
		return errors.Join(err, fmt.Errorf("document at %d has no row in the log", d.seq))
	}
	needed := d.tree.Leaves()
	for _, n := range d.tree.Nodes() {
		if n.Held {
			needed = append(needed, n)
		}
	}
	for _, n := range needed {
		body, err := v.Get(table.FreeBodyBucket, db.bodyKey(id, n.Revision))
		if err != nil || body == nil {
			return errors.Join(err, fmt.Errorf("document at %d lacks the body of %s", d.seq, shownRevision(n.Revision)))
		}
	}
	return nil
}

// shownRevision is a revision as a report says it: a hash that is a text may say anything, and is left out.
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
func verifyBody(v *table.View, db *freeDatabase, key, row []byte) error {
	id, rev, err := cutRevision(key)
	if err != nil {
		return err
	}
	body, attachments, err := parseBody(row)
	if err != nil {
		return err
	}
	d, err := loadFreeDoc(v.View, db, id)
	if err != nil || d == nil || !d.tree.Find(rev).Held {
		return errors.Join(err, fmt.Errorf("body of %s is no document's", shownRevision(rev)))
	}
	if canonical, err := canonicalDoc(body); err != nil || !bytes.Equal(canonical, body) {
		return fmt.Errorf("body of %s is not canonical", shownRevision(rev))
	}
	for i, a := range attachments {
		b, err := blob(v.View, db, a.SHA256)
		if err != nil || b == nil || b.Blob != a.Blob {
			return errors.Join(err, fmt.Errorf("body of %s: attachment %d has no blob", shownRevision(rev), i+1))
		}
		if row, err := v.Get(table.FreeRefBucket, db.refKey(a.SHA256, id, rev)); err != nil || row == nil {
			return errors.Join(err, fmt.Errorf("body of %s: attachment %d is not noted", shownRevision(rev), i+1))
		}
	}
	return nil
}

// verifyFreeLog checks that a row of the log is its document's latest change.
func verifyFreeLog(v *table.View, db *freeDatabase, seq uint64, id string) error {
	d, err := loadFreeDoc(v.View, db, id)
	if err != nil || d == nil || d.seq != seq {
		return errors.Join(err, fmt.Errorf("row %d is not its document's latest change", seq))
	}
	return nil
}

// verifyBlob checks that a blob's chunks are what its row says.
func verifyBlob(v *table.View, db *freeDatabase, key []byte) error {
	if len(key) != sha256.Size {
		return engine.ErrCorrupt
	}
	b, err := blob(v.View, db, [32]byte(key))
	if err != nil || b == nil {
		return table.OrCorrupt(err)
	}
	sha, md, length := sha256.New(), md5.New(), int64(0)
	err = v.Scan(table.FreeChunkBucket, db.chunksOf(b.upload), nil, func(_, chunk []byte) (bool, error) {
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
func verifyRef(v *table.View, db *freeDatabase, key []byte) error {
	if len(key) < sha256.Size {
		return engine.ErrCorrupt
	}
	sum := [32]byte(key[:sha256.Size])
	id, rev, err := cutRevision(key[sha256.Size:])
	if err != nil {
		return err
	}
	row, err := v.Get(table.FreeBodyBucket, db.bodyKey(id, rev))
	if err != nil {
		return err
	}
	_, attachments, err := parseBody(row)
	if err != nil || !slices.ContainsFunc(attachments, func(a merge.Attachment) bool { return a.SHA256 == sum }) {
		return fmt.Errorf("a blob is noted for %s, which does not have it", shownRevision(rev))
	}
	return nil
}
