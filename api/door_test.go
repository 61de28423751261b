package api_test

import (
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"doorward/kv/auth"
	"doorward/kv/fault"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/table"

	"github.com/skip2/go-qrcode"
)

// The rows of contract.md §10 and the door's surface.

func (s *site) checkIn(event int64, code string, options ...option) answer {
	s.Helper()
	return s.do("POST", checkinPath(event), fmt.Sprintf(`{"code":%q}`, code), options...)
}

func (s *site) scan(event int64, body string, options ...option) answer {
	s.Helper()
	return s.status(s.do("POST", fmt.Sprintf("/door/v1/event/%d/scan/", event), body, options...), 200)
}

func TestCheckinAdmitsOnce(t *testing.T) {
	clock := kvtest.NewClock(time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC))
	w := settle(newSiteOver(t, kvtest.OpenConfig(t, table.Config{Clock: clock.Now})))
	w.ticket(w.event, "K7QP-2M", "")
	first := w.status(w.checkIn(w.event, "K7QP-2M", header("X-Door", "North")), 204)
	id, at := first.header.Get("X-Checkin-Id"), first.header.Get("X-Checkin-At")
	if len(id) != 26 || at != "2026-05-01T10:00:00Z" || first.body != "" {
		t.Errorf("X-Checkin-Id, X-Checkin-At, body = %q, %q, %q", id, at, first.body)
	}
	clock.Move(7 * time.Second)
	a := w.status(w.checkIn(w.event, "K7QP-2M", header("X-Door", "North")), 409)
	want := fmt.Sprintf(`{"error":{"code":"CONFLICT","message":"This ticket was already admitted.","details":{"outcome":"already_admitted","checkin_id":%q,`+
		`"admitted_at":%q,"door":"North","seconds_ago":7,"same_door":true,"holder":"Ana Souza"}}}`, id, at)
	if a.body != want {
		t.Errorf("body = %s\nwant   %s", a.body, want)
	}
	a = w.status(w.checkIn(w.event, "K7QP-2M", header("X-Door", "South")), 409)
	if a.text(t, "error.details.same_door") != "false" || a.text(t, "error.details.door") != "North" {
		t.Errorf("details = %s", a.text(t, "error.details"))
	}
	door := w.as(fmt.Sprintf("event:%d", w.event), "checkin:*")
	a = door.status(door.checkIn(w.event, "K7QP-2M"), 409)
	if a.value(t, "error.details.holder") != nil || strings.Contains(a.body, "Souza") {
		t.Errorf("a door's key is told the holder: %s", a.body)
	}
}

func TestCheckinRefusals(t *testing.T) {
	clock := kvtest.NewClock(time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC))
	w := settle(newSiteOver(t, kvtest.OpenConfig(t, table.Config{Clock: clock.Now})))
	closed := w.create(record.Event, fmt.Sprintf(`{"start_datetime":"2026-05-01T10:00:00Z","enabled":false,"church_id":%d}`, w.church))
	for _, state := range []string{"cancelled", "refunded", "unpaid", "blocked"} {
		w.ticket(w.event, state, `"state":"`+state+`"`)
	}
	w.ticket(w.event, "early", `"valid_from":"2026-05-01T10:00:01Z"`)
	w.ticket(w.event, "late", `"valid_until":"2026-05-01T09:59:59Z"`)
	w.ticket(w.event, "just", `"valid_from":"2026-05-01T10:00:00Z","valid_until":"2026-05-01T10:00:00Z"`)
	w.ticket(w.farEvent, "other", "")
	w.ticket(closed, "closed", "")
	for _, c := range []struct {
		event         int64
		code, outcome string
		status        int
		envelope      string
	}{
		{w.event, "cancelled", "cancelled", 422, "UNPROCESSABLE_ENTITY"}, {w.event, "refunded", "refunded", 422, "UNPROCESSABLE_ENTITY"},
		{w.event, "unpaid", "unpaid", 422, "UNPROCESSABLE_ENTITY"}, {w.event, "blocked", "blocked", 422, "UNPROCESSABLE_ENTITY"},
		{w.event, "early", "not_yet_valid", 422, "UNPROCESSABLE_ENTITY"}, {w.event, "late", "no_longer_valid", 422, "UNPROCESSABLE_ENTITY"},
		{closed, "closed", "event_closed", 422, "UNPROCESSABLE_ENTITY"}, {w.event, "nobody", "unknown_code", 404, "NOT_FOUND"},
		{w.event, "other", "wrong_event", 404, "NOT_FOUND"},
	} {
		a := w.status(w.checkIn(c.event, c.code), c.status)
		if a.text(t, "error.code") != c.envelope || a.text(t, "error.details") != fmt.Sprintf(`{"outcome":%q}`, c.outcome) || a.text(t, "error.message") == "" {
			t.Errorf("%s = %s", c.code, a.body)
		}
		v := w.scan(c.event, fmt.Sprintf(`{"code":%q}`, c.code))
		if v.text(t, "outcome") != c.outcome || v.value(t, "checkin_id") != nil || v.text(t, "message") == "" {
			t.Errorf("scan of %s = %s", c.code, v.body)
		}
	}
	w.status(w.checkIn(w.event, "just"), 204)
	near := w.as(fmt.Sprintf("church:%d", w.church))
	if a := near.status(near.checkIn(w.event, "other"), 404); a.text(t, "error.details.outcome") != "unknown_code" {
		t.Errorf("a code of an event out of scope = %s", a.body)
	}
}

