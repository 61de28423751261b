package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"doorward/kv/record"
)

// The door's search (design.md §7).

func searchPath(event int64, q string) string {
	return fmt.Sprintf("/door/v1/event/%d/search/?q=%s", event, url.QueryEscape(q))
}

// hits are the tickets that a door's search finds, in its order.
func (s *site) hits(event int64, q string) (ids []int64) {
	s.Helper()
	a := s.status(s.do("GET", searchPath(event, q), ""), 200)
	var found struct {
		Results []struct {
			ID int64 `json:"ticket_id"`
		}
	}
	if err := json.Unmarshal([]byte(a.body), &found); err != nil {
		s.Fatalf("body %q: %v", a.body, err)
	}
	for _, r := range found.Results {
		ids = append(ids, r.ID)
	}
	return ids
}

// guest makes a ticket for somebody.
func (w *world) guest(event int64, name, more string) int64 {
	w.Helper()
	if more != "" {
		more = "," + more
	}
	return w.create(record.Ticket, fmt.Sprintf(`{"event_id":%d,"holder_name":%q%s}`, event, name, more))
}

func TestDoorSearchRanks(t *testing.T) {
	searched(t, func(w *world) {
		edit, begun := w.guest(w.event, "Joana Sousa", ""), w.guest(w.event, "Joana Souzalima", "")
		whole := w.guest(w.event, "Joana de Souza", `"phone":"(11) 98765-0042"`)
		joao := w.guest(w.event, "João Gonçalves", "")
		bea := w.guest(w.event, "Beatriz Albuquerque", "")
		w.guest(w.farEvent, "Joana de Souza", `"phone":"(11) 98765-0042"`)
		for q, want := range map[string][]int64{
			"joana souza": {whole, begun, edit}, "SOUZA, joana": {whole, begun, edit}, "joana da souza": {whole, begun, edit},
			"joao": {joao, edit, begun, whole}, "JOÃO goncalvez": {joao}, "gonç jo": {joao}, "jaoo": {joao}, // without accents, with a letter wrong, begun, swapped
			"beatris albuquerqe": {bea}, "albukuerqe": {bea}, "beatrz": {bea}, "albukerk": {}, // two edits in a long word
			"0042": {whole}, "42": {whole}, "joana 42": {whole}, "4200": {}, "x0": {},
			"joana s": {edit, whole, begun}, "!!": nil, "zacarias": nil,
		} {
			got := w.hits(w.event, q)
			if q == "joana s" {
				slices.Sort(got) // all begin so: who is first does not matter here
				slices.Sort(want)
			}
			if !slices.Equal(got, want) {
				t.Errorf("q=%s: %v, want %v", q, got, want)
			}
		}
		if got := w.hits(w.openEvent, "joana"); len(got) != 0 {
			t.Errorf("an event without tickets has %v", got)
		}
	})
}

func TestDoorSearchShowsWhatADoorMayKnow(t *testing.T) {
	searched(t, func(w *world) {
		id := w.create(record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":"zqcode","type":"Adult","order":"H-7","holder_name":"Ana Zqmiddle Zqlast",`+
			`"email":"zqmail@mail.example","phone":"+55 11 98765-4321","person_id":%d,"external_id":"zqext"}`, w.event, w.person))
		bare := w.create(record.Ticket, fmt.Sprintf(`{"event_id":%d,"holder_name":"Ana"}`, w.event))
		door := w.as(fmt.Sprintf("event:%d", w.event), "checkin:*")
		a := door.status(door.do("GET", searchPath(w.event, "ana"), ""), 200)
		want := fmt.Sprintf(`{"results":[{"ticket_id":%d,"label":"Ana","type":null,"order":null,"state":"valid","phone_tail":null,"admitted_at":null,"checkin_id":null,"notice":null},`+
			`{"ticket_id":%d,"label":"Ana Z.","type":"Adult","order":"H-7","state":"valid","phone_tail":"4321","admitted_at":null,"checkin_id":null,"notice":null}]}`, bare, id)
		if a.body != want {
			t.Errorf("body = %s\nwant   %s", a.body, want)
		}
		for _, q := range []string{"zqlast", "ana zqmiddle", "4321", "zqcode", "zqmail", "zqext", "8765", "ana 98765-4321"} {
			a := door.status(door.do("GET", searchPath(w.event, q), ""), 200)
			if strings.Contains(a.body, "zq") || strings.Contains(a.body, "Zq") || strings.Contains(a.body, "9876") {
				t.Errorf("q=%s: %s", q, a.body)
			}
		}
	})
}

