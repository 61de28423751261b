package sync_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/sync"
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

// TestRangesOfIDsForPages: a page that works without the server brings ids of its own.
func TestRangesOfIDsForPages(t *testing.T) {
	s := peertest.NewSite(t)
	page := s.As("denomination", "sync:*", "people:*")
	for _, want := range []string{`{"from":1,"to":100}`, `{"from":101,"to":200}`} {
		if a := page.Want(200, "POST", "/_lease", `{"kind":"person","count":100}`); a.Body != want+"\n" && a.Body != want {
			t.Errorf("a lease = %s, want %s", a.Body, want)
		}
	}
	for _, body := range []string{`{"kind":"person","count":0}`, `{"kind":"person","count":10001}`, `{"kind":"church","count":1}`,
		`{"kind":"nothing","count":1}`, `{"kind":"checkin","count":1}`, `{"kind":"person"}`, `{"kind":1}`, `[]`, `{`} {
		page.Want(400, "POST", "/_lease", body)
	}
	s.As("denomination", "sync:*", "people:GET").Want(403, "POST", "/_lease", `{"kind":"person","count":100}`)
	s.As("denomination", "people:*").Want(403, "POST", "/_lease", `{"kind":"person","count":100}`)
}

// TestAKeyLeasesIDsOfWhatItsLevelSees: with ids of any other kind it could do nothing but use them up.
func TestAKeyLeasesIDsOfWhatItsLevelSees(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	kvtest.Create(t, s.Store, record.Church, `{"name":"Central"}`)
	kvtest.Create(t, s.Store, record.Event, `{"name":"Feast","start_datetime":"2026-11-22T19:00:00Z","church_id":1}`)
	for _, c := range []struct {
		level  string
		laptop bool
		status map[string]int
	}{
		{"event:1", false, map[string]int{"person": 403, "membership": 403, "financial_entry": 403, "group": 403, "event": 403, "ticket": 403}},
		{"church:1", false, map[string]int{"person": 200, "membership": 200, "financial_entry": 200, "group": 403, "event": 403, "ticket": 403}},
		{"event:1", true, map[string]int{"person": 403, "membership": 403, "financial_entry": 403, "group": 403, "event": 403, "ticket": 200}},
		{"church:1", true, map[string]int{"person": 200, "membership": 200, "financial_entry": 403, "group": 200, "event": 200, "ticket": 200}},
	} {
		who := s.As(c.level, "*:*")
		if c.laptop {
			who = s.AsLaptop(c.level, auth.Venue{Names: true})
		}
		for kind, want := range c.status {
			if a := who.Do("POST", "/_lease", `{"kind":"`+kind+`","count":1}`); a.Status != want {
				t.Errorf("a lease of %s ids to %s, a laptop %t = %d %s, want %d", kind, c.level, c.laptop, a.Status, a.Body, want)
			}
		}
	}
}

