package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"doorward/kv/admission"
	"doorward/kv/auth"
	"doorward/kv/record"
)

// board is what a stream tells.
type board struct {
	Issued, Admitted, Inside int
	PerMinute                int `json:"per_minute"`
	Doors                    []struct {
		Name     string
		Admitted int
		Pages    int
		Closed   bool
	}
	Recent []struct {
		Door, Outcome string
		Own           bool
	}
}

// listener is a page that follows an event's doors over a real connection.
type listener struct {
	testing.TB
	lines *bufio.Scanner
	leave context.CancelFunc
}

// listen follows an event as a key does.
func (w *world) listen(base string, door string, by *site) *listener {
	w.Helper()
	ctx, leave := context.WithTimeout(w.Context(), 30*time.Second)
	w.Cleanup(leave)
	r, err := http.NewRequestWithContext(ctx, "GET", base+doorPath(w.event, "stream")+"?door="+door, nil)
	if err != nil {
		w.Fatal(err)
	}
	r.SetBasicAuth(by.auth[0], by.auth[1])
	resp, err := http.DefaultClient.Do(r)
	if err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		w.Fatalf("%v %v", resp, err)
	}
	w.Cleanup(func() { _ = resp.Body.Close() })
	return &listener{w, bufio.NewScanner(resp.Body), leave}
}

// until reads events until one is right, and returns it.
func (l *listener) until(right func(board) bool) (b board) {
	l.Helper()
	for l.lines.Scan() {
		data, ok := strings.CutPrefix(l.lines.Text(), "data: ")
		if !ok {
			continue
		}
		b = board{}
		if err := json.Unmarshal([]byte(data), &b); err != nil {
			l.Fatal(err)
		}
		if right(b) {
			return b
		}
	}
	l.Fatalf("the stream ended: %v; last %+v", l.lines.Err(), b)
	return b
}

func TestDoorsFollowEachOther(t *testing.T) {
	w := newWorld(t)
	for _, code := range []string{"K1", "K2"} {
		w.ticket(w.event, code, "")
	}
	server := httptest.NewServer(w.server.Handler())
	t.Cleanup(server.Close) // when the streams have ended
	level := fmt.Sprintf("event:%d", w.event)
	north, south := w.as(level, "checkin:GET", "checkin:POST"), w.as(level, "checkin:*")
	l := w.listen(server.URL, "North", north)
	l.until(func(b board) bool {
		return b.Issued == 2 && b.Admitted == 0 && len(b.Doors) == 1 && b.Doors[0].Pages == 1
	})
	other := w.listen(server.URL, "%20South%20", south)
	l.until(func(b board) bool { return len(b.Doors) == 2 })
	south.scan(w.event, `{"code":"K1","door":"South"}`)
	b := l.until(func(b board) bool { return b.Admitted == 1 })
	if b.Inside != 1 || len(b.Recent) != 1 || b.Recent[0].Door != "South" || b.Recent[0].Own {
		t.Errorf("the board: %+v", b)
	}
	north.scan(w.event, `{"code":"NONE","door":"North"}`)
	l.until(func(b board) bool {
		return len(b.Recent) == 2 && b.Recent[0].Own && b.Recent[0].Outcome == "unknown_code"
	})
	other.leave()
	l.until(func(b board) bool { return len(b.Doors) == 2 && b.Doors[1].Name == "South" && b.Doors[1].Pages == 0 })
	w.server.EndStreams()
	for n := 0; l.lines.Scan(); n++ {
		if n > 10 {
			t.Fatal("a stream goes on after the server ends")
		}
	}
}

// TestADoorHearsOfAnotherWithinASecond scans again where it took longer: a busy machine may stand still for so long.
func TestADoorHearsOfAnotherWithinASecond(t *testing.T) {
	w := newWorld(t)
	server := httptest.NewServer(w.server.Handler())
	t.Cleanup(server.Close) // when the streams have ended
	l := w.listen(server.URL, "North", w.as(fmt.Sprintf("event:%d", w.event), "checkin:*"))
	var all []time.Duration
	for n := 1; n <= 5; n++ {
		code := fmt.Sprintf("K%d", n)
		w.ticket(w.event, code, "")
		l.until(func(b board) bool { return b.Issued == n })
		begun := time.Now()
		w.checkIn(w.event, code)
		l.until(func(b board) bool { return b.Admitted == n })
		took := time.Since(begun)
		if took <= time.Second {
			return
		}
		all = append(all, took)
	}
	t.Errorf("the other door heard after %v, want within a second", all)
}

