package docs

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"time"

	"doorward/kv/engine"
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

// blobs are the attachments' bytes of a database. All their keys begin with a prefix.
type blobs struct{ prefix []byte }

func (bs blobs) key(parts ...string) []byte {
	key := bytes.Clone(bs.prefix)
	for _, part := range parts {
		key = append(key, part...)
	}
	return key
}

// storedBlob is a blob's row: upload uv, length uv, MD5 16, time 8.
type storedBlob struct {
	merge.Blob
	upload uint64 // what its chunks are called by
	at     int64  // when it was uploaded, or last became loose
}

func (bs blobs) find(r *engine.View, sum [32]byte) (*storedBlob, error) {
	row, err := r.Get(table.FreeBlobBucket, bs.key(string(sum[:])))
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

func (bs blobs) put(w *engine.Tx, b *storedBlob) {
	row := binary.AppendUvarint(binary.AppendUvarint(nil, b.upload), uint64(b.Length))
	w.Put(table.FreeBlobBucket, bs.key(string(b.SHA256[:])), binary.BigEndian.AppendUint64(append(row, b.MD5[:]...), uint64(b.at)))
}

func (bs blobs) refKey(sum [32]byte, id string, rev rev.ID) []byte {
	return table.AppendRevision(bs.key(string(sum[:]), id, "\x00"), rev)
}

func (bs blobs) chunksOf(upload uint64) []byte { return binary.AppendUvarint(bs.key(), upload) }

func (bs blobs) chunkKey(upload, n uint64) []byte {
	return binary.BigEndian.AppendUint64(bs.chunksOf(upload), n)
}

func (bs blobs) looseKey(at int64, upload uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(bs.key(), uint64(at)), upload)
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
func (bs blobs) upload(o *table.Tx, up *upload, part []byte, last bool) (merge.Blob, error) {
	if err := bs.begin(o, up); err != nil {
		return merge.Blob{}, err
	}
	for len(part) > 0 {
		n := min(len(part), blobChunk)
		o.Put(table.FreeChunkBucket, bs.chunkKey(up.number, up.chunks), part[:n])
		up.chunks, up.length, part = up.chunks+1, up.length+int64(n), part[n:]
	}
	if !last {
		return merge.Blob{}, nil
	}
	b := &storedBlob{Blob: merge.Blob{SHA256: [32]byte(up.sha.Sum(nil)), MD5: [16]byte(up.md5.Sum(nil)), Length: up.length}, upload: up.number, at: up.at}
	known, err := bs.find(o.View.View, b.SHA256)
	if err != nil {
		return merge.Blob{}, err
	}
	if known == nil {
		bs.put(o.Tx, b)
		o.Put(table.FreeLooseBucket, bs.looseKey(b.at, b.upload), b.SHA256[:])
		return b.Blob, bs.sweepLoose(o)
	}
	for n := range up.chunks {
		o.Delete(table.FreeChunkBucket, bs.chunkKey(up.number, n))
	}
	o.Delete(table.FreeLooseBucket, bs.looseKey(up.at, up.number))
	bs.setLoose(o, known)
	return known.Blob, bs.sweepLoose(o)
}

// begin gives an upload its number, or checks that its earlier parts are still there: a database that was deleted and made
// again does not have them.
func (bs blobs) begin(o *table.Tx, up *upload) error {
	if up.number != 0 {
		row, err := o.Get(table.FreeLooseBucket, bs.looseKey(up.at, up.number))
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
	o.Put(table.FreeLooseBucket, bs.looseKey(up.at, up.number), nil)
	return nil
}

// loosen notes that a blob may be removed, if no revision needs it.
func (bs blobs) loosen(o *table.Tx, sum [32]byte) error {
	needed, err := table.FirstKeys(o.View.View, table.FreeRefBucket, bs.key(string(sum[:])), 1)
	if err != nil || len(needed) > 0 {
		return err
	}
	b, err := bs.find(o.View.View, sum)
	if err == nil && b != nil {
		bs.setLoose(o, b)
	}
	return err
}

func (bs blobs) setLoose(o *table.Tx, b *storedBlob) {
	b.at = o.Stamp
	bs.put(o.Tx, b)
	o.Put(table.FreeLooseBucket, bs.looseKey(b.at, b.upload), b.SHA256[:])
}

// sweepLoose removes some of what has been loose for long: the first of the database's uploads and blobs.
func (bs blobs) sweepLoose(o *table.Tx) error {
	keys, err := table.FirstKeys(o.View.View, table.FreeLooseBucket, bs.key(), 1)
	if err != nil || len(keys) == 0 {
		return err
	}
	c := table.Cutter{Rest: keys[0][len(bs.key()):]}
	at, number := int64(c.Uint64()), c.Uint64()
	if o.Stamp-at < looseKept.Microseconds() {
		return nil
	}
	sum, err := o.Get(table.FreeLooseBucket, keys[0])
	if err != nil {
		return err
	}
	if len(sum) == sha256.Size {
		gone, err := bs.forget(o, [32]byte(sum), at)
		if err != nil || !gone {
			o.Delete(table.FreeLooseBucket, keys[0])
			return err
		}
		o.Put(table.FreeLooseBucket, keys[0], nil) // what is left are chunks, as of an upload that was given up
	}
	_, err = bs.sweepChunks(o, keys[0], number)
	return err
}

// forget removes a blob's row, unless a revision needs it or it has become loose again later.
func (bs blobs) forget(o *table.Tx, sum [32]byte, at int64) (gone bool, err error) {
	b, err := bs.find(o.View.View, sum)
	if err != nil || b == nil || b.at != at {
		return false, err
	}
	needed, err := table.FirstKeys(o.View.View, table.FreeRefBucket, bs.key(string(sum[:])), 1)
	if err != nil || len(needed) > 0 {
		return false, err
	}
	o.Delete(table.FreeBlobBucket, bs.key(string(sum[:])))
	return true, nil
}

// sweepChunks removes some chunks of an upload, and the loose row with the last of them. It reports whether more are left.
func (bs blobs) sweepChunks(o *table.Tx, loose []byte, number uint64) (more bool, err error) {
	chunks, err := table.FirstKeys(o.View.View, table.FreeChunkBucket, bs.chunksOf(number), looseSweep)
	if err != nil {
		return false, err
	}
	for _, key := range chunks {
		o.Delete(table.FreeChunkBucket, key)
	}
	if more = len(chunks) == looseSweep; !more {
		o.Delete(table.FreeLooseBucket, loose)
	}
	return more, nil
}

// chunk is the nth part of a blob.
func (bs blobs) chunk(v *table.View, sum [32]byte, n uint64) (part []byte, more bool, err error) {
	b, err := bs.find(v.View, sum)
	if err != nil || b == nil {
		return nil, false, table.OrNotFound(err)
	}
	if b.Length == 0 {
		return nil, false, nil
	}
	row, err := v.Get(table.FreeChunkBucket, bs.chunkKey(b.upload, n))
	if err != nil || row == nil {
		return nil, false, table.OrNotFound(err)
	}
	return bytes.Clone(row), int64(n+1)*blobChunk < b.Length, nil
}
