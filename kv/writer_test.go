package kv_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/record"
)

// waiting returns once n jobs wait for the writer.
func waiting(s *kv.Store, n int) {
	for kv.Waiting(s) < n {
		runtime.Gosched()
	}
}

func TestFailedOperationLeavesNoTraceAndNoNeighbourHurt(t *testing.T) {
	s, _ := opened(t)
	church := kvtest.Create(t, s, record.Church, `{"name":"A"}`)
	before, groups, seq := exported(t, s), kv.Groups(s), s.Tables.Commits.Seq()
	release := kv.Hold(s)
	var wg sync.WaitGroup
	var ids [3]record.ID
	for i := range 3 {
		wg.Go(func() {
			body := fmt.Sprintf(`{"full_name":"Ana","church_id":%d}`, church)
			r, err := s.Desk.Create(auth.Operator(), target(record.Person, 0), kvtest.Parse(t, record.Person, body, true))
			if err != nil {
				t.Errorf("a neighbour's create: %v", err)
			}
			ids[i] = r.ID
		})
		waiting(s, 3*i+1)
		for n, panics := range []bool{true, false} {
			wg.Go(func() {
				want := kv.ErrDeliberate
				if panics {
					want = engine.ErrPanicked
				}
				if err := kv.FailAfter(s, kvtest.Parse(t, record.Group, `{"name":"never"}`, true), panics); !errors.Is(err, want) {
					t.Errorf("a failing operation = %v, want %v", err, want)
				}
			})
			waiting(s, 3*i+2+n)
		}
	}
	release()
	wg.Wait()
	if n := kv.Groups(s) - groups; n != 1 {
		t.Errorf("the operations were committed in %d groups, want one", n)
	}
	if slices.SortFunc(ids[:], record.ID.Compare); ids != [3]record.ID{record.Int(1), record.Int(2), record.Int(3)} {
		t.Errorf("the neighbours' ids are %v, want 1, 2 and 3", ids)
	}
	if n := pageOf(t, s, record.Group).Count; n != 0 {
		t.Errorf("%d records of failed operations are there", n)
	}
	if got := s.Tables.Commits.Seq() - seq; got != 3 {
		t.Errorf("the sequence moved by %d, want 3", got)
	}
	if id := kvtest.Create(t, s, record.Group, `{"name":"first"}`); id != 1 {
		t.Errorf("the next group has id %d, want 1: a failed operation mints nothing", id)
	}
	if after := exported(t, s); len(after) != len(before)+4 {
		t.Errorf("%d records in the end, want %d", len(after), len(before)+4)
	}
	healthy(t, s)
}

func TestDoorsGoBeforeBulk(t *testing.T) {
	s, _ := opened(t)
	release := kv.Hold(s)
	var mu sync.Mutex
	var order []bool
	var wg sync.WaitGroup
	for i := range 20 {
		isDoor := i >= 10
		wg.Go(func() {
			err := kv.Do(s, isDoor, func() {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, isDoor)
			})
			if err != nil {
				t.Errorf("do: %v", err)
			}
		})
		waiting(s, i+1)
	}
	release()
	wg.Wait()
	if want := append(slices.Repeat([]bool{true}, 10), slices.Repeat([]bool{false}, 10)...); !slices.Equal(order, want) {
		t.Errorf("order of doors = %v, want the doors first", order)
	}
}

// TestDoorsStarveNobody holds bulk work to its turn while a door is always waiting.
func TestDoorsStarveNobody(t *testing.T) {
	t.Parallel()
	s := kvtest.Open(t)
	defer kv.DoorsWithoutEnd(s)()
	for range 20 {
		kvtest.Create(t, s, record.Person, `{"full_name":"Ana"}`)
	}
}

func TestFirstFailedCommitStopsWritingForGood(t *testing.T) {
	registry := prometheus.NewRegistry()
	c := kv.Config{Dir: folder(t), Registerer: registry, Clock: kvtest.NewClock(sunday).Now}
	s := reopenable(t, c)
	event := newEvent(t, s, "")
	var admitted []string
	for i := range 50 {
		newTicket(t, s, event, fmt.Sprintf("K%d", i), "")
		if i < 40 {
			admitted = append(admitted, scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: fmt.Sprintf("K%d", i)}, outcome.Admitted).CheckinID)
		}
	}
	if err := s.Tables.Engine.Writable(); err != nil || kvtest.Metric(t, registry, "doorward_store_writable") != 1 {
		t.Errorf("Writable = %v before anything failed", err)
	}
	acknowledged := exported(t, s)
	if want := 1 + 50*2 + 40; len(acknowledged) != want {
		t.Errorf("%d records are read back, want the %d acknowledged", len(acknowledged), want)
	}
	if err := kv.BreakFile(s); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := 40; i < 50; i++ {
		wg.Go(func() {
			if _, err := s.Door.CheckIn(auth.Operator(), door.Attempt{Event: event, Code: fmt.Sprintf("K%d", i)}); !errors.Is(err, engine.ErrStopped) {
				t.Errorf("check-in after the failed commit = %v, want ErrStopped", err)
			}
		})
	}
	wg.Wait()
	for range 3 {
		_, err := s.Desk.Upsert(auth.Operator(), []entry.Row{row(t, record.Church, 0, `{"name":"late"}`)}, false)
		if !errors.Is(err, engine.ErrStopped) {
			t.Errorf("bulk after the failed commit = %v, want ErrStopped", err)
		}
	}
	if err := s.Tables.Engine.Writable(); !errors.Is(err, engine.ErrStopped) || kvtest.Metric(t, registry, "doorward_store_writable") != 0 {
		t.Errorf("Writable = %v, want ErrStopped, and doorward_store_writable 0", err)
	}
	if got := exported(t, s); !slices.Equal(got, acknowledged) {
		t.Errorf("reads after the failure show %d records, want the %d acknowledged", len(got), len(acknowledged))
	}
	_ = s.Close() // its file is gone already
	s = kvtest.OpenConfig(t, c)
	if got := exported(t, s); !slices.Equal(got, acknowledged) {
		t.Errorf("after a restart there are %d records, want the %d acknowledged", len(got), len(acknowledged))
	}
	for i, id := range admitted {
		d := scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: fmt.Sprintf("K%d", i)}, outcome.AlreadyAdmitted)
		if d.CheckinID != id {
			t.Errorf("K%d was admitted as %s, now %s", i, id, d.CheckinID)
		}
	}
	if err := s.Tables.Engine.Writable(); err != nil {
		t.Errorf("Writable after a restart = %v", err)
	}
	healthy(t, s)
}

func TestClosedStoreTakesNoWrites(t *testing.T) {
	s := reopenable(t, kv.Config{Dir: folder(t)})
	closed(t, s)
	_, err := s.Desk.Create(auth.Operator(), target(record.Church, 0), kvtest.Parse(t, record.Church, `{"name":"A"}`, true))
	if !errors.Is(err, engine.ErrStopped) {
		t.Errorf("create in a closed store = %v, want ErrStopped", err)
	}
}

func TestAWriteThatTheWriterDoesNotBeginInTimeIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := kvtest.Open(t)
		synctest.Wait() // the fold looks at what the opening wrote: behind a writer that is held it would wait for a lock, and time would stand
		release := kv.Hold(s)
		ran := false
		if err := kv.Do(s, false, func() { ran = true }); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("Do beside a writer that is held = %v, want ErrBusy", err)
		}
		release()
		if err := kv.Do(s, false, func() {}); err != nil {
			t.Errorf("Do after it is let go = %v, want none", err)
		}
		if ran {
			t.Error("the write that was taken back ran all the same")
		}
	})
}
