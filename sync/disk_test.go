package sync_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/sync"
)

// TestAFullDiskRefusesAPushAsAWhole: a document that is refused alone is skipped for ever by the clients of the protocol.
func TestAFullDiskRefusesAPushAsAWhole(t *testing.T) {
	var left atomic.Int64
	left.Store(1 << 40)
	s := &site{TB: t, store: kvtest.OpenConfig(t, kv.Config{Free: func() (int64, error) { return left.Load(), nil }})}
	server, err := sync.New(sync.Config{Store: s.store, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(server)
	t.Cleanup(srv.Close)
	t.Cleanup(server.Close)
	s.url = srv.URL + "/sync"
	s.auth[0], s.auth[1] = kvtest.Key(t, s.store, "denomination", "*:*")
	if err := s.store.CreateDatabase(kv.Operator(), "notes"); err != nil {
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
			answer
			want int
		}{
			{s.do("POST", "/notes/_bulk_docs", bulk), step.bulk}, {s.do("PUT", doc, `{}`), step.put}, {s.do("PUT", "/notes/_local/mark", `{}`), step.local},
		} {
			if asked.status != asked.want {
				t.Errorf("with %d bytes free = %d, want %d: %s", step.free, asked.status, asked.want, asked.body)
			}
			if asked.status == 507 && (!strings.Contains(asked.body, `"error":"insufficient_storage"`) || asked.header.Get("Retry-After") == "") {
				t.Errorf("refused with %v: %s", asked.header, asked.body)
			}
		}
	}
}
