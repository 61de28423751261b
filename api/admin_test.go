package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"doorward/kv/fault"
	"doorward/kv/record"
)

func TestAdminEveryKindCanBeHandled(t *testing.T) {
	w := newWorld(t)
	person := w.create(record.Person, `{"full_name":"Member"}`)
	for kind, bodies := range map[string][2]string{
		"church": {`{"name":"X"}`, `{"name":"Y"}`}, "regional": {`{"name":"X"}`, `{"name":"Y"}`}, "role": {`{"name":"X"}`, `{"name":"Y"}`},
		"financial_account": {`{"name":"X","currency":"BRL"}`, `{"currency":"USD"}`}, "category": {`{"name":"X"}`, `{"name":"Y"}`},
		"subcategory": {fmt.Sprintf(`{"name":"X","category_id":%d}`, w.category), `{"name":"Y"}`}, "cost_center": {`{"name":"X"}`, `{"name":"Y"}`},
		"business_unit": {`{"name":"X"}`, `{"name":"Y"}`}, "supplier": {`{"name":"X"}`, `{"document":"9"}`}, "person": {`{}`, `{"full_name":"Y"}`},
		"group": {`{"name":"X"}`, `{"name":"Y"}`}, "membership": {fmt.Sprintf(`{"person":%d,"group_id":%d}`, person, w.group), `{"is_approved":false}`},
		"financial_entry": {w.entryOf(w.church), `{"interest":"1.00"}`}, "event": {`{"start_datetime":"2026-01-01T00:00:00Z"}`, `{"name":"Y"}`},
		"ticket": {fmt.Sprintf(`{"event_id":%d}`, w.event), `{"state":"cancelled"}`},
	} {
		path := "/admin/v1/" + kind + "/"
		made := w.status(w.do("POST", path, bodies[0]), 201)
		one := path + made.text(t, "id") + "/"
		if read := w.status(w.do("GET", one, ""), 200); read.body != made.body {
			t.Errorf("GET %s = %s, made %s", one, read.body, made.body)
		}
		changed := w.status(w.do("PATCH", one, bodies[1]), 200)
		if changed.body == made.body {
			t.Errorf("PATCH %s changed nothing", one)
		}
		if list := w.status(w.do("GET", path+"?limit=100", ""), 200); !strings.Contains(list.body, changed.body) {
			t.Errorf("GET %s lacks %s", path, changed.body)
		}
		w.status(w.do("DELETE", one, ""), 204)
		w.status(w.do("GET", one, ""), 404)
		w.status(w.do("PUT", one, `{}`), 405)
	}
}

func TestAdminFactsAndKeysAreReadOnly(t *testing.T) {
	w := newWorld(t)
	ticket := w.ticket(w.event, "A1", "")
	w.checkIn(w.event, "A1")
	w.checkIn(w.event, "nobody")
	id := w.do("GET", "/admin/v1/checkin/", "").text(t, "results.0.id")
	a := w.status(w.do("GET", "/admin/v1/checkin/"+id+"/", ""), 200)
	if a.text(t, "ticket_id") != fmt.Sprint(ticket) || a.text(t, "door") != "key of denomination" {
		t.Errorf("fact = %s", a.body)
	}
	w.status(w.do("GET", "/admin/v1/checkin/"+strings.ToLower(id)+"/", ""), 404)
	for path, want := range map[string]int{
		fmt.Sprintf("/admin/v1/checkin/?event_id=%d", w.event): 1, fmt.Sprintf("/admin/v1/checkin/?event_id=%d", w.farEvent): 0,
		fmt.Sprintf("/admin/v1/scan/?event_id=%d", w.event): 1, "/admin/v1/undo/": 0, "/admin/v1/api_key/": 1,
	} {
		if got := w.status(w.do("GET", path, ""), 200).text(t, "count"); got != fmt.Sprint(want) {
			t.Errorf("GET %s counts %s, want %d", path, got, want)
		}
	}
	if list := w.do("GET", "/admin/v1/api_key/", ""); strings.Contains(list.body, "secret") {
		t.Errorf("a key shows its secret: %s", list.body)
	}
	for _, path := range []string{"/admin/v1/checkin/" + id + "/", "/admin/v1/api_key/1/"} {
		w.status(w.do("PATCH", path, `{}`), 405)
		w.status(w.do("DELETE", path, ""), 405)
	}
}

