package index_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/search"
)

// list holds a list that asks the index against one that looks at every record.
func (w *world) list(readers []auth.Principal) {
	text := w.query()
	w.Logf("query %q", text)
	q := desk.Query{Surface: record.V1, Kind: record.Person, Offset: rapid.IntRange(0, 3).Draw(w.T, "offset"), Limit: rapid.IntRange(0, 30).Draw(w.T, "limit")}
	switch rapid.IntRange(0, 2).Draw(w.T, "mode") {
	case 0:
		q.Search = search.Parse(text)
	case 1:
		q.Search = search.Parse(text).Fuzzy()
	default:
		q.Ranked = search.ParseRanked(text)
	}
	if rapid.Bool().Draw(w.T, "filtered") {
		q.Where = append(q.Where, desk.Where{Field: "church_id", In: []any{rapid.SampledFrom(w.churches[:2]).Draw(w.T, "church")}})
	}
	if rapid.IntRange(0, 3).Draw(w.T, "led") == 0 {
		q.Where = append(q.Where, desk.Where{Field: "is_leader", In: []any{false}})
	}
	p := rapid.SampledFrom(readers).Draw(w.T, "reader")
	want, wantErr := w.store.Desk.List(p, q)
	q.Finder = w.index
	got, err := w.store.Desk.List(p, q)
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		w.Fatalf("List = %v, without the index %v", err, wantErr)
	}
	if got.Count != want.Count || fmt.Sprint(got.IDs) != fmt.Sprint(want.IDs) || string(got.Results) != string(want.Results) {
		w.Fatalf("List = %d: %v, without the index %d: %v", got.Count, got.IDs, want.Count, want.IDs)
	}
}

// readers are keys of each level, and the operator.
func (w *world) readers() []auth.Principal {
	out := []auth.Principal{auth.Operator()}
	for _, level := range []string{"denomination", fmt.Sprintf("church:%d", w.churches[0]), fmt.Sprintf("church:%d,%d", w.churches[0], w.churches[1])} {
		out = append(out, kvtest.Login(w.tb, w.store, level))
	}
	return out
}

func TestSearchesFindTheSameWithTheIndexAsWithoutIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, t)
		defer func() { w.close() }()
		for range rapid.IntRange(1, 5).Draw(rt, "rounds") {
			for range rapid.IntRange(0, 15).Draw(rt, "changes") {
				w.change()
			}
			w.then()
			readers := w.readers()
			for range 20 {
				w.list(readers)
			}
		}
	})
}
