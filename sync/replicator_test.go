package sync_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/sync"
	"doorward/sync/peertest"
	"doorward/sync/replicate"
)

// notesAddress is the site's database of notes with what logs in.
func notesAddress(s *peertest.Site) string {
	return strings.Replace(s.URL, "://", "://"+s.Auth[0]+":"+s.Auth[1]+"@", 1) + "/notes"
}

func TestReplicationsAreOrdered(t *testing.T) {
	t.Parallel()
	a, b := peertest.NewSite(t), peertest.NewSite(t)
	a.Fill(20)
	for _, one := range []struct{ name, order string }{
		{"push", `{"source":"notes","target":"` + notesAddress(b) + `"}`},
		{"once more", `{"source":"notes","target":{"url":"` + b.URL + `/notes","auth":{"basic":{"username":"` + b.Auth[0] + `","password":"` + b.Auth[1] + `"}}}}`},
		{"with headers", `{"source":"notes","target":{"url":"` + b.URL + `/notes","headers":{"authorization":"Basic ` + base64.StdEncoding.EncodeToString([]byte(b.Auth[0]+":"+b.Auth[1])) + `","X-Own":"1"}}}`},
		{"pull into a database that is made", `{"source":"` + notesAddress(b) + `","target":"copy","create_target":true}`},
		{"some documents", `{"source":"notes","target":"some","create_target":true,"doc_ids":["doc00003","gone","nobody"]}`},
		{"those that pass", `{"source":"notes","target":"passed","create_target":true,"selector":{"n":{"$lt":5}}}`},
		{"those that pass there", `{"source":"` + notesAddress(b) + `","target":"passed there","create_target":true,"selector":{"n":{"$lt":5}}}`},
	} {
		got := a.Want(200, "POST", "/_replicate", strings.ReplaceAll(one.order, "passed there", "passed_there"))
		var out replicate.Outcome
		if got.Into(t, &out); !out.OK || out.Session == "" || len(out.History) != 1 || len(out.Last) == 0 {
			t.Errorf("%s = %s", one.name, got.Body)
		}
	}
	peertest.WantSame(t, a, b)
	for name, want := range map[string]int{"copy": 23, "some": 1, "passed": 5, "passed_there": 5} {
		db, err := a.Store.Docs.Database(auth.Operator(), name)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := db.Info(); err != nil || info.Docs != want {
			t.Errorf("%s = %+v, %v, want %d documents", name, info, err, want)
		}
	}
	for range 2 {
		var out replicate.Outcome
		a.Want(200, "POST", "/_replicate", `{"source":"notes","target":"copy","use_checkpoints":false}`).Into(t, &out)
		if run := out.History[0]; run.Checked == 0 || run.Written != 0 {
			t.Errorf("without checkpoints = %+v, want it to begin at the beginning each time", run)
		}
	}
}

func TestOrdersThatAreRefused(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	elsewhere := httptest.NewServer(http.RedirectHandler(s.URL+"/notes", http.StatusFound))
	t.Cleanup(elsewhere.Close)
	for _, one := range []struct {
		status int
		order  string
		word   string
	}{
		{400, `{}`, "bad_request"},
		{400, `[]`, "bad_request"},
		{400, `{"source":"notes","target":"copy","winning_revs_only":true}`, "winning_revs_only is not supported"},
		{400, `{"source":"notes","target":"copy","create_target":true,"create_target_params":{"partitioned":true}}`, "partitioned is not supported"},
		{400, `{"source":"notes","target":"` + notesAddress(s) + `","target_proxy":"http://127.0.0.1:1"}`, "a proxy is not supported"},
		{400, `{"source":"notes","target":"copy","doc_ids":["a"],"selector":{"a":1}}`, "selector beside doc_ids is not supported"},
		{400, `{"source":"notes","target":{"url":"copy","headers":{"Authorization":"Basic eDp5"}}}`, "bad_request"},
		{400, `{"source":"notes","target":{"url":"` + s.URL + `/notes","headers":{"Host":"example.org"}}}`, "bad_request"},
		{400, `{"source":"notes","target":{"url":"` + s.URL + `/notes","headers":{"X":"a\r\nHost: example.org"}}}`, "bad_request"},
		{400, `{"source":"notes","target":"ftp://example.org/x"}`, "bad_request"},
		{400, `{"source":"notes","target":"notes","selector":{"a":{"$where":1}}}`, "query_parse_error"},
		{404, `{"source":"nobody","target":"notes"}`, "not_found"},
		{404, `{"source":"notes","target":"notes","filter":"design/some"}`, "not_found"},
		{502, `{"source":"` + s.URL + `/notes","target":"notes"}`, "replication_failed"}, // nobody has logged in there
		{404, `{"source":"` + strings.Replace(notesAddress(s), "/notes", "/nobody", 1) + `","target":"notes"}`, "db_not_found"},
		{502, `{"source":"` + elsewhere.URL + `/notes","target":"notes"}`, "replication_failed"},
		{404, `{"source":"notes","target":"notes","cancel":true}`, "not_found"},
	} {
		got := s.Do("POST", "/_replicate", one.order)
		if got.Status != one.status || !strings.Contains(got.Body, `"`+one.word+`"`) {
			t.Errorf("%s = %d %s, want %d %s", one.order, got.Status, got.Body, one.status, one.word)
		}
	}
	for _, other := range []*peertest.Site{s.As("denomination", "sync:*"), s.As("church:1", "admin:*", "sync:*")} {
		other.Want(403, "POST", "/_replicate", `{"source":"notes","target":"notes"}`)
		other.Want(403, "GET", "/_active_tasks", "")
	}
}

