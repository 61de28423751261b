package api_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"doorward/api"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/table"
)

// The rows of contract.md §3.

var operator = auth.Operator()

func TestErrorAllFaultsAtOnce(t *testing.T) {
	w := newWorld(t)
	a := w.status(w.do("POST", "/v1/people/", `{"full_name":"","email":"x","gender":"other","church_id":99,"is_pastor":"maybe"}`, invalid), 400)
	want := `{"error":{"code":"VALIDATION_ERROR","message":"The given data was invalid.","details":{` +
		`"church_id":["Invalid pk \"99\" - object does not exist."],"email":["Enter a valid email address."],` +
		`"full_name":["This field may not be blank."],"gender":["\"other\" is not a valid choice."],"is_pastor":["Must be a valid boolean."]}}}`
	if a.body != want {
		t.Errorf("body = %s\nwant   %s", a.body, want)
	}
	a = w.status(w.do("POST", "/v1/people/", `{"gender":"x"}`, header("Idempotency-Key", strings.Repeat("k", 256)), invalid), 400)
	if a.text(t, "error.details.gender.0") == "" || a.text(t, "error.details.Idempotency-Key.0") == "" {
		t.Errorf("body and header are not both at fault: %s", a.body)
	}
	a = w.status(w.do("GET", "/v1/people/?church_id=99&church_id=x&is_leader=maybe&created_at_after=x", "", invalid), 400)
	want = `{"church_id":["Select a valid choice. 99 is not one of the available choices.","“x” is not a valid value."],` +
		`"created_at_after":["Enter a valid date/time."],"is_leader":["Must be a valid boolean."]}`
	if got := a.text(t, "error.details"); got != want {
		t.Errorf("details = %s\nwant      %s", got, want)
	}
}

func TestErrorUnauthorizedIsAlwaysTheSame(t *testing.T) {
	s := newSite(t)
	revoked := s.as("denomination")
	keys, err := s.store.Keys.Keys(operator)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.store.Keys.RevokeKey(operator, keys[len(keys)-1].ID); err != nil {
		t.Fatal(err)
	}
	wrong := *s
	wrong.auth[1] = "wrong"
	unknown := *s
	unknown.auth[0] = "dw_00000000000000000000"
	for name, a := range map[string]answer{
		"none": s.do("GET", "/v1/people/", "", anybody), "revoked": revoked.do("GET", "/v1/people/", ""), "wrong": wrong.do("GET", "/v1/people/", ""),
		"unknown": unknown.do("GET", "/v1/people/", ""), "bearer": s.do("GET", "/v1/people/", "", header("Authorization", "Bearer x")),
		"not base64": s.do("GET", "/v1/people/", "", header("Authorization", "Basic ???")),
	} {
		if a.status != 401 || a.body != `{"error":{"code":"UNAUTHORIZED","message":"Invalid API credentials"}}` || a.header.Get("WWW-Authenticate") != `Basic realm="api"` {
			t.Errorf("%s: %d %s %s", name, a.status, a.header.Get("WWW-Authenticate"), a.body)
		}
	}
}

func TestErrorForbiddenTellsWhatIsWanting(t *testing.T) {
	w := newWorld(t)
	s := w.as("denomination", "people:GET", "event:*")
	a := s.status(s.do("POST", "/v1/people/", `{}`), 403)
	want := `{"error":{"code":"FORBIDDEN","message":"The key is not permitted to do this.","details":{"required_scope":"people:POST","current_scopes":["people:GET","event:*"]}}}`
	if a.body != want {
		t.Errorf("body = %s\nwant   %s", a.body, want)
	}
	s = w.as(fmt.Sprintf("church:%d", w.church), "*:*")
	a = s.status(s.do("POST", "/admin/v1/church/", `{"name":"X"}`), 403)
	want = `{"required_level":"denomination","current_level":"church"}`
	if got := a.text(t, "error.details"); !same(got, want) {
		t.Errorf("details = %s, want %s", got, want)
	}
}

