package docs

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"time"

	"doorward/kv/engine"
	"doorward/kv/keys"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// A blob lies in chunks; an operation of an upload writes some of them. A blob that no revision needs goes after a while, since
// the document that will need it comes after the upload.
const (
	blobChunk    = 64 << 10
	uploadChunks = 16
	looseKept    = time.Hour
	looseSweep   = 256 // chunks that one operation removes
)

// storedBlob is a blob's row: upload uv, length uv, MD5 16, time 8.
type storedBlob struct {
	merge.Blob
	upload uint64 // what its chunks are called by
	at     int64  // when it was uploaded, or last became loose
}

func blob(r *engine.View, db *freeDatabase, sum [32]byte) (*storedBlob, error) {
	row, err := r.Get(table.FreeBlobBucket, db.key(string(sum[:])))
	if err != nil || row == nil {
		return nil, err
	}
	c := table.Cutter{Rest: row}
	b := &storedBlob{Blob: merge.Blob{SHA256: sum}, upload: c.Uvarint()}
	b.Length = int64(c.Uvarint())
	copy(b.MD5[:], c.Bytes(16))
	if b.at = int64(c.Uint64()); c.Short {
		return nil, engine.ErrCorrupt
	}
	return b, nil
}

func putBlob(w *engine.Tx, db *freeDatabase, b *storedBlob) {
	row := binary.AppendUvarint(binary.AppendUvarint(nil, b.upload), uint64(b.Length))
	w.Put(table.FreeBlobBucket, db.key(string(b.SHA256[:])), binary.BigEndian.AppendUint64(append(row, b.MD5[:]...), uint64(b.at)))
}

func (db *freeDatabase) refKey(sum [32]byte, id string, rev rev.ID) []byte {
	return table.AppendRevision(db.key(string(sum[:]), id, "\x00"), rev)
}

func (db *freeDatabase) chunksOf(upload uint64) []byte { return binary.AppendUvarint(db.key(), upload) }

func (db *freeDatabase) chunkKey(upload, n uint64) []byte {
	return binary.BigEndian.AppendUint64(db.chunksOf(upload), n)
}

func (db *freeDatabase) looseKey(at int64, upload uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(db.key(), uint64(at)), upload)
}

// upload is bytes on their way in.
type upload struct {
	number   uint64 // 0: nothing is written yet
	at       int64
	chunks   uint64
	length   int64
	sha, md5 hash.Hash
}

// upload writes a part of an upload; the last one makes it a blob.
func (db *freeDatabase) upload(o *table.Tx, up *upload, part []byte, last bool) (merge.Blob, error) {
	if err := begin(o, db, up); err != nil {
		return merge.Blob{}, err
	}
	for len(part) > 0 {
		n := min(len(part), blobChunk)
		o.Put(table.FreeChunkBucket, db.chunkKey(up.number, up.chunks), part[:n])
		up.chunks, up.length, part = up.chunks+1, up.length+int64(n), part[n:]
	}
	if !last {
		return merge.Blob{}, nil
	}
	b := &storedBlob{Blob: merge.Blob{SHA256: [32]byte(up.sha.Sum(nil)), MD5: [16]byte(up.md5.Sum(nil)), Length: up.length}, upload: up.number, at: up.at}
	known, err := blob(o.View.View, db, b.SHA256)
	if err != nil {
		return merge.Blob{}, err
	}
	if known == nil {
		putBlob(o.Tx, db, b)
		o.Put(table.FreeLooseBucket, db.looseKey(b.at, b.upload), b.SHA256[:])
		return b.Blob, sweepLoose(o, db)
	}
	for n := range up.chunks {
		o.Delete(table.FreeChunkBucket, db.chunkKey(up.number, n))
	}
	o.Delete(table.FreeLooseBucket, db.looseKey(up.at, up.number))
	setLoose(o, db, known)
	return known.Blob, sweepLoose(o, db)
}

