package kv_test

import (
	"errors"
	"math"
	"testing"

	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/record"
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
	if n, err := s.Since(text); err != nil || n != want {
		t.Errorf("Since(%q) = %d, %v, want %d", text, n, err, want)
	}
}

func TestCursorsGoOnWithinAKnownEpoch(t *testing.T) {
	c := kv.Config{Dir: folder(t)}
	s := reopenable(t, c)
	churches(t, s, 5)
	first, text := s.Epoch(), s.SeqText(5)
	if text != "5-"+first {
		t.Errorf("SeqText(5) = %s, want it to end with the epoch %s", text, first)
	}
	for range 2 { // before and after a restart
		for text, want := range map[string]uint64{
			s.SeqText(0): 0, s.SeqText(3): 3, s.SeqText(5): 5, s.SeqText(6): 5, s.SeqText(math.MaxUint64): 5, "99999999999999999999999-" + first: 5,
			"0": 0, "3": 0, "3-01ARZ3NDEKTSV4RRFFQ69G5FAV": 0, "12-g1AAAAFTeJzLYW": 0,
		} {
			wantSince(t, s, text, want)
		}
		closed(t, s)
		s = reopenable(t, c)
	}
	defer func() { closed(t, s) }()
	for _, text := range []string{"", "x", "-5", "5-", "-", "5 ", "now", "5-a\nb"} {
		if n, err := s.Since(text); !errors.Is(err, kv.ErrSequence) {
			t.Errorf("Since(%q) = %d, %v, want ErrSequence", text, n, err)
		}
	}
}

// TestCursorsOverEpochs: what a cursor has of an epoch beyond its end is not what the store has since.
func TestCursorsOverEpochs(t *testing.T) {
	c := kv.Config{Dir: folder(t)}
	s := reopenable(t, c)
	churches(t, s, 5)
	first := s.Epoch()
	if err := s.BeginEpoch("tested"); err != nil {
		t.Fatal(err)
	}
	churches(t, s, 5)
	second := s.Epoch()
	if err := s.BeginEpoch("tested"); err != nil {
		t.Fatal(err)
	}
	churches(t, s, 5)
	for range 2 {
		if first == second || second == s.Epoch() {
			t.Errorf("epochs %s, %s, %s are not three", first, second, s.Epoch())
		}
		for text, want := range map[string]uint64{
			"3-" + first: 3, "5-" + first: 5, "9-" + first: 5, "3-" + second: 3, "9-" + second: 9, "14-" + second: 10, s.SeqText(14): 14, s.SeqText(20): 15,
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
	first, second := s.Epoch(), ""
	for i := range 101 {
		if err := s.BeginEpoch("tested"); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			second = s.Epoch()
		}
	}
	wantSince(t, s, "1-"+first, 0)
	wantSince(t, s, "1-"+second, 1)
}
