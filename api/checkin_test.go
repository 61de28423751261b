package api_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
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
	clock.Move(59 * time.Minute)
	w.status(w.checkIn(event, "A1"), 409)
	clock.Move(time.Minute) // midnight there
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
