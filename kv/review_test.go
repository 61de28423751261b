package kv_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv"
	"doorward/kv/admission"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/door"
	"doorward/kv/fault"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/record"
)

// reviewed is a store with two events. Its clock is doubted until the test moves it by an hour.
type reviewed struct {
	*kv.Store
	clock    *kvtest.Clock
	registry *prometheus.Registry
	events   [2]int64
	facts    []string // of the first event, that were written by the doubted clock: a check-in, a refused scan, an undo
}

func newReviewed(t *testing.T, dir string) *reviewed {
	t.Helper()
	r := &reviewed{clock: kvtest.NewClock(sunday), registry: prometheus.NewPedanticRegistry()}
	r.Store = reopenable(t, kv.Config{Dir: dir, Clock: r.clock.Now, Built: sunday.Add(time.Hour), Registerer: r.registry})
	for i := range r.events {
		r.events[i] = newEvent(t, r.Store, "")
		newTicket(t, r.Store, r.events[i], "in", `,"type":"Adult"`)
	}
	d := scanned(t, r.Store, gate(t, r.Store, r.events[0]), door.Attempt{Event: r.events[0], Code: "in", Door: "North"}, outcome.Admitted)
	r.clock.Move(time.Second)
	scanned(t, r.Store, auth.Operator(), door.Attempt{Event: r.events[0], Code: "other"}, outcome.UnknownCode)
	r.clock.Move(time.Second)
	undone, err := r.Store.Door.Undo(auth.Operator(), door.Undoing{Event: r.events[0], CheckinID: d.CheckinID})
	if err != nil || undone.Outcome != outcome.Undone {
		t.Fatalf("Undo = %v, %v", undone, err)
	}
	r.clock.Move(time.Hour)
	scanned(t, r.Store, auth.Operator(), door.Attempt{Event: r.events[0], Code: "in"}, outcome.Admitted) // its clock is believed
	r.facts = []string{record.Checkin.Name, record.Scan.Name, record.Undo.Name}
	return r
}

// listed are the kinds of the facts that a principal has to review.
func (r *reviewed) listed(t *testing.T, p auth.Principal, where ...desk.Where) (kinds []string) {
	t.Helper()
	page, err := r.Store.Door.Reviews(p, desk.Part{Where: where, Limit: 100})
	if err != nil || page.Count != len(page.Items) {
		t.Fatalf("Reviews = %+v, %v", page, err)
	}
	for i := range page.Items {
		kinds = append(kinds, page.Items[i].Kind.Name)
	}
	slices.Sort(kinds)
	return kinds
}

func TestFactsToReviewAreListedAndCounted(t *testing.T) {
	r := newReviewed(t, folder(t))
	defer closed(t, r.Store)
	page, err := r.Store.Door.Reviews(auth.Operator(), desk.Part{Limit: 1})
	if err != nil || page.Count != 3 || len(page.Items) != 1 {
		t.Fatalf("Reviews = %+v, %v, want the first of three", page, err)
	}
	first := page.Items[0]
	if first.Kind != record.Checkin || first.Event != r.events[0] || first.Type != "Adult" || first.Door != "North" || first.Key == 0 ||
		first.Node != r.Store.Tables.Identity.Node() || !first.At.Equal(sunday) || !slices.Equal(first.Flags, []string{admission.FlagClockSuspect}) {
		t.Errorf("the first = %+v", first)
	}
	if got := r.listed(t, auth.Operator()); !slices.Equal(got, r.facts) {
		t.Errorf("to review are %v, want %v", got, r.facts)
	}
	if got, want := kvtest.Metrics(t, r.registry, "doorward_facts_to_review"), map[string]float64{"clock_suspect checkin": 1, "clock_suspect scan": 1, "clock_suspect undo": 1,
		"needs_review checkin": 0, "needs_review scan": 0, "needs_review undo": 0}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the gauges are %v, want %v", got, want)
	}
	healthy(t, r.Store)
}

func TestReviewsShowEachKeyItsOwnEvents(t *testing.T) {
	r := newReviewed(t, folder(t))
	defer closed(t, r.Store)
	its := func(i int) auth.Principal {
		return kvtest.Login(t, r.Store, fmt.Sprintf("event:%d", r.events[i]), "admin:GET")
	}
	of := func(event int64) desk.Where { return desk.Where{Field: "event_id", In: []any{event}} }
	with := func(flag string) desk.Where { return desk.Where{Field: "flags", In: []any{flag}} }
	for name, c := range map[string]struct {
		p     auth.Principal
		where []desk.Where
		want  []string
	}{
		"the event's key":              {its(0), nil, r.facts},
		"another event's key":          {its(1), nil, nil},
		"the operator, one event":      {auth.Operator(), []desk.Where{of(r.events[0])}, r.facts},
		"the operator, the other":      {auth.Operator(), []desk.Where{of(r.events[1])}, nil},
		"the operator, one flag":       {auth.Operator(), []desk.Where{with(admission.FlagClockSuspect)}, r.facts},
		"the operator, the other flag": {auth.Operator(), []desk.Where{with(admission.FlagNeedsReview)}, nil},
	} {
		if got := r.listed(t, c.p, c.where...); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	for name, where := range map[string]desk.Where{"an event out of sight": of(r.events[0]), "no such flag": with("late")} {
		var faults fault.ByField
		if _, err := r.Store.Door.Reviews(its(1), desk.Part{Where: []desk.Where{where}}); !errors.As(err, &faults) {
			t.Errorf("%s: %v, want faults", name, err)
		}
	}
	if _, err := r.Store.Door.Reviews(gate(t, r.Store, r.events[0]), desk.Part{}); !errors.Is(err, auth.ErrForbidden) {
		t.Errorf("a door's key = %v, want ErrForbidden", err)
	}
}
