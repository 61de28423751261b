package kv_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/fault"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

// sunday is the moment at which the tests begin: 19:00 in UTC.
var sunday = time.Date(2026, 11, 22, 19, 0, 0, 0, time.UTC)

// opened opens a store whose clock the test moves.
func opened(t testing.TB) (*kv.Store, *kvtest.Clock) {
	t.Helper()
	clock := kvtest.NewClock(sunday)
	return kvtest.OpenConfig(t, kv.Config{Clock: clock.Now}), clock
}

// reopenable opens a store in a folder that the test closes and opens again.
func reopenable(t testing.TB, c kv.Config) *kv.Store {
	t.Helper()
	s, err := kv.Open(c)
	if err != nil {
		t.Fatalf("open store: %v", err)
	}
	return s
}

func closed(t testing.TB, s *kv.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("close store: %v", err)
	}
}

// folder is where a store makes its own folder.
func folder(t testing.TB) string { return filepath.Join(t.TempDir(), "data") }

// target names a record on the admin surface.
func target(k *record.Kind, id int64) desk.Target {
	return desk.Target{Surface: record.Admin, Kind: k, ID: record.Int(id)}
}

// patched changes a record as the operator and answers the reply.
func patched(t testing.TB, s *kv.Store, k *record.Kind, id int64, body string) entry.Reply {
	t.Helper()
	r, err := s.Desk.Update(auth.Operator(), target(k, id), kvtest.Parse(t, k, body, false))
	if err != nil {
		t.Fatalf("patch %s %d %s: %v", k.Name, id, body, err)
	}
	return r
}

// row is one row of a bulk operation; id 0 = none.
func row(t testing.TB, k *record.Kind, id int64, body string) entry.Row {
	t.Helper()
	r := entry.Row{Kind: k, Patch: kvtest.Parse(t, k, body, false)}
	if id != 0 {
		r.ID = record.Int(id)
	}
	return r
}

// loaded writes rows of which none may be rejected.
func loaded(t testing.TB, s *kv.Store, rows ...entry.Row) {
	t.Helper()
	for part := range slices.Chunk(rows, table.MaxRows) {
		results, err := s.Desk.Upsert(auth.Operator(), part, false)
		if err != nil {
			t.Fatalf("upsert: %v", err)
		}
		for i, r := range results {
			if r.Err != nil {
				t.Fatalf("upsert of %s %d: %v", part[i].Kind.Name, part[i].ID.Int(), r.Err)
			}
		}
	}
}

// member is one member of a JSON object's text, as it stands there; "" for none.
func member(object []byte, name string) string {
	d := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := d.ReadToken(); err != nil {
		return ""
	}
	for d.PeekKind() == '"' {
		key, err := d.ReadToken()
		if err != nil {
			return ""
		}
		is := key.String() == name
		v, err := d.ReadValue()
		if err != nil || is {
			return string(v)
		}
	}
	return ""
}

// pageOf lists a kind as the operator, all of it.
func pageOf(t testing.TB, s *kv.Store, k *record.Kind, where ...desk.Where) desk.Page {
	t.Helper()
	page, err := s.Desk.List(auth.Operator(), desk.Query{Surface: record.Admin, Kind: k, Where: where, Limit: 1 << 20})
	if err != nil {
		t.Fatalf("list %s: %v", k.Name, err)
	}
	return page
}

// healthy wants Verify to find nothing.
func healthy(t testing.TB, s *kv.Store) {
	t.Helper()
	r, err := s.Files.Verify(auth.Operator(), nil)
	if err != nil || r.Damaged != 0 {
		t.Errorf("Verify = %+v, %v, want no damage", r, err)
	}
	if key := kv.UnknownMeta(t, s); key != "" {
		t.Errorf("an opening takes the row %s of meta for damage", key)
	}
}

// exported is all records of a store but its keys, one a line.
func exported(t testing.TB, s *kv.Store) (lines []string) {
	t.Helper()
	for _, k := range record.Kinds() {
		err := s.Log.Export(auth.Operator(), k, func(json []byte) error {
			lines = append(lines, k.Name+" "+string(json))
			return nil
		})
		if err != nil {
			t.Fatalf("export %s: %v", k.Name, err)
		}
	}
	return lines
}

// kindOf names what a method answered.
func kindOf(err error) string {
	var faults fault.ByField
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &faults):
		return "faults"
	case errors.Is(err, table.ErrNotFound):
		return "not found"
	case errors.Is(err, auth.ErrForbidden):
		return "forbidden"
	case errors.Is(err, table.ErrConflict):
		return "conflict"
	}
	return fmt.Sprintf("error %v", err)
}