func TestCheckinJudgesValidityBeforeDuplication(t *testing.T) {
	w := newWorld(t)
	id := w.ticket(w.event, "A1", "")
	w.status(w.checkIn(w.event, "A1"), 204)
	w.status(w.do("PATCH", adminPath("ticket", id), `{"state":"cancelled"}`), 200)
	a := w.status(w.checkIn(w.event, "A1"), 422)
	if got := a.text(t, "error.details.outcome"); got != "cancelled" {
		t.Errorf("outcome = %s", got)
	}
}

func TestCheckinReadsACodeInAllItsForms(t *testing.T) {
	w := newWorld(t)
	for i, read := range []string{"K7QP-2M", " k7qp 2m ", "https://tickets.example/t/K7QP-2M", "https://tickets.example/t/k7qp2m/", "ｋ７ｑｐ２ｍ"} {
		event := w.create(record.Event, `{"start_datetime":"2026-05-01T10:00:00Z"}`)
		w.ticket(event, "K7QP-2M", "")
		if a := w.checkIn(event, read); a.status != 204 {
			t.Errorf("%d: %q = %d %s", i, read, a.status, a.body)
		}
	}
	w.ticket(w.event, "AB-1", "")
	w.ticket(w.event, "A-B1", "")
	w.status(w.checkIn(w.event, "ab1"), 404)
	w.status(w.checkIn(w.event, "A-B1"), 204)
}

func TestCheckinOfManyAtOnceAdmitsExactlyOne(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.event, "A1", "")
	statuses := make(chan int, 32)
	var group sync.WaitGroup
	for range cap(statuses) {
		group.Go(func() { statuses <- w.checkIn(w.event, "A1").status })
	}
	group.Wait()
	close(statuses)
	count := map[int]int{}
	for s := range statuses {
		count[s]++
	}
	if count[204] != 1 || count[409] != cap(statuses)-1 {
		t.Errorf("answers = %v, want one 204 and 409 otherwise", count)
	}
}

func TestCheckinDailyListAdmitsOnceADay(t *testing.T) {
	clock := kvtest.NewClock(time.Date(2026, 5, 1, 22, 0, 0, 0, time.UTC))
	w := settle(newSiteOver(t, kvtest.OpenConfig(t, table.Config{Clock: clock.Now, Zone: time.FixedZone("X", 3600)})))
	event := w.create(record.Event, `{"start_datetime":"2026-05-01T10:00:00Z","list_rule":"daily"}`)
	w.ticket(event, "A1", "")
	w.status(w.checkIn(event, "A1"), 204)
	clock.Move(5*time.Hour - time.Minute)
	w.status(w.checkIn(event, "A1"), 409)
	clock.Move(time.Minute) // four in the morning there
	w.status(w.checkIn(event, "A1"), 204)
}

func TestCheckinIdempotencyKey(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.event, "A1", "")
	w.ticket(w.event, "B2", "")
	key := header("Idempotency-Key", "scan-1")
	first := w.status(w.checkIn(w.event, "A1", key), 204)
	if first.header.Get("Idempotency-Replayed") != "" {
		t.Error("the first answer is marked as replayed")
	}
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		again := w.status(w.checkIn(w.event, "A1", header(name, "scan-1")), 204)
		if again.header.Get("X-Checkin-Id") != first.header.Get("X-Checkin-Id") || again.header.Get("X-Checkin-At") != first.header.Get("X-Checkin-At") ||
			again.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("replay = %v, first %v", again.header, first.header)
		}
	}
	a := w.status(w.checkIn(w.event, "B2", key), 422)
	if a.text(t, "error.code") != "UNPROCESSABLE_ENTITY" {
		t.Errorf("another code = %s", a.body)
	}
	w.status(w.checkIn(w.event, "A1"), 409)
	w.status(w.checkIn(w.event, "A1", header("Idempotency-Key", "")), 409)
	other := w.as("denomination")
	other.status(other.checkIn(w.event, "A1", key), 409) // another api key: another nonce
	if v := w.scan(w.event, `{"code":"A1","nonce":"scan-1"}`); v.text(t, "outcome") != "admitted" || v.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the door's nonce is the same key: %s", v.body)
	}
	w.status(w.do("POST", fmt.Sprintf("/door/v1/event/%d/undo/", w.event), fmt.Sprintf(`{"checkin_id":%q}`, first.header.Get("X-Checkin-Id"))), 200)
	fresh := w.status(w.checkIn(w.event, "A1", key), 204) // undone: judged afresh
	if fresh.header.Get("X-Checkin-Id") == first.header.Get("X-Checkin-Id") {
		t.Error("an undone check-in was answered again")
	}
}

