package sync_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/inbox"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/sync"
	"doorward/sync/peertest"
	"doorward/sync/replicate"
)

// TestHalfARequestChangesNothing cuts requests off in the middle.
func TestHalfARequestChangesNothing(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	for _, c := range []struct{ method, path, media, body string }{
		{"PUT", "/notes/doc", "application/json", `{"a":1`},
		{"PUT", "/notes/doc/a", "text/plain", "half an attachm"},
		{"POST", "/notes/_bulk_docs", "application/json", `{"docs":[{"_id":"doc"},`},
		{"POST", "/notes/_bulk_docs", "application/json", `{"docs":[{"_id":"doc"}]`},
		{"PUT", "/notes/doc", `multipart/related; boundary="x"`, "--x\r\nContent-Type: application/json\r\n\r\n{\"_attachments\":{\"a\":{\"follows\":true}}}\r\n--x\r\n\r\nhalf"},
		// The body is whole as far as it can be read, and its end is missing.
		{"PUT", "/notes/doc", "application/json", `{"a":1}`},
		{"POST", "/notes", "application/json", `{"_id":"doc"}`},
		{"POST", "/notes/_bulk_docs", "application/json", `{"docs":[{"_id":"doc"}]}`},
		{"PUT", "/notes/doc", `multipart/related; boundary="x"`, "--x\r\nContent-Type: application/json\r\n\r\n{\"a\":1}\r\n--x--"},
		{"PUT", "/notes/doc", `multipart/related; boundary="x"`, "--x\r\nContent-Type: application/json\r\n\r\n{\"a\":1}\r\n--x--\r\n"},
		{"PUT", "/notes/_local/doc", "application/json", `{"a":1}`},
	} {
		for _, chunked := range []bool{false, true} {
			head := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(c.body)+10, c.body)
			if chunked {
				head = fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(c.body), c.body)
			}
			r := s.Request(c.method, c.path, "")
			address := strings.TrimSuffix(strings.TrimPrefix(s.URL, "http://"), "/sync")
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "%s /sync%s HTTP/1.1\r\nHost: %s\r\nAuthorization: %s\r\nContent-Type: %s\r\n%s",
				c.method, c.path, address, r.Header.Get("Authorization"), c.media, head)
			if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if answer, err := io.ReadAll(conn); err != nil || len(answer) > 0 && !strings.HasPrefix(string(answer), "HTTP/1.1 4") {
				t.Errorf("%s %s (chunked %v) = %.300s, %v", c.method, c.path, chunked, answer, err)
			}
			_ = conn.Close()
		}
	}
	if a := s.Want(200, "GET", "/notes", ""); !strings.Contains(a.Body, `"doc_count":0`) {
		t.Errorf("the database is %s", a.Body)
	}
	s.Want(404, "GET", "/notes/_local/doc", "")
}

