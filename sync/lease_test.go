package sync_test

import (
	"testing"
)

// TestRangesOfIDsForPages: a page that works without the server brings ids of its own.
func TestRangesOfIDsForPages(t *testing.T) {
	s := newSite(t)
	page := s.as("denomination", "sync:*", "people:*")
	for _, want := range []string{`{"from":1,"to":100}`, `{"from":101,"to":200}`} {
		if a := page.want(200, "POST", "/_lease", `{"kind":"person","count":100}`); a.body != want+"\n" && a.body != want {
			t.Errorf("a lease = %s, want %s", a.body, want)
		}
	}
	for _, body := range []string{`{"kind":"person","count":0}`, `{"kind":"person","count":10001}`, `{"kind":"church","count":1}`,
		`{"kind":"nothing","count":1}`, `{"kind":"checkin","count":1}`, `{"kind":"person"}`, `{"kind":1}`, `[]`, `{`} {
		page.want(400, "POST", "/_lease", body)
	}
	s.as("denomination", "sync:*", "people:GET").want(403, "POST", "/_lease", `{"kind":"person","count":100}`)
	s.as("denomination", "people:*").want(403, "POST", "/_lease", `{"kind":"person","count":100}`)
}
