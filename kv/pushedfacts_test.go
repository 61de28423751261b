package kv_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
)

// doc is the fact as another store's document; its state is a leaf of the ticket's tree, and the one with the highest letter wins.
func (f *drawnFact) doc(letter byte) merge.DocWrite {
	if f.kind == nil {
		return merge.DocWrite{ID: record.Ticket.DocID(record.Int(int64(f.ticket))), Path: chain(string([]byte{letter, 'a'})), Body: ticketBody(f.ticket, f.state)}
	}
	body := []byte{'{'}
	for i, m := range f.members(1) {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(fmt.Appendf(body, "%q:", m.Name), m.Value...)
	}
	return merge.DocWrite{ID: f.kind.DocID(f.id), Path: chain("a"), Body: append(body, '}')}
}

func ticketBody(n int, state string) []byte {
	return fmt.Appendf(nil, `{"event_id":1,"code_hash":"%032d","normal_hash":"%032d","type":%q,"state":%q}`, 10+n, 10+n, []string{"", "Adult", "Adult", "Child"}[n], state)
}

// TestPushedFactsSayTheSame brings drawn facts, tickets and states of tickets as documents in a drawn order, tickets late and leaves
// after better ones too: the event is told of as a plain comparison of all with all does.
func TestPushedFactsSayTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		facts := drawnFacts(r)
		var docs []merge.DocWrite
		for i, f := range facts { // the last state of a ticket has the highest letter
			docs = append(docs, f.doc('b'+byte(i)))
		}
		for n := 1; n <= 3; n++ {
			docs = append(docs, merge.DocWrite{ID: record.Ticket.DocID(record.Int(int64(n))), Path: chain("a"), Body: ticketBody(n, "valid")})
		}
		s := kvtest.OpenConfig(t, kv.Config{Dir: t.TempDir(), Clock: kvtest.NewClock(sunday).Now})
		newEvent(t, s, "")
		if err := kv.SetLeaf(s); err != nil {
			t.Fatal(err)
		}
		db := opens(t, s, auth.Operator(), "event-1")
		poll := rapid.IntRange(0, len(docs)).Draw(r, "poll")
		for i, w := range rapid.Permutation(docs).Draw(r, "order") {
			if err := push(t, db, w); err != nil {
				r.Fatalf("push %s: %v", w.ID, err)
			}
			if i == poll {
				toldBy(t, s, 1) // from here on the status is followed
			}
		}
		if diff := cmp.Diff(modelled(facts), toldBy(t, s, 1)); diff != "" {
			r.Errorf("the facts say something else: %s", diff)
		}
		if report, err := s.Files.Verify(auth.Operator(), nil); err != nil || report.Damaged > 0 {
			r.Errorf("Verify = %+v, %v", report, err)
		}
	})
}

// What is written here after a fact has come is later than that, whichever fact it is; one of a laptop in 2035 moves no clock.
func TestTheClockGoesBeyondPushedFacts(t *testing.T) {
	clock := kvtest.NewClock(sunday)
	s := kvtest.OpenConfig(t, kv.Config{Dir: t.TempDir(), Clock: clock.Now})
	newEvent(t, s, "")
	db := opens(t, s, auth.Operator(), "event-1")
	for i, k := range []*record.Kind{record.Checkin, record.Scan, record.Undo} {
		ahead := sunday.Add(time.Duration(i+1) * time.Hour).UnixMilli()
		f := drawnFact{kind: k, id: record.FromULID(ulid.Make()), ticket: 1, code: 1, direction: "in", hlc: int(ahead << 16)}
		w := f.doc('a')
		w.Body = []byte(replacedOnce(t, string(w.Body), fmt.Sprintf(`"2026-11-22T19:%02d:30Z"`, f.hlc), `"2026-11-22T19:00:30Z"`))
		if err := push(t, db, w); err != nil {
			t.Fatal(err)
		}
		if got := kv.HLC(s); got < uint64(f.hlc) {
			t.Errorf("after a %s the clock is %x, want no less than %x", k.Name, got, f.hlc)
		}
	}
	before := kv.HLC(s)
	far := drawnFact{kind: record.Checkin, id: record.FromULID(ulid.Make()), ticket: 1, code: 2, direction: "in", hlc: int(sunday.AddDate(9, 0, 0).UnixMilli() << 16)}
	w := far.doc('a')
	w.Body = []byte(replacedOnce(t, string(w.Body), fmt.Sprintf(`"2026-11-22T19:%02d:30Z"`, far.hlc), `"2035-11-22T19:00:30Z"`))
	if err := push(t, db, w); err != nil || kv.HLC(s) > before+1<<16 {
		t.Errorf("a laptop in 2035: %v, the clock is %x, was %x", err, kv.HLC(s), before)
	}
}