func TestCheckinHeaderLimits(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.event, "A1", "")
	for name, limit := range map[string]int{"X-Door": 64, "Idempotency-Key": 255, "X-Idempotency-Key": 255} {
		a := w.status(w.checkIn(w.event, "A1", header(name, strings.Repeat("é", limit+1))), 400)
		if got := a.text(t, "error.details."+name+".0"); got != fmt.Sprintf("Ensure this field has no more than %d characters.", limit) {
			t.Errorf("%s: %q in %s", name, got, a.body)
		}
	}
	w.status(w.checkIn(w.event, "A1", header("X-Door", strings.Repeat("é", 64)), header("Idempotency-Key", strings.Repeat("k", 255))), 204)
}

func TestDoorScan(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.event, "A1", `"type":"Adult","order":"family 7"`)
	v := w.scan(w.event, `{"code":"A1","door":"North"}`)
	want := fmt.Sprintf(`{"outcome":"admitted","checkin_id":%q,"admitted_at":%q,"door":"North","seconds_ago":0,"label":"Ana S.","type":"Adult","order":"family 7","notice":null,"message":"Admitted."}`,
		v.text(t, "checkin_id"), v.text(t, "admitted_at"))
	if v.body != want {
		t.Errorf("scan = %s\nwant   %s", v.body, want)
	}
	again := w.scan(w.event, `{"code":"A1"}`, header("X-Door", "South"))
	if again.text(t, "outcome") != "already_admitted" || again.text(t, "checkin_id") != v.text(t, "checkin_id") || again.text(t, "door") != "North" {
		t.Errorf("second scan = %s", again.body)
	}
	if strings.Contains(again.body, "Souza") {
		t.Errorf("the door is shown a full name: %s", again.body)
	}
	for body, field := range map[string]string{
		`{"code":"A1","door":"` + strings.Repeat("x", 65) + `"}`: "door", `{"code":"A1","nonce":"` + strings.Repeat("x", 256) + `"}`: "nonce",
	} {
		a := w.status(w.do("POST", fmt.Sprintf("/door/v1/event/%d/scan", w.event), body, invalid), 400)
		if a.text(t, "error.details."+field+".0") == "" {
			t.Errorf("%s: %s", field, a.body)
		}
	}
	w.status(w.do("POST", "/door/v1/event/999/scan/", `{"code":"A1"}`), 404)
}

func TestDoorUndo(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.event, "A1", "")
	path := fmt.Sprintf("/door/v1/event/%d/undo/", w.event)
	v := w.scan(w.event, `{"code":"A1"}`)
	body := fmt.Sprintf(`{"checkin_id":%q,"reason":"wrong person"}`, v.text(t, "checkin_id"))
	w.status(w.do("POST", strings.Replace(path, fmt.Sprint(w.event), fmt.Sprint(w.farEvent), 1), body), 404)
	a := w.status(w.do("POST", path, body), 200)
	if a.text(t, "outcome") != "undone" || a.text(t, "checkin_id") != v.text(t, "checkin_id") || a.text(t, "message") == "" {
		t.Errorf("undo = %s", a.body)
	}
	w.status(w.do("POST", path, body), 404)
	w.status(w.do("POST", path, `{"checkin_id":"01ARZ3NDEKTSV4RRFFQ69G5FAV"}`), 404)
	w.status(w.do("POST", path, `{"checkin_id":"nonsense"}`), 404)
	a = w.status(w.do("POST", path, `{}`, invalid), 400)
	if a.text(t, "error.details.checkin_id.0") != "This field is required." {
		t.Errorf("body = %s", a.body)
	}
	if again := w.scan(w.event, `{"code":"A1"}`); again.text(t, "outcome") != "admitted" {
		t.Errorf("after the undo: %s", again.body)
	}
}

func TestDoorUndoHappensOnce(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.event, "A1", "")
	v := w.scan(w.event, `{"code":"A1"}`)
	path, body := fmt.Sprintf("/door/v1/event/%d/undo/", w.event), fmt.Sprintf(`{"checkin_id":%q}`, v.text(t, "checkin_id"))
	first := w.status(w.do("POST", path, body, header("Idempotency-Key", "u")), 200)
	again := w.status(w.do("POST", path, body, header("Idempotency-Key", "u")), 200)
	if again.body != first.body || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("replay = %s %v, first %s", again.body, again.header, first.body)
	}
	w.status(w.do("POST", path, `{"checkin_id":"x"}`, header("Idempotency-Key", "u")), 422)
}

// What offline scanners hand in, and what doors and staff see of double entries (design.md §7, sync.md §3).

func doorPath(event int64, what string) string {
	return fmt.Sprintf("/door/v1/event/%d/%s/", event, what)
}

const seenAt = `"at":"2026-05-01T18:01:30Z"`

// newScannedWorld is a world with a key that was made before seenAt, an hour after it.
func newScannedWorld(t *testing.T) *world {
	t.Helper()
	clock := kvtest.NewClock(time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC))
	w := settle(newSiteOver(t, kvtest.OpenConfig(t, table.Config{Clock: clock.Now})))
	clock.Move(9 * time.Hour)
	return w
}

