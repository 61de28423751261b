package sync_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// fieldsOf is which fields each revision of a record has changed, by its history: the first revision first.
func fieldsOf(t testing.TB, s *kv.Store, k *record.Kind, id int64) string {
	t.Helper()
	all, err := s.History(kv.Operator(), kv.Target{Surface: record.Admin, Kind: k, ID: record.Int(id)}, false)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, past := range slices.Backward(all) {
		slices.Sort(past.Fields)
		words = append(words, strings.Join(past.Fields, "+"))
	}
	return strings.Join(words, " | ")
}

// edited reads a document, changes some of its members, and answers it.
func (s *site) edited(path string, change map[string]any) string {
	s.Helper()
	doc := map[string]any{}
	s.want(200, "GET", path, "").into(s, &doc)
	for name, v := range change {
		doc[name] = v
	}
	b, err := json.Marshal(doc)
	if err != nil {
		s.Fatal(err)
	}
	return string(b)
}

// TestHistoryNamesTheFieldsOfEditsThatCame: as it does those of edits on /v1, whoever made them and however they came.
func TestHistoryNamesTheFieldsOfEditsThatCame(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	kvtest.Create(t, s.store, record.Church, `{"name":"Central"}`)
	id := kvtest.Create(t, s.store, record.Person, `{"full_name":"Ana Souza","church_id":1}`)
	path := "/church-1/" + record.Person.DocID(record.Int(id))
	s.want(201, "PUT", path, s.edited(path, map[string]any{"full_name": "Ana Lima"}))
	page := s.as("church:1", "*:*")
	page.want(201, "POST", "/church-1/_bulk_docs", `{"docs":[`+page.edited(path, map[string]any{"email": "ana@example.org", "full_name": "Ana Costa"})+`]}`)
	laptop := s.asLaptop("church:1", kv.Venue{Names: true})
	laptop.want(201, "PUT", path, laptop.edited(path, map[string]any{"phone": "11 99999-0000"}))
	if got, want := fieldsOf(t, s.store, record.Person, id), " | full_name | email+full_name | phone"; got != want {
		t.Errorf("the history names %q, want %q", got, want)
	}

	b := s.inRealm() // has them by the protocol of all, which tells of no fields
	for _, name := range []string{"reference", "church-1"} {
		from := s.thereIs(name, plainly)
		replicate(t, from, b.hereIs(name))
	}
	was := s.edited(path, nil)
	s.want(201, "PUT", path, s.edited(path, map[string]any{"full_name": "Ana Prado"}))
	s.want(201, "PUT", path, s.edited(path, map[string]any{"phone": nil, "full_name": "Ana Reis"}))
	replicate(t, s.thereIs("church-1", plainly), b.hereIs("church-1"))
	got := fieldsOf(t, b.store, record.Person, id)
	if !strings.HasSuffix(got, " | full_name+phone") {
		t.Errorf("the history of a copy of %s names %q, want last what two edits have changed", was, got)
	}
}

// TestHistoryNamesAllThatALaptopChangedOffline: of several edits of one record the last alone comes with its body.
func TestHistoryNamesAllThatALaptopChangedOffline(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.enrol(w.laptop)
	w.visits(w.laptop)
	own := w.sell(w.laptop, "own")
	w.visits(w.laptop)
	for _, to := range []string{`{"type":"Adult"}`, `{"order":"B7"}`} {
		w.changes(w.laptop, record.Ticket, own, to)
	}
	w.visits(w.laptop)
	all, err := w.centre.History(kv.Operator(), kv.Target{Surface: record.Admin, Kind: record.Ticket, ID: record.Int(own)}, false)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(p kv.Past) bool { return p.Kind == record.Ticket && p.Winner })
	if i < 0 || !slices.Contains(all[i].Fields, "type") || !slices.Contains(all[i].Fields, "order") {
		t.Errorf("the history is %s, want that it names type and order", fmt.Sprintf("%+v", all))
	}
}
