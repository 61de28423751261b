package index_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/index"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/disk"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/search"
	"doorward/kv/table"
)

// congregation is a store with a church and some people of unlike names.
func congregation(t testing.TB, dir string, people int) *kv.Store {
	t.Helper()
	s := kvtest.OpenConfig(t, kv.Config{Dir: dir})
	kvtest.Create(t, s, record.Church, `{"name":"Igreja Central"}`)
	for i := range people {
		kvtest.Create(t, s, record.Person, fmt.Sprintf(`{"full_name":"Pessoa %s Souza","church_id":1}`, letters(i)))
	}
	return s
}

// indexed is a store with twelve people, and its index, which has caught up.
func indexed(t testing.TB) (dir string, s *kv.Store, x *index.Index) {
	t.Helper()
	dir = t.TempDir()
	s = congregation(t, dir, 12)
	x = opened(t, s, index.Config{Dir: dir})
	caughtUp(t, s, x)
	return dir, s, x
}

// letters is a number as a word.
func letters(i int) string {
	return strings.NewReplacer("0", "ba", "1", "ce", "2", "di", "3", "fo", "4", "gu", "5", "ha", "6", "je", "7", "ki", "8", "lo", "9", "mu").Replace(fmt.Sprint(1000 + i))
}

// named asks an index for people by name.
func named(x *index.Index, q string) (desk.Found, error) {
	return x.Find(desk.Wanted{Kind: record.Person, All: true, Search: search.Parse(q)})
}

// wantFound holds what a search finds against ids.
func wantFound(t testing.TB, x *index.Index, q string, ids ...int64) {
	t.Helper()
	found, err := named(x, q)
	var got []int64
	for _, id := range found.IDs {
		got = append(got, id.Int())
	}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(ids) {
		t.Errorf("Find(%q) = %v, %v, want %v", q, got, err, ids)
	}
}

func TestAnIndexFollowsItsStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := congregation(t, dir, 20)
	x := opened(t, s, index.Config{Dir: dir})
	caughtUp(t, s, x)
	wantFound(t, x, letters(7), 8)
	kvtest.Create(t, s, record.Person, `{"full_name":"Quitéria Gonçalves"}`)
	caughtUp(t, s, x)
	wantFound(t, x, "goncalves quit", 21)
	if got := x.Status(); got != (index.Status{Usable: true, Documents: 21}) {
		t.Errorf("Status = %+v", got)
	}
}

// TestAnIndexThatFollowsHasCounted: as soon as Await finds a change in the index, Status counts its document.
func TestAnIndexThatFollowsHasCounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := congregation(t, dir, 20)
	x := opened(t, s, index.Config{Dir: dir})
	caughtUp(t, s, x)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for n := 21; n <= 25; n++ {
		kvtest.Create(t, s, record.Person, `{"full_name":"Quitéria Gonçalves"}`)
		for late := time.Now().Add(10 * time.Second); x.Await(ended, s.Tables.Commits.Seq()) != nil; runtime.Gosched() {
			if time.Now().After(late) {
				t.Fatal("the index does not follow")
			}
		}
		if got := x.Status().Documents; got != n {
			t.Errorf("the index has followed, and counts %d documents, want %d", got, n)
		}
	}
}

func TestAnIndexAnswersNothingWhereItsFolderCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := congregation(t, dir, 3)
	x := opened(t, s, index.Config{Dir: filepath.Join(table.Path(dir), "below a file"), Retry: time.Millisecond})
	if _, err := named(x, "souza"); !errors.Is(err, desk.ErrNoIndex) {
		t.Errorf("Find = %v, want %v", err, desk.ErrNoIndex)
	}
}

func TestRebuildReportsItsProgressAndAnswersOnceItIsDone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := congregation(t, dir, 12)
	x := opened(t, s, index.Config{Dir: dir})
	done, total := 0, 0
	if _, err := x.Rebuild(context.Background(), func(d, of int) { done, total = d, of }); err != nil {
		t.Fatalf("Rebuild: %v", err)
	}
	if done != 12 || total != 12 {
		t.Errorf("the last progress was %d of %d, want 12 of 12", done, total)
	}
	wantFound(t, x, letters(3), 4)
	x.Close()
	if _, err := x.Rebuild(context.Background(), nil); !errors.Is(err, index.ErrClosed) {
		t.Errorf("Rebuild of a closed index = %v, want %v", err, index.ErrClosed)
	}
}

// TestARebuildEndsThoughThereIsAlwaysOneMoreChange: an index that runs after the end of the log never rests, and makes a segment each time.
func TestARebuildEndsThoughThereIsAlwaysOneMoreChange(t *testing.T) {
	t.Parallel()
	_, s, x := indexed(t)
	batches := 0
	_, err := x.Rebuild(t.Context(), func(int, int) {
		if batches++; batches < 100 {
			kvtest.Create(t, s, record.Person, `{"full_name":"Rui Lima"}`)
		}
	})
	if err != nil || batches > 2 {
		t.Errorf("Rebuild = %v after %d batches", err, batches)
	}
	caughtUp(t, s, x)
}

