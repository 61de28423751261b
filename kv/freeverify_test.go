package kv_test

import (
	"bytes"
	"fmt"
	"testing"

	"go.etcd.io/bbolt"

	"doorward/kv/docs"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// The numbers of the buckets (kv/bucket.go), which are in every checksum.
var freeNumbers = map[string]byte{"free": 7, "free_doc": 8, "free_body": 9, "free_log": 10, "free_local": 11, "free_blob": 12, "free_chunk": 13, "free_ref": 14, "free_loose": 15}

// rewritten changes the last row of a bucket and gives it a good checksum.
func rewritten(bucket string, change func(value []byte) []byte) func(*bbolt.Tx) error {
	return func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(bucket))
		key, value := b.Cursor().Last()
		if key == nil {
			return fmt.Errorf("bucket %s is empty", bucket)
		}
		key = bytes.Clone(key)
		return b.Put(key, sealed(freeNumbers[bucket], key, change(bytes.Clone(value[:len(value)-4]))))
	}
}

// emptied deletes the last row of a bucket.
func emptied(bucket string) func(*bbolt.Tx) error {
	return func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(bucket))
		key, _ := b.Cursor().Last()
		if key == nil {
			return fmt.Errorf("bucket %s is empty", bucket)
		}
		return b.Delete(bytes.Clone(key))
	}
}

func bitTurned(at int) func([]byte) []byte {
	return func(value []byte) []byte {
		if at < 0 {
			at += len(value)
		}
		value[at] ^= 1
		return value
	}
}

func TestVerifyNamesWhatIsWrongWithAFreeDatabase(t *testing.T) {
	t.Parallel()
	for _, c := range []harm{
		{"a document is not counted", "counts its documents wrongly", rewritten("free", func(row []byte) []byte { row[len(row)-3]++; return row })},
		{"a deleted document is not counted", "counts its documents wrongly", rewritten("free", func(row []byte) []byte { row[len(row)-2]++; return row })},
		{"a database's sequence is another", "counts its documents wrongly", rewritten("free", bitTurned(-1))},
		{"a database's row is cut short", "bucket free:", rewritten("free", func(row []byte) []byte { return row[:len(row)-1] })},
		{"a document says that it is deleted", "not what its tree says", rewritten("free_doc", bitTurned(8))},
		{"a document's tree is none", "bucket free_doc:", rewritten("free_doc", bitTurned(9))},
		{"a document is missing", "not its document's latest change", emptied("free_doc")},
		{"a document without a row in the log", "no row in the log", emptied("free_log")},
		{"a row of the log names another document", "not its document's latest change", rewritten("free_log", bitTurned(0))},
		{"a body is missing", "lacks the body", emptied("free_body")},
		{"a body of no document", "is no document's", func(tx *bbolt.Tx) error {
			b := tx.Bucket([]byte("free_body"))
			key, value := b.Cursor().Last()
			key = bytes.Clone(key)
			key[len(key)-1] ^= 1
			return b.Put(key, sealed(9, key, value[:len(value)-4]))
		}},
		{"a body is not canonical", "not canonical", rewritten("free_body", func(row []byte) []byte { return append(row, ' ') })},
		{"a blob is missing", "has no blob", emptied("free_blob")},
		{"a blob's length is another", "not what its blob says", rewritten("free_blob", bitTurned(1))},
		{"a chunk is missing", "not what its blob says", emptied("free_chunk")},
		{"a chunk is another", "not what its blob says", rewritten("free_chunk", bitTurned(0))},
		{"an attachment is not noted", "is not noted", emptied("free_ref")},
		{"an attachment is noted where there is none", "does not have it", func(tx *bbolt.Tx) error {
			b := tx.Bucket([]byte("free_ref"))
			key, _ := b.Cursor().Last()
			key = bytes.Clone(key)
			key[5] ^= 1
			return b.Put(key, sealed(14, key, nil))
		}},
		{"a local document's bit is turned", "bucket free_local: a value fails", func(tx *bbolt.Tx) error { return flipWhere(tx, "free_local") }},
		{"a loose blob's bit is turned", "bucket free_loose: a value fails", func(tx *bbolt.Tx) error { return flipWhere(tx, "free_loose") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folder(t)
			s := reopenable(t, table.Config{Dir: dir})
			newNotes(t, s)
			blob := stored(t, s, "content of the attachment")
			if r := writeFree(t, s, merge.DocWrite{ID: "LULU", Deleted: true}); r.Err != nil {
				t.Fatal(r.Err)
			}
			named := merge.DocWrite{ID: "zLULU", Path: []rev.ID{{Generation: 1, Text: "of Ana"}}, Body: []byte(`{"who":"Ana"}`), Attachments: []merge.Attachment{{Name: "Ana", Blob: blob}}}
			if r := writeFree(t, s, named); r.Err != nil {
				t.Fatal(r.Err)
			}
			if _, err := of(s).PutLocal("LULU", []byte(`{"who":"Ana"}`), docs.Whatever); err != nil {
				t.Fatal(err)
			}
			c.wantFound(t, s, dir, "Ana", "LULU", "notes")
		})
	}
}