// Where neither level nor permissions say what is wanting, the message does.
func TestErrorForbiddenGivesItsReason(t *testing.T) {
	s := newSite(t)
	k, secret, err := s.store.Keys.AddKey(operator, keys.KeySpec{
		Name: "slow", Level: auth.Level{Name: auth.Denomination}, Permissions: []auth.Permission{{Resource: "*", Method: "*"}}, Rate: 9,
	})
	if err != nil {
		t.Fatal(err)
	}
	slow := *s
	slow.auth = [2]string{k.Key, secret}
	a := s.status(slow.do("POST", "/admin/v1/keys/", `{"name":"n","level":"denomination","permissions":["*:*"]}`), 403)
	want := `{"error":{"code":"FORBIDDEN","message":"A key makes none that is good for longer, or for more requests a minute, than itself.",` +
		`"details":{"required_level":"denomination","current_level":"denomination"}}}`
	if !same(a.body, want) {
		t.Errorf("body = %s\nwant   %s", a.body, want)
	}
}

func TestErrorConflicts(t *testing.T) {
	w := newWorld(t)
	body := fmt.Sprintf(`{"person":%d}`, w.person)
	w.status(w.do("POST", membersPath(w.group), body), 201)
	a := w.status(w.do("POST", membersPath(w.group), body), 409)
	if a.text(t, "error.code") != "CONFLICT" || a.value(t, "error.details.outcome") != nil {
		t.Errorf("body = %s", a.body)
	}
	a = w.status(w.do("DELETE", adminPath("supplier", w.supplier), ""), 409)
	if got := a.text(t, "error.details"); got != `{"financial_entry":2}` {
		t.Errorf("details = %s, want the records that refer to it", got)
	}
	w.ticket(w.event, "A1", "")
	w.status(w.do("POST", "/admin/v1/ticket/", fmt.Sprintf(`{"event_id":%d,"code":"A1"}`, w.event)), 409)
	w.status(w.do("POST", "/admin/v1/ticket/", fmt.Sprintf(`{"event_id":%d,"code":"A1"}`, w.farEvent)), 201)
}

func TestErrorThrottleOfFailures(t *testing.T) {
	s := newSite(t, func(c *api.Config) { c.AuthFailures = 6 })
	wrong := *s
	wrong.auth[1] = "wrong"
	for range 3 {
		s.status(wrong.do("GET", "/v1/people/", ""), 401)
	}
	a := s.status(wrong.do("GET", "/v1/people/", ""), 429) // over 3 for this key here
	for _, name := range []string{"Retry-After", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		if a.header.Get(name) == "" {
			t.Errorf("429 without %s", name)
		}
	}
	if a.text(t, "error.code") != "RATE_LIMITED" || a.header.Get("X-RateLimit-Limit") != "3" || a.header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("%s %v", a.body, a.header)
	}
	s.status(s.do("GET", "/v1/people/", "", anybody), 401)
	s.status(s.do("GET", "/v1/people/", "", anybody), 401)
	s.status(s.do("GET", "/v1/people/", "", anybody), 429) // over 6 for this address
	for range 20 {
		s.status(s.do("GET", "/v1/people/", ""), 200) // a right secret always passes
	}
	s.status(s.do("GET", "/v1/people/", "", anybody), 429)
}

func TestErrorRateOfAKey(t *testing.T) {
	s := newSite(t)
	k, secret, err := s.store.Keys.AddKey(operator, keys.KeySpec{Name: "slow", Level: auth.Level{Name: auth.Denomination}, Rate: 3})
	if err != nil {
		t.Fatal(err)
	}
	slow := *s
	slow.auth = [2]string{k.Key, secret}
	for left := 2; left >= 0; left-- {
		a := s.status(slow.do("GET", "/v1/people/", ""), 200)
		if a.header.Get("X-RateLimit-Limit") != "3" || a.header.Get("X-RateLimit-Remaining") != fmt.Sprint(left) || a.header.Get("X-RateLimit-Reset") == "" {
			t.Errorf("headers = %v, want %d left of 3", a.header, left)
		}
	}
	s.status(slow.do("GET", "/v1/people/999/", ""), 429) // before the record is looked for
	if a := s.status(s.do("GET", "/v1/people/", ""), 200); a.header.Get("X-RateLimit-Limit") != "" {
		t.Errorf("a key without a rate has headers of one: %v", a.header)
	}
}

