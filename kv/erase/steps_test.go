package erase_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/engine"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

// cleared names the step of the erasure that clears a bucket of a person (doc.go).
var cleared = map[string]string{
	"kind:person": "records", "kind:membership": "records", "kind:holder_name": "records", "kind:holder": "records", "kind:holder_label": "records",
	"body": "records", "lookup": "records", "tree": "records", // with the records that they are of
	"kind:conflict": "mentions", "kind:refusal": "mentions", "once": "mentions", "once_expiry": "mentions",
	"kind:ticket": "records", // its holding becomes null
}

// impersonal says why a bucket needs no step.
var impersonal = map[string]string{
	"meta": "names of this store, counters and sequences", "log": "ids and revisions", "scope_log": "ids and revisions", "left": "ids", "lease": "ranges of ids",
	"code": "hashes of codes and ids of tickets", "admission": "hashes and ids", "erased": "keyed hashes", "reads": "how many records a key has read", "twin": "keyed hashes and ids",
	"mirror": "hashes of what was pulled, and its source",
	"free":   "names of free databases", "free_doc": "free documents are not records", "free_body": "free documents are not records", "free_log": "free documents are not records",
	"free_local": "checkpoints", "free_blob": "free documents are not records", "free_chunk": "free documents are not records", "free_ref": "free documents are not records",
	"free_loose": "free documents are not records", "opaque": "documents of unknown kinds; the version that knows the kind erases them", "opaque_body": "as opaque",
	"kind:ticket_code": "the code stays valid and names no person", "kind:checkin": "ids of the ticket and the holding", "kind:undo": "ids, and the words of the door",
	"kind:erasure": "keyed hashes",
	"kind:church":  "of the congregation", "kind:regional": "of the congregation", "kind:event": "of the congregation", "kind:group": "of the congregation", "kind:role": "of the congregation",
	"kind:category": "of the congregation", "kind:subcategory": "of the congregation", "kind:scan": "ids, the door and the outcome of an attempt", "kind:cost_center": "of the congregation", "kind:business_unit": "of the congregation", "kind:financial_account": "of the congregation",
	"kind:financial_entry": "of the congregation", "kind:supplier": "of the congregation", "kind:api_key": "of the staff", "kind:node": "of the laptops",
}

// TestEveryBucketIsNamedByAStep walks the list of all buckets: a new one is named by a step of the erasure, or with the reason why it
// needs none.
func TestEveryBucketIsNamedByAStep(t *testing.T) {
	all := map[string]bool{}
	for _, def := range table.Schema {
		if def.Name == "" {
			continue
		}
		all[def.Name] = true
		if (cleared[def.Name] == "") == (impersonal[def.Name] == "") {
			t.Errorf("bucket %q is to be named by a step of the erasure, or by the reason why it holds nothing personal", def.Name)
		}
	}
	for _, list := range []map[string]string{cleared, impersonal} {
		for name := range list {
			if !all[name] {
				t.Errorf("there is no bucket %q", name)
			}
		}
	}
	for _, k := range record.Kinds() {
		if name := "kind:" + k.Name; k.OfHolding() && cleared[name] == "" {
			t.Errorf("kind %s is a record of a holding, and no step clears it", k.Name)
		}
	}
}

var words = []string{"zacarias", "zulmira", "zaca@example.org", "5511987654321", "ztreet"}

// bucketsWith lists the buckets with a row that has one of the words.
func bucketsWith(t *testing.T, s *kv.Store) (found []string) {
	t.Helper()
	err := s.Tables.View(func(v *table.View) error {
		for b, def := range table.Schema {
			if def.Name == "" {
				continue
			}
			err := v.Scan(engine.Bucket(b), nil, nil, func(key, row []byte) (bool, error) {
				text := bytes.ToLower(slices.Concat(key, row))
				if slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(text, []byte(w)) }) && !slices.Contains(found, def.Name) {
					found = append(found, def.Name)
				}
				return true, nil
			})
			if err != nil {
				return fmt.Errorf("%s: %w", def.Name, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestAStepClearsEachBucketThatNamesThePerson: what a store really holds of a person lies in buckets of the list, and is gone from all
// buckets after the erasure.
func TestAStepClearsEachBucketThatNamesThePerson(t *testing.T) {
	s := kvtest.Open(t)
	kvtest.Create(t, s, record.Church, `{"name":"Church"}`)
	kvtest.Create(t, s, record.Event, `{"name":"Camp","start_datetime":"2026-11-22T19:00:00Z","church_id":1}`)
	group := kvtest.Create(t, s, record.Group, `{"name":"Choir","church_id":1}`)
	person := kvtest.Create(t, s, record.Person, `{"full_name":"Zulmira First","email":"zaca@example.org","location":{"street":"Ztreet 9"},"church_id":1}`)
	kvtest.Create(t, s, record.Membership, fmt.Sprintf(`{"person":%d,"group_id":%d}`, person, group))
	ticket := kvtest.Create(t, s, record.Ticket, fmt.Sprintf(`{"event_id":1,"code":"KEEP","holder_name":"Zacarias Quintela","email":"zaca@example.org","phone":"+5511987654321","person_id":%d}`, person))
	for _, edit := range []struct {
		kind *record.Kind
		id   int64
		body string
	}{{record.Person, person, `{"full_name":"Zacarias Last"}`}, {record.Ticket, ticket, `{"holder_name":"Zulmira Quintela"}`}} {
		at := desk.Target{Surface: record.Admin, Kind: edit.kind, ID: record.Int(edit.id)}
		if _, err := s.Desk.Update(auth.Operator(), at, kvtest.Parse(t, edit.kind, edit.body, false)); err != nil {
			t.Fatal(err)
		}
	}
	before := bucketsWith(t, s)
	for _, want := range []string{"kind:person", "kind:holder_name", "kind:holder", "kind:holder_label", "body"} {
		if !slices.Contains(before, want) {
			t.Errorf("%s holds nothing of the person: the test shows nothing; found in %s", want, strings.Join(before, ", "))
		}
	}
	for _, name := range before {
		if cleared[name] == "" {
			t.Errorf("bucket %s holds personal data, and no step of the erasure clears it", name)
		}
	}
	if _, err := s.Erasures.Erase(auth.Operator(), record.Person, record.Int(person)); err != nil {
		t.Fatal(err)
	}
	if after := bucketsWith(t, s); len(after) > 0 {
		t.Errorf("after the erasure the person is still in %s", strings.Join(after, ", "))
	}
}