// begin gives an upload its number, or sees that what it has written is still there: another database of the same name does not
// have it.
func begin(o *table.Tx, db *freeDatabase, up *upload) error {
	if up.number != 0 {
		row, err := o.Get(table.FreeLooseBucket, db.looseKey(up.at, up.number))
		if err == nil && row == nil {
			err = table.ErrNotFound
		}
		return err
	}
	seq, last, err := table.FreeCounters(o.View.View)
	if err != nil {
		return err
	}
	up.number, up.at = last+1, o.Stamp
	table.PutFreeCounters(o.Tx, seq, last+1)
	o.Put(table.FreeLooseBucket, db.looseKey(up.at, up.number), nil)
	return nil
}

// loosen notes that a blob may go, if nothing needs it.
func loosen(o *table.Tx, db *freeDatabase, sum [32]byte) error {
	needed, err := table.FirstKeys(o.View.View, table.FreeRefBucket, db.key(string(sum[:])), 1)
	if err != nil || len(needed) > 0 {
		return err
	}
	b, err := blob(o.View.View, db, sum)
	if err == nil && b != nil {
		setLoose(o, db, b)
	}
	return err
}

func setLoose(o *table.Tx, db *freeDatabase, b *storedBlob) {
	b.at = o.Stamp
	putBlob(o.Tx, db, b)
	o.Put(table.FreeLooseBucket, db.looseKey(b.at, b.upload), b.SHA256[:])
}

// sweepLoose removes some of what has been loose for long: the first of the database's uploads and blobs.
func sweepLoose(o *table.Tx, db *freeDatabase) error {
	keys, err := table.FirstKeys(o.View.View, table.FreeLooseBucket, db.key(), 1)
	if err != nil || len(keys) == 0 {
		return err
	}
	c := table.Cutter{Rest: keys[0][len(db.key()):]}
	at, number := int64(c.Uint64()), c.Uint64()
	if o.Stamp-at < looseKept.Microseconds() {
		return nil
	}
	sum, err := o.Get(table.FreeLooseBucket, keys[0])
	if err != nil {
		return err
	}
	if len(sum) == sha256.Size {
		gone, err := forgetBlob(o, db, [32]byte(sum), at)
		if err != nil || !gone {
			o.Delete(table.FreeLooseBucket, keys[0])
			return err
		}
		o.Put(table.FreeLooseBucket, keys[0], nil) // what is left are chunks, as of an upload that was given up
	}
	return sweepChunks(o, db, keys[0], number)
}

// forgetBlob removes a blob's row, unless a revision needs it or it has become loose again later.
func forgetBlob(o *table.Tx, db *freeDatabase, sum [32]byte, at int64) (gone bool, err error) {
	b, err := blob(o.View.View, db, sum)
	if err != nil || b == nil || b.at != at {
		return false, err
	}
	needed, err := table.FirstKeys(o.View.View, table.FreeRefBucket, db.key(string(sum[:])), 1)
	if err != nil || len(needed) > 0 {
		return false, err
	}
	o.Delete(table.FreeBlobBucket, db.key(string(sum[:])))
	return true, nil
}

func sweepChunks(o *table.Tx, db *freeDatabase, loose []byte, number uint64) error {
	chunks, err := table.FirstKeys(o.View.View, table.FreeChunkBucket, db.chunksOf(number), looseSweep)
	if err != nil {
		return err
	}
	for _, key := range chunks {
		o.Delete(table.FreeChunkBucket, key)
	}
	if len(chunks) < looseSweep {
		o.Delete(table.FreeLooseBucket, loose)
	}
	return nil
}

// chunk is the nth part of a blob.
func (db *freeDatabase) chunk(v *table.View, sum [32]byte, n uint64) (part []byte, more bool, err error) {
	b, err := blob(v.View, db, sum)
	if err != nil || b == nil {
		return nil, false, keys.OrNotFound(err)
	}
	if b.Length == 0 {
		return nil, false, nil
	}
	row, err := v.Get(table.FreeChunkBucket, db.chunkKey(b.upload, n))
	if err != nil || row == nil {
		return nil, false, keys.OrNotFound(err)
	}
	return bytes.Clone(row), int64(n+1)*blobChunk < b.Length, nil
}
