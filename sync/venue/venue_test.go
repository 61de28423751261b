package venue_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/sync/venue"

	"github.com/prometheus/client_golang/prometheus"
)

// TestChangesAreOnTheOtherSideAtOnce: while the link holds, both ways.
func TestChangesAreOnTheOtherSideAtOnce(t *testing.T) {
	w := newTown(t)
	w.join()
	w.arrives(w.laptop, w.sell(w.centre, "first"))
	for name, way := range map[string][2]*kv.Store{"to the laptop": {w.centre, w.laptop}, "to the centre": {w.laptop, w.centre}} {
		var took []time.Duration
		for round := range 3 { // tests share the machine: one quiet round is enough
			took = took[:0]
			for i := range 20 {
				began := time.Now()
				w.arrives(way[1], w.sell(way[0], fmt.Sprint(name, round, i)))
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			t.Logf("%s: median %v, the slowest of twenty %v", name, took[10], took[19])
			if took[10] <= 500*time.Millisecond {
				break
			}
		}
		if took[10] > 500*time.Millisecond { // the slowest tell of the machine
			t.Errorf("a change %s takes %v, want it there within half a second", name, took[10])
		}
	}
}

// TestIDsOfALaptopAreLeased: it gives numbers that nobody else gives.
func TestIDsOfALaptopAreLeased(t *testing.T) {
	w := newTown(t)
	w.join()
	w.arrives(w.laptop, w.sell(w.centre, "first"))
	at, here := w.sell(w.laptop, "walk-in"), w.sell(w.centre, "second")
	if at == here || at >= record.FirstDrawn {
		t.Errorf("ticket %d of the laptop and %d of the centre, want numbers of their own, neither drawn", at, here)
	}
	w.arrives(w.centre, at)
	w.arrives(w.laptop, here)
}

// TestALaptopJoinsAnew: it shows by the key that it has that it is the same, so nobody has to revoke it for a second code.
func TestALaptopJoinsAnew(t *testing.T) {
	w := newTown(t)
	join := func(name string) table.Upstream {
		t.Helper()
		u, err := venue.Join(t.Context(), venue.JoinConfig{Store: w.laptop, URL: w.url, Code: w.code(name)})
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	first, second := join("north"), join("north again")
	if _, err := w.centre.Keys.Login(first.Key, first.Secret); !errors.Is(err, table.ErrRevoked) {
		t.Errorf("the first key after a second enrolment = %v, want ErrRevoked", err)
	}
	if _, err := w.centre.Keys.Login(second.Key, second.Secret); err != nil {
		t.Errorf("the second key = %v", err)
	}
	second.Secret = "lost"
	if err := w.laptop.Laptop.NoteUpstream(second); err != nil {
		t.Fatal(err)
	}
	if _, err := venue.Join(t.Context(), venue.JoinConfig{Store: w.laptop, URL: w.url, Code: w.code("south")}); !errors.Is(err, office.ErrEnrolled) {
		t.Errorf("Join of who has lost the key = %v, want ErrEnrolled", err)
	}
}

// TestALaptopThatGotNoAnswerJoinsByTheSameCode: the centre has enrolled it, and has ended its earlier key.
func TestALaptopThatGotNoAnswerJoinsByTheSameCode(t *testing.T) {
	for _, enrolled := range []bool{false, true} {
		w := newTown(t)
		if enrolled {
			w.enrol(w.laptop)
		}
		code := w.code("north")
		ctx, cancel := context.WithCancel(t.Context())
		mute := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			w.serving.Load().ServeHTTP(httptest.NewRecorder(), r)
			cancel()
			panic(http.ErrAbortHandler)
		}))
		t.Cleanup(mute.Close)
		if _, err := venue.Join(ctx, venue.JoinConfig{Store: w.laptop, URL: mute.URL, Code: code}); err == nil {
			t.Fatal("it has joined without an answer")
		}
		u, err := venue.Join(t.Context(), venue.JoinConfig{Store: w.laptop, URL: w.url, Code: strings.ToLower(code)})
		if err != nil {
			t.Errorf("Join by the same code = %v", err)
		}
		if _, err := w.centre.Keys.Login(u.Key, u.Secret); err != nil {
			t.Errorf("the key that it has got = %v", err)
		}
	}
}