func TestScansAreJudgedOneByOne(t *testing.T) {
	w := newScannedWorld(t)
	for _, code := range []string{"K1", "K2", "K3"} {
		w.ticket(w.event, code, `"type":"Adult","order":"H-7"`)
	}
	w.ticket(w.event, "GONE", `"state":"cancelled"`)
	first := w.scan(w.event, `{"code":"K1"}`)
	good := `{"code":"k2",` + seenAt + `,"nonce":"a","door":"South"}`
	body := `{"scans":[` + strings.Join([]string{
		good, `{"code":"K1",` + seenAt + `,"nonce":"b","let_in":true}`, `{"code":"","nonce":"c","at":"yesterday"}`, `{"code":"K3",` + seenAt + `,"nonce":"a"}`,
		`7`, `{"code":"GONE",` + seenAt + `,"let_in":true}`, `{"code":"K1",` + seenAt + `}`, `{"nonce":7,"let_in":"perhaps","door":"` + strings.Repeat("d", 65) + `"}`,
	}, ",") + `]}`
	send := func() answer {
		return w.status(w.do("POST", doorPath(w.event, "scans"), body, header("X-Door", "Phone 7"), invalid), 200)
	}
	a := send()
	for path, want := range map[string]string{
		"0.outcome": "admitted", "0.door": "South", "0.admitted_at": "2026-05-01T18:01:30Z", "0.at": "2026-05-01T18:01:30Z", "0.nonce": "a", "0.replayed": "false",
		"0.label": "Ana S.", "0.type": "Adult", "0.order": "H-7", "0.message": "Admitted.", "0.double_entry_id": "",
		"1.outcome": "already_admitted", "1.checkin_id": first.text(t, "checkin_id"), "1.nonce": "b",
		"2.error.code": "VALIDATION_ERROR", "2.error.details.code.0": "This field may not be blank.", "2.error.details.at.0": "Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z].",
		"2.nonce": "c", "2.outcome": "", "3.error.code": "UNPROCESSABLE_ENTITY", "3.nonce": "a", "4.error.code": "INVALID_REQUEST", "4.nonce": "",
		"5.outcome": "cancelled", "6.outcome": "already_admitted", "6.double_entry_id": "", "6.nonce": "",
		"7.error.details.code.0": "This field is required.", "7.error.details.let_in.0": "Must be a valid boolean.", "7.error.details.door.0": "Ensure this field has no more than 64 characters.",
	} {
		if got := a.text(t, "results."+path); got != want {
			t.Errorf("%s = %q, want %q", path, got, want)
		}
	}
	for _, at := range []string{"results.1.", "results.5."} {
		if a.text(t, at+"double_entry_id") == "" {
			t.Errorf("who was let in has no check-in of his own: %s", a.body)
		}
	}
	b := send()
	for _, path := range []string{"0.checkin_id", "0.admitted_at", "1.checkin_id", "1.double_entry_id"} {
		if got, want := b.text(t, "results."+path), a.text(t, "results."+path); got != want || b.text(t, "results."+path[:1]+".replayed") != "true" {
			t.Errorf("handed in again, %s = %q, want %q: %s", path, got, want, b.body)
		}
	}
	if got := w.status(w.do("GET", "/admin/v1/checkin/", ""), 200).text(t, "count"); got != "5" { // the guest with the cancelled ticket has no nonce: he came twice
		t.Errorf("%s check-ins are written, want 5", got)
	}
}

func TestScansTakeTheBatchesKeyForTheirNonces(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.event, "K1", "")
	w.ticket(w.event, "K2", "")
	body := `{"scans":[{"code":"K1",` + seenAt + `},{"code":"K2",` + seenAt + `,"let_in":true},{"code":"K2",` + seenAt + `,"let_in":true}]}`
	a := w.status(w.do("POST", doorPath(w.event, "scans"), body, header("Idempotency-Key", "batch 1")), 200)
	b := w.status(w.do("POST", doorPath(w.event, "scans"), body, header("Idempotency-Key", "batch 1")), 200)
	if got, want := strings.ReplaceAll(b.body, `"replayed":true`, `"replayed":false`), a.body; !sameButAge(got, want) {
		t.Errorf("again = %s\nwant    %s", got, want)
	}
	if got := w.do("GET", doorPath(w.event, "double_entries"), "").text(t, "count"); got != "1" {
		t.Errorf("%s double entries, want 1", got)
	}
}

// sameButAge compares answers without what grows older.
func sameButAge(a, b string) bool {
	var x, y struct{ Results []map[string]any }
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil || len(x.Results) != len(y.Results) {
		return false
	}
	for i := range x.Results {
		delete(x.Results[i], "seconds_ago")
		delete(y.Results[i], "seconds_ago")
	}
	return fmt.Sprint(x) == fmt.Sprint(y)
}

