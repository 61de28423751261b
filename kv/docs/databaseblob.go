package docs

import (
	"crypto/md5"
	"crypto/sha256"
	"errors"
	"io"

	"doorward/kv/crash"
	"doorward/kv/disk"
	"doorward/kv/merge"
	"doorward/kv/table"
)

// PutBlob stores the bytes of an attachment. A document must name them within the hour. It stores them in several operations,
// so that they are never in memory as a whole. It returns ErrNotFound, *Forbidden, or the error of reading the bytes.
func (db *Database) PutBlob(content io.Reader) (merge.Blob, error) {
	if _, err := db.judge(); err != nil {
		return merge.Blob{}, err
	}
	up := &upload{sha: sha256.New(), md5: md5.New()}
	content = io.TeeReader(content, io.MultiWriter(up.sha, up.md5))
	part := make([]byte, blobChunk) // most are small
	for {
		if err := db.store.tables.Folder.Room.Check(disk.Imports); err != nil {
			return merge.Blob{}, err
		}
		n, last, err := fill(content, part)
		if err != nil {
			return merge.Blob{}, err
		}
		var b merge.Blob
		err = db.store.tables.Do(func(o *table.Tx) error {
			docs, err := openDocuments(o.View, db.name)
			if err == nil {
				b, err = docs.upload(o, up, part[:n], last)
			}
			return err
		})
		if err != nil {
			return b, err
		}
		if last {
			crash.At(crash.AfterBlob)
			return b, nil
		}
		crash.At(crash.AfterChunk)
		if len(part) == blobChunk {
			part = make([]byte, uploadChunks*blobChunk)
		}
	}
}

// fill reads as much as there is room for; last tells that the content ends there. Of content that breaks off nothing is taken:
// io.ReadFull would not tell the two apart.
func fill(content io.Reader, part []byte) (n int, last bool, err error) {
	for n < len(part) && err == nil {
		var more int
		more, err = content.Read(part[n:])
		n += more
	}
	if errors.Is(err, io.EOF) {
		return n, true, nil
	}
	return n, false, err
}

// Blob writes a blob's bytes to w. No transaction is held while w takes them. It returns ErrNotFound, also if the blob is
// deleted before all its bytes are written.
func (db *Database) Blob(sum [32]byte, w io.Writer) error {
	for n, more := uint64(0), true; more; n++ {
		var part []byte
		err := db.view(func(v *table.View, docs documents) (err error) {
			part, more, err = docs.chunk(v, sum, n)
			return err
		})
		if err != nil {
			return err
		}
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}
