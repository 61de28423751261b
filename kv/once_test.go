package kv_test

import (
	"doorward/kv/idempotency"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/door"
	"doorward/kv/entry"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
)

// onceOf is an Idempotency-Key with a body, each named by a byte.
func onceOf(key, body byte) *idempotency.Request {
	return &idempotency.Request{Key: [32]byte{key}, Body: [32]byte{body}}
}

func createOnce(t testing.TB, s *kv.Store, name string, once *idempotency.Request) (entry.Reply, error) {
	t.Helper()
	patch := kvtest.Parse(t, record.Church, `{"name":"`+name+`"}`, true)
	return s.Desk.Create(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Church, Once: once}, patch)
}

func TestOnceCreatesOnce(t *testing.T) {
	clock := kvtest.NewClock(sunday)
	c := kv.Config{Dir: folder(t), Clock: clock.Now}
	s := reopenable(t, c)
	first, err := createOnce(t, s, "A", onceOf(1, 1))
	if err != nil || first.Replayed {
		t.Fatalf("first create = %+v, %v", first, err)
	}
	patched(t, s, record.Church, first.ID.Int(), `{"name":"changed since"}`)
	closed(t, s)
	s = kvtest.OpenConfig(t, c)
	clock.Move(72*time.Hour - time.Microsecond)
	again, err := createOnce(t, s, "A", onceOf(1, 1))
	if err != nil || !again.Replayed || string(again.JSON) != string(first.JSON) || again.Revision != first.Revision || again.ID != first.ID {
		t.Errorf("second create = %+v, %v, want the first answer %+v", again, err, first)
	}
	if _, err := createOnce(t, s, "B", onceOf(1, 2)); !errors.Is(err, table.ErrKeyReused) {
		t.Errorf("another body under the key = %v, want ErrKeyReused", err)
	}
	if n := pageOf(t, s, record.Church).Count; n != 1 {
		t.Errorf("%d churches, want 1", n)
	}
	clock.Move(time.Microsecond)
	late, err := createOnce(t, s, "B", onceOf(1, 2))
	if err != nil || late.Replayed || late.ID == first.ID {
		t.Errorf("create after 72 hours = %+v, %v, want a new record", late, err)
	}
	healthy(t, s)
}

func TestOnceKeepsNoRefusal(t *testing.T) {
	s, _ := opened(t)
	patch := kvtest.Parse(t, record.Church, `{"name":"A","regional_id":9}`, true)
	to := desk.Target{Surface: record.Admin, Kind: record.Church, Once: onceOf(1, 1)}
	if _, err := s.Desk.Create(auth.Operator(), to, patch); kindOf(err) != "faults" {
		t.Fatalf("create in a missing regional = %v, want faults", err)
	}
	if r, err := createOnce(t, s, "A", onceOf(1, 2)); err != nil || r.Replayed {
		t.Errorf("create after a refusal = %+v, %v, want it judged afresh", r, err)
	}
}

func TestOnceIsAskedByManyAtOnce(t *testing.T) {
	s, _ := opened(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	fresh, ids := 0, map[record.ID]bool{}
	for range 32 {
		wg.Go(func() {
			r, err := createOnce(t, s, "A", onceOf(1, 1))
			if err != nil {
				t.Errorf("create: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			ids[r.ID] = true
			if !r.Replayed {
				fresh++
			}
		})
	}
	wg.Wait()
	if fresh != 1 || len(ids) != 1 {
		t.Errorf("%d creates of %d records, want one", fresh, len(ids))
	}
}

func TestExpiredAnswersArePurged(t *testing.T) {
	s, clock := opened(t)
	for i := range byte(30) {
		if _, err := createOnce(t, s, fmt.Sprint("old", i), onceOf(i, 1)); err != nil {
			t.Fatal(err)
		}
	}
	kept := rowsOf(t, s)
	clock.Move(72*time.Hour + time.Second)
	for i := range byte(10) {
		if _, err := createOnce(t, s, fmt.Sprint("new", i), onceOf(100+i, 1)); err != nil {
			t.Fatal(err)
		}
	}
	// A church has a row of its own and one in each of two logs; an answer has two, of which the thirty old ones are gone.
	if grown := rowsOf(t, s) - kept; grown != 10*3+10*2-30*2 {
		t.Errorf("%d rows more after the purge, want %d", grown, 10*3+10*2-30*2)
	}
	healthy(t, s)
}

// rowsOf is how many values the store holds.
func rowsOf(t testing.TB, s *kv.Store) int {
	t.Helper()
	r, err := s.Files.Verify(auth.Operator(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r.Rows
}

func TestUndoOnceAnswersTheSame(t *testing.T) {
	s, _ := opened(t)
	event := newEvent(t, s, "")
	newTicket(t, s, event, "K1", "")
	first := scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: "K1"}, outcome.Admitted)
	u := door.Undoing{Event: event, CheckinID: first.CheckinID, Once: onceOf(1, 1)}
	for i := range 2 {
		d, err := s.Door.Undo(auth.Operator(), u)
		if err != nil || d.Replayed != (i == 1) || d.CheckinID != first.CheckinID {
			t.Errorf("undo %d = %+v, %v", i, d, err)
		}
	}
	if u.Once = onceOf(1, 2); true {
		if _, err := s.Door.Undo(auth.Operator(), u); !errors.Is(err, table.ErrKeyReused) {
			t.Errorf("undo with another body = %v, want ErrKeyReused", err)
		}
	}
	if n := pageOf(t, s, record.Undo).Count; n != 1 {
		t.Errorf("%d undos, want 1", n)
	}
}