// TestAMirrorRefusesEachScan: with the sentence that says where to go, and 403 for what is asked alone.
func TestAMirrorRefusesEachScan(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.event, "K1", "")
	u := table.Upstream{URL: "https://centre.example", Node: "01J00000000000000000000000", Epoch: "01J00000000000000000000001", Pulls: []string{"records"}}
	if err := w.store.Laptop.Join(auth.Operator(), u, office.Credential{Realm: w.store.Tables.Identity.Realm()}); err != nil {
		t.Fatal(err)
	}
	const want = "This laptop is a mirror, which is only read: check in at the centre, or at a laptop that is enrolled for the event."
	a := w.status(w.do("POST", doorPath(w.event, "scans"), `{"scans":[{"code":"K1",`+seenAt+`,"nonce":"a"},{"code":"",`+seenAt+`}]}`, invalid), 200)
	for path, want := range map[string]string{"0.error.code": "FORBIDDEN", "0.error.message": want, "0.nonce": "a", "1.error.code": "VALIDATION_ERROR"} {
		if got := a.text(t, "results."+path); got != want {
			t.Errorf("%s = %q, want %q", path, got, want)
		}
	}
	for path, body := range map[string]string{
		fmt.Sprintf("/v1/event/%d/checkin/", w.event): `{"code":"K1"}`, doorPath(w.event, "scan"): `{"code":"K1"}`,
		doorPath(w.event, "undo"): `{"checkin_id":"01J00000000000000000000000"}`,
	} {
		a := w.status(w.do("POST", path, body), 403)
		if got := a.text(t, "error.message"); got != want || strings.Contains(a.body, "details") {
			t.Errorf("%s = %s, want the message %q and no level or permission that is wanting", path, a.body, want)
		}
	}
}

func TestScansAreBounded(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.event, "K1", "")
	many := func(n int) string {
		return `{"scans":[` + strings.TrimSuffix(strings.Repeat(`{"code":"K1",`+seenAt+`},`, n), ",") + `]}`
	}
	path := doorPath(w.event, "scans")
	for body, want := range map[string]string{
		many(1001): "Ensure this field has no more than 1000 elements.", `{}`: "This field is required.", `{"scans":null}`: "This field may not be null.",
		`{"scans":"K1"}`: `Expected a list of items but got type "str".`, `{"scans":{}}`: `Expected a list of items but got type "dict".`,
	} {
		a := w.status(w.do("POST", path, body, invalid), 400)
		if got := a.text(t, "error.details.scans.0"); got != want {
			t.Errorf("%.40s: %q, want %q", body, got, want)
		}
	}
	if a := w.status(w.do("POST", path, `{"scans":[]}`), 200); a.body != `{"results":[]}` {
		t.Errorf("no scans = %s", a.body)
	}
	a := w.status(w.do("POST", path, many(1000)), 200)
	if a.text(t, "results.0.outcome") != "admitted" || a.text(t, "results.999.outcome") != "already_admitted" || a.value(t, "results.1000") != nil {
		t.Errorf("1,000 scans = %.300s", a.body)
	}
	far := w.as(fmt.Sprintf("event:%d", w.event), "checkin:*")
	for _, body := range []string{many(1), many(1001), `{}`} {
		far.status(far.do("POST", doorPath(w.farEvent, "scans"), body, invalid), 404)
	}
	reader := w.as("denomination", "checkin:GET")
	if a := reader.status(reader.do("POST", path, many(1)), 403); a.text(t, "error.details.required_scope") != "checkin:POST" {
		t.Errorf("403 = %s", a.body)
	}
}

func TestDoubleEntriesAreListed(t *testing.T) {
	w := newScannedWorld(t)
	ticket := w.ticket(w.event, "K1", `"type":"Adult","order":"H-7"`)
	other := w.ticket(w.event, "K2", "")
	first := w.scan(w.event, `{"code":"K1","door":"North"}`)
	second := w.status(w.do("POST", doorPath(w.event, "scans"), `{"scans":[{"code":"K1",`+seenAt+`,"let_in":true,"door":"South"}]}`), 200).text(t, "results.0.double_entry_id")
	third := w.scan(w.event, `{"code":"K2"}`).text(t, "checkin_id")
	w.status(w.do("PATCH", adminPath("ticket", other), `{"state":"cancelled"}`), 200)
	w.scan(w.event, `{"code":"K2"}`)
	door := w.as(fmt.Sprintf("event:%d", w.event), "checkin:*")
	a := door.status(door.do("GET", doorPath(w.event, "double_entries"), ""), 200)
	want := fmt.Sprintf(`{"checkin_id":%q,"event_id":%d,"ticket_id":%d,"label":"Ana S.","type":"Adult","order":"H-7","list":"","door":"South",`+
		`"admitted_at":"2026-05-01T18:01:30Z","basis":"offline","reason":"already_admitted","first":{"checkin_id":%q,"admitted_at":%q,"door":"North"}}`,
		second, w.event, ticket, first.text(t, "checkin_id"), first.text(t, "admitted_at"))
	if got := a.text(t, "count"); got != "2" || !strings.Contains(a.body, `"results":[`+want+`,{`) {
		t.Errorf("double entries = %s\nwant first %s", a.body, want)
	}
	if a.text(t, "results.1.checkin_id") != third || a.text(t, "results.1.reason") != "cancelled" || a.value(t, "results.1.first") != nil || strings.Contains(a.body, "Souza") {
		t.Errorf("double entries = %s", a.body)
	}
	all := w.status(w.do("GET", fmt.Sprintf("/admin/v1/double_entries/?limit=1&event_id=%d", w.event), ""), 200)
	if all.text(t, "count") != "2" || all.text(t, "results.0.holder") != "Ana Souza" || all.text(t, "results.0.node") != w.store.Tables.Identity.Node() ||
		!strings.Contains(all.text(t, "next"), "offset=1") || all.value(t, "results.0.key_id") == nil {
		t.Errorf("all double entries = %s", all.body)
	}
	for query, fault := range map[string]string{"x": "“x” is not a valid value.", "99": "Select a valid choice. 99 is not one of the available choices."} {
		if a := w.status(w.do("GET", "/admin/v1/double_entries/?event_id="+query, "", invalid), 400); a.text(t, "error.details.event_id.0") != fault {
			t.Errorf("event_id=%s: %s", query, a.body)
		}
	}
	w.status(w.do("PATCH", adminPath("ticket", other), `{"state":"valid"}`), 200)
	w.status(w.do("POST", doorPath(w.event, "undo"), fmt.Sprintf(`{"checkin_id":%q}`, first.text(t, "checkin_id"))), 200)
	if got := w.do("GET", doorPath(w.event, "double_entries"), "").text(t, "count"); got != "0" {
		t.Errorf("%s double entries once the first was undone and the ticket is valid, want 0", got)
	}
	if a := w.scan(w.event, `{"code":"K1"}`); a.text(t, "checkin_id") != second {
		t.Errorf("the admission is %s, want the second one %s", a.body, second)
	}
}

