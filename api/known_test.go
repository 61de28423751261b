package api_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestCodesOfAPicture: a picture shows a ticket and other codes. The door learns which is which, and nothing is decided.
func TestCodesOfAPicture(t *testing.T) {
	w := settle(newSite(t))
	w.ticket(w.event, "K7QP-2M", "")
	path := fmt.Sprintf("/door/v1/event/%d/codes/", w.event)
	a := w.status(w.do("POST", path, `{"codes":["https://instagram.example/church","https://tickets.example/t/k7qp2m","K7QP-2M"]}`), 200)
	if id := a.text(t, "results.0.ticket_id"); a.text(t, "results.0.code") != "https://tickets.example/t/k7qp2m" || a.text(t, "results.1.ticket_id") != id || strings.Count(a.body, "code") != 2 {
		t.Errorf("results = %s", a.body)
	}
	status := w.status(w.do("GET", fmt.Sprintf("/door/v1/event/%d/status/", w.event), ""), 200)
	if status.text(t, "outcomes.admitted") != "0" || status.text(t, "outcomes.unknown_code") != "0" {
		t.Errorf("outcomes = %s", status.text(t, "outcomes"))
	}
	for body, want := range map[string]int{`{"codes":[]}`: 200, `{}`: 400, `{"codes":[""]}`: 400, `{"codes":[1,{}]}`: 400, `{"codes":["1","2","3","4","5","6","7","8","9"]}`: 400} {
		if got := w.do("POST", path, body, invalid).status; got != want {
			t.Errorf("%s is answered %d, want %d", body, got, want)
		}
	}
	w.status(w.do("POST", "/door/v1/event/999/codes/", `{"codes":["K7QP-2M"]}`), 404)
}
