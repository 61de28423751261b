package sync_test

import (
	"testing"

	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/sync/peertest"
)

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