func TestAdminFiltersOnIndexedFields(t *testing.T) {
	w := newWorld(t)
	first := w.ticket(w.event, "A1", `"external_id":"x-1"`)
	second := w.ticket(w.farEvent, "A1", `"external_id":"x-1"`)
	for query, want := range map[string][]int64{
		fmt.Sprintf("event_id=%d", w.event): {first}, "external_id=x-1": {first, second}, fmt.Sprintf("external_id=x-1&event_id=%d", w.farEvent): {second},
		"external_id=none": {}, fmt.Sprintf("event_id=%d&event_id=%d", w.event, w.farEvent): {first, second},
	} {
		if got := w.status(w.do("GET", "/admin/v1/ticket/?"+query, ""), 200).ids(t); !slices.Equal(got, want) {
			t.Errorf("ticket?%s = %v, want %v", query, got, want)
		}
	}
	w.status(w.do("GET", "/admin/v1/ticket/?event_id=999", ""), 400)
	for _, query := range []string{"ticket/?external_id", "api_key/?key", "person/?external_id"} {
		a := w.status(w.do("GET", "/admin/v1/"+query+"=x-1%00&x=1", ""), 400)
		name := query[strings.IndexByte(query, '?')+1:]
		if got := a.text(t, "error.details."+name+".0"); got != fault.NUL {
			t.Errorf("%s with NUL: %q", query, got)
		}
	}
	if got := w.do("GET", fmt.Sprintf("/admin/v1/person/?church_id=%d", w.far), "").ids(t); !slices.Equal(got, []int64{w.farPerson}) {
		t.Errorf("person?church_id = %v", got)
	}
	if got := w.do("GET", "/admin/v1/person/?search=lima", "").ids(t); !slices.Equal(got, []int64{w.farPerson}) {
		t.Errorf("person?search = %v", got)
	}
}

