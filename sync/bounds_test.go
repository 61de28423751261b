package sync_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/sync/peertest"
	"doorward/sync/replicate"
)

// laptopKey gives the site the key of another's store, a laptop of church 1.
func laptopKey(s *peertest.Site, of *peertest.Site) {
	s.Helper()
	k, secret, err := s.Store.Keys.AddKey(auth.Operator(), keys.KeySpec{Name: "laptop", Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{1}},
		Permissions: []auth.Permission{{Resource: "sync", Method: "*"}}, Node: auth.Venue{Node: of.Store.Tables.Identity.Node()}})
	if err != nil {
		s.Fatal(err)
	}
	s.Auth = [2]string{k.Key, secret}
}

// eachWire runs a test by lines and by documents, with a centre that has a church and a laptop of its realm.
func eachWire(t *testing.T, test func(t *testing.T, centre, laptop *peertest.Site, c replicate.RemoteConfig)) {
	for _, c := range []replicate.RemoteConfig{{}, peertest.Plainly} {
		t.Run(fmt.Sprintf("plain %v", c.Plain), func(t *testing.T) {
			t.Parallel()
			centre := peertest.NewSite(t)
			kvtest.Create(t, centre.Store, record.Church, `{"name":"Central"}`)
			test(t, centre, centre.InRealm(), c)
		})
	}
}

// TestABrokenLaptopIsToldByDocument: a value of another type than its field's is refused alone, by lines and by documents, and the
// rest comes.
func TestABrokenLaptopIsToldByDocument(t *testing.T) {
	t.Parallel()
	eachWire(t, func(t *testing.T, centre, laptop *peertest.Site, c replicate.RemoteConfig) {
		laptopKey(centre, laptop)
		from := laptop.LocalOf("church-1")
		db, err := laptop.Store.Docs.Database(auth.Operator(), "church-1")
		if err != nil {
			t.Fatal(err)
		}
		var writes []merge.DocWrite
		for i, name := range []string{`"Ana"`, `5`, `"Rui"`} {
			writes = append(writes, merge.DocWrite{ID: record.Person.DocID(record.Int(record.FirstDrawn + int64(i))), Body: []byte(`{"church_id":1,"full_name":` + name + `}`)})
		}
		results, err := db.Write(writes)
		if err != nil || results[1].Err != nil {
			t.Fatalf("what breaks the laptop: %v, %v", results, err)
		}
		if run := peertest.CopyAll(t, from, centre.RemoteOf("church-1", c)); run.Written != 2 || run.Failures != 1 {
			t.Errorf("Replicate = %+v, want two written and one refused", run)
		}
		people, err := centre.Store.Desk.List(auth.Operator(), desk.Query{Kind: record.Person, Limit: 10})
		if err != nil || people.Count != 2 || strings.Contains(string(people.Results), `"full_name":5`) {
			t.Errorf("/v1 shows %s, %v", people.Results, err)
		}
		kept, err := centre.Store.Desk.List(auth.Operator(), desk.Query{Surface: record.Admin, Kind: record.Refusal, Limit: 10})
		if err != nil || kept.Count != 1 || !strings.Contains(string(kept.Results), "value of full_name ") {
			t.Errorf("kept for staff: %s, %v, want the field's name", kept.Results, err)
		}
	})
}

// TestWhatALaptopTakesItsCentreTakes: the largest record that a laptop takes, and the deepest, are the centre's too. What would be larger
// is taken by neither.
func TestWhatALaptopTakesItsCentreTakes(t *testing.T) {
	t.Parallel()
	eachWire(t, func(t *testing.T, centre, laptop *peertest.Site, c replicate.RemoteConfig) {
		peertest.CopyAll(t, centre.RemoteOf("reference", c), laptop.LocalOf("reference"))
		laptopKey(centre, laptop)
		from := laptop.LocalOf("church-1")
		id := record.FirstDrawn
		makes := func(location string) (record.ID, error) {
			id++
			form := fmt.Sprintf(`{"id":%d,"full_name":"Ana","church_id":1,"location":%s}`, id, location)
			r, err := laptop.Store.Desk.Create(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Person}, kvtest.Parse(t, record.Person, form, true))
			return r.ID, err
		}
		if _, err := makes(`{"a":` + strings.Repeat("[", 998) + strings.Repeat("]", 998) + `}`); err != nil {
			t.Fatal(err)
		}
		last, made := record.ID{}, 1
		for fits, grows := 0, 1<<19; grows > 0; grows /= 2 {
			switch r, err := makes(`{"a":"` + strings.Repeat("x", fits+grows) + `"}`); {
			case err == nil:
				fits, last, made = fits+grows, r, made+1
			case !errors.Is(err, entry.ErrTooLarge):
				t.Fatal(err)
			}
		}
		longer := kvtest.Parse(t, record.Person, `{"occupation":"Padeira"}`, false)
		if _, err := laptop.Store.Desk.Update(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Person, ID: last}, longer); !errors.Is(err, entry.ErrTooLarge) {
			t.Errorf("Update to more than the largest = %v, want ErrTooLarge", err)
		}
		if run := peertest.CopyAll(t, from, centre.RemoteOf("church-1", c)); run.Written != made || run.Failures != 0 {
			t.Errorf("Replicate = %+v, want %d written and none refused", run, made)
		}
	})
}

