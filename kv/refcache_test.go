package kv_test

import (
	"bytes"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

func TestAPageShowsAChurchByItsPresentName(t *testing.T) {
	s := kvtest.Open(t)
	kvtest.Create(t, s, record.Church, `{"name":"Old name"}`)
	kvtest.Create(t, s, record.Person, `{"full_name":"Ana Souza","church_id":1}`)
	for _, name := range []string{"Old name", "New name", "Newer name"} {
		if _, err := s.Desk.Update(auth.Operator(), target(record.Church, 1), kvtest.Parse(t, record.Church, `{"name":"`+name+`"}`, false)); err != nil {
			t.Fatal(err)
		}
		page, err := s.Desk.List(auth.Operator(), desk.Query{Surface: record.V1, Kind: record.Person, Limit: 10})
		if err != nil || !bytes.Contains(page.Results, []byte(`"church":{"id":1,"name":"`+name+`"}`)) {
			t.Errorf("a page after the church was called %s = %s, %v", name, page.Results, err)
		}
	}
}
