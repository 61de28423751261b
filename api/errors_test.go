package api_test

import (
	"fmt"
	"strings"
	"testing"

	"doorward/api"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/keys"
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
