package api_test

import (
	"fmt"
	"strings"
	"testing"

	"doorward/api"
	"doorward/kv/auth"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/table"
)

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