func TestHostileBodies(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"PUT", "/notes/x", deep(9_000), 400},
		{"PUT", "/notes/x", deep(100_000), 400},
		{"POST", "/notes/_changes?filter=_selector", `{"selector":` + deep(9_000) + `}`, 200},
		{"POST", "/notes/_changes?filter=_selector", `{"selector":` + deep(100_000) + `}`, 400},
		{"POST", "/notes/_revs_diff", `{"a":["` + strings.Repeat("9", 100_000) + `-x"]}`, 200},
		{"POST", "/notes/_bulk_get", `{"docs":[7]}`, 200},
		{"POST", "/notes/_bulk_docs", `{"docs":{}}`, 400},
		{"POST", "/notes/_bulk_docs", `{"docs":[{"_id":"x"}]}{`, 400},
		{"POST", "/notes/_bulk_docs", `{"docs":[{"_id":"x"}]} x`, 400},
		{"POST", "/notes/_bulk_docs", `{"docs":[{"_id":"x","_rev":"1-a"}],"new_edits":"false"}`, 400},
		{"POST", "/notes/_bulk_docs", `{"docs":[{"_id":"x"}],"new_edits":null}`, 400},
		{"POST", "/notes/_bulk_docs", `{"docs":[{"_id":"x"}],"new_edits":{}}`, 400},
		{"POST", "/notes/_bulk_get", `{"docs":[]}[]`, 400},
		{"POST", "/notes/_revs_diff", `{} {}`, 400},
		{"POST", "/notes/_changes", `{}]`, 400},
		{"POST", "/notes/_all_docs", `{"keys":[]},`, 400},
		{"PUT", "/notes/_local/x", `{"a":1}}`, 400},
		{"PUT", "/notes/x?rev=18446744073709551616-" + strings.Repeat("0", 32), `{}`, 400},
		{"PUT", "/notes/x", "{\"a\":\"\xff\"}", 400},
		{"PUT", "/notes/x%00y", `{}`, 400},
		{"PUT", "/notes/x%ff", `{}`, 400},
		{"PUT", "/notes/" + strings.Repeat("x", 8193), `{}`, 400},
		{"GET", "/notes/_changes?limit=99999999999999999999", "", 400},
		{"GET", "/notes/_changes?since=99999999999999999999-" + s.Store.Tables.Epochs.Present(), "", 200},
	} {
		if a := s.Do(c.method, c.path, c.body); a.Status != c.status {
			t.Errorf("%s %.60s %.40s = %d %.200s, want %d", c.method, c.path, c.body, a.Status, a.Body, c.status)
		}
	}
	if a := s.Want(200, "GET", "/notes", ""); !strings.Contains(a.Body, `"doc_count":0`) {
		t.Errorf("the database is %s", a.Body)
	}
}

// TestADocumentBranchesNotForEver: one leaf too many is refused, alone, in the words that clients of the protocol go on after.
func TestADocumentBranchesNotForEver(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	leaf := func(n int) string { return fmt.Sprintf(`{"_id":"a","_rev":"1-%032x"}`, n) }
	var docs []string
	for n := range 501 {
		docs = append(docs, leaf(n))
	}
	docs = append(docs, `{"_id":"b","_rev":"1-`+strings.Repeat("0", 32)+`"}`)
	refused := fmt.Sprintf(`[{"id":"a","rev":"1-%032x","error":"forbidden",`, 500)
	if a := s.Want(201, "POST", "/notes/_bulk_docs", `{"new_edits":false,"docs":[`+strings.Join(docs, ",")+`]}`); !strings.HasPrefix(a.Body, refused) || strings.Count(a.Body, `"id"`) != 1 {
		t.Errorf("_bulk_docs = %.300s, want %s and nothing else", a.Body, refused)
	}
	if a := s.Want(403, "PUT", "/notes/a?new_edits=false", leaf(501)); !strings.Contains(a.Body, `"error":"forbidden"`) {
		t.Errorf("PUT = %s", a.Body)
	}
	s.Want(200, "GET", "/notes/b", "")
}

