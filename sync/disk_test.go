package sync_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/sync"
	"doorward/sync/peertest"
)

// TestAFullDiskRefusesAPushAsAWhole: a document that is refused alone is skipped for ever by the clients of the protocol.
func TestAFullDiskRefusesAPushAsAWhole(t *testing.T) {
	var left atomic.Int64
	left.Store(1 << 40)
	s := &peertest.Site{TB: t, Store: kvtest.OpenConfig(t, table.Config{Free: func() (int64, error) { return left.Load(), nil }})}
	server, err := sync.New(sync.Config{Store: s.Store, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(server)
	t.Cleanup(srv.Close)
	t.Cleanup(server.Close)
	s.URL = srv.URL + "/sync"
	s.Auth[0], s.Auth[1] = kvtest.Key(t, s.Store, "denomination", "*:*")
	if err := s.Store.Docs.CreateDatabase(auth.Operator(), "notes"); err != nil {
		t.Fatal(err)
	}
	bulk := `{"new_edits":false,"docs":[{"_id":"a","_rev":"1-0000000000000000000000000000000a"},{"_id":"b","_rev":"1-0000000000000000000000000000000b"}]}`
	for i, step := range []struct {
		free             int64
		bulk, put, local int
	}{
		{1 << 30, 201, 201, 201}, {1<<30 - 1, 507, 201, 201}, {256<<20 - 1, 507, 507, 201}, {1, 507, 507, 507}, {1 << 30, 201, 201, 201},
	} {
		left.Store(step.free)
		doc := fmt.Sprintf("/notes/d%d", i)
		for _, asked := range []struct {
			peertest.Answer
			want int
		}{
			{s.Do("POST", "/notes/_bulk_docs", bulk), step.bulk}, {s.Do("PUT", doc, `{}`), step.put}, {s.Do("PUT", "/notes/_local/mark", `{}`), step.local},
		} {
			if asked.Status != asked.want {
				t.Errorf("with %d bytes free = %d, want %d: %s", step.free, asked.Status, asked.want, asked.Body)
			}
			if asked.Status == 507 && (!strings.Contains(asked.Body, `"error":"insufficient_storage"`) || asked.Header.Get("Retry-After") == "") {
				t.Errorf("refused with %v: %s", asked.Header, asked.Body)
			}
		}
	}
}

// TestADamagedRecordIsNoFaultOfThePush: the store cannot read what it has of the document. That is the answer to the whole push: nobody is
// told to skip the document.
func TestADamagedRecordIsNoFaultOfThePush(t *testing.T) {
	dir := t.TempDir()
	store, err := kv.Open(kv.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	kvtest.Create(t, store, record.Church, `{"name":"Church"}`)
	id := kvtest.Create(t, store, record.Person, `{"full_name":"Ana Souza","church_id":1}`)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	kvtest.Damage(t, dir, record.Person, id)
	server, err := sync.New(sync.Config{Store: kvtest.OpenConfig(t, kv.Config{Dir: dir})})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(server.Control())
	t.Cleanup(srv.Close)
	t.Cleanup(server.Close)
	s, hash := &peertest.Site{TB: t, URL: srv.URL + "/sync"}, strings.Repeat("0a", 16)
	doc := fmt.Sprintf(`{"_id":%q,"_rev":"2-%s","full_name":"Eva","church_id":1,"_revisions":{"start":2,"ids":[%q,%q]}}`, record.Person.DocID(record.Int(id)), hash, hash, hash)
	if a := s.Do("POST", "/church-1/_bulk_docs", `{"new_edits":false,"docs":[`+doc+`]}`); a.Status != 500 {
		t.Errorf("a push of a document over a damaged one = %d %s, want 500", a.Status, a.Body)
	}
}