// TestALongNumberIsForbidden: one of thousands of digits would make every list that shows it unreadable to clients of some languages. It comes
// into no record, whoever brings it, and into no list of what was refused.
func TestALongNumberIsForbidden(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	kvtest.Create(t, s.Store, record.Church, `{"name":"Central"}`)
	id := record.Person.DocID(record.Int(kvtest.Create(t, s.Store, record.Person, `{"full_name":"Ana Souza","church_id":1}`)))
	long := strings.Repeat("7", 5000)
	laptop := s.AsLaptop("church:1", auth.Venue{Names: true})
	var body map[string]any
	s.Want(200, "GET", "/church-1/"+id, "").Into(t, &body)
	rev, _ := body["_rev"].(string)
	child := func(doc string) string { // as a replicated revision after the first
		return `{"new_edits":false,"docs":[{"_rev":"2-` + strings.Repeat("a", 32) + `","_revisions":{"start":2,"ids":["` + strings.Repeat("a", 32) + `","` + rev[2:] + `"]},` + doc + `}]}`
	}
	person := `"_id":"` + id + `","full_name":"Ana","church_id":1,`
	page := strings.Replace(edit(s, "/church-1/"+id, map[string]any{"location": "here"}), `"here"`, `{"a":[{"b":`+long+`}]}`, 1)
	if a := s.Want(403, "PUT", "/church-1/"+id, page); !strings.Contains(a.Body, "location") {
		t.Errorf("a key = %.300s, want the field named", a.Body)
	}
	for _, c := range []struct {
		name string
		who  *peertest.Site
		doc  string
	}{
		{"a laptop", laptop, person + `"location":{"a":[{"b":-` + long + `}]}`},
		{"a laptop, in a field of a later version", laptop, person + `"aura":{"b":` + long + `}`},
	} {
		a := c.who.Want(201, "POST", "/church-1/_bulk_docs", child(c.doc))
		if !strings.Contains(a.Body, `"error":"forbidden"`) || strings.Contains(a.Body, long) || strings.Contains(a.Body, `"kept":true`) {
			t.Errorf("%s = %.300s, want it forbidden and not kept", c.name, a.Body)
		}
	}
	psalm := `{"new_edits":false,"docs":[{"_id":"psalm:0000000000000001","_rev":"1-` + strings.Repeat("b", 32) + `","verse":`
	if a := laptop.Want(201, "POST", "/church-1/_bulk_docs", psalm+long+`}]}`); !strings.Contains(a.Body, `"error":"forbidden"`) {
		t.Errorf("a kind of a later version = %.300s, want it forbidden", a.Body)
	}
	for _, doc := range []string{child(person + `"location":{"a":` + long[:64] + `,"b":"` + long + `"}`), psalm + long[:64] + `}]}`} {
		if a := laptop.Want(201, "POST", "/church-1/_bulk_docs", doc); strings.TrimSpace(a.Body) != "[]" {
			t.Errorf("a number of 64 characters = %.300s, want it taken", a.Body)
		}
	}
	refusals := 0
	if err := s.Store.Log.Export(auth.Operator(), record.Refusal, func(json []byte) error {
		if refusals++; strings.Contains(string(json), long) {
			t.Errorf("a refusal holds the number: %.300s", json)
		}
		return nil
	}); err != nil || refusals == 0 {
		t.Errorf("%d refusals, %v; want them named", refusals, err)
	}
}
