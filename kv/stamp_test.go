package kv_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/entry"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// updatedAt is when this store says that a record was last changed.
func updatedAt(t testing.TB, r entry.Reply) time.Time {
	t.Helper()
	at, ok := value.ParseDateTime(strings.Trim(member(r.JSON, "updated_at"), `"`), time.UTC)
	if !ok {
		t.Fatalf("no updated_at in %s", r.JSON)
	}
	return at
}

func TestUpdatedAtNeverGoesBackUnlessTheLastCommitLiesFarAhead(t *testing.T) {
	for _, c := range []struct {
		name  string
		back  time.Duration
		built time.Time
		want  time.Time
		warns bool
	}{
		{"a minute back", time.Minute, time.Time{}, sunday, false},
		{"two minutes back", 2 * time.Minute, time.Time{}, sunday, false},
		{"three minutes back", 3 * time.Minute, time.Time{}, sunday.Add(-3 * time.Minute), true},
		{"three minutes back under a doubted clock", 3 * time.Minute, sunday, sunday, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			clock := kvtest.NewClock(sunday)
			config := table.Config{Dir: folder(t), Clock: clock.Now, Built: c.built, Logger: slog.New(slog.NewTextHandler(&log, nil))}
			s := reopenable(t, config)
			kvtest.Create(t, s, record.Church, `{"name":"A"}`)
			closed(t, s)
			s = kvtest.OpenConfig(t, config) // the last commit's time is kept in the file
			clock.Move(-c.back)
			if got := updatedAt(t, patched(t, s, record.Church, 1, `{"name":"B"}`)); !got.Equal(c.want) {
				t.Errorf("updated_at = %v, want %v", got, c.want)
			}
			if warned := strings.Contains(log.String(), "commit times go back"); warned != c.warns {
				t.Errorf("warned = %v, want %v: %s", warned, c.warns, log.String())
			}
			clock.Move(c.back + time.Second)
			if got := updatedAt(t, patched(t, s, record.Church, 1, `{"name":"C"}`)); !got.Equal(sunday.Add(time.Second)) {
				t.Errorf("updated_at once the clock is right = %v, want %v", got, sunday.Add(time.Second))
			}
		})
	}
}

// TestClocksUnderADrawnWall: the hybrid clock of facts always rises and is never behind the wall; the commit's time never goes
// back unless that lies over two minutes ahead of an undoubted wall.
func TestClocksUnderADrawnWall(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		clock := kvtest.NewClock(sunday)
		c := table.Config{Dir: folder(t), Clock: clock.Now, Built: sunday.Add(-time.Hour)}
		s := reopenable(t, c)
		defer func() { closed(t, s) }()
		event := newEvent(t, s, "")
		church := kvtest.Create(t, s, record.Church, `{"name":"A"}`)
		last, hlc := sunday, ""
		for i := range rapid.IntRange(2, 12).Draw(r, "steps") {
			clock.Move(time.Duration(rapid.IntRange(-5000, 4000).Draw(r, "seconds")) * time.Second)
			if rapid.IntRange(0, 4).Draw(r, "restart") == 0 {
				closed(t, s)
				s = reopenable(t, c)
			}
			wall := clock.Now()
			want := wall
			if wall.Before(last) && (last.Sub(wall) <= 2*time.Minute || wall.Before(c.Built)) {
				want = last
			}
			reply := patched(t, s, record.Church, church, fmt.Sprintf(`{"name":"A%d"}`, i))
			if last = updatedAt(t, reply); !last.Equal(want) {
				r.Fatalf("updated_at at %v = %v, want %v", wall, last, want)
			}
			for n := range 2 {
				code := fmt.Sprintf("K%d-%d", i, n)
				newTicket(t, s, event, code, "")
				d := scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: code}, outcome.Admitted)
				next := strings.Trim(fact(t, s, record.Checkin, d.CheckinID, "hlc"), `"`)
				if len(next) != 16 || next <= hlc || next < fmt.Sprintf("%016x", uint64(wall.UnixMilli())<<16) {
					r.Fatalf("hlc at %v = %s, after %s", wall, next, hlc)
				}
				hlc = next
			}
		}
	})
}

func TestNothingChangedIsNoChange(t *testing.T) {
	s, clock := opened(t)
	church := kvtest.Create(t, s, record.Church, `{"name":"A"}`)
	event := newEvent(t, s, "")
	ticket := newTicket(t, s, event, "K1", `,"phone":"+55 11 98888-1234"`)
	person := kvtest.Create(t, s, record.Person, `{"full_name":"Ana"}`)
	group := kvtest.Create(t, s, record.Group, `{"name":"G"}`)
	member := kvtest.Create(t, s, record.Membership, fmt.Sprintf(`{"person":%d,"group_id":%d}`, person, group))
	refilled := map[*record.Kind]string{record.Event: "end_datetime", record.Person: "profile_change_date", record.Membership: "approval_date"}
	for k, id := range map[*record.Kind]int64{record.Church: church, record.Ticket: ticket, record.Event: event, record.Person: person,
		record.Membership: member} {
		before, err := s.Desk.Retrieve(auth.Operator(), target(k, id))
		if err != nil {
			t.Fatal(err)
		}
		seq := s.Tables.Commits.Seq()
		clock.Move(time.Hour)
		bodies := []string{`{}`, string(before.JSON)}
		if name, ok := refilled[k]; ok { // null, and the kind's rules give it its value again
			bodies = append(bodies, fmt.Sprintf(`{%q:null}`, name))
		}
		for _, body := range bodies {
			if r := patched(t, s, k, id, body); r.Revision != before.Revision || string(r.JSON) != string(before.JSON) || s.Tables.Commits.Seq() != seq {
				t.Errorf("patch of a %s with %s = %s, sequence %d, want nothing changed of %s, %d", k.Name, body, r.JSON, s.Tables.Commits.Seq(), before.JSON, seq)
			}
		}
	}
}