func TestARevokedKeyFollowsNoDoor(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.event, "K1", "")
	server := httptest.NewServer(w.server.Handler())
	t.Cleanup(server.Close) // when the streams have ended
	north := w.as(fmt.Sprintf("event:%d", w.event), "checkin:*")
	l := w.listen(server.URL, "North", north)
	l.until(func(b board) bool { return b.Issued == 1 })
	keys, err := w.store.Keys.Keys(auth.Operator())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.store.Keys.RevokeKey(auth.Operator(), keys[len(keys)-1].ID); err != nil {
		t.Fatal(err)
	}
	w.scan(w.event, `{"code":"K1"}`)
	for l.lines.Scan() {
		if strings.Contains(l.lines.Text(), `"admitted":1`) {
			t.Fatalf("a revoked key is told %s", l.lines.Text())
		}
	}
}

func TestADoorLeadsOutWhereItsEventSaysSo(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.event, "K1", `"type":"Child"`)
	w.status(w.do("POST", doorPath(w.event, "scan"), `{"code":"K1","direction":"out"}`, invalid), 400)
	w.status(w.do("PATCH", adminPath("event", w.event), `{"list_rule":"reentry","notices":{"child":"ask for the slip"}}`), 200)
	for _, step := range [][2]string{{"out", "not_inside"}, {"reentry", "not_inside"}, {"in", "admitted"}, {"out", "left"}, {"reentry", "admitted"}, {"in", "already_admitted"}} {
		a := w.scan(w.event, fmt.Sprintf(`{"code":"K1","direction":%q}`, step[0]))
		if a.text(t, "outcome") != step[1] || a.text(t, "notice") != "ask for the slip" {
			t.Errorf("%s: %s", step[0], a.body)
		}
	}
	a := w.status(w.do("POST", doorPath(w.event, "scans"), `{"scans":[{"code":"K1",`+seenAt+`,"direction":"out","let_in":true}]}`), 200)
	if a.text(t, "results.0.outcome") != "left" {
		t.Errorf("an offline way out: %s", a.body)
	}
	if st := w.status(w.do("GET", doorPath(w.event, "status"), ""), 200); st.text(t, "inside") != "0" || st.text(t, "admitted") != "2" {
		t.Errorf("the status: %s", st.body)
	}
	w.status(w.do("POST", doorPath(w.event, "scan"), `{"code":"K1","direction":"up"}`, invalid), 400)
}

func TestAFamilyIsToldToItsDoor(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.event, "K1", `"order":"O1"`)
	other := w.ticket(w.event, "K2", `"order":"O1"`)
	in := w.scan(w.event, `{"code":"K1"}`)
	path := doorPath(w.event, "family")
	a := w.status(w.do("GET", path+"?checkin_id="+in.text(t, "checkin_id"), ""), 200)
	if a.text(t, "results.0.ticket_id") != fmt.Sprint(other) || strings.Contains(a.body, "Souza") {
		t.Errorf("the family: %s", a.body)
	}
	w.status(w.do("GET", path, "", invalid), 400)
	w.status(w.do("GET", path+"?checkin_id=O1", ""), 404)
}

func TestStreamsAndFamiliesStayWithTheirEvent(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.event, "K1", `"order":"O1"`)
	w.ticket(w.event, "K2", `"order":"O1"`)
	in := w.scan(w.event, `{"code":"K1"}`).text(t, "checkin_id")
	stranger, reader := w.as(fmt.Sprintf("event:%d", w.farEvent), "checkin:*"), w.as(fmt.Sprintf("event:%d", w.event), "event:GET")
	for _, path := range []string{doorPath(w.event, "stream"), doorPath(w.event, "family") + "?checkin_id=" + in} {
		none := strings.Replace(path, fmt.Sprintf("/event/%d/", w.event), "/event/987654/", 1)
		a, b := stranger.status(stranger.do("GET", path, ""), 404), stranger.status(stranger.do("GET", none, ""), 404)
		if a.body != b.body {
			t.Errorf("%s tells that the event is there: %s", path, a.body)
		}
		reader.status(reader.do("GET", path, ""), 403)
		w.status(w.do("GET", path, "", anybody), 401)
		w.status(w.do("HEAD", path, ""), 200)
	}
	own := strings.Replace(doorPath(w.event, "family"), fmt.Sprint("/", w.event, "/"), fmt.Sprint("/", w.farEvent, "/"), 1)
	stranger.status(stranger.do("GET", own+"?checkin_id="+in, ""), 404)
}

