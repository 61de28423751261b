package kv_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/search"
	"doorward/kv/table"
)

// found searches an event's tickets and answers what is shown of them, one after the other.
func found(t testing.TB, s *kv.Store, p auth.Principal, event int64, typed string) []door.TicketHit {
	t.Helper()
	hits, err := s.Door.FindTickets(p, event, search.ParseRanked(typed), nil)
	if err != nil {
		t.Fatalf("tickets for %q: %v", typed, err)
	}
	return hits
}

func TestDoorsFindTickets(t *testing.T) {
	s, _ := opened(t)
	event, other := newEvent(t, s, ""), newEvent(t, s, "")
	for i, name := range []string{"Ana Souza", "Ana Silva", "João da Silva", "Silva Ana", "Anabela Souza"} {
		newTicket(t, s, event, fmt.Sprintf("K%d", i), fmt.Sprintf(`,"holder_name":%q,"phone":"+55 11 98765-432%d","type":"VIP","order":"R%d"`, name, i, i))
	}
	newTicket(t, s, event, "K9", "")
	newTicket(t, s, other, "ELSEWHERE", `,"holder_name":"Ana Souza"`)
	p := gate(t, s, event)
	for typed, want := range map[string]string{
		"ana souza": "1 5",
		"ANA SOUSA": "1 5",
		"ana s":     "1 2 5 4", // the first by their labels
		"silva":     "4 2 3",   // of the same words, the one that begins with it
		"da silva":  "4 2 3",
		"4321":      "2",
		"ana 22":    "",
		"ana 20":    "1",
		"sauza":     "1 5",
		"x":         "",
		"":          "",
		"-":         "",
	} {
		var ids []string
		for _, h := range found(t, s, p, event, typed) {
			ids = append(ids, fmt.Sprint(h.Ticket.Int()))
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("tickets for %q = %s, want %s", typed, got, want)
		}
	}
	hit := found(t, s, p, event, "ana souza")[0]
	want := door.TicketHit{Ticket: record.Int(1), Label: "Ana S.", Type: "VIP", Order: "R0", State: "valid", PhoneTail: "4320", Matched: []door.Match{door.ByName}}
	if diff := cmp.Diff(want, hit, cmpopts.EquateComparable(record.ID{})); diff != "" {
		t.Errorf("a door is shown something else: %s", diff)
	}
}

// TestDoorsSeeWhoIsIn: who was admitted on the list of today, until that is undone.
func TestDoorsSeeWhoIsIn(t *testing.T) {
	s, clock := opened(t)
	event := newEvent(t, s, `,"list_rule":"daily"`)
	newTicket(t, s, event, "K1", `,"holder_name":"Ana Souza"`)
	p := gate(t, s, event)
	d := scanned(t, s, p, door.Attempt{Event: event, Code: "K1"}, outcome.Admitted)
	if hit := found(t, s, p, event, "ana")[0]; !hit.AdmittedAt.Equal(d.AdmittedAt) || hit.CheckinID != d.CheckinID {
		t.Errorf("after a check-in a door is shown %+v, want that of %+v", hit, d)
	}
	clock.Move(24 * time.Hour)
	if hit := found(t, s, p, event, "ana")[0]; !hit.AdmittedAt.IsZero() || hit.CheckinID != "" {
		t.Errorf("on the next day a door is shown %+v, want nobody in", hit)
	}
	d = scanned(t, s, p, door.Attempt{Event: event, Code: "K1"}, outcome.Admitted)
	if _, err := s.Door.Undo(p, door.Undoing{Event: event, CheckinID: d.CheckinID}); err != nil {
		t.Fatal(err)
	}
	if hit := found(t, s, p, event, "ana")[0]; !hit.AdmittedAt.IsZero() {
		t.Errorf("after an undo a door is shown %+v, want nobody in", hit)
	}
}

// TestDoorsFindOnlyTheirOwn: other events are as if they were not there, and nothing private is shown.
func TestDoorsFindOnlyTheirOwn(t *testing.T) {
	s, _ := opened(t)
	loaded(t, s, row(t, record.Church, 1, `{"name":"A"}`), row(t, record.Church, 2, `{"name":"B"}`))
	mine, other := newEvent(t, s, `,"church_id":1`), newEvent(t, s, `,"church_id":2`)
	for _, event := range []int64{mine, other} {
		newTicket(t, s, event, fmt.Sprintf("MARKER-%d", event), `,"holder_name":"Ana Maria Marker","email":"marker@example.org","phone":"+55 11 99999-4321"`)
	}
	for level, wants := range map[string]error{
		"denomination": nil, "church:1,2": nil, "church:1": table.ErrNotFound, fmt.Sprintf("event:%d", mine): table.ErrNotFound, "regional:1": table.ErrNotFound,
	} {
		p := kvtest.Login(t, s, level, "checkin:*")
		hits, err := s.Door.FindTickets(p, other, search.ParseRanked("marker"), nil)
		if !errors.Is(err, wants) || len(hits) != map[bool]int{true: 1}[wants == nil] {
			t.Errorf("%s finds %d tickets of the other event, %v, want %v", level, len(hits), err, wants)
		}
		if shown := fmt.Sprintf("%+v", hits); strings.Contains(shown, "Marker") || strings.Contains(shown, "MARKER") || strings.Contains(shown, "marker") || strings.Contains(shown, "99999") {
			t.Errorf("%s is shown what is private: %s", level, shown)
		}
	}
	for permission, wants := range map[string]error{"checkin:GET": nil, "checkin:POST": auth.ErrForbidden, "event:*": auth.ErrForbidden} {
		p := kvtest.Login(t, s, fmt.Sprintf("event:%d", mine), permission)
		if _, err := s.Door.FindTickets(p, mine, search.ParseRanked("marker"), nil); !errors.Is(err, wants) {
			t.Errorf("with %s tickets are found: %v, want %v", permission, err, wants)
		}
	}
	if _, err := s.Door.FindTickets(auth.Operator(), 99, search.ParseRanked("marker"), nil); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("tickets of no event = %v, want ErrNotFound", err)
	}
}