// TestAMirrorLetsNobodyIn: its centre takes no fact from it, so nobody else would learn who is in. What it can answer without a new fact
// it answers, and at an event that it was enrolled for besides it is a laptop as any other.
func TestAMirrorLetsNobodyIn(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	for _, code := range []string{"in", "out"} {
		w.sell(w.centre, code)
	}
	in := door.Attempt{Event: w.event, Code: "in", Nonce: "first"}
	first, err := w.centre.Door.CheckIn(auth.Operator(), in)
	if err != nil || first.Outcome != outcome.Admitted {
		t.Fatalf("CheckIn at the centre = %+v, %v", first, err)
	}
	w.enrolFor(w.laptop, office.Enrolment{Level: auth.Level{Name: auth.Denomination}, Venue: auth.Venue{Mirror: true}})
	w.visits(w.laptop)
	w.ready()
	refused := func(what string, err error) {
		t.Helper()
		var no *auth.Forbidden
		if !errors.As(err, &no) || !strings.Contains(no.Reason, "mirror") || !strings.Contains(no.Reason, "centre") {
			t.Errorf("%s = %v, want *Forbidden that names the mirror and the centre", what, err)
		}
	}
	before := w.laptop.Tables.Commits.Seq()
	attempts := []door.Attempt{in, {Event: w.event, Code: "out"}, {Event: w.event, Code: "in", LetIn: true}, {Event: w.event, Code: "nobody's"}}
	for _, a := range attempts[1:] {
		_, err := w.laptop.Door.CheckIn(auth.Operator(), a)
		refused("a check-in of "+a.Code, err)
	}
	again, err := w.laptop.Door.CheckIn(auth.Operator(), in)
	if err != nil || !again.Replayed || again.CheckinID != first.CheckinID {
		t.Errorf("the centre's check-in with its own nonce again = %+v, %v, want the answer that it had", again, err)
	}
	judged, err := w.laptop.Door.CheckInAll(auth.Operator(), attempts)
	if err != nil || len(judged) != len(attempts) || judged[0].Err != nil || judged[0].CheckinID != first.CheckinID {
		t.Fatalf("CheckInAll = %+v, %v, want each judged by itself", judged, err)
	}
	for i, j := range judged[1:] {
		refused("the scan of "+attempts[i+1].Code, j.Err)
	}
	_, err = w.laptop.Door.Undo(auth.Operator(), door.Undoing{Event: w.event, CheckinID: first.CheckinID})
	refused("an undo", err)
	if got := w.laptop.Tables.Commits.Seq(); got != before {
		t.Errorf("%d changes were written", got-before)
	}

	south := kvtest.Open(t)
	w.enrolFor(south, office.Enrolment{Level: auth.Level{Name: auth.Denomination}, Events: []int64{w.event}, Venue: auth.Venue{Mirror: true}})
	w.visits(south)
	if d := w.scan(south, "out"); d.Outcome != outcome.Admitted {
		t.Fatalf("a scan at a mirror that is enrolled for the event = %q", d.Outcome)
	}
	w.visits(south)
	if d := w.scan(w.centre, "out"); d.Outcome != outcome.AlreadyAdmitted {
		t.Errorf("a scan of it at the centre = %q, want it to know", d.Outcome)
	}
	if _, err := w.laptop.Desk.Retrieve(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Event, ID: record.Int(w.event)}); err != nil {
		t.Errorf("reading at the mirror = %v", err)
	}
}

// TestALaptopKnowsSoonThatItHasAll: one that pushes nothing does not wait for the next regular handshake to know that it has what it
// lacked while it was away.
func TestALaptopKnowsSoonThatItHasAll(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.enrolFor(w.laptop, office.Enrolment{Level: auth.Level{Name: auth.Denomination}, Venue: auth.Venue{Mirror: true}})
	w.visits(w.laptop)
	last := int64(0)
	for i := range 60 {
		last = w.sell(w.centre, fmt.Sprintf("ticket%d", i))
	}
	registry := prometheus.NewPedanticRegistry()
	_, leave := w.followAs(venue.Config{Store: w.laptop, Registerer: registry})
	t.Cleanup(leave)
	w.arrives(w.laptop, last)
	tick, late := time.NewTicker(10*time.Millisecond), time.After(15*time.Second)
	defer tick.Stop()
	for lag := lagOf(t, registry, "pull"); lag > 0; lag = lagOf(t, registry, "pull") {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("it has all, and its metric says that it lacks %v changes", lag)
		}
	}
}

// TestHistoryNamesAllThatALaptopChangedOffline: of several edits of one record the last alone comes with its body.
func TestHistoryNamesAllThatALaptopChangedOffline(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.enrol(w.laptop)
	w.visits(w.laptop)
	own := w.sell(w.laptop, "own")
	w.visits(w.laptop)
	for _, to := range []string{`{"type":"Adult"}`, `{"order":"B7"}`} {
		w.changes(w.laptop, record.Ticket, own, to)
	}
	w.visits(w.laptop)
	all, err := w.centre.Desk.History(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Ticket, ID: record.Int(own)}, false)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(p desk.Past) bool { return p.Kind == record.Ticket && p.Winner })
	if i < 0 || !slices.Contains(all[i].Fields, "type") || !slices.Contains(all[i].Fields, "order") {
		t.Errorf("the history is %s, want that it names type and order", fmt.Sprintf("%+v", all))
	}
}