func TestStatusCounts(t *testing.T) {
	w := newScannedWorld(t)
	for i := range 4 {
		w.ticket(w.event, fmt.Sprint("K", i), `"type":"Adult"`)
	}
	w.ticket(w.event, "C1", `"type":"Child"`)
	gone := w.ticket(w.event, "GONE", `"state":"blocked"`)
	door := w.as(fmt.Sprintf("event:%d", w.event), "checkin:*")
	got := func() answer { return door.status(door.do("GET", doorPath(w.event, "status"), ""), 200) }
	if a := got(); a.text(t, "issued") != "5" || a.text(t, "admitted") != "0" || a.text(t, "minutes") != "[]" {
		t.Errorf("status before = %s", a.body)
	}
	undone := w.scan(w.event, `{"code":"K0","door":"North"}`).text(t, "checkin_id")
	batch := `{"code":"K1",` + seenAt + `,"door":"North"},{"code":"C1",` + seenAt + `,"door":"South"},{"code":"C1",` + seenAt + `,"let_in":true},{"code":"GONE",` + seenAt + `}`
	w.status(w.do("POST", doorPath(w.event, "scans"), `{"scans":[`+batch+`]}`), 200)
	w.status(w.do("POST", doorPath(w.event, "undo"), fmt.Sprintf(`{"checkin_id":%q}`, undone)), 200)
	want := fmt.Sprintf(`{"event_id":%d,"issued":5,"admitted":2,"double_entries":1,"inside":2,"outcomes":{"admitted":2,"already_admitted":1,"blocked":1,"cancelled":0,`+
		`"event_closed":0,"left":0,"no_longer_valid":0,"not_inside":0,"not_yet_valid":0,"refunded":0,"undone":1,"unknown_code":0,"unpaid":0,"wrong_event":0},`+
		`"types":{"Adult":{"issued":4,"admitted":1},"Child":{"issued":1,"admitted":1}},"types_more":{"issued":0,"admitted":0},`+
		`"doors":{"North":1,"South":1},"doors_more":0,"minutes":[{"minute":"2026-05-01T18:01:00Z","admitted":2,"refused":1}],`+
		`"let_in":0,"guests_today":2,"entries_today":2,"closed_doors":[],"zone":"UTC"}`, w.event)
	if a := got(); !same(a.body, want) {
		t.Errorf("status = %s\nwant     %s", a.body, want)
	}
	w.status(w.do("PATCH", adminPath("ticket", gone), `{"state":"valid","type":"Child"}`), 200)
	if a := got(); a.text(t, "types.Child.issued") != "2" || a.text(t, "issued") != "6" {
		t.Errorf("status after a ticket was unblocked = %s", a.body)
	}
	reader := w.as("denomination", "checkin:POST")
	reader.status(reader.do("GET", doorPath(w.event, "status"), ""), 403)
	door.status(door.do("GET", doorPath(w.farEvent, "status"), ""), 404)
}

// TestRaceOfBatchesAndDoorsAdmitsEachOnce mixes all ways to the door, while phones look at the status.
func TestRaceOfBatchesAndDoorsAdmitsEachOnce(t *testing.T) {
	const codes, clients = 60, 12
	w := newWorld(t)
	w.tickets(w.event, codes, racedCode)
	shared := w.as("denomination", "checkin:*")
	told := make([]batcher, clients)
	var all sync.WaitGroup
	for n := range told {
		told[n] = batcher{wire: shared.wire(), number: n, event: w.event}
		all.Go(func() {
			for i := 0; i < codes; i += 5 {
				told[n].five(i)
			}
		})
	}
	all.Wait()
	admissions, batched, doubles := map[string]bool{}, 0, 0
	for n := range told {
		for _, id := range told[n].admitted {
			admissions[id] = true
		}
		if doubles += len(told[n].doubles); n%3 == 2 {
			batched += len(told[n].admitted)
		}
	}
	st := w.status(w.do("GET", doorPath(w.event, "status"), ""), 200)
	listed := w.do("GET", doorPath(w.event, "double_entries")+"?limit=1", "").text(t, "count")
	if len(admissions) != codes || st.text(t, "admitted") != fmt.Sprint(codes) || st.text(t, "double_entries") != fmt.Sprint(doubles) || listed != fmt.Sprint(doubles) {
		t.Errorf("%d admissions of %d codes, %d double entries; %s are listed, the status is %s", len(admissions), codes, doubles, listed, st.body)
	}
	if want := clients/3*codes - batched; doubles != want {
		t.Errorf("%d double entries, want %d: each scan of a batch admits, or is one", doubles, want)
	}
}