func TestErrorStoppedStoreIs503(t *testing.T) {
	store, err := kv.Open(kv.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s := newSiteOver(t, store)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	a := s.status(s.do("POST", "/v1/people/", `{}`), 503)
	if a.text(t, "error.code") != "SERVICE_UNAVAILABLE" || a.header.Get("Retry-After") == "" {
		t.Errorf("answer = %s", a.body)
	}
	s.status(s.do("GET", "/healthz", ""), 200)
}

func TestErrorTextsRepeatNoPersonalData(t *testing.T) {
	w := newWorld(t)
	var log strings.Builder
	s := newSiteOver(t, w.store, logTo(&log))
	s.do("POST", "/v1/people/", `{"full_name":"Ana","cpf":"123456789012","email":"secret-mail"}`, invalid)
	s.do("POST", checkinPath(w.event), `{"code":"SECRET-CODE"}`)
	if log.Len() > 0 {
		t.Errorf("the log says %s", log.String())
	}
	a := s.do("POST", checkinPath(w.event), `{"code":"SECRET-CODE"}`)
	if strings.Contains(a.body, "SECRET") {
		t.Errorf("body = %s", a.body)
	}
}

// aWorkbook begins as a workbook does, which is kept in a temporary file while it is read.
const aWorkbook = "PK\x03\x04"

// moveAway takes the folder of a store away while it is open, and returns its path.
func moveAway(t *testing.T, s *kv.Store) string {
	t.Helper()
	dir := s.Tables.Folder.Dir
	if err := os.Rename(dir, dir+"-away"); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestTheOwnerIsToldWhatHisMachineLacks, in one line and instead of the log.
func TestTheOwnerIsToldWhatHisMachineLacks(t *testing.T) {
	var log strings.Builder
	store, url := control(t, logTo(&log))
	dir := moveAway(t, store)
	for _, path := range []string{"/control/import?kind=church", "/admin/v1/import/?kind=church"} {
		resp, err := http.Post(url+path, "text/csv", strings.NewReader(aWorkbook))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != 500 || !strings.Contains(string(body), `"message":"Keep the file: stat `+dir) {
			t.Errorf("POST %s = %s %s (%v), want the cause", path, resp.Status, body, err)
		}
	}
	if log.Len() > 0 {
		t.Errorf("the log says it too: %s", log.String())
	}
}

// TestNobodyElseIsToldWhatTheMachineLacks: a key's client reads a number to ask by, and the cause stands in the log once.
func TestNobodyElseIsToldWhatTheMachineLacks(t *testing.T) {
	var log strings.Builder
	w := settle(newSite(t, logTo(&log)))
	dir := moveAway(t, w.store)
	a := w.status(w.do("POST", "/admin/v1/import/?kind=church", aWorkbook, header("Content-Type", "text/csv"), invalid), 500)
	if a.text(t, "error.message") != "Something went wrong on our side." || a.text(t, "error.details.request_id") == "" || strings.Contains(a.body, dir) {
		t.Errorf("body = %s", a.body)
	}
	if strings.Count(log.String(), dir) != 1 {
		t.Errorf("the log = %s, want the cause once", log.String())
	}
}

// goneClient takes no byte of a body.
type goneClient struct{ *httptest.ResponseRecorder }

func (goneClient) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// hungUp takes bytes, and sends none.
type hungUp struct{ *httptest.ResponseRecorder }

func (hungUp) FlushError() error { return errors.New("connection reset by peer") }

// TestAnAnswerThatBreaksOffIsNoFaultOfOurs: nobody has to act on a client that left, so nothing is logged.
func TestAnAnswerThatBreaksOffIsNoFaultOfOurs(t *testing.T) {
	var log strings.Builder
	c := api.Config{Store: kvtest.Open(t)}
	logTo(&log)(&c)
	server, err := api.New(c)
	if err != nil {
		t.Fatal(err)
	}
	kvtest.Create(t, c.Store, record.Role, `{"name":"Pastora"}`)
	for name, leave := range map[string]func(*httptest.ResponseRecorder) http.ResponseWriter{
		"a client that is gone":     func(w *httptest.ResponseRecorder) http.ResponseWriter { return goneClient{w} },
		"a client that has hung up": func(w *httptest.ResponseRecorder) http.ResponseWriter { return hungUp{w} },
	} {
		for _, target := range []string{"GET /control/export", "GET /control/verify", "GET /admin/v1/role/", "POST /control/import?kind=role"} {
			method, path, _ := strings.Cut(target, " ")
			w := httptest.NewRecorder()
			server.Control().ServeHTTP(leave(w), httptest.NewRequest(method, path, strings.NewReader("name\nDiácona\n")))
			if w.Code != http.StatusOK || log.Len() > 0 {
				t.Errorf("%s, %s: status %d, log %q", name, target, w.Code, log.String())
			}
			log.Reset()
		}
	}
}

// TestAFullDiskIs507 tells of each thing that is refused what it wants, and of what goes on.
func TestAFullDiskIs507(t *testing.T) {
	var left atomic.Int64
	left.Store(1 << 40)
	w := settle(newSiteOver(t, kvtest.OpenConfig(t, table.Config{Free: func() (int64, error) { return left.Load(), nil }})))
	for _, code := range []string{"A", "B", "C", "D"} {
		w.ticket(w.event, code, "")
	}
	imports := func() answer {
		return w.do("POST", "/admin/v1/import/?kind=church", `{"name":"Bulk"}`+"\n", header("Content-Type", "application/octet-stream"))
	}
	create := func() answer { return w.do("POST", "/v1/people/", `{"full_name":"Ana Souza","church_id":1}`) }
	for _, step := range []struct {
		free                    int64
		imports, create, letsIn int
		code                    string
		ready                   int
	}{
		{1 << 30, 200, 201, 204, "A", 200},
		{1<<30 - 1, 507, 201, 204, "B", 200},
		{256<<20 - 1, 507, 507, 204, "C", 200},
		{0, 507, 507, 507, "D", 507},
		{1 << 30, 200, 201, 204, "D", 200},
	} {
		left.Store(step.free)
		w.status(imports(), step.imports)
		refused := w.status(create(), step.create)
		if step.create == 507 {
			want := `{"error":{"code":"INSUFFICIENT_STORAGE","message":"The disk is nearly full: creates need 256.0 MiB free, and `
			if !strings.HasPrefix(refused.body, want) || refused.header.Get("Retry-After") == "" {
				t.Errorf("create is refused with Retry-After %q: %s", refused.header.Get("Retry-After"), refused.body)
			}
		}
		w.status(w.checkIn(w.event, step.code), step.letsIn)
		ready := w.status(w.do("GET", "/readyz", "", anybody), step.ready)
		if named := strings.Contains(ready.body, "nearly full"); named != (step.imports == 507) {
			t.Errorf("with %d bytes free readyz = %s", step.free, ready.body)
		}
		w.status(w.do("GET", "/v1/people/?search=ana", ""), 200)
	}
}

// TestAFullDiskHidesNoAnswer that needs no room: one that was given before, that nothing changes, or what is wrong.
func TestAFullDiskHidesNoAnswer(t *testing.T) {
	var left atomic.Int64
	left.Store(1 << 40)
	w := settle(newSiteOver(t, kvtest.OpenConfig(t, table.Config{Free: func() (int64, error) { return left.Load(), nil }})))
	once := func(body string) answer { return w.do("POST", "/v1/people/", body, header("Idempotency-Key", "once")) }
	body := `{"full_name":"Ana Souza","church_id":1}`
	w.status(once(body), 201)
	person := fmt.Sprintf("/v1/people/%d/", w.person)
	left.Store(256<<20 - 1)
	if again := w.status(once(body), 201); again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("what was answered before is answered anew: %s", again.body)
	}
	w.status(once(`{"full_name":"Eva Lima","church_id":1}`), 422)
	w.status(w.do("PATCH", "/v1/people/999/", `{}`), 404)
	w.status(w.do("PATCH", person, `{}`), 200)
	w.status(w.do("PATCH", person, `{"gender":"zz"}`, invalid), 400)
	w.status(w.do("PATCH", person, `{"full_name":"Bia Lima"}`), 507)
	w.status(w.do("POST", "/v1/people/", `{"gender":"zz"}`, invalid), 400)
	w.status(w.do("POST", "/v1/people/", body), 507)
}

// TestAnErasureThatFindsNoRoomIsSaidToBeNoted: whoever asks for it need not ask again.
func TestAnErasureThatFindsNoRoomIsSaidToBeNoted(t *testing.T) {
	var left atomic.Int64
	left.Store(1 << 40)
	store := kvtest.OpenConfig(t, table.Config{Free: func() (int64, error) { return left.Load(), nil }})
	server, err := api.New(api.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	id := kvtest.Create(t, store, record.Person, `{"full_name":"Ana Souza"}`)
	left.Store(0)
	for _, erasure := range []struct {
		id     int64
		status int
		want   string
	}{
		{id, 507, "need 16.0 MiB free, and 0.0 MiB are; the erasure is noted and carried out as soon as it can be, and nobody is shown the person until then."},
		{id + 1, 404, "Not found."}, // of somebody else nothing is noted
	} {
		w := httptest.NewRecorder()
		server.Control().ServeHTTP(w, httptest.NewRequest("POST", fmt.Sprintf("/control/erase?id=%d", erasure.id), nil))
		if w.Code != erasure.status || !strings.Contains(w.Body.String(), erasure.want) {
			t.Errorf("erasing %d on a full disk = %d %s, want %d and %q", erasure.id, w.Code, w.Body, erasure.status, erasure.want)
		}
	}
}

// TestReadyzTellsOfWhatCouldNotBeErased until it is; the server is of use meanwhile.
func TestReadyzTellsOfWhatCouldNotBeErased(t *testing.T) {
	var left atomic.Int64
	left.Store(1 << 40)
	store := kvtest.OpenConfig(t, table.Config{Free: func() (int64, error) { return left.Load(), nil }})
	w := settle(newSiteOver(t, store))
	left.Store(0)
	if _, err := store.Erasures.Erase(auth.Operator(), record.Person, record.Int(w.person)); err == nil {
		t.Fatal("erasing on a full disk does not fail")
	}
	left.Store(1 << 40)
	if ready := w.status(w.do("GET", "/readyz", "", anybody), 200); !strings.Contains(ready.body, `"reasons":["Something that is to be erased could not be`) {
		t.Errorf("readyz = %s, want that something could not be erased", ready.body)
	}
	if _, err := store.Erasures.Erase(auth.Operator(), record.Person, record.Int(w.person)); err != nil {
		t.Fatal(err)
	}
}

// TestARevokedLaptopSaysSoInEachAnswer: a door that is answered nothing else would go on without knowing. It goes on all the same, and what
// it lets in is marked; nothing else is taken.
func TestARevokedLaptopSaysSoInEachAnswer(t *testing.T) {
	w := newWorld(t)
	ticket := w.ticket(w.event, "K1", "")
	w.ticket(w.event, "K2", "")
	u := table.Upstream{URL: "https://centre.example", Node: "01J00000000000000000000000", Epoch: "01J00000000000000000000001", Key: "dw_k",
		Pushes: []string{fmt.Sprint("event-", w.event), fmt.Sprintf("event-%d-names", w.event), fmt.Sprintf("event-%d-holders", w.event)}}
	if err := w.store.Laptop.Join(auth.Operator(), u, office.Credential{Realm: w.store.Tables.Identity.Realm()}); err != nil {
		t.Fatal(err)
	}
	says := func(a answer, want bool) answer {
		t.Helper()
		if got := a.header.Get(api.RevokedHeader) == "true"; got != want {
			t.Errorf("%s is %q, want it there: %v", api.RevokedHeader, a.header.Get(api.RevokedHeader), want)
		}
		return a
	}
	if a := says(w.scan(w.event, `{"code":"K9"}`), false); strings.Contains(a.body, "revoked") {
		t.Errorf("before it is revoked: %s", a.body)
	}
	u.Revoked, u.Epoch = true, "" // a laptop that was revoked before it met its centre sells nothing either
	if err := w.store.Laptop.NoteUpstream(u); err != nil {
		t.Fatal(err)
	}
	const text = "This laptop is revoked: check-ins are recorded for review; it sells and edits nothing more."
	scan := says(w.scan(w.event, `{"code":"K1"}`), true)
	if got := scan.text(t, "message"); got != "Admitted. "+text {
		t.Errorf("message = %q", got)
	}
	batch := says(w.status(w.do("POST", doorPath(w.event, "scans"), `{"scans":[{"code":"K1",`+seenAt+`},{"code":"K9",`+seenAt+`}]}`), 200), true)
	for i, outcome := range []string{"This ticket was already admitted. ", "No ticket has this code. "} {
		if got := batch.text(t, fmt.Sprintf("results.%d.message", i)); got != outcome+text {
			t.Errorf("message %d of a batch = %q", i, got)
		}
	}
	says(w.status(w.do("POST", checkinPath(w.event), `{"code":"K2"}`), 204), true)
	says(w.status(w.do("POST", checkinPath(w.event), `{"code":"K2"}`), 409), true)
	undo := says(w.status(w.do("POST", doorPath(w.event, "undo"), fmt.Sprintf(`{"checkin_id":%q}`, scan.text(t, "checkin_id"))), 200), true)
	if got := undo.text(t, "message"); got != "The check-in was undone. "+text {
		t.Errorf("message of an undo = %q", got)
	}
	for _, path := range []string{doorPath(w.event, "status"), doorPath(w.event, "double_entries"), doorPath(w.event, "search") + "?q=ana", "/v1/people/"} {
		says(w.status(w.do("GET", path, ""), 200), true)
	}
	if a := says(w.status(w.do("GET", "/readyz", ""), 200), true); !strings.Contains(a.body, text) {
		t.Errorf("/readyz = %s", a.body)
	}
	if got := w.status(w.do("GET", "/admin/v1/reviews/?flag=needs_review", ""), 200).text(t, "count"); got != "5" {
		t.Errorf("%s facts to review, want two check-ins, two refusals and an undo", got)
	}
	for _, edit := range [][3]string{
		{"POST", "/admin/v1/ticket/", fmt.Sprintf(`{"event_id":%d,"code":"K3"}`, w.event)},
		{"PATCH", adminPath(record.Ticket.Name, ticket), `{"holder_name":"Eva Dias"}`},
		{"PATCH", personPath(w.person), `{"full_name":"Eva Dias"}`},
		{"POST", "/v1/people/", fmt.Sprintf(`{"full_name":"Eva Dias","church_id":%d}`, w.church)},
		{"DELETE", entryPath(w.entry), ""},
	} {
		if a := says(w.status(w.do(edit[0], edit[1], edit[2]), 403), true); !strings.Contains(a.text(t, "error.message"), "is revoked at its centre") {
			t.Errorf("%s %s = %s", edit[0], edit[1], a.body)
		}
	}
}

// TestLongListsOfFaultsAreCut: one body may name a hundred thousand records that are not there.
func TestLongListsOfFaultsAreCut(t *testing.T) {
	w := newWorld(t)
	ids := strings.TrimSuffix(strings.Repeat("900,", 5000), ",")
	a := w.status(w.do("PATCH", adminPath(record.Person.Name, w.person), `{"role_ids":[`+ids+`]}`), 400)
	if len(a.body) > 10_000 {
		t.Errorf("5,000 roles that are not there: an answer of %d bytes", len(a.body))
	}
	query := strings.Repeat("church_id=900&", 1000)
	a = w.status(w.do("GET", "/v1/people/?"+query, "", invalid), 400)
	if got := a.text(t, "error.details.church_id.100"); got != "And 900 more." || a.value(t, "error.details.church_id.101") != nil {
		t.Errorf("the last of 1,000 faults = %q in %d bytes", got, len(a.body))
	}
}

// TestALaptopOfManyEventsIsListedInShort: a church may have thousands of events.
func TestALaptopOfManyEventsIsListedInShort(t *testing.T) {
	w := newWorld(t)
	level := auth.Level{Name: auth.EventOf}
	for range 50 {
		level.IDs = append(level.IDs, w.create(record.Event, `{"start_datetime":"2030-05-01T12:00:00Z"}`))
	}
	if _, _, _, err := w.store.Venues.Enrol(auth.Operator(), office.Enrolment{Name: "all", Level: level, Venue: auth.Venue{Names: true}}); err != nil {
		t.Fatal(err)
	}
	a := w.status(w.do("GET", "/admin/v1/venues/", ""), 200)
	if got := a.text(t, "results.0.scopes_more"); got != "51" || a.value(t, "results.0.scopes.99") == nil || a.value(t, "results.0.scopes.100") != nil {
		t.Errorf("%s scopes more: %s", got, fmt.Sprint(len(a.body)))
	}
}
