package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doorward/cmd/doorward/rehearsal"
	"doorward/kv"
	"doorward/kv/disk"
)

// stand is a folder with an event and tickets of all states.
type stand struct {
	testing.TB
	dir string
}

// evening is an hour at which events begin in the zone that commands use, in three days.
func evening() time.Time {
	day := time.Now().UTC().Add(72 * time.Hour)
	return time.Date(day.Year(), day.Month(), day.Day(), 22, 30, 0, 0, time.UTC)
}

const standTickets = 90 // valid ones

func newStand(t *testing.T) *stand {
	t.Helper()
	s := &stand{t, filepath.Join(t.TempDir(), "data")}
	start := evening()
	lines := fmt.Sprintf(`{"kind":"event","id":7,"name":"Festa","start_datetime":%q,"end_datetime":%q}`+"\n", start.Format(time.RFC3339), start.Add(3*time.Hour).Format(time.RFC3339))
	lines += fmt.Sprintf(`{"kind":"event","id":8,"name":"Culto","start_datetime":%q}`+"\n", start.Format(time.RFC3339))
	for i := range standTickets {
		lines += fmt.Sprintf(`{"kind":"ticket","event_id":7,"code":"FESTA-%04d-XYZW","valid_from":%q}`+"\n", i, start.Add(-time.Hour).Format(time.RFC3339))
	}
	for _, state := range []string{"unpaid", "cancelled", "blocked", "refunded"} {
		lines += fmt.Sprintf(`{"kind":"ticket","event_id":7,"code":"STATE-%s","state":%q}`+"\n", state, state)
	}
	if code, out, errs := run(context.Background(), strings.NewReader(lines), "import", "--data", s.dir, "-"); code != exitDone {
		t.Fatal(out, errs)
	}
	return s
}

// rehearse rehearses an event and returns the report.
func (s *stand) rehearse(code int, args ...string) (r rehearsal.Report) {
	s.Helper()
	out, errs := &output{}, &output{}
	m := &Main{Args: append([]string{"rehearse", "--json", "--data", s.dir}, args...), Stdout: out, Stderr: errs, Zone: time.UTC, Env: func(string) (string, bool) { return "", false }}
	if got := m.Run(context.Background()); got != code {
		s.Fatalf("rehearse = %d, want %d: %s%s", got, code, out, errs)
	}
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
		s.Fatal(err)
	}
	return r
}

// looks is everything of a folder: names, modes, times and contents.
func (s *stand) looks() map[string]string {
	s.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text := fmt.Sprint(info.Mode(), info.Size())
		if !e.IsDir() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(" %s %x", info.ModTime(), sha256.Sum256(b))
		}
		all[path] = text
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
	return all
}

// same wants two looks to be the same.
func (s *stand) same(before, after map[string]string) {
	s.Helper()
	for path, text := range before {
		if after[path] != text {
			s.Errorf("%s was %q and is %q", path, text, after[path])
		}
	}
	for path := range after {
		if before[path] == "" {
			s.Errorf("%s was not there", path)
		}
	}
}

// TestARehearsalScansAllTicketsOfACopy: the report has what the doors would have seen, with cut cables and codes read twice, and the folder is
// what it was, byte by byte.
func TestARehearsalScansAllTicketsOfACopy(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	before := s.looks()
	r := s.rehearse(exitDone, "--event", "7", "--helpers", "5")
	s.same(before, s.looks())
	want := map[string]int{"admitted": standTickets, "unpaid": 1, "cancelled": 1, "blocked": 1, "refunded": 1, "unknown_code": 5}
	total := 0
	for outcome, n := range r.Outcomes {
		total += n
		switch least := want[outcome]; {
		case outcome == "already_admitted":
			if n < standTickets/10 {
				t.Errorf("%d codes were read a second time, want %d at least", n, standTickets/10)
			}
		case outcome == "admitted" && n != least, n < least, least == 0:
			t.Errorf("%s: %d, want %d", outcome, n, least)
		}
	}
	if r.Tickets != standTickets+4 || r.Name != "Festa" || r.Twice != 0 || r.Lost != 0 || r.Speed.Codes != total || r.Speed.PerSecond <= 0 || r.Speed.Most < r.Speed.Median {
		t.Errorf("the report is %+v", r)
	}
	if r.Cables.Cut != 5 || r.Cables.Kept < 10 || r.Cables.Handed < 5 {
		t.Errorf("the cables are %+v", r.Cables)
	}
}

// TestARehearsalBesideAServer: the server goes on, and knows nothing of it.
func TestARehearsalBesideAServer(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	serveIn(t, s.dir, &output{})
	export := func() string {
		code, text, errs := run(t.Context(), strings.NewReader(""), "export", "--data", s.dir)
		if code != exitDone {
			t.Fatal(errs)
		}
		return text
	}
	keys := func() string {
		_, text, _ := run(t.Context(), strings.NewReader(""), "keys", "list", "--json", "--data", s.dir)
		return text
	}
	records, before := export(), keys()
	if r := s.rehearse(exitDone, "--event", "7"); r.Outcomes["admitted"] != standTickets {
		t.Errorf("the report is %+v", r)
	}
	if export() != records || keys() != before {
		t.Error("the rehearsal has changed records or keys")
	}
	code, text, errs := run(t.Context(), strings.NewReader(""), "status", "--json", "--event", "7", "--data", s.dir)
	if code != exitDone || !strings.Contains(text, `"admitted":0`) {
		t.Errorf("status = %d: %s%s", code, text, errs)
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), disk.OwnPrefix) {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// TestARehearsalSaysWhatIsMissing, with exit code 1.
func TestARehearsalSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	missing := func(r rehearsal.Report) string {
		var codes []string
		for _, m := range r.Missing {
			codes = append(codes, m.Code)
		}
		return strings.Join(codes, " ")
	}
	if got := missing(s.rehearse(exitFailed, "--event", "8")); !strings.HasPrefix(got, "no_tickets") {
		t.Errorf("an event without tickets lacks %q", got)
	}
	lines := fmt.Sprintf(`{"kind":"event","id":7,"name":"Festa","start_datetime":%q,"enabled":false}`+"\n", evening().Format(time.RFC3339))
	if code, out, errs := run(context.Background(), strings.NewReader(lines), "import", "--data", s.dir, "-"); code != exitDone {
		t.Fatal(out, errs)
	}
	store, err := kv.Open(kv.Config{Dir: s.dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Tables.Clock.Measure("centre", 10*time.Minute, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	r := s.rehearse(exitFailed, "--event", "7")
	if got := missing(r); got != "event_closed clock_doubted" || r.Outcomes["event_closed"] == 0 || r.Outcomes["admitted"] != 0 {
		t.Errorf("a closed event lacks %q: %+v", got, r)
	}
	for args, want := range map[string]string{"": "--event is missing", "--event 99": "there is no such event", "--event 7 --helpers 0": "from 1 to 100"} {
		code, _, errs := run(context.Background(), strings.NewReader(""), append([]string{"rehearse", "--data", s.dir}, strings.Fields(args)...)...)
		if code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("rehearse %s = %d: %s", args, code, errs)
		}
	}
}

// TestARehearsalThatIsStoppedLeavesNothing.
func TestARehearsalThatIsStoppedLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	before := s.looks()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	code, out, errs := run(ctx, strings.NewReader(""), "rehearse", "--data", s.dir, "--event", "7")
	if code != exitFailed || out != "" || !strings.Contains(errs, "stopped") {
		t.Errorf("rehearse = %d: %s%s", code, out, errs)
	}
	s.same(before, s.looks())
}
