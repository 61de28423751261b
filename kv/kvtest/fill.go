package kvtest

import (
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Fill writes n records of a kind as an import does, one batch after the other. The store gives ids in the order of i, so a seed makes the
// same records each time. body is the JSON of each.
func Fill(t testing.TB, s *kv.Store, k *record.Kind, n int, body func(i int) string) {
	t.Helper()
	for from := 0; from < n; from += table.MaxRows {
		rows := make([]entry.Row, 0, table.MaxRows)
		for i := from; i < min(n, from+table.MaxRows); i++ {
			rows = append(rows, entry.Row{Kind: k, Patch: Parse(t, k, body(i), true)})
		}
		results, err := s.Desk.Upsert(auth.Operator(), rows, false)
		if err != nil {
			t.Error(err)
		}
		for _, r := range results {
			if r.Fate != desk.Created {
				t.Errorf("a row of %s is %s: %v", k.Name, r.Fate, r.Err)
			}
		}
	}
}
