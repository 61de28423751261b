package kv_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/docs"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
)

// withQuota opens a store with a free database of a quota, and a key that writes to it.
func withQuota(t testing.TB, quota int64) (*kv.Store, *kvtest.Clock, auth.Principal) {
	t.Helper()
	clock := kvtest.NewClock(sunday)
	s := kvtest.OpenConfig(t, kv.Config{Clock: clock.Now, FreeQuota: quota})
	newNotes(t, s)
	return s, clock, kvtest.Login(t, s, "denomination", "*:*")
}

// sizeOf is how large the database of notes is.
func sizeOf(t testing.TB, s *kv.Store) int64 {
	t.Helper()
	info, err := infoOf(s, auth.Operator(), "notes")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size
}

// fillNotes writes documents by p, each in a write by itself, until one is refused for the quota.
func fillNotes(t testing.TB, s *kv.Store, p auth.Principal, body string) (ids []string) {
	t.Helper()
	for {
		id := fmt.Sprint("doc", len(ids))
		_, err := by(s, p, "notes").Write([]merge.DocWrite{{ID: id, Body: []byte(body)}})
		if errors.Is(err, docs.ErrQuota) {
			return ids
		}
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
}

func TestFreeQuota_EndsWrites(t *testing.T) {
	t.Parallel()
	const quota = 100_000
	s, _, p := withQuota(t, quota)
	db := by(s, p, "notes")
	ids := fillNotes(t, s, p, `{"text":"some words to keep"}`)
	if size := sizeOf(t, s); size > quota || size < quota*9/10 || len(ids) < 100 {
		t.Fatalf("%d documents of %d bytes fit into %d", len(ids), size, quota)
	}
	if !errors.Is(docs.ErrQuota, disk.ErrFull) {
		t.Error("ErrQuota is not a disk.ErrFull: replication would give the documents up")
	}
	for name, write := range map[string]func() error{
		"another revision": func() error {
			return second(db.Write([]merge.DocWrite{{ID: "doc0", Path: chain("ba"), Body: fmt.Appendf(nil, `{"text":"%01000d"}`, 1)}}))
		},
		"many documents": func() error { return second(db.Write([]merge.DocWrite{{ID: "x"}, {ID: "y"}})) },
		"an attachment":  func() error { return second(db.PutBlob(strings.NewReader("some bytes"))) },
	} {
		size := sizeOf(t, s)
		if err := write(); !errors.Is(err, docs.ErrQuota) || sizeOf(t, s) > quota {
			t.Errorf("%s into a full database = %v, and %d bytes more", name, err, sizeOf(t, s)-size)
		}
	}
	for _, id := range ids {
		if _, err := db.Read(id, docs.Ask{}); err != nil {
			t.Fatalf("Read of %s in a full database = %v", id, err)
		}
	}
	// What reads a full database, or gets it into use again.
	if _, err := db.PutLocal("checkpoint", []byte(`{"at":"7"}`), docs.Whatever); err != nil {
		t.Errorf("PutLocal in a full database = %v", err)
	}
	for _, id := range ids[:20] {
		doc, err := db.Read(id, docs.Ask{})
		if err != nil {
			t.Fatal(err)
		}
		results, err := db.Write([]merge.DocWrite{{ID: id, Parent: doc.Revisions[0].Revision, Deleted: true}})
		if err != nil || results[0].Err != nil {
			t.Fatalf("deletion of %s in a full database = %+v, %v", id, results, err)
		}
	}
	if err := db.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Docs.CreateDatabase(auth.Operator(), "other"); err != nil {
		t.Fatal(err)
	}
	if _, err := by(s, p, "other").Write([]merge.DocWrite{{ID: "x"}}); err != nil {
		t.Errorf("Write to another database = %v", err)
	}
	// This store's own replicator brings all, or it would lose some.
	if r := writeFree(t, s, merge.DocWrite{ID: "copied", Path: chain("a"), Body: fmt.Appendf(nil, `{"text":"%0100000d"}`, 1)}); r.Err != nil {
		t.Errorf("the operator's write = %v", r.Err)
	}
	if err := s.Docs.DeleteDatabase(p, "notes"); err != nil {
		t.Fatal(err)
	}
	newNotes(t, s)
	if size := sizeOf(t, s); size != 0 || len(fillNotes(t, s, p, `{}`)) == 0 {
		t.Errorf("a database that was made again has %d bytes", size)
	}
	healthy(t, s)
}

// TestFreeQuota_Reserve: deletions and local documents do not grow without end either.
func TestFreeQuota_Reserve(t *testing.T) {
	t.Parallel()
	const quota = 50_000
	s, _, p := withQuota(t, quota)
	db := by(s, p, "notes")
	for name, write := range map[string]func(i int) error{
		"tombstones": func(i int) error {
			return second(db.Write([]merge.DocWrite{{ID: fmt.Sprint("gone", i), Path: chain("a"), Deleted: true}}))
		},
		"local documents": func(i int) error {
			_, err := db.PutLocal(fmt.Sprint("place", i), []byte(`{"session":"7"}`), docs.Whatever)
			return err
		},
	} {
		for i := 0; ; i++ {
			if err := write(i); errors.Is(err, docs.ErrQuota) {
				break
			} else if err != nil || i > 1_000 {
				t.Fatalf("%s: after %d the write is %v, want the quota", name, i, err)
			}
		}
	}
	if size := sizeOf(t, s); size > quota+quota/16 {
		t.Errorf("the database has %d bytes", size)
	}
	healthy(t, s)
}

// TestFreeQuota_AttachmentThatDoesNotFit: what came of it goes at once, and others may use the room. Bytes that two documents share count once.
func TestFreeQuota_AttachmentThatDoesNotFit(t *testing.T) {
	t.Parallel()
	s, clock, p := withQuota(t, 4<<20)
	db := by(s, p, "notes")
	if _, err := db.PutBlob(strings.NewReader(strings.Repeat("x", 6<<20))); !errors.Is(err, docs.ErrQuota) || sizeOf(t, s) != 0 {
		t.Errorf("PutBlob beyond the quota = %v, and %d bytes are left", err, sizeOf(t, s))
	}
	half := strings.Repeat("y", 3<<20)
	for i := range 3 {
		blob, err := db.PutBlob(strings.NewReader(half))
		if i > 0 && errors.Is(err, docs.ErrQuota) {
			continue // while it comes in, its bytes are there twice
		}
		if err != nil {
			t.Fatal(err)
		}
		w := merge.DocWrite{ID: fmt.Sprint("doc", i), Attachments: []merge.Attachment{{Name: "photo", Blob: blob}}}
		if _, err := db.Write([]merge.DocWrite{w, {ID: "also", Path: chain("a"), Attachments: w.Attachments}}); err != nil {
			t.Fatal(err)
		}
	}
	if size := sizeOf(t, s); size < 3<<20 || size > 3<<20+12_000 {
		t.Errorf("bytes that two documents share count as %d", size)
	}
	for _, id := range []string{"doc0", "also"} {
		doc, err := db.Read(id, docs.Ask{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Write([]merge.DocWrite{{ID: id, Parent: doc.Revisions[0].Revision, Deleted: true}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	clock.Move(2 * time.Hour)
	if _, err := db.Write([]merge.DocWrite{{ID: "later"}}); err != nil || sizeOf(t, s) > 8_000 {
		t.Errorf("Write an hour after the attachments have gone = %v, and %d bytes are left", err, sizeOf(t, s))
	}
	healthy(t, s)
}

// TestFreeQuota_TinyDocuments: documents of two bytes take hundreds in the file, and are charged for those.
func TestFreeQuota_TinyDocuments(t *testing.T) {
	dir := folder(t)
	s := reopenable(t, kv.Config{Dir: dir})
	newNotes(t, s)
	const number = 20_000
	for i := range number / 100 {
		writes := make([]merge.DocWrite, 100)
		for j := range writes {
			writes[j] = merge.DocWrite{ID: fmt.Sprintf("%032x", uint64(i*100+j+1)*0x9e3779b97f4a7c15), Body: []byte(`{}`)}
		}
		if _, err := of(s).Write(writes); err != nil {
			t.Fatal(err)
		}
	}
	charged := sizeOf(t, s)
	closed(t, s)
	var taken int64
	tampered(t, dir, func(tx *bbolt.Tx) error {
		for _, name := range []string{"free_doc", "free_body", "free_log"} {
			st := tx.Bucket([]byte(name)).Stats()
			taken += int64(st.LeafAlloc + st.BranchAlloc)
		}
		return nil
	})
	if taken > charged*5/4 || charged > taken*2 {
		t.Errorf("%d documents take %d bytes of the file, and are charged %d", number, taken, charged)
	}
	s = reopenable(t, kv.Config{Dir: dir})
	if size := sizeOf(t, s); size != charged {
		t.Errorf("after a restart the database has %d bytes, want %d", size, charged)
	}
	closed(t, s)
}

// TestFreeQuota_FileOfFormat6: its databases are measured when they are next written.
func TestFreeQuota_FileOfFormat6(t *testing.T) {
	dir := folder(t)
	s := reopenable(t, kv.Config{Dir: dir})
	newNotes(t, s)
	noted(t, s, "a", `{"n":1}`)
	want := sizeOf(t, s)
	closed(t, s)
	tampered(t, dir, func(tx *bbolt.Tx) error {
		b, key := tx.Bucket([]byte("free")), []byte("notes")
		row := b.Get(key)
		return errors.Join(b.Put(key, sealed(7, key, row[:len(row)-4-2])), putFormat(tx, 6, byte(record.Tables())))
	})
	s = reopenable(t, kv.Config{Dir: dir})
	if size := sizeOf(t, s); size != 0 {
		t.Errorf("a database of format 6 has %d bytes", size)
	}
	healthy(t, s)
	if _, err := of(s).PutLocal("x", []byte(`{}`), docs.Whatever); err != nil {
		t.Fatal(err)
	}
	if size := sizeOf(t, s); size <= want {
		t.Errorf("once it was written it has %d bytes, had %d before", size, want)
	}
	healthy(t, s)
	closed(t, s)
}
