package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"doorward/kv/kvtest"
	"doorward/kv/table"
)

func TestFactsToReviewAreListed(t *testing.T) {
	clock := kvtest.NewClock(time.Date(2026, 5, 3, 19, 0, 0, 0, time.UTC))
	w := settle(newSiteOver(t, kvtest.OpenConfig(t, table.Config{Clock: clock.Now, Built: clock.Now().Add(time.Hour)})))
	ticket := w.ticket(w.event, "K1", `"type":"Adult","order":"H-7"`)
	admitted := w.scan(w.event, `{"code":"K1","door":"North"}`)
	clock.Move(time.Second)
	w.scan(w.event, `{"code":"K1"}`)
	a := w.status(w.do("GET", "/admin/v1/reviews/", ""), 200)
	want := fmt.Sprintf(`{"kind":"checkin","id":%q,"event_id":%d,"ticket_id":%d,"label":"Ana S.","type":"Adult","order":"H-7","door":"North",`+
		`"at":%q,"clock_offset_ms":null,"flags":["clock_suspect"],"outcome":null,"checkin_id":null,"node":%q,"key_id":`,
		admitted.text(t, "checkin_id"), w.event, ticket, admitted.text(t, "admitted_at"), w.store.Tables.Identity.Node())
	if a.text(t, "count") != "2" || !strings.Contains(a.body, `"results":[`+want) || a.text(t, "results.1.outcome") != "already_admitted" {
		t.Errorf("reviews = %s\nwant first %s", a.body, want)
	}
	if page := w.status(w.do("GET", "/admin/v1/reviews/?limit=1", ""), 200); !strings.Contains(page.text(t, "next"), "offset=1") || page.value(t, "results.1") != nil {
		t.Errorf("a page of one = %s", page.body)
	}
	for query, count := range map[string]string{"flag=clock_suspect": "2", "flag=needs_review": "0", fmt.Sprint("event_id=", w.event): "2", fmt.Sprint("event_id=", w.openEvent): "0"} {
		if got := w.status(w.do("GET", "/admin/v1/reviews/?"+query, ""), 200).text(t, "count"); got != count {
			t.Errorf("%s: %s facts, want %s", query, got, count)
		}
	}
	for query, field := range map[string]string{"flag=late": "flag", "event_id=99": "event_id"} {
		w.status(w.do("GET", "/admin/v1/reviews/?"+query, "", invalid), 400).text(t, "error.details."+field+".0")
	}
	far := w.as(fmt.Sprintf("event:%d", w.farEvent), "admin:GET")
	if got := far.status(far.do("GET", "/admin/v1/reviews/", ""), 200).text(t, "count"); got != "0" {
		t.Errorf("a key of another event lists %s facts", got)
	}
	door := w.as(fmt.Sprintf("event:%d", w.event), "checkin:*")
	door.status(door.do("GET", "/admin/v1/reviews/", ""), 403)
	for kind, count := range map[string]string{"checkin": "1", "scan": "1", "undo": "0"} {
		if got := w.status(w.do("GET", "/admin/v1/"+kind+"/?flags=clock_suspect", ""), 200).text(t, "count"); got != count {
			t.Errorf("%s of the flag: %s, want %s", kind, got, count)
		}
	}
}