// TestADocumentThatIsNoneIsRefusedAlone: whatever is wrong with one document of a push, the others are taken, and staff find that it was
// refused. There is nothing in such a refusal that could be applied.
func TestADocumentThatIsNoneIsRefusedAlone(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	kvtest.Create(t, s.Store, record.Church, `{"name":"North"}`)
	id := kvtest.Create(t, s.Store, record.Person, `{"full_name":"Ana Souza","church_id":1}`)
	rev := `"1-` + strings.Repeat("0", 31)
	person := record.Person.DocID(record.Int(id))
	docs := []string{
		`{"_id":"` + person + `","_rev":` + rev + `1","full_name":"Deep","church_id":1,"x":` + strings.Repeat(`[`, 12_000) + `"]{"` + strings.Repeat(`]`, 12_000) + `}`,
		`{"_id":"` + person + `","_rev":` + rev + `2","full_name":"Once","full_name":"Twice","church_id":1}`,
		`{"_id":"` + person + `","_rev":` + rev + `3","full_name":"no ` + "\xff" + ` UTF-8","church_id":1}`,
		`{"_id":"` + person + `","_rev":` + rev + `4","_strange":1,"full_name":"A member of CouchDB's"}`,
		`{"_id":"` + person + `","_rev":"first","full_name":"No revision"}`,
		`{"full_name":"No name"}`,
		`5`,
		`{"_id":"NUL \u0000","_rev":` + rev + `6","full_name":"NUL"}`,
		`{"_id":"half \ud800","_rev":` + rev + `7","full_name":"Half a surrogate"}`,
		`{"_id":"_x","_rev":` + rev + `8","full_name":"Reserved"}`,
		`{"_id":"` + strings.Repeat("L", 9000) + `","_rev":` + rev + `9","full_name":"Long"}`,
		`{"_id":"` + person + `","_rev":` + rev + `b","full_name":"Half a surrogate \udfff","church_id":1}`,
		fmt.Sprintf(`{"_id":"%s","_rev":%s5","full_name":"Bia","church_id":1}`, record.Person.DocID(record.Int(record.FirstDrawn)), rev),
	}
	push := `{"new_edits":false,"docs":[` + strings.Join(docs, ",") + `]}`
	for range 2 { // what comes again is kept once
		a := s.Want(201, "POST", "/church-1/_bulk_docs", push)
		if n := strings.Count(a.Body, `"error":"forbidden"`); n != len(docs)-1 {
			t.Errorf("_bulk_docs = %s, want all but one forbidden", a.Body)
		}
	}
	s.Want(200, "GET", "/church-1/"+record.Person.DocID(record.Int(record.FirstDrawn)), "")
	page, err := s.Store.Inbox.List(auth.Operator(), record.Refusal, desk.Part{Limit: 100})
	if err != nil || len(page.Items) < 10 {
		t.Fatalf("staff find %d refusals, %v; want those that have a name", len(page.Items), err)
	}
	for _, r := range page.Items {
		if _, err := s.Store.Inbox.Resolve(auth.Operator(), inbox.Item{Kind: record.Refusal, ID: r.ID}, inbox.Choice{Other: true}); !errors.Is(err, table.ErrConflict) {
			t.Errorf("applying %s = %v, want ErrConflict", r.JSON, err)
		}
	}
	if r, err := s.Store.Desk.Retrieve(auth.Operator(), desk.Target{Surface: record.V1, Kind: record.Person, ID: record.Int(id)}); err != nil || !strings.Contains(string(r.JSON), `"full_name":"Ana Souza"`) {
		t.Errorf("the person is %s, %v", r.JSON, err)
	}
}

// TestARecordWithAnAttachmentIsRefusedAlone: the others of its push are taken, and staff find it.
func TestARecordWithAnAttachmentIsRefusedAlone(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	kvtest.Create(t, s.Store, record.Church, `{"name":"North"}`)
	var docs []string
	for i, members := range []string{`"_attachments":{"a":{"data":"YQ=="}}`, `"_attachments":{"a":{"data":"!","encoding":"gzip"}}`, `"cpf":null`} {
		id := record.Person.DocID(record.Int(record.FirstDrawn + int64(i)))
		docs = append(docs, fmt.Sprintf(`{"_id":"%s","_rev":"1-%032d","full_name":"Ana","church_id":1,%s}`, id, i, members))
	}
	a := s.Want(201, "POST", "/church-1/_bulk_docs", `{"new_edits":false,"docs":[`+strings.Join(docs, ",")+`]}`)
	if n := strings.Count(a.Body, `"error":"forbidden","reason":"not permitted: records have no attachments"`); n != 2 {
		t.Errorf("_bulk_docs = %s, want two forbidden", a.Body)
	}
	s.Want(200, "GET", "/church-1/"+record.Person.DocID(record.Int(record.FirstDrawn+2)), "")
	if page, err := s.Store.Inbox.List(auth.Operator(), record.Refusal, desk.Part{Limit: 100}); err != nil || len(page.Items) != 2 {
		t.Errorf("staff find %d refusals, %v, want 2", len(page.Items), err)
	}
}