// TestAnIndexGivesWayToBulkWorkBesideDoors: it waits, until a search has to look at what it has not.
func TestAnIndexGivesWayToBulkWorkBesideDoors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := congregation(t, dir, 12)
	x := opened(t, s, index.Config{Dir: dir, GiveWay: time.Hour, Bulk: 50}) // a busy machine does not write 1000 in a second
	caughtUp(t, s, x)
	kvtest.Create(t, s, record.Event, `{"name":"Culto","start_datetime":"2026-06-07T12:00:00Z"}`)
	write := func() {
		if _, err := s.Door.CheckIn(auth.Operator(), door.Attempt{Event: 1, Code: "UNKNOWN1"}); err != nil {
			t.Fatal(err)
		}
		kvtest.Fill(t, s, record.Person, 100, func(i int) string { return `{"full_name":"Rui Lima"}` })
		time.Sleep(20 * time.Millisecond)
	}
	const many = 8000 // the index takes 2000 at once, and rests for less than a second
	for until := time.Now().Add(patience); x.Status().Lag < many; write() {
		if time.Now().After(until) {
			t.Fatalf("while much was written beside a door the index was behind by %d changes at most", x.Status().Lag)
		}
	}
	wantFound(t, x, letters(3), 4)
	searched := s.Tables.Commits.Seq()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for until := time.Now().Add(patience); x.Await(ended, searched) != nil; write() {
		if time.Now().After(until) {
			t.Fatalf("after a search the index is behind by %d changes", x.Status().Lag)
		}
	}
}

// TestSearchesUseTheOldIndexWhileANewOneIsBuilt searches at each step of a rebuild.
func TestSearchesUseTheOldIndexWhileANewOneIsBuilt(t *testing.T) {
	t.Parallel()
	dir, s, x := indexed(t)
	steps := 0
	_, err := x.Rebuild(t.Context(), func(int, int) {
		steps++
		wantFound(t, x, letters(3), 4)
		if got := x.Status(); got != (index.Status{Usable: true, Documents: 12}) {
			t.Errorf("during a rebuild Status = %+v", got)
		}
	})
	if err != nil || steps == 0 {
		t.Errorf("Rebuild = %v after %d steps", err, steps)
	}
	wantFound(t, x, letters(3), 4)
	kvtest.Create(t, s, record.Person, `{"full_name":"Quitéria Gonçalves"}`)
	caughtUp(t, s, x)
	wantFound(t, x, "quiteria", 13)
	wantAlone(t, dir)
}

// TestAnIndexThatFailsInASearchIsRebuilt fails while it is live, and while a new one is built beside.
func TestAnIndexThatFailsInASearchIsRebuilt(t *testing.T) {
	t.Parallel()
	dir, registry := t.TempDir(), prometheus.NewRegistry()
	s := congregation(t, dir, 12)
	x := opened(t, s, index.Config{Dir: dir, Registerer: registry})
	caughtUp(t, s, x)
	x.Fail()
	caughtUp(t, s, x)
	wantFound(t, x, letters(3), 4)
	if n := kvtest.Metric(t, registry, "doorward_index_rebuilds_total"); n != 2 {
		t.Errorf("the index was built %v times, want 2", n)
	}
	if _, err := x.Rebuild(t.Context(), func(int, int) { x.Fail() }); err != nil {
		t.Errorf("Rebuild of an index that fails during it = %v", err)
	}
	wantFound(t, x, letters(3), 4)
	wantAlone(t, dir)
}

// TestAnIndexThatCannotBeRebuiltStaysInUse asks for a rebuild while the disk is nearly full.
func TestAnIndexThatCannotBeRebuiltStaysInUse(t *testing.T) {
	t.Parallel()
	s, x, _, left := onDisk(t)
	left.Store(1<<30 - 1)
	if _, err := x.Rebuild(t.Context(), nil); !errors.Is(err, disk.ErrFull) {
		t.Errorf("Rebuild on a full disk = %v, want %v", err, disk.ErrFull)
	}
	wantFound(t, x, letters(20), 21)
	left.Store(1 << 40)
	kvtest.Create(t, s, record.Person, `{"full_name":"Quitéria Gonçalves"}`)
	caughtUp(t, s, x)
	wantFound(t, x, "quiteria", 35)
}

func TestMetricsSayHowAnIndexIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := congregation(t, dir, 5)
	reg := prometheus.NewPedanticRegistry()
	x := opened(t, s, index.Config{Dir: dir, Registerer: reg})
	caughtUp(t, s, x)
	wantFound(t, x, letters(3), 4)
	want := map[string]float64{"doorward_index_documents": 5, "doorward_index_lag_changes": 0, "doorward_index_rebuilds_total": 1}
	for name, value := range want {
		if got := kvtest.Metric(t, reg, name); got != value {
			t.Errorf("%s = %v, want %v", name, got, value)
		}
	}
	x.Close()
	if families, _ := reg.Gather(); len(families) > 0 {
		t.Errorf("a closed index still has %d metrics", len(families))
	}
}

func TestOtherMappingsFoldersAreRemovedOnceThisOneIsReady(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := congregation(t, dir, 5)
	old := filepath.Join(dir, "index", "0123456789abcdef")
	if err := os.MkdirAll(old, 0o700); err != nil {
		t.Fatal(err)
	}
	x := opened(t, s, index.Config{Dir: dir})
	if _, err := x.Rebuild(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	x.Close()
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of another mapping is still there: %v", err)
	}
}
