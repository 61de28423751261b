package sync_test

import (
	"fmt"
	"strings"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/desk"
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
		Permissions: []auth.Permission{{Resource: "sync", Method: "*"}}, Node: auth.Venue{Node: of.Store.Tables.Node()}})
	if err != nil {
		s.Fatal(err)
	}
	s.Auth = [2]string{k.Key, secret}
}

// TestABrokenLaptopIsToldByDocument: a value of another type than its field's is refused alone, by lines and by documents, and the
// rest comes.
func TestABrokenLaptopIsToldByDocument(t *testing.T) {
	t.Parallel()
	for _, c := range []replicate.RemoteConfig{{}, peertest.Plainly} {
		t.Run(fmt.Sprintf("plain %v", c.Plain), func(t *testing.T) {
			t.Parallel()
			centre := peertest.NewSite(t)
			kvtest.Create(t, centre.Store, record.Church, `{"name":"Central"}`)
			laptop := centre.InRealm()
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
}
