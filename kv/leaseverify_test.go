package kv_test

import (
	"bytes"
	"testing"

	"go.etcd.io/bbolt"

	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/table"
)

// replicaNumbers are the numbers of the buckets (kv/bucket.go), which are in every checksum.
var replicaNumbers = map[string]byte{"lease": 20, "opaque": 21, "opaque_body": 22, "twin": 24}

func TestVerifyNamesWhatIsWrongBesideRecords(t *testing.T) {
	t.Parallel()
	put := func(bucket string, key, value []byte) func(*bbolt.Tx) error {
		return func(tx *bbolt.Tx) error {
			return tx.Bucket([]byte(bucket)).Put(key, sealed(replicaNumbers[bucket], key, value))
		}
	}
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	person := record.Person.Number
	change := func(bucket string, change func([]byte) []byte) func(*bbolt.Tx) error {
		return func(tx *bbolt.Tx) error {
			key, value := tx.Bucket([]byte(bucket)).Cursor().First()
			key = bytes.Clone(key)
			return put(bucket, key, change(bytes.Clone(value[:len(value)-4])))(tx)
		}
	}
	for _, c := range []harm{
		{"two leases overlap", "overlap", put("lease", join([]byte{'g', person}, key8(5)), join(key8(9), []byte{1}))},
		{"a lease ends before it begins", "from 90 to 9", put("lease", join([]byte{'g', person}, key8(90)), join(key8(9), []byte{1}))},
		{"a lease of ids that are drawn", "a lease of person ids", put("lease", join([]byte{'g', person}, key8(90)), join(key8(record.FirstDrawn), []byte{1}))},
		{"a lease of ids that are minted here", "are minted here", put("lease", join([]byte{'g', person}, key8(1_000)), join(key8(1_009), []byte{1}))},
		{"a lease of nobody's", "nobody is known", put("lease", join([]byte{'g', person}, key8(90)), key8(91))},
		{"a lease of a kind that is not leased", "of kind 21", put("lease", join([]byte{'g', 21}, key8(1)), join(key8(9), []byte{1}))},
		{"a lease of neither side", "bucket lease:", put("lease", join([]byte{'x', person}, key8(90)), join(key8(91), []byte{1}))},
		{"a lease that is used up", "nothing is left", put("lease", join([]byte{'t', person}, key8(90)), join(key8(91), key8(92)))},
		{"a lease that was never taken", "beyond the last", put("lease", join([]byte{'t', person}, key8(90)), join(key8(91), key8(90)))},
		{"an opaque document without its body", "lacks the body", emptied("opaque_body")},
		{"an opaque body without its document", "that is not there", emptied("opaque")},
		{"an opaque document that says it is deleted", "has no row in the log", change("opaque", func(row []byte) []byte { row[8] ^= 1; return row })},
		{"an opaque document's row in the log is missing", "has no row in the log", func(tx *bbolt.Tx) error {
			b := tx.Bucket([]byte("scope_log"))
			key, _ := at(b, true, is(0))
			return b.Delete(key)
		}},
		{"a merged record that was never there", "leads to person 99", put("twin", join([]byte{'i', person}, key8(1), key8(99)), nil)},
		{"a row about a merged record that is cut short", "bucket twin:", put("twin", join([]byte{'k', person}, key8(99)), nil)},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folder(t)
			s := reopenable(t, table.Config{Dir: dir})
			kvtest.Create(t, s, record.Church, `{"name":"A"}`)
			p := enrolled(t, s, "church:1", auth.Venue{})
			for range 2 {
				if _, err := s.Venues.Lease(p, record.Person, 10, s.Tables.Epoch()); err != nil {
					t.Fatal(err)
				}
			}
			for i, doc := range []string{drawnDoc(record.Person, 1), drawnDoc(record.Person, 2), "psalm:0000000000000001"} {
				w := merge.DocWrite{ID: doc, Path: chain("abc"[i : i+1]), Body: []byte(`{"full_name":"Ana","church_id":1,"external_id":"Ana"}`)}
				if err := push(t, opens(t, s, p, "church-1"), w); err != nil {
					t.Fatal(err)
				}
			}
			c.wantFound(t, s, dir, "Ana", "psalm")
		})
	}
}