// TestAnErasedPersonsOwnRevisionsAreRefused: _revs_diff lacks none of them, and who pushes one all the same is told that it is not taken. An
// answer that says nothing would tell the client that the person is there again.
func TestAnErasedPersonsOwnRevisionsAreRefused(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	kvtest.Create(t, s.Store, record.Church, `{"name":"Central"}`)
	id := kvtest.Create(t, s.Store, record.Person, `{"full_name":"Ana Souza","church_id":1}`)
	kvtest.Create(t, s.Store, record.Group, `{"name":"Choir","church_id":1}`)
	member := kvtest.Create(t, s.Store, record.Membership, fmt.Sprintf(`{"group_id":1,"person":%d}`, id))
	had := map[string]string{} // the documents of before, by the path
	for _, path := range []string{"/church-1/" + record.Person.DocID(record.Int(id)), "/church-1/" + record.Membership.DocID(record.Int(member))} {
		had[path] = s.Want(200, "GET", path+"?revs=true", "").Body
	}
	if _, err := s.Store.Erasures.Erase(auth.Operator(), record.Person, record.Int(id)); err != nil {
		t.Fatal(err)
	}
	laptop := s.AsLaptop("church:1", auth.Venue{Names: true})
	for path, doc := range had {
		var read struct {
			ID  string `json:"_id"`
			Rev string `json:"_rev"`
		}
		peertest.Answer{Body: doc}.Into(t, &read)
		for name, who := range map[string]*peertest.Site{"a key": s, "a laptop": laptop} {
			if a := who.Want(200, "POST", "/church-1/_revs_diff", fmt.Sprintf(`{%q:[%q]}`, read.ID, read.Rev)); a.Body != "{}\n" {
				t.Errorf("%s: _revs_diff of %s = %s, want nothing missing", name, read.ID, a.Body)
			}
			a := who.Want(201, "POST", "/church-1/_bulk_docs", `{"new_edits":false,"docs":[`+doc+`]}`)
			if !strings.Contains(a.Body, read.ID) || !strings.Contains(a.Body, `"error":"forbidden"`) || strings.Contains(a.Body, "Ana") {
				t.Errorf("%s: _bulk_docs of %s = %s, want it forbidden", name, read.ID, a.Body)
			}
			who.Want(403, "PUT", path+"?new_edits=false", doc)
			who.Want(404, "GET", path, "")
		}
		tomb := s.Want(200, "GET", path+"?open_revs=all&revs=true", "", "Accept", "application/json").Body
		tomb = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(tomb), `[{"ok":`), "}]")
		if a := laptop.Want(201, "POST", "/church-1/_bulk_docs", `{"new_edits":false,"docs":[`+tomb+`]}`); strings.TrimSpace(a.Body) != "[]" {
			t.Errorf("_bulk_docs of the tombstone %s = %s, want it taken", tomb, a.Body)
		}
	}
	if ids, err := s.Store.Desk.IDs(auth.Operator(), record.Refusal); err != nil || len(ids) != 0 {
		t.Errorf("%d refusals are kept for staff, %v; want none: they would hold what was erased", len(ids), err)
	}
}

// TestACentreThatWasNotRestoredIsToldOfNoErasure: a laptop takes nobody's records away.
func TestACentreThatWasNotRestoredIsToldOfNoErasure(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	body := `{"erasures":[{"kind":"person","hash":"000102030405060708090a0b0c0d0e0f"}]}`
	s.As("denomination", "*:*").Want(403, "POST", "/_erased", body)
}

// edit reads a document, changes some of its members, and answers it.
func edit(s *peertest.Site, path string, change map[string]any) string {
	s.Helper()
	doc := map[string]any{}
	s.Want(200, "GET", path, "").Into(s, &doc)
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
	s := peertest.NewSite(t)
	kvtest.Create(t, s.Store, record.Church, `{"name":"Central"}`)
	id := kvtest.Create(t, s.Store, record.Person, `{"full_name":"Ana Souza","church_id":1}`)
	path := "/church-1/" + record.Person.DocID(record.Int(id))
	s.Want(201, "PUT", path, edit(s, path, map[string]any{"full_name": "Ana Lima"}))
	page := s.As("church:1", "*:*")
	page.Want(201, "POST", "/church-1/_bulk_docs", `{"docs":[`+edit(page, path, map[string]any{"email": "ana@example.org", "full_name": "Ana Costa"})+`]}`)
	laptop := s.AsLaptop("church:1", auth.Venue{Names: true})
	laptop.Want(201, "PUT", path, edit(laptop, path, map[string]any{"phone": "11 99999-0000"}))
	if got, want := peertest.FieldsOf(t, s.Store, record.Person, id), " | full_name | email+full_name | phone"; got != want {
		t.Errorf("the history names %q, want %q", got, want)
	}

	b := s.InRealm() // has them by the protocol of all, which tells of no fields
	for _, name := range []string{"reference", "church-1"} {
		from := s.RemoteOf(name, peertest.Plainly)
		peertest.CopyAll(t, from, b.LocalOf(name))
	}
	was := edit(s, path, nil)
	s.Want(201, "PUT", path, edit(s, path, map[string]any{"full_name": "Ana Prado"}))
	s.Want(201, "PUT", path, edit(s, path, map[string]any{"phone": nil, "full_name": "Ana Reis"}))
	peertest.CopyAll(t, s.RemoteOf("church-1", peertest.Plainly), b.LocalOf("church-1"))
	got := peertest.FieldsOf(t, b.Store, record.Person, id)
	if !strings.HasSuffix(got, " | full_name+phone") {
		t.Errorf("the history of a copy of %s names %q, want last what two edits have changed", was, got)
	}
}

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
