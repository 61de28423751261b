package sync_test

import (
	"bytes"
	"strings"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/sync/line"
	"doorward/sync/peertest"
)

// stickOf writes a file of changes as anyone may write it.
func stickOf(t *testing.T, head line.Head, lines ...string) string {
	t.Helper()
	var file bytes.Buffer
	z := line.Compress(&file)
	out := line.NewWriter(z)
	if err := out.Head(head); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(lines, "\n") + "\n" + `{"last_seq":"9","count":` + string(rune('0'+len(lines))) + "}\n"
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return file.String()
}

// TestStick_WhoGivesIt: a file is written to the store past the rules of keys, so only a key that rules the laptop gives one.
func TestStick_WhoGivesIt(t *testing.T) {
	centre := peertest.NewSite(t)
	centre.Want(404, "GET", "/_stick", "")
	centre.Want(404, "POST", "/_stick", "x", "Content-Type", line.Media, "Content-Encoding", "zstd")
	s := laptopSite(t, "reference", "event-1")
	s.Want(200, "GET", "/_stick", "")
	for _, who := range []*peertest.Site{s.As("denomination", "sync:*"), s.As("church:1", "*:*"), s.As("event:1", "*:*"), s.AsLaptop("event:1", auth.Venue{})} {
		who.Want(403, "GET", "/_stick", "")
		who.Want(403, "POST", "/_stick", "x", "Content-Type", line.Media, "Content-Encoding", "zstd")
	}
	s.Anybody().Want(401, "POST", "/_stick", "x", "Content-Type", line.Media, "Content-Encoding", "zstd")
	s.Want(400, "POST", "/_stick", "no file", "Content-Type", line.Media, "Content-Encoding", "zstd")
	s.Want(415, "POST", "/_stick", "{}")
}

const centreNode = "01J00000000000000000000000"

// laptopSite starts a site over a store of a laptop that pulls some databases. Church 1 and event 1 are there.
func laptopSite(t *testing.T, pulls ...string) *peertest.Site {
	t.Helper()
	s := peertest.NewSite(t)
	kvtest.Create(t, s.Store, record.Church, `{"name":"Central"}`)
	kvtest.Create(t, s.Store, record.Event, `{"name":"Feast","start_datetime":"2030-01-01T19:00:00Z","church_id":1}`)
	u := table.Upstream{URL: "https://centre.example", Node: centreNode, Key: "k", Secret: "s"}
	if err := s.Store.Laptop.Join(auth.Operator(), u, office.Credential{Realm: s.Store.Tables.Identity.Realm()}); err != nil {
		t.Fatal(err)
	}
	u.Pulls = pulls
	if err := s.Store.Laptop.NoteUpstream(u); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStick_Forged: whatever a file says of its lines, it brings no key, order or erasure, and no record to a database that cannot hold it.
func TestStick_Forged(t *testing.T) {
	s := laptopSite(t, "reference", "event-1", "event-1-names")
	rev := `"1-` + strings.Repeat("a", 32) + `"`
	doc := func(id, members, in string) string {
		return `{"seq":"1","doc":{"_id":"` + id + `","_rev":` + rev + members + `},"revs":[` + rev + `],"scopes":[` + in + `]}`
	}
	head := line.Head{Realm: s.Store.Tables.Identity.Realm(), Node: centreNode, Epoch: "01J00000000000000000000007", DB: "records"}
	stick := stickOf(t, head,
		doc("api_key:0000000000000900", `,"name":"thief"`, `"event-1"`),
		doc("node:0000000000000001", `,"name":"thief"`, `"_system"`),
		doc("erasure:01J00000000000000000000001", `,"kind":"person"`, `"event-1"`),
		doc("erasure:01J00000000000000000000002", `,"kind":"person"`, `"_system"`),
		doc("person:0000000000000001", `,"full_name":"Eva Lima","church_id":1`, `"event-1","church-1"`),
		doc("holder_name:01J00000000000000000000003", `,"event_id":1`, `"event-1"`),
		doc("event:0000000000000001", `,"name":"Feast of all","start_datetime":"2030-01-01T19:00:00Z","church_id":1`, `"church-1","event-1"`))
	a := s.Want(200, "POST", "/_stick", stick, "Content-Type", line.Media, "Content-Encoding", "zstd")
	for _, want := range []string{`{"db":"event-1","read":1,"written":1,"refused":0}`, `{"db":"records","read":0,"written":0,"refused":2,`, `"left_out":["church-1"]`} {
		if !strings.Contains(a.Body, want) {
			t.Errorf("the report is %s, want %s", a.Body, want)
		}
	}
	for kind, want := range map[*record.Kind]int{record.APIKey: 1, record.Node: 0, record.Erasure: 0, record.Person: 0, record.HolderName: 0, record.Event: 1} {
		n := 0
		if err := s.Store.Log.Export(auth.Operator(), kind, func([]byte) error { n++; return nil }); err != nil || n != want {
			t.Errorf("%d records of kind %s, %v; want %d", n, kind.Name, err, want)
		}
	}
}