func TestDoorSearchTellsWhoIsIn(t *testing.T) {
	searched(t, func(w *world) {
		w.ticket(w.event, "K7QP-2M", "")
		found := func() answer { return w.status(w.do("GET", searchPath(w.event, "ana souza"), ""), 200) }
		if a := found(); a.value(t, "results.0.admitted_at") != nil || a.value(t, "results.0.checkin_id") != nil {
			t.Errorf("before: %s", a.body)
		}
		scanned := w.scan(w.event, `{"code":"K7QP-2M"}`)
		a := found()
		if a.text(t, "results.0.admitted_at") != scanned.text(t, "admitted_at") || a.text(t, "results.0.checkin_id") != scanned.text(t, "checkin_id") {
			t.Errorf("after %s: %s", scanned.body, a.body)
		}
		w.status(w.do("POST", fmt.Sprintf("/door/v1/event/%d/undo/", w.event), fmt.Sprintf(`{"checkin_id":%q}`, scanned.text(t, "checkin_id"))), 200)
		if a := found(); a.value(t, "results.0.admitted_at") != nil || a.value(t, "results.0.checkin_id") != nil {
			t.Errorf("after the undo: %s", a.body)
		}
		w.status(w.do("PATCH", adminPath("ticket", 1), `{"state":"cancelled"}`), 200)
		if a := found(); a.text(t, "results.0.state") != "cancelled" {
			t.Errorf("after the cancellation: %s", a.body)
		}
	})
}

func TestDoorSearchAnswersTwenty(t *testing.T) {
	searched(t, func(w *world) {
		var ids []int64
		for range 25 {
			ids = append(ids, w.guest(w.event, "Maria Silvas", ""))
		}
		best := w.guest(w.event, "Maria Silva", "")
		if got, want := w.hits(w.event, "maria silva"), append([]int64{best}, ids[:19]...); !slices.Equal(got, want) {
			t.Errorf("hits = %v, want %v", got, want)
		}
	})
}

func TestDoorSearchWantsTwoCharacters(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("ã", 256)
	for query, want := range map[string]string{
		"": "This field is required.", "?": "This field is required.", "?Q=ana": "This field is required.", "?q=": "This field may not be blank.",
		"?q=%20%20": "This field may not be blank.", "?q=,%20%22": "This field may not be blank.", "?q=ana&q=": "This field may not be blank.",
		"?q=a": "Ensure this field has at least 2 characters.", "?q=%20%C3%A3,": "Ensure this field has at least 2 characters.",
		"?q=%F0%9F%98%80": "Ensure this field has at least 2 characters.", "?q=" + url.QueryEscape(long): "Ensure this field has no more than 255 characters.",
	} {
		path := fmt.Sprintf("/door/v1/event/%d/search/%s", w.event, query)
		a := w.status(w.do("GET", path, "", invalid), 400)
		if got := a.text(t, "error.details.q.0"); got != want || a.text(t, "error.code") != "VALIDATION_ERROR" {
			t.Errorf("%s: %s, want %q", query, a.body, want)
		}
	}
	for _, q := range []string{"an", "ãé", long[:2*255], " an, ", "a\x00", "\"an"} {
		w.status(w.do("GET", searchPath(w.event, q), ""), 200)
	}
	w.status(w.do("GET", fmt.Sprintf("/door/v1/event/%d/search/?q=x&q=ana", w.event), "", invalid), 200) // the last one counts
}

