package kv_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/table"
)

// churches makes n of them, each a change.
func churches(t testing.TB, s *kv.Store, n int) {
	t.Helper()
	for range n {
		kvtest.Create(t, s, record.Church, `{"name":"A"}`)
	}
}

func wantSince(t testing.TB, s *kv.Store, text string, want uint64) {
	t.Helper()
	if n, err := s.Tables.Epochs.Since(text); err != nil || n != want {
		t.Errorf("Since(%q) = %d, %v, want %d", text, n, err, want)
	}
}

func TestCursorsGoOnWithinAKnownEpoch(t *testing.T) {
	c := kv.Config{Dir: folder(t)}
	s := reopenable(t, c)
	churches(t, s, 5)
	first, text := s.Tables.Epochs.Present(), s.Tables.Epochs.SeqText(5)
	if text != "5-"+first {
		t.Errorf("SeqText(5) = %s, want it to end with the epoch %s", text, first)
	}
	for range 2 { // before and after a restart
		for text, want := range map[string]uint64{
			s.Tables.Epochs.SeqText(0): 0, s.Tables.Epochs.SeqText(3): 3, s.Tables.Epochs.SeqText(5): 5, s.Tables.Epochs.SeqText(6): 5, s.Tables.Epochs.SeqText(math.MaxUint64): 5, "99999999999999999999999-" + first: 5,
			"0": 0, "3": 0, "3-01ARZ3NDEKTSV4RRFFQ69G5FAV": 0, "12-g1AAAAFTeJzLYW": 0,
		} {
			wantSince(t, s, text, want)
		}
		closed(t, s)
		s = reopenable(t, c)
	}
	defer func() { closed(t, s) }()
	for _, text := range []string{"", "x", "-5", "5-", "-", "5 ", "now", "5-a\nb"} {
		if n, err := s.Tables.Epochs.Since(text); !errors.Is(err, table.ErrSequence) {
			t.Errorf("Since(%q) = %d, %v, want ErrSequence", text, n, err)
		}
	}
}

// TestCursorsOverEpochs: what a cursor has of an epoch beyond its end is not what the store has since.
func TestCursorsOverEpochs(t *testing.T) {
	c := kv.Config{Dir: folder(t)}
	s := reopenable(t, c)
	churches(t, s, 5)
	first := s.Tables.Epochs.Present()
	if err := s.Tables.Epochs.Begin("tested"); err != nil {
		t.Fatal(err)
	}
	churches(t, s, 5)
	second := s.Tables.Epochs.Present()
	if err := s.Tables.Epochs.Begin("tested"); err != nil {
		t.Fatal(err)
	}
	churches(t, s, 5)
	for range 2 {
		if first == second || second == s.Tables.Epochs.Present() {
			t.Errorf("epochs %s, %s, %s are not three", first, second, s.Tables.Epochs.Present())
		}
		for text, want := range map[string]uint64{
			"3-" + first: 3, "5-" + first: 5, "9-" + first: 5, "3-" + second: 3, "9-" + second: 9, "14-" + second: 10, s.Tables.Epochs.SeqText(14): 14, s.Tables.Epochs.SeqText(20): 15,
		} {
			wantSince(t, s, text, want)
		}
		closed(t, s)
		s = reopenable(t, c)
	}
	healthy(t, s)
	closed(t, s)
}

// TestOldestEpochsAreForgotten: a cursor of one starts over.
func TestOldestEpochsAreForgotten(t *testing.T) {
	s := kvtest.Open(t)
	churches(t, s, 1)
	first, second := s.Tables.Epochs.Present(), ""
	for i := range 101 {
		if err := s.Tables.Epochs.Begin("tested"); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			second = s.Tables.Epochs.Present()
		}
	}
	wantSince(t, s, "1-"+first, 0)
	wantSince(t, s, "1-"+second, 1)
}

// TestOneNumberEndsAnEpochOfBothLogs: records and free databases count by themselves, and a cursor does not say which it is of.
func TestOneNumberEndsAnEpochOfBothLogs(t *testing.T) {
	s := kvtest.Open(t)
	churches(t, s, 2)
	notes := notebook(t, s)
	write := func(n int) (seq uint64) {
		for i := range n {
			jotted(t, notes, fmt.Sprintf("n%d-%d", sequenceOf(t, notes), i))
		}
		return sequenceOf(t, notes)
	}
	if seq := write(7); seq != 7 {
		t.Fatalf("sequence of the free database = %d, want 7", seq)
	}
	wantSince(t, s, s.Tables.Epochs.SeqText(7), 7)
	if err := s.Tables.Epochs.Begin("tested"); err != nil {
		t.Fatal(err)
	}
	if seq := write(1); seq != 8 {
		t.Errorf("the free database's first change of the new epoch has sequence %d, want 8", seq)
	}
	churches(t, s, 1)
	if s.Tables.Commits.Seq() != 8 {
		t.Errorf("the records' first change of the new epoch has sequence %d, want 8", s.Tables.Commits.Seq())
	}
	healthy(t, s)
}

// sequenceOf is a database's latest sequence.
func sequenceOf(t testing.TB, db *docs.Database) uint64 {
	t.Helper()
	info, err := db.Info()
	if err != nil {
		t.Fatal(err)
	}
	return info.Seq
}

// TestFollowersComeToTheEndOfAnEpoch: a log whose sequence has moved on without a change is read to its end, once.
func TestFollowersComeToTheEndOfAnEpoch(t *testing.T) {
	s := kvtest.Open(t)
	churches(t, s, 1)
	notes := notebook(t, s)
	for i := range 3 {
		jotted(t, notes, fmt.Sprintf("n%d", i))
	}
	if err := s.Tables.Epochs.Begin("tested"); err != nil {
		t.Fatal(err)
	}
	page, upto, err := s.Log.Replay(auth.Operator(), 0, 10, record.Church)
	if err != nil || len(page) != 1 || upto != s.Tables.Commits.Seq() || upto != 3 {
		t.Errorf("Replay = %d rows up to %d, %v, want one up to %d", len(page), upto, err, s.Tables.Commits.Seq())
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Log.Await(ended, upto, s.Tables.Commits.Releases()); !errors.Is(err, context.Canceled) {
		t.Errorf("Await(%d) = %v, want it to wait", upto, err)
	}
}

// notebook makes a free database.
func notebook(t testing.TB, s *kv.Store) *docs.Database {
	t.Helper()
	if err := s.Docs.CreateDatabase(auth.Operator(), "notes"); err != nil {
		t.Fatal(err)
	}
	db, err := s.Docs.Database(auth.Operator(), "notes")
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func jotted(t testing.TB, db *docs.Database, id string) {
	t.Helper()
	if r, err := db.Write([]merge.DocWrite{{ID: id, Body: []byte(`{}`)}}); err != nil || r[0].Err != nil {
		t.Fatalf("write %s: %v, %v", id, r, err)
	}
}