// batcher is a client of one of three sorts: /v1, scan, or batches that it hands in twice.
type batcher struct {
	*wire
	number            int
	event             int64
	admitted, doubles []string
}

// five brings five codes.
func (c *batcher) five(from int) {
	c.ask("GET", doorPath(c.event, "status"), "")
	if c.number%3 == 2 {
		c.batch(from)
		return
	}
	path := []string{checkinPath(c.event), doorPath(c.event, "scan")}[c.number%3]
	for i := range 5 {
		if d := readDecided(c.ask("POST", path, fmt.Sprintf(`{"code":%q}`, racedCode(from+i)))); d.outcome == "admitted" {
			c.admitted = append(c.admitted, d.id)
		}
	}
}

func (c *batcher) batch(from int) {
	var items []string
	for i := range 5 {
		items = append(items, fmt.Sprintf(`{"code":%q,%s,"let_in":true,"nonce":"%d-%d"}`, racedCode(from+i), seenAt, c.number, from+i))
	}
	body := `{"scans":[` + strings.Join(items, ",") + `]}`
	c.ask("POST", doorPath(c.event, "scans"), body)
	a := c.ask("POST", doorPath(c.event, "scans"), body)
	for i := range 5 {
		at := fmt.Sprintf("results.%d.", i)
		if id := a.text(c, at+"double_entry_id"); id != "" {
			c.doubles = append(c.doubles, id)
		} else if a.text(c, at+"outcome") == "admitted" {
			c.admitted = append(c.admitted, a.text(c, at+"checkin_id"))
		}
	}
}

const decodePath = "/door/v1/decode/"

func TestDecodeReadsThePhotoOfATicket(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.event, "K7QP2M9D4RSX1ABC", "")
	photo, err := qrcode.Encode("K7QP2M9D4RSX1ABC", qrcode.Medium, 240)
	if err != nil {
		t.Fatal(err)
	}
	door := w.as(fmt.Sprintf("event:%d", w.event), "checkin:*")
	for _, media := range []string{"image/png", "image/jpeg", "IMAGE/PNG; q=1", "application/octet-stream", "text/plain", ""} { // the bytes say what it is
		a := door.status(door.do("POST", decodePath, string(photo), header("Content-Type", media), invalid), http.StatusOK)
		if got := a.text(t, "codes.0.text"); got != "K7QP2M9D4RSX1ABC" || a.text(t, "codes.0.format") != "qr" {
			t.Errorf("as %s: %s", media, a.body)
		}
	}
	if a := w.do("GET", doorPath(w.event, "status"), ""); a.text(t, "admitted") != "0" {
		t.Errorf("reading a photo let somebody in: %s", a.body)
	}
	reader := w.as(fmt.Sprintf("event:%d", w.event), "checkin:GET")
	reader.status(reader.do("POST", decodePath, string(photo), header("Content-Type", "application/octet-stream")), http.StatusForbidden)
}

func TestDecodeRefusesWhatIsNoPhoto(t *testing.T) {
	w := newWorld(t)
	blank, err := qrcode.Encode("A", qrcode.Low, 30)
	if err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]struct {
		body, media string
		want        int
	}{
		"text by a wrong name": {"K7QP2M9D4RSX1ABC", "image/png", 400},
		"nothing":              {"", "image/jpeg", 400},
		"half a picture":       {string(blank[:len(blank)/2]), "image/png", 400},
		"JSON":                 {"{}", "application/json", 400},
		"text":                 {"K7QP2M9D4RSX1ABC", "text/plain", 400},
		"a form":               {"--x\r\n\r\n" + string(blank) + "\r\n--x--", "multipart/form-data; boundary=x", 400},
		"more than 8 MiB":      {strings.Repeat("\xff", 8<<20+1), "image/jpeg", 413},
		"no code on a photo":   {emptyPhoto(t), "image/png", 200},
	} {
		a := w.do("POST", decodePath, try.body, header("Content-Type", try.media), invalid)
		if a.status != try.want {
			t.Errorf("%s: %d, want %d: %s", name, a.status, try.want, a.body)
		}
		if try.want == http.StatusOK && a.body != `{"codes":[]}` {
			t.Errorf("%s: %s", name, a.body)
		}
	}
}