// TestAnOrderDialsPublicAddressesOverHTTPSAlone: whoever may order a replication must not reach what only the server's machine reaches.
func TestAnOrderDialsPublicAddressesOverHTTPSAlone(t *testing.T) {
	t.Parallel()
	s := peertest.NewSiteAs(t, sync.Config{})
	var asked atomic.Int32
	inside := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(inside.Close)
	plain := httptest.NewServer(inside.Config.Handler)
	t.Cleanup(plain.Close)
	for _, address := range []string{
		s.URL + "/notes", plain.URL + "/notes", strings.Replace(plain.URL, "http:", "HTTP:", 1) + "/notes",
		strings.Replace(plain.URL, "127.0.0.1", "localhost", 1) + "/notes", "http://10.0.0.1/notes", "http://192.0.2.1/notes",
		inside.URL + "/notes", strings.Replace(inside.URL, "127.0.0.1", "localhost", 1) + "/notes", "https://127.0.0.1:1/notes",
		"https://10.0.0.1/notes", "https://[::ffff:192.168.0.1]/notes", "https://169.254.169.254/notes", "https://[::1]:1/notes",
	} {
		for _, order := range []string{`{"source":"` + address + `","target":"notes"}`, `{"source":"notes","target":{"url":"` + address + `"}}`} {
			if got := s.Do("POST", "/_replicate", order); got.Status != 403 || !strings.Contains(got.Body, `"forbidden"`) {
				t.Errorf("%s = %d %s, want 403 forbidden", order, got.Status, got.Body)
			}
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("a server inside was asked %d times", n)
	}
}

func TestAnOrderGoesOnUntilItIsCancelled(t *testing.T) {
	t.Parallel()
	a, b := peertest.NewSite(t), peertest.NewSite(t)
	order := `{"source":"` + notesAddress(a) + `","target":"notes","continuous":true`
	var begun struct {
		ID string `json:"_local_id"`
	}
	b.Want(202, "POST", "/_replicate", order+`}`).Into(t, &begun)
	b.Want(202, "POST", "/_replicate", order+`}`) // is the same one
	a.Put("late", `{}`)
	peertest.AwaitDoc(t, b, "late")
	var tasks []struct {
		ID     string `json:"replication_id"`
		Source string
		Type   string
	}
	b.Want(200, "GET", "/_active_tasks", "").Into(t, &tasks)
	if len(tasks) != 1 || tasks[0].ID != begun.ID || tasks[0].Source != a.URL+"/notes" || tasks[0].Type != "replication" {
		t.Errorf("_active_tasks = %+v, want one without a password", tasks)
	}
	b.Want(200, "POST", "/_replicate", order+`,"cancel":true}`)
	b.Want(200, "GET", "/_active_tasks", "").Into(t, &tasks)
	if len(tasks) != 0 {
		t.Errorf("_active_tasks = %+v, want none", tasks)
	}
}

// It is not parallel: it counts all goroutines.
func TestAServerThatEndsLeavesNoReplicationBehind(t *testing.T) {
	a := peertest.NewSite(t)
	store := kvtest.Open(t)
	for _, name := range []string{"notes", "more"} {
		if err := store.Docs.CreateDatabase(auth.Operator(), name); err != nil {
			t.Fatal(err)
		}
	}
	s := &peertest.Site{TB: t, Store: store}
	s.Auth[0], s.Auth[1] = kvtest.Key(t, store, "denomination", "*:*")
	before := runtime.NumGoroutine()
	for round := range 3 {
		server, err := sync.New(sync.Config{Store: store, Insecure: true})
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewServer(server)
		s.URL = srv.URL + "/sync"
		for i, order := range []string{`"source":"` + notesAddress(a) + `","target":"notes"`, `"source":"notes","target":"` + notesAddress(a) + `"`, `"source":"notes","target":"more"`} {
			s.Want(202, "POST", "/_replicate", `{`+order+`,"continuous":true}`)
			a.Put(fmt.Sprintf("round%d-%d", round, i), `{}`)
		}
		server.Close()
		srv.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before+3; runtime.Gosched() { // what a listener of a connects to may take a moment to see it
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}