func TestDoorSearchIsForItsDoors(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.farEvent, "FAR", "")
	for level, permissions := range map[string][]string{fmt.Sprintf("event:%d", w.event): {"checkin:*"}, fmt.Sprintf("church:%d", w.church): nil} {
		s := w.as(level, permissions...)
		s.status(s.do("GET", searchPath(w.event, "ana"), ""), 200)
		s.status(s.do("HEAD", searchPath(w.event, "ana"), ""), 200)
		s.status(s.do("GET", strings.Replace(searchPath(w.event, "ana"), "search/", "search", 1), ""), 200)
		for _, q := range []string{"?q=ana", "?q=a", ""} {
			a := s.status(s.do("GET", fmt.Sprintf("/door/v1/event/%d/search/%s", w.farEvent, q), "", invalid), 404)
			if b := s.status(s.do("GET", "/door/v1/event/9999/search/"+q, "", invalid), 404); a.body != b.body {
				t.Errorf("an event outside is told from none: %s, %s", a.body, b.body)
			}
		}
		s.status(s.do("GET", "/door/v1/event/x/search/?q=ana", "", invalid), 404)
		a := s.status(s.do("POST", searchPath(w.event, "ana"), `{}`), 405)
		if got := a.header.Get("Allow"); got != "GET, HEAD, OPTIONS" {
			t.Errorf("Allow = %q", got)
		}
	}
	for _, permission := range []string{"people:*", "event:*", "checkin:POST", "admin:*"} {
		s := w.as("denomination", permission)
		if a := s.status(s.do("GET", searchPath(w.event, "ana"), ""), 403); a.text(t, "error.details.required_scope") != "checkin:GET" {
			t.Errorf("%s: %s", permission, a.body)
		}
	}
	w.status(w.do("GET", searchPath(w.event, "ana"), "", anybody), 401)
}

func TestDoorSearchIsNotLogged(t *testing.T) {
	var log strings.Builder
	w := newWorld(t, logTo(&log))
	w.ticket(w.event, "A1", `"type":"x"`)
	w.hits(w.event, "zqsecret")
	w.do("GET", searchPath(w.event, "Z"), "", invalid)
	if page := w.do("GET", "/metrics", "").body; strings.Contains(page, "zqsecret") || strings.Contains(log.String(), "zqsecret") {
		t.Error("what was typed is in the log or in the metrics")
	}
}

func TestWhoIsFoundIsLetInByTheTicket(t *testing.T) {
	w := newWorld(t)
	ana := w.guest(w.event, "Ana Souza", `"code":"K7QP-2M"`)
	other, away := w.guest(w.event, "Bia Lima", `"state":"unpaid"`), w.guest(w.farEvent, "Caio Reis", "")
	door := w.as(fmt.Sprintf("event:%d", w.event), "checkin:*")
	byTicket := func(id int64) string { return fmt.Sprintf(`{"ticket_id":%d,"nonce":"n%d"}`, id, id) }

	first := door.scan(w.event, byTicket(door.hits(w.event, "ana")[0]))
	if first.text(t, "outcome") != "admitted" || first.text(t, "label") != "Ana S." {
		t.Errorf("a ticket that was found: %s", first.body)
	}
	for what, body := range map[string]string{"its code": `{"code":"K7QP-2M"}`, "the ticket again": fmt.Sprintf(`{"ticket_id":%d}`, ana)} {
		if again := door.scan(w.event, body); again.text(t, "outcome") != "already_admitted" || again.text(t, "checkin_id") != first.text(t, "checkin_id") {
			t.Errorf("%s: %s", what, again.body)
		}
	}
	if a := door.scan(w.event, byTicket(ana)); a.text(t, "outcome") != "admitted" || a.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the same nonce again: %s", a.body)
	}
	if a := door.scan(w.event, byTicket(other)); a.text(t, "outcome") != "unpaid" {
		t.Errorf("an unpaid ticket: %s", a.body)
	}
	path := doorPath(w.event, "scan")
	door.status(door.do("POST", path, fmt.Sprintf(`{"ticket_id":%d,"nonce":"n%d"}`, other, ana)), 422)
	door.status(door.do("POST", path, byTicket(away)), 404)
	door.status(door.do("POST", path, byTicket(987654)), 404)
	for body, want := range map[string]string{
		`{}`: "This field is required.", `{"code":null}`: "This field may not be null.", `{"ticket_id":null}`: "This field is required.", `{"code":""}`: "This field may not be blank.",
	} {
		if a := door.status(door.do("POST", path, body, invalid), 400); a.text(t, "error.details.code.0") != want {
			t.Errorf("%s: %s", body, a.body)
		}
	}
	if a := door.status(door.do("POST", path, fmt.Sprintf(`{"code":"K7QP-2M","ticket_id":%d}`, ana), invalid), 400); a.text(t, "error.details.ticket_id.0") == "" {
		t.Errorf("both: %s", a.body)
	}
}