// TestAFullFreeDatabase: what is beyond the quota is 507 for the whole request, since a client never sends a document again that was refused by
// itself; once there is room, it brings all.
func TestAFullFreeDatabase(t *testing.T) {
	t.Parallel()
	s, from := peertest.NewSite(t), peertest.NewSite(t)
	from.Fill(300)
	s.Store.Tables.Rules.Limits.Free = 100_000
	tiny := `{"docs":[` + strings.TrimSuffix(strings.Repeat("{},", 50), ",") + `]}`
	for range 10 { // a kilobyte and a half, which would take two hundred of the store
		s.Do("POST", "/notes/_bulk_docs", tiny)
	}
	var info struct{ Sizes struct{ File, Active int64 } }
	if err := json.Unmarshal([]byte(s.Want(200, "GET", "/notes", "").Body), &info); err != nil || info.Sizes.File > 100_000 || info.Sizes.File < 90_000 {
		t.Errorf("the database has sizes %+v, %v", info.Sizes, err)
	}
	for path, body := range map[string]string{
		"/notes/_bulk_docs":           `{"new_edits":false,"docs":[` + peertest.Leaf("x", 1, strings.Repeat("a", 32)) + `,{"_id":"y","_rev":"1-a"},{"_id":"z","_rev":"1-a"}]}`,
		"/notes/_bulk_docs?edits=own": tiny,
	} {
		if a := s.Do("POST", path, body); a.Status != 507 || !strings.Contains(a.Body, `"error":"insufficient_storage","reason":"The database has reached its quota`) || a.Header.Get("Retry-After") == "" {
			t.Errorf("POST %s into a full database = %d %s", path, a.Status, a.Body)
		}
	}
	s.Want(507, "PUT", "/notes/large/photo", strings.Repeat("x", 10_000), "Content-Type", "image/png")
	s.Want(201, "PUT", "/notes/_local/place", `{"seq":7}`)
	s.Want(200, "GET", "/notes/_all_docs?limit=3", "")
	s.Want(200, "GET", "/notes/_changes?limit=3", "")
	for _, as := range []replicate.RemoteConfig{peertest.Plainly, {}} {
		out, err := replicate.Run(t.Context(), replicate.Job{Source: from.Local(), Target: s.Remote(as), Tries: 2, Pause: time.Millisecond})
		if err == nil || out.History[0].Failures != 0 {
			t.Errorf("a replication into a full database = %+v, %v, want that it gives no document up", out, err)
		}
	}
	s.Store.Tables.Rules.Limits.Free = table.DefaultFreeQuota
	peertest.CopyAll(t, from.Local(), s.Remote(peertest.Plainly))
	for _, id := range []string{"doc00000", "doc00299", "with%2Fslash/large"} {
		s.Want(200, "GET", "/notes/"+id, "")
	}
}

// idleAfter is how long requests of these tests may make no progress.
const idleAfter = 600 * time.Millisecond

// impatient is a server whose requests may make no progress for idleAfter, with a free database "notes". ended tells of each request that
// is over.
func impatient(t *testing.T) (srv *httptest.Server, ended chan struct{}) {
	t.Helper()
	s := kvtest.Open(t)
	server, err := sync.New(sync.Config{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	server.LimitIdle(idleAfter)
	if err := s.Docs.CreateDatabase(auth.Operator(), "notes"); err != nil {
		t.Fatal(err)
	}
	ended = make(chan struct{}, 100)
	srv = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { ended <- struct{}{} }()
		server.Control().ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(server.Close) // first, so that feeds end
	return srv, ended
}

// trickle gives a byte at a time, each well before a read is too late, and all of them after the time of two such limits.
type trickle struct{ left int }

func (b *trickle) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	b.left--
	time.Sleep(idleAfter / 20)
	return copy(p, "x"), nil
}

// TestARequestMayTakeLongerThanItMayBeIdle: an upload that goes on, and a feed that waits, over HTTP/2 too.
func TestARequestMayTakeLongerThanItMayBeIdle(t *testing.T) {
	t.Parallel()
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		for name, ask := range map[string]struct {
			method, path string
			body         io.Reader
			status       int
			want         string
		}{
			"a slow upload":     {"PUT", "/sync/notes/doc/file", &trickle{40}, 201, `"ok":true`},
			"a long poll":       {"GET", "/sync/notes/_changes?feed=longpoll&timeout=1200", nil, 200, `"last_seq"`},
			"a continuous feed": {"GET", "/sync/notes/_changes?feed=continuous&timeout=1200", nil, 200, `"last_seq"`},
		} {
			t.Run(fmt.Sprint(name, " over ", proto), func(t *testing.T) {
				t.Parallel()
				srv, _ := impatient(t)
				srv.EnableHTTP2 = proto == "HTTP/2.0"
				srv.StartTLS()
				req, err := http.NewRequestWithContext(t.Context(), ask.method, srv.URL+ask.path, ask.body)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Content-Type", "text/plain")
				resp, err := srv.Client().Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = resp.Body.Close() }()
				b, err := io.ReadAll(resp.Body)
				if err != nil || resp.Proto != proto || resp.StatusCode != ask.status || !strings.Contains(string(b), ask.want) {
					t.Errorf("%s %d %s, %v", resp.Proto, resp.StatusCode, b, err)
				}
			})
		}
	}
}