func TestAStewardBrowsesNoList(t *testing.T) {
	w := newWorld(t)
	for i := range 9 {
		w.ticket(w.event, fmt.Sprint("K", i), "")
	}
	level := fmt.Sprintf("event:%d", w.event)
	for n, by := range map[int]*site{5: w.as(level, "checkin:GET", "checkin:POST"), 9: w.as(level, "checkin:*")} {
		a := by.status(by.do("GET", searchPath(w.event, "ana"), ""), 200)
		if got := strings.Count(a.body, "ticket_id"); got != n {
			t.Errorf("%d tickets, want %d", got, n)
		}
	}
}

func TestARoleIsGivenWithItsTicket(t *testing.T) {
	w, _ := atDoor(t)
	for role, ask := range map[string]string{"steward": "", "supervisor": "&role=supervisor"} {
		r := httptest.NewRecorder()
		w.server.Control().ServeHTTP(r, httptest.NewRequest("POST", fmt.Sprintf("/control/door?event=%d%s", w.event, ask), nil))
		var out struct{ Ticket string }
		if err := json.Unmarshal(r.Body.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
		a, phone := w.signIn(`{"ticket":"` + out.Ticket + `","name":"Bia"}`)
		if a.text(t, "role") != role {
			t.Errorf("the session: %s", a.body)
		}
		w.ticket(w.event, "K"+role, "")
		in := w.scan(w.event, `{"code":"K`+role+`"}`) // by another key
		want := map[string]int{"steward": 403, "supervisor": 200}[role]
		w.status(w.do("POST", doorPath(w.event, "undo"), fmt.Sprintf(`{"checkin_id":%q}`, in.text(t, "checkin_id")), cookie(phone)), want)
	}
}

func TestARevokedPhoneHandsInWhatItHasKept(t *testing.T) {
	w, clock := atDoor(t)
	w.ticket(w.event, "K1", "")
	shown, _ := w.ticketFor(w.event)
	_, phone := w.signIn(`{"ticket":"` + shown + `","name":"Bia"}`)
	keys, err := w.store.Keys.Keys(auth.Operator())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.store.Keys.RevokeKey(auth.Operator(), keys[len(keys)-1].ID); err != nil {
		t.Fatal(err)
	}
	kept := `{"scans":[{"code":"K1",` + seenAt + `,"nonce":"n","let_in":true},{"code":"K1",` + seenAt + `}]}`
	for range 2 { // the first answer may be lost
		a := w.status(w.do("POST", doorPath(w.event, "scans"), kept, cookie(phone)), 200)
		if a.text(t, "results.0.outcome") != "admitted" || strings.Contains(a.body, "Ana") || a.text(t, "results.1.error.code") != "UNAUTHORIZED" {
			t.Errorf("handed in: %s", a.body)
		}
	}
	if r := w.status(w.do("GET", "/admin/v1/reviews/", ""), 200); r.text(t, "count") != "1" || !strings.Contains(r.body, admission.FlagNeedsReview) {
		t.Errorf("reviews: %s", r.body)
	}
	w.status(w.do("POST", doorPath(w.event, "scan"), `{"code":"K1"}`, cookie(phone)), 401)
	w.status(w.do("GET", doorPath(w.event, "status"), "", cookie(phone)), 401)
	clock.Move(time.Hour)
	w.status(w.do("POST", doorPath(w.event, "scans"), kept, cookie(phone)), 401)
	if n := w.status(w.do("GET", adminPath(record.Checkin.Name, 0)[:len("/admin/v1/checkin/")], ""), 200); n.text(t, "count") != "1" {
		t.Errorf("check-ins: %s", n.body)
	}
}
