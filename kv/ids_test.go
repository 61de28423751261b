package kv_test

import (
	"testing"

	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// TestIDsNameRecordsThatCanBeRead: what IDs names while records are written can be read at once, and the log has it. The search index compares
// its documents with them, and calls itself damaged where IDs is ahead.
func TestIDsNameRecordsThatCanBeRead(t *testing.T) {
	t.Parallel()
	s, _ := opened(t)
	written := make(chan struct{})
	go func() {
		defer close(written)
		for range 100 {
			if _, err := s.Desk.Create(auth.Operator(), target(record.Person, 0), kvtest.Parse(t, record.Person, `{"full_name":"Ana"}`, true)); err != nil {
				t.Error(err)
			}
		}
	}()
	t.Cleanup(func() { <-written })
	for seen := 0; ; {
		select {
		case <-written:
			return
		default:
		}
		ids, err := s.Desk.IDs(auth.Operator(), record.Person)
		if err != nil {
			t.Fatal(err)
		}
		if len(ids) == seen {
			continue
		}
		seen = len(ids)
		newest := target(record.Person, 0)
		newest.ID = ids[seen-1]
		if _, err := s.Desk.Retrieve(auth.Operator(), newest); err != nil {
			t.Fatalf("person %s is named, and cannot be read: %v", record.Person.FormatID(newest.ID), err)
		}
	}
}
