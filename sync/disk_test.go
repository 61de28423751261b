package sync_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/kvtest"
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