func TestAdminTicketIsOneThing(t *testing.T) {
	w := newWorld(t)
	a := w.status(w.do("POST", "/admin/v1/ticket/", fmt.Sprintf(`{"event_id":%d,"code":"K7QP-2M","type":"Adult","holder_name":"Ana Souza",`+
		`"email":"ana@mail.example","phone":"11987654321","person_id":%d,"order":"7","valid_from":"2026-01-01T00:00:00Z","external_id":"x"}`, w.event, w.person)), 201)
	for name, want := range map[string]string{"code": "K7QP-2M", "holder_name": "Ana Souza", "email": "ana@mail.example", "person_id": fmt.Sprint(w.person), "state": "valid", "label": "Ana S."} {
		if got := a.text(t, name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if made := w.status(w.do("POST", "/admin/v1/ticket/", fmt.Sprintf(`{"event_id":%d}`, w.event)), 201); len(made.text(t, "code")) != 16 {
		t.Errorf("code = %q, want one of 16 characters", made.text(t, "code"))
	}
}

func TestAdminKeys(t *testing.T) {
	w := newWorld(t)
	a := w.status(w.do("POST", "/admin/v1/keys/", fmt.Sprintf(`{"name":"Door","level":"event:%d","permissions":["checkin:*"],"expires_at":"2099-01-01T00:00:00Z","rate_limit":5}`, w.event)), 201)
	want := fmt.Sprintf(`{"id":2,"key":%q,"secret":%q,"name":"Door","level":"event:%d","permissions":["checkin:*"],"expires_at":"2099-01-01T00:00:00Z","rate_limit":5}`,
		a.text(t, "key"), a.text(t, "secret"), w.event)
	if a.body != want || len(a.text(t, "secret")) < 43 || !strings.HasPrefix(a.text(t, "key"), "dw_") {
		t.Errorf("body = %s, want %s", a.body, want)
	}
	list := w.status(w.do("GET", "/admin/v1/keys/?limit=1&offset=1", ""), 200)
	if list.text(t, "count") != "2" || list.text(t, "results.0.name") != "Door" || list.value(t, "results.0.secret") != nil || list.text(t, "previous") == "" {
		t.Errorf("list = %s", list.body)
	}
	w.status(w.do("GET", "/admin/v1/keys/?offset=99999999999999999999", "", invalid), 200)
	w.status(w.do("DELETE", "/admin/v1/keys/2/", ""), 204)
	if list = w.do("GET", "/admin/v1/keys/", ""); list.value(t, "results.1.revoked_at") == nil || list.value(t, "results.0.revoked_at") != nil {
		t.Errorf("list = %s", list.body)
	}
	w.status(w.do("DELETE", "/admin/v1/keys/99/", ""), 404)
	w.status(w.do("DELETE", "/admin/v1/keys/x/", "", invalid), 404)
	bad := w.status(w.do("POST", "/admin/v1/keys/", `{"level":"world","permissions":["everything"],"rate_limit":-1,"expires_at":"soon"}`, invalid), 400)
	late := w.status(w.do("POST", "/admin/v1/keys/", `{"name":"Late","level":"denomination","permissions":[],"expires_at":"2020-01-01T00:00:00Z"}`, invalid), 400)
	if late.text(t, "error.details") != `{"expires_at":["A time to come is wanted."]}` {
		t.Errorf("a key that has expired before it is made = %s", late.body)
	}
	for _, field := range []string{"name", "level", "permissions", "rate_limit", "expires_at"} {
		if bad.text(t, "error.details."+field+".0") == "" {
			t.Errorf("no fault of %s in %s", field, bad.body)
		}
	}
}

func TestAdminKeysMustSayWhatTheyPermit(t *testing.T) {
	s := newSite(t)
	for body, want := range map[string]string{
		`{"name":"n","level":"denomination"}`:                                      fault.Required,
		`{"name":"n","level":"denomination","permissions":null}`:                   fault.Null,
		`{"name":"n","level":"denomination","permissions":["people:GET","x","y"]}`: "“x” is not a valid value.",
	} {
		a := s.status(s.do("POST", "/admin/v1/keys/", body, invalid), 400)
		if got := a.text(t, "error.details.permissions.0"); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
	a := s.status(s.do("POST", "/admin/v1/keys/", `{"name":"n","level":"world","permissions":[]}`, invalid), 400)
	if got := a.text(t, "error.details"); got != `{"level":["“world” is not a valid value."]}` {
		t.Errorf("details = %s", got)
	}
	s.status(s.do("POST", "/admin/v1/keys/", `{"name":"n","level":"denomination","permissions":[]}`), 201)
}

func TestAdminKeysLieWithinTheMakersOwn(t *testing.T) {
	w := newWorld(t)
	s := w.as(fmt.Sprintf("church:%d", w.church), "people:*", "admin:*")
	for body, status := range map[string]int{
		fmt.Sprintf(`{"name":"n","level":"church:%d","permissions":["people:GET"]}`, w.church): 201,
		fmt.Sprintf(`{"name":"n","level":"church:%d","permissions":["people:GET"]}`, w.far):    403,
		fmt.Sprintf(`{"name":"n","level":"church:%d","permissions":["event:GET"]}`, w.church):  403,
		`{"name":"n","level":"denomination","permissions":["people:GET"]}`:                     403,
		fmt.Sprintf(`{"name":"n","level":"church:%d","permissions":[]}`, w.church):             403,
	} {
		if a := s.do("POST", "/admin/v1/keys/", body); a.status != status {
			t.Errorf("%s = %d, want %d: %s", body, a.status, status, a.body)
		}
	}
	s.status(s.do("DELETE", "/admin/v1/keys/1/", ""), 404)
}

func TestAdminImport(t *testing.T) {
	w := newWorld(t)
	const csv = "code,holder_name,type\nA1,Ana Souza,Adult\nB2,Bia Lima,Child\nB2,Twice,Child\n"
	plain := header("Content-Type", "text/csv")
	path := fmt.Sprintf("/admin/v1/import/?kind=ticket&event=%d", w.event)
	dry := w.status(w.do("POST", path+"&dry_run=true", csv, plain, invalid), 200)
	if dry.text(t, "created") != "2" || w.do("GET", "/admin/v1/ticket/", "").text(t, "count") != "0" {
		t.Errorf("dry run = %s", dry.body)
	}
	a := w.status(w.do("POST", path, csv, plain, invalid), 200)
	if a.text(t, "created") != "2" || a.text(t, "rejected.0.line") == "" {
		t.Errorf("report = %s", a.body)
	}
	if a = w.status(w.do("POST", path, csv, plain, invalid), 200); a.text(t, "unchanged") != "2" {
		t.Errorf("again = %s", a.body)
	}
	a = w.status(w.do("POST", "/admin/v1/import/?kind=person&map=full_name%3DName", "Name\nCai\n", plain, invalid), 200)
	if a.text(t, "created") != "1" {
		t.Errorf("mapped = %s", a.body)
	}
	// A column without a value has an empty list of samples, as the document says.
	w.status(w.do("POST", path+"&dry_run=true", "code,email\nC3,\n", header("Content-Type", "application/octet-stream")), 200)
	for _, query := range []string{"", "?kind=nothing", "?kind=checkin", "?kind=ticket&event=x", "?kind=person&map=x", "?kind=person&dry_run=maybe"} {
		w.status(w.do("POST", "/admin/v1/import/"+query, csv, plain, invalid), 400)
	}
	s := w.as("denomination")
	s.status(s.do("POST", path, csv, plain, invalid), 403)
}

// TestAdminImport_Parameters: what an import says of its options names the parameters of the query, and the command's answer names flags.
func TestAdminImport_Parameters(t *testing.T) {
	w := newWorld(t)
	plain := header("Content-Type", "text/csv")
	for csv, test := range map[string]struct{ query, want, never string }{
		"code,holder_name,type\nA1,Ana,Adult\n":  {fmt.Sprintf("kind=ticket&event=%d&only_type=VIP", w.event), "only_type VIP: the list has no such type", "--"},
		"code,state\nA1,perhaps\n":               {fmt.Sprintf("kind=ticket&event=%d", w.event), "say map='state=state' states='perhaps=…'", "--"},
		"full_name,birth_date\nAna,01/02/2000\n": {"kind=person", `"flags":["dates=dmy","dates=mdy"`, "--"},
		"code,holder_name\nA1,Ana\n":             {"kind=ticket&event=7", "event 7: there is no such event", "--"},
	} {
		a := w.do("POST", "/admin/v1/import/?"+test.query, csv, plain, invalid)
		if text := string(a.body); !strings.Contains(text, test.want) || strings.Contains(text, test.never) {
			t.Errorf("%s of %q = %s, want %q", test.query, csv, text, test.want)
		}
	}
}

// TestAdminImportOfAChurch: a key of a church imports people with their e-mails. They are compared with the people that it sees.
func TestAdminImportOfAChurch(t *testing.T) {
	w := newWorld(t)
	for church, email := range map[int64]string{w.church: "ana@example.org", w.far: "bia@example.org"} {
		w.status(w.do("POST", "/admin/v1/person/", fmt.Sprintf(`{"full_name":"Ana Souza","email":%q,"church_id":%d}`, email, church)), 201)
	}
	csv := fmt.Sprintf("full_name,email,church_id\nAna S.,ana@example.org,%d\nBia L.,bia@example.org,%[1]d\n", w.church)
	for permissions, alike := range map[string]int{"*:*": 1, "people:*,admin:POST": 0} {
		key := w.as(fmt.Sprintf("church:%d", w.church), strings.Split(permissions, ",")...)
		a := key.status(key.do("POST", "/admin/v1/import/?kind=person&dry_run=true", csv, header("Content-Type", "text/csv"), invalid), 200)
		if lines := strings.Count(a.body, `"by":"e-mail"`); a.text(t, "created") != "2" || lines != alike {
			t.Errorf("a key with %s is answered %s", permissions, a.body)
		}
	}
}

// TestAdminImportOfTwoChurches: two churches have a person and a group of one content. The second church was refused its own, and learnt of the
// first church's.
func TestAdminImportOfTwoChurches(t *testing.T) {
	w := newWorld(t)
	for _, church := range []int64{w.church, w.far} {
		key := w.as(fmt.Sprintf("church:%d", church), "*:*")
		for kind, csv := range map[string]string{"person": "Nome;Telefone\nMaria Silva;24 98803-8508\n", "group": "Nome\nJovens\n"} {
			for _, want := range []string{`"created":1,"updated":0,"unchanged":0,"rejected":[]`, `"created":0,"updated":0,"unchanged":1,"rejected":[]`} {
				a := key.status(key.do("POST", "/admin/v1/import/?kind="+kind, csv, header("Content-Type", "text/csv"), invalid), 200)
				if !strings.Contains(a.body, want) {
					t.Errorf("church %d, %s: the answer is %s, want %s", church, kind, a.body, want)
				}
			}
		}
	}
}

// A ticket that staff have blocked stays so, until the request says that the file decides.
func TestAdminImportOverrulesNoDecision(t *testing.T) {
	w := newWorld(t)
	const csv = "code,holder_name,state\nA1,Ana Souza,paid\nB2,Bia Lima,paid\n"
	plain := header("Content-Type", "text/csv")
	path := fmt.Sprintf("/admin/v1/import/?kind=ticket&event=%d", w.event)
	w.status(w.do("POST", path, csv, plain, invalid), 200)
	ticket := "/admin/v1/ticket/" + w.do("GET", "/admin/v1/ticket/?code=A1", "").text(t, "results.0.id") + "/"
	w.status(w.do("PATCH", ticket, `{"state":"blocked"}`), 200)
	a := w.status(w.do("POST", path, csv, plain, invalid), 200)
	if a.text(t, "unchanged") != "1" || a.text(t, "rejected.0.line") != "2" || !strings.Contains(a.text(t, "rejected.0.reason"), "blocked here and valid in the file") {
		t.Errorf("report = %s, want line 2 refused", a.body)
	}
	if got := w.do("GET", ticket, "").text(t, "state"); got != "blocked" {
		t.Errorf("after the import the ticket is %s, want blocked", got)
	}
	w.status(w.do("POST", path+"&reinstate=perhaps", csv, plain, invalid), 400)
	if a = w.status(w.do("POST", path+"&reinstate=true", csv, plain, invalid), 200); a.text(t, "updated") != "1" || w.do("GET", ticket, "").text(t, "state") != "valid" {
		t.Errorf("with reinstate=true the report = %s, want the ticket valid", a.body)
	}
}

// An import over HTTP says how it reads a table, and asks, as the command does.
func TestAdminImportSaysHowItReadsAndAsks(t *testing.T) {
	w := newWorld(t)
	const csv = "Código,Nome,Andamento\nA1,Ana Souza,Liberado\nB2,Bia Lima,Travado\n"
	plain := header("Content-Type", "text/csv")
	path := fmt.Sprintf("/admin/v1/import/?kind=ticket&event=%d", w.event)
	a := w.status(w.do("POST", path, csv, plain, invalid), 400)
	if a.text(t, "error.details.questions.0.column") != "Andamento" || a.text(t, "error.details.questions.0.values.1.value") != "Travado" ||
		a.text(t, "error.details.questions.0.values.1.count") != "1" || !strings.Contains(a.text(t, "error.details.questions.0.flags.0"), "state=Andamento") {
		t.Errorf("question = %s", a.body)
	}
	if w.do("GET", "/admin/v1/ticket/", "").text(t, "count") != "0" {
		t.Error("an import that asks has written")
	}
	path += "&map=state%3DAndamento&states=Liberado%3Dvalid&states=Travado%3Dblocked&dry_run=true"
	a = w.status(w.do("POST", path, csv, plain, invalid), 200)
	if a.text(t, "states.blocked") != "1" || a.text(t, "states.valid") != "1" || a.text(t, "columns.2.field") != "state" || a.text(t, "columns.2.column") != "Andamento" {
		t.Errorf("plan = %s", a.body)
	}
}

// An import is many transactions, so nothing could keep the promise of an Idempotency-Key.
func TestAdminImportTakesNoIdempotencyKey(t *testing.T) {
	w := newWorld(t)
	const path, csv = "/admin/v1/import/?kind=church", "name\nCentral\n"
	plain := header("Content-Type", "text/csv")
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		a := w.status(w.do("POST", path, csv, plain, header(name, "k"), invalid), 400)
		want := `{"Idempotency-Key":["An import takes no such key: the same file again finds the records that it made."]}`
		if got := a.text(t, "error.details"); a.text(t, "error.code") != "VALIDATION_ERROR" || got != want {
			t.Errorf("%s: %s, want details %s", name, a.body, want)
		}
		a = w.status(w.do("POST", "/admin/v1/import/", csv, plain, header(name, "k"), invalid), 400)
		if a.text(t, "error.details.kind.0") == "" || a.text(t, "error.details.Idempotency-Key.0") == "" {
			t.Errorf("query and header are not both at fault: %s", a.body)
		}
	}
	w.status(w.do("POST", path, csv, plain, header("Idempotency-Key", " "), invalid), 200)
}

// A form that holds a file is not the file: its boundary would be a record.
func TestAdminImportTakesTheFileItself(t *testing.T) {
	w := newWorld(t)
	const path, csv = "/admin/v1/import/?kind=church", "name\nCentral\n"
	form := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x.csv\"\r\n\r\n" + csv + "--x--\r\n"
	for media, body := range map[string]string{
		"multipart/form-data; boundary=x": form, "multipart/mixed": form, "application/x-www-form-urlencoded": csv, "image/png": csv, "text": csv,
		"": csv, "text/plain": csv, "text/plain; charset=utf-8": csv, "application/vnd.ms-excel": csv, "text/tab-separated-values": csv,
	} {
		a := w.status(w.do("POST", path, body, header("Content-Type", media), invalid), 415)
		if a.text(t, "error.code") != "UNSUPPORTED_MEDIA_TYPE" || !strings.Contains(a.text(t, "error.message"), "text/csv") {
			t.Errorf("%s: %s, want it to say what is taken", media, a.body)
		}
	}
	w.status(w.do("POST", path, csv, header("Content-Type", "text/csv"), header("Content-Encoding", "gzip"), invalid), 415)
	for _, media := range []string{
		"text/csv", "Text/CSV; charset=utf-8", "application/x-ndjson", "application/json", "application/octet-stream",
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	} {
		w.status(w.do("POST", path, csv, header("Content-Type", media), invalid), 200)
	}
}

// TestAdminImportTakesTheFormOfAPage with the session of that page, and reads the part that is the
// file.
func TestAdminImportTakesTheFormOfAPage(t *testing.T) {
	w := newWorld(t)
	const path, media = "/admin/v1/import/?kind=church", "multipart/form-data; boundary=x"
	part := func(name, text string) string {
		return "--x\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + text + "\r\n"
	}
	file, end := part("file", "name\nNorte\nSul\n"), "--x--\r\n"
	session := header("Cookie", "doorward_session="+w.auth[0]+":"+w.auth[1])
	for name, c := range map[string]struct {
		body, media string
		session     option
		status      int
		want        string
	}{
		"a page":                 {part("note", "first") + file + part("more", "last") + end, media, session, 200, `"created":2`},
		"a page that sends none": {part("note", "name\nOeste\n") + end, media, session, 400, `"file":["This field is required."]`},
		"a page that breaks off": {file[:len(file)-4], media, session, 400, `"INVALID_REQUEST"`},
		"a form of no parts":     {"name\nOeste\n", media, session, 400, `"file":["This field is required."]`},
		"no boundary":            {file + end, "multipart/form-data", session, 415, "text/csv"},
		"another form":           {file + end, "multipart/related; boundary=x", session, 415, "text/csv"},
		"a client with a key":    {file + end, media, header("Authorization", basic(w.auth)), 415, "text/csv"},
	} {
		a := w.do("POST", path, c.body, anybody, c.session, header("Content-Type", c.media), invalid)
		if a.status != c.status || !strings.Contains(a.body, c.want) {
			t.Errorf("%s = %d %s, want %d %s", name, a.status, a.body, c.status, c.want)
		}
	}
	if a := w.do("GET", "/admin/v1/church/?limit=1", ""); a.text(t, "count") != "5" {
		t.Errorf("churches = %s, want three and the two of one form", a.body)
	}
}

// basic is the header of a key and its secret.
func basic(auth [2]string) string {
	r := &http.Request{Header: http.Header{}}
	r.SetBasicAuth(auth[0], auth[1])
	return r.Header.Get("Authorization")
}
