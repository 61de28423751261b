package api_test

import (
	"fmt"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

func TestReadsAreListed(t *testing.T) {
	clock := kvtest.NewClock(time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)) // no minute ends between two reads
	w := settle(newSiteOver(t, kvtest.OpenConfig(t, kv.Config{Clock: clock.Now})))
	id := w.create(record.Person, `{"full_name":"Ana Souza","church_id":1}`)
	w.status(w.do("GET", fmt.Sprintf("/v1/people/%d/", id), ""), 200)
	w.status(w.do("GET", "/v1/people/?limit=1", ""), 200)
	a := w.status(w.do("GET", "/admin/v1/reads/?kind=person", ""), 200)
	if a.text(t, "count") != "1" || a.text(t, "results.0.kind") != "person" || a.text(t, "results.0.records") != "2" ||
		a.value(t, "results.0.key_id") == nil || a.text(t, "results.0.minute") == "" {
		t.Errorf("reads are %s, want two of a person", a.body)
	}
	for query, want := range map[string]string{"kind=ticket": "0", "minute_before=2001-01-01": "0", "minute_after=2001-01-01&key_id=" + a.text(t, "results.0.key_id"): "1"} {
		if a := w.status(w.do("GET", "/admin/v1/reads/?"+query, ""), 200); a.text(t, "count") != want {
			t.Errorf("reads with %s are %s, want %s", query, a.body, want)
		}
	}
	w.status(w.do("GET", "/admin/v1/reads/?key_id=x", "", invalid), 400)
}