// emptyPhoto shows nothing.
func emptyPhoto(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 320, 240))); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestRefusalsSayFromWhenAndSinceWhen wants a refusal to carry the time that a helper tells the guest.
func TestRefusalsSayFromWhenAndSinceWhen(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.event, "EARLY", `"valid_from":"2126-05-01T18:00:00Z"`)
	w.ticket(w.event, "LATE", `"valid_until":"2006-05-01T18:00:00Z"`)
	w.ticket(w.event, "K1", "")
	w.status(w.do("PATCH", adminPath("event", w.event), `{"list_rule":"reentry"}`), 200)
	for _, step := range []struct{ body, outcome, member string }{
		{`{"code":"EARLY"}`, "not_yet_valid", `"message":"This ticket is not valid before 2126-05-01 18:00.","valid_from":"2126-05-01T18:00:00Z"}`},
		{`{"code":"LATE"}`, "no_longer_valid", `,"valid_until":"2006-05-01T18:00:00Z"}`},
		{`{"code":"K1","direction":"out"}`, "not_inside", `"message":"This ticket is not inside."}`},
		{`{"code":"K1"}`, "admitted", `"message":"Admitted."}`},
		{`{"code":"K1","direction":"out"}`, "left", `"message":"Left."}`},
		{`{"code":"K1","direction":"out"}`, "not_inside", `,"out_since":"2`},
	} {
		a := w.scan(w.event, step.body)
		if a.text(t, "outcome") != step.outcome || !strings.Contains(a.body, step.member) {
			t.Errorf("%s is answered %s, want %s with %s", step.body, a.body, step.outcome, step.member)
		}
	}
}

// TestASupervisorClosesADoor: the page that follows sees it until the door scans again.
func TestASupervisorClosesADoor(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.event, "K1", "")
	w.scan(w.event, `{"code":"K1","door":"North"}`)
	level := fmt.Sprintf("event:%d", w.event)
	supervisor, steward, reader := w.as(level, "checkin:*"), w.as(level, "checkin:GET", "checkin:POST"), w.as(level, "checkin:GET")
	path := doorPath(w.event, "close_door")
	a := supervisor.status(supervisor.do("POST", path, `{"door":"North"}`), 200)
	if a.text(t, "door") != "North" || !strings.HasSuffix(a.text(t, "closed_at"), "Z") {
		t.Errorf("closed: %s", a.body)
	}
	server := httptest.NewServer(w.server.Handler())
	t.Cleanup(server.Close) // when the streams have ended
	l := w.listen(server.URL, "South", supervisor)
	l.until(func(b board) bool { return len(b.Doors) == 2 && b.Doors[1].Name == "North" && b.Doors[1].Closed })
	if a := w.status(w.do("GET", doorPath(w.event, "status"), ""), 200); a.text(t, "closed_doors") != `["North"]` {
		t.Errorf("the status: %s", a.body)
	}
	w.scan(w.event, `{"code":"K1","door":"North"}`)
	l.until(func(b board) bool { return len(b.Doors) == 2 && !b.Doors[1].Closed })
	w.server.EndStreams()
	steward.status(steward.do("POST", path, `{"door":"North"}`), 403)
	reader.status(reader.do("POST", path, `{"door":"North"}`), 403)
	supervisor.status(supervisor.do("POST", path, `{"door":"West"}`), 404)
	supervisor.status(supervisor.do("POST", doorPath(w.farEvent, "close_door"), `{"door":"North"}`), 404)
	if a := supervisor.status(supervisor.do("POST", path, `{}`, invalid), 400); a.text(t, "error.details.door.0") != fault.Required {
		t.Errorf("no door: %s", a.body)
	}
}

// TestStaffAcceptGuestsOfARevokedKeysPhone, who count from then on.
func TestStaffAcceptGuestsOfARevokedKeysPhone(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.event, "K1", `"state":"unpaid"`)
	phone := w.as(fmt.Sprintf("event:%d", w.event), "checkin:*")
	keys, err := w.store.Keys.Keys(auth.Operator())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.store.Keys.RevokeKey(auth.Operator(), keys[len(keys)-1].ID); err != nil {
		t.Fatal(err)
	}
	a := phone.status(phone.do("POST", doorPath(w.event, "scans"), `{"scans":[{"code":"K1",`+seenAt+`,"nonce":"a","let_in":true}]}`), 200)
	waits := a.text(t, "results.0.double_entry_id")
	letIn := func() string {
		return w.status(w.do("GET", doorPath(w.event, "status"), ""), 200).text(t, "let_in")
	}
	if before := letIn(); before != "0" {
		t.Errorf("%s are let in before", before)
	}
	path := "/admin/v1/checkin/" + waits + "/accept/"
	counts := w.status(w.do("POST", path, `{"accept":true}`), 200).text(t, "checkin_id")
	reviews := w.status(w.do("GET", "/admin/v1/reviews/", ""), 200)
	if reviews.text(t, "results.0.verdict") != "unpaid" || reviews.text(t, "results.0.counts_as") != counts || letIn() != "1" {
		t.Errorf("accepted as %s: %s", counts, reviews.body)
	}
	w.status(w.do("POST", "/admin/v1/checkin/"+counts+"/accept/", `{"accept":true}`), 409)
	w.status(w.do("POST", "/admin/v1/checkin/01J00000000000000000000000/accept/", `{"accept":true}`), 404)
	reader := w.as("denomination", "admin:GET")
	reader.status(reader.do("POST", path, `{"accept":true}`), 403)
	w.status(w.do("POST", path, `{"accept":false}`), 400)
	w.status(w.do("POST", path, `{}`, invalid), 400)
}