// TestAClientThatTakesNothingIsCutOff: it holds no request for ever.
func TestAClientThatTakesNothingIsCutOff(t *testing.T) {
	t.Parallel()
	srv, ended := impatient(t)
	srv.Start()
	upload, err := http.NewRequestWithContext(t.Context(), http.MethodPut, srv.URL+"/sync/notes/doc/file", strings.NewReader(strings.Repeat("x", 16<<20)))
	if err != nil {
		t.Fatal(err)
	}
	upload.Header.Set("Content-Type", "text/plain")
	resp, err := srv.Client().Do(upload)
	if err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatalf("the upload = %v, %v", resp, err)
	}
	_ = resp.Body.Close() // it is small
	<-ended
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10) // what the system takes for the client is little
	w := bufio.NewWriter(conn)
	fmt.Fprint(w, "GET /sync/notes/doc/file HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the request goes on without end")
	}
}

// goneClient takes no byte of a body, and hungUp sends none of those it took.
type (
	goneClient struct{ *httptest.ResponseRecorder }
	hungUp     struct{ *httptest.ResponseRecorder }
)

func (goneClient) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }
func (hungUp) FlushError() error             { return errors.New("connection reset by peer") }

// TestAnAnswerThatBreaksOffIsNoFaultOfOurs: the connection is ended, so that half an answer looks like one, and nothing is logged,
// because nobody has to act on a client that left.
func TestAnAnswerThatBreaksOffIsNoFaultOfOurs(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	store := kvtest.Open(t)
	server, err := sync.New(sync.Config{Store: store, Version: "test", Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	if err := store.Docs.CreateDatabase(auth.Operator(), "notes"); err != nil {
		t.Fatal(err)
	}
	ask := func(w http.ResponseWriter, method, path, body string) (cut bool) {
		defer func() {
			found := recover()
			if cut = found == http.ErrAbortHandler; found != nil && !cut { //nolint:errorlint // it is what net/http compares with
				panic(found)
			}
		}()
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		server.Control().ServeHTTP(w, r)
		return false
	}
	doc := `{"_attachments":{"a":{"data":"YQ=="}},"text":"` + strings.Repeat("x", 100) + `"}`
	if w := httptest.NewRecorder(); ask(w, "PUT", "/sync/notes/a", doc) || w.Code != http.StatusCreated {
		t.Fatalf("PUT = %d %s", w.Code, w.Body)
	}
	for _, path := range []string{"/sync/notes/_all_docs", "/sync/notes/_changes", "/sync/notes/a", "/sync/notes/a/a"} {
		if !ask(goneClient{httptest.NewRecorder()}, "GET", path, "") {
			t.Errorf("GET %s did not cut the connection", path)
		}
	}
	if !ask(hungUp{httptest.NewRecorder()}, "GET", "/sync/notes/_changes?feed=continuous&timeout=0", "") {
		t.Error("a feed that cannot be flushed did not cut the connection")
	}
	if log.Len() > 0 {
		t.Errorf("log = %s", log.String())
	}
}
