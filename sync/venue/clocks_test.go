package venue_test

import (
	"doorward/kv/idempotency"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/entry"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/sync/venue"
)

// clockRow is a row of the table of wrong clocks in the manual.
type clockRow struct {
	act, whose string
	cells      []string // by how far off
}

// shifts are the columns of that table.
var shifts = []time.Duration{10 * time.Minute, 6 * 24 * time.Hour, 3650 * 24 * time.Hour}

// clockTable reads it.
func clockTable(t *testing.T) (rows []clockRow) {
	t.Helper()
	text, err := os.ReadFile("../../cmd/doorward/help/replicate.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "## Wrong clocks\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	act := ""
	for line := range strings.Lines(rest) {
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) != 5 || cells[1] != "laptop" && cells[1] != "centre" {
			continue
		}
		if cells[0] != "" {
			act = cells[0]
		}
		rows = append(rows, clockRow{act, cells[1], cells[2:]})
	}
	return rows
}

// TestWrongClocksDoWhatTheManualSays walks the table: each act, at either end, ahead and behind.
func TestWrongClocksDoWhatTheManualSays(t *testing.T) {
	t.Parallel()
	rows := clockTable(t)
	if len(rows) != 22 {
		t.Errorf("the table has %d rows, want 22", len(rows))
	}
	for _, row := range rows {
		try, known := timedActs[row.act]
		if !known {
			t.Errorf("nobody tries %q", row.act)
			continue
		}
		for i, cell := range row.cells {
			ahead, behind, both := strings.Cut(cell, " / ")
			if !both {
				behind = ahead
			}
			for off, want := range map[time.Duration]string{shifts[i]: ahead, -shifts[i]: behind} {
				t.Run(fmt.Sprintf("%s/%s/%v", row.act, row.whose, off), func(t *testing.T) {
					t.Parallel()
					w := newTown(t)
					w.noon()
					wrong := func(on bool) { w.wrong(row.whose, off, on) }
					if got := try(w, row.whose, wrong); got != want {
						t.Errorf("it is %q, the manual says %q", got, want)
					}
				})
			}
		}
	}
}

// noon has it be noon in the zone of both, so that ten minutes are within one day.
func (w *town) noon() {
	now := time.Now().In(w.centre.Tables.Clock.Zone())
	w.later.Store(int64(time.Date(now.Year(), now.Month(), now.Day()+1, 12, 0, 0, 0, now.Location()).Sub(now)))
}

// wrong puts a clock wrong, or right again.
func (w *town) wrong(whose string, off time.Duration, on bool) {
	if !on {
		off = -off
	}
	if whose == "laptop" {
		w.later.Add(int64(off))
		off = -off // the centre's stays where it is
	}
	w.ahead.Add(int64(off))
}

// meets has the laptop wake until it has shaken hands twice, or was turned away.
func (w *town) meets(v *venue.Venue) {
	w.Helper()
	before := w.hellos.Load()
	for late := time.Now().Add(20 * time.Second); w.hellos.Load() < before+3; time.Sleep(time.Millisecond) {
		if v.Wake(); time.Now().After(late) {
			w.Fatal("the two never meet")
		}
	}
}

// timedActs are the acts of the table, by what stands there: they answer what came of them.
var timedActs = map[string]func(w *town, whose string, wrong func(bool)) string{
	"event in progress, at its laptop":            dropsRunning,
	"event long over, at its laptop":              dropsOver,
	"ticket good until yesterday, at the laptop":  letsInLate,
	"door key of two days, at the wrong clock":    logsIn,
	"enrolment code of a day":                     enrolsLate,
	"laptop's own key of 400 days, at the centre": knowsLaptop,
	"number of a ticket sold at the laptop":       leasesIDs,
	"ticket let in at both sides while apart":     admitsTwice,
	"list of a daily event, at the laptop":        listsDaily,
	"person erased at the centre, on both sides":  erasesBoth,
	"file of the centre, a day after an erasure":  writesAnew,
	"repeated `Idempotency-Key`, at the centre":   repeats,
}

func (w *town) stays() string {
	if w.holds(w.laptop) == 0 {
		return "goes"
	}
	return "stays"
}

func dropsRunning(w *town, _ string, wrong func(bool)) string {
	w.ends(w.now().Add(time.Hour))
	v := w.join()
	w.arrives(w.laptop, w.sell(w.centre, "first"))
	wrong(true)
	w.meets(v)
	return w.stays()
}

func dropsOver(w *town, _ string, wrong func(bool)) string {
	w.ends(w.now().Add(-time.Hour))
	v := w.join()
	w.arrives(w.laptop, w.sell(w.centre, "first"))
	w.later.Add(int64(9 * 24 * time.Hour))
	v.Wake()
	w.tells("will be dropped here")
	wrong(true)
	w.later.Add(int64(25 * time.Hour))
	w.meets(v)
	return w.stays()
}

func letsInLate(w *town, _ string, wrong func(bool)) string {
	w.ends(w.now().Add(time.Hour))
	v := w.join()
	form := fmt.Sprintf(`{"event_id":%d,"code":"first","valid_until":%q}`, w.event, w.now().Add(-24*time.Hour).UTC().Format(time.RFC3339))
	w.arrives(w.laptop, kvtest.Create(w, w.centre, record.Ticket, form))
	wrong(true)
	w.meets(v)
	d := w.scan(w.laptop, "first")
	switch {
	case d.Outcome == outcome.NoLongerValid:
		return "refused"
	case d.Outcome == outcome.Admitted && w.marked():
		return "let in, marked"
	}
	return string(d.Outcome)
}

// marked tells whether every check-in of the laptop says that its clock was doubted.
func (w *town) marked() bool {
	for _, text := range w.all(w.laptop, record.Checkin) {
		if !strings.Contains(text, "clock_suspect") {
			return false
		}
	}
	return true
}

func logsIn(w *town, whose string, wrong func(bool)) string {
	s := w.centre
	if whose == "laptop" {
		s = w.laptop
	}
	k, secret, err := s.Keys.AddKey(auth.Operator(), keys.KeySpec{Name: "door", Level: auth.Level{Name: auth.Denomination}, Expires: w.now().Add(48 * time.Hour)})
	if err != nil {
		w.Fatal(err)
	}
	wrong(true)
	_, err = s.Keys.Login(k.Key, secret)
	return w.works(err)
}

// works tells what came of logging in.
func (w *town) works(err error) string {
	w.Helper()
	switch {
	case err == nil:
		return "works"
	case errors.Is(err, table.ErrBadLogin):
		return "ended"
	}
	w.Fatal(err)
	return ""
}

func enrolsLate(w *town, _ string, wrong func(bool)) string {
	code := w.code("north")
	wrong(true)
	_, err := venue.Join(w.Context(), venue.JoinConfig{Store: w.laptop, URL: w.url, Code: code})
	if err == nil {
		return "works"
	}
	return "ended"
}

func knowsLaptop(w *town, _ string, wrong func(bool)) string {
	w.enrol(w.laptop)
	u, _, err := w.laptop.Laptop.Upstream()
	if err != nil {
		w.Fatal(err)
	}
	wrong(true)
	_, err = w.centre.Keys.Login(u.Key, u.Secret)
	return w.works(err)
}

func leasesIDs(w *town, _ string, wrong func(bool)) string {
	v := w.join()
	w.arrives(w.laptop, w.sell(w.centre, "first"))
	wrong(true)
	w.meets(v)
	if w.sell(w.laptop, "walk-in") < record.FirstDrawn {
		return "leased"
	}
	return "drawn"
}

func admitsTwice(w *town, _ string, wrong func(bool)) string {
	w.enrol(w.laptop)
	w.sell(w.centre, "first")
	w.visits(w.laptop)
	wrong(true)
	w.scan(w.laptop, "first")
	w.scan(w.centre, "first")
	wrong(false)
	w.visits(w.laptop)
	w.visits(w.laptop)
	for _, s := range []*kv.Store{w.centre, w.laptop} {
		status, err := s.Door.Status(auth.Operator(), w.event)
		if err != nil || status.Admitted != 1 || status.Doubles != 1 || len(w.all(s, record.Checkin)) != 2 {
			return fmt.Sprintf("%+v, %v", status, err)
		}
	}
	return "both kept"
}

func listsDaily(w *town, _ string, wrong func(bool)) string {
	w.changes(w.centre, record.Event, w.event, `{"list_rule":"daily"}`)
	today := w.now().In(w.laptop.Tables.Clock.Zone()).Format(time.DateOnly)
	v := w.join()
	w.arrives(w.laptop, w.sell(w.centre, "first"))
	w.await(w.laptop, scopes.Event, "the event", func(docs.DatabaseInfo) bool { return len(w.all(w.laptop, record.Event)) > 0 })
	wrong(true)
	w.meets(v)
	w.scan(w.laptop, "first")
	switch all := w.all(w.laptop, record.Checkin); {
	case len(all) != 1:
		return fmt.Sprint(all)
	case strings.Contains(all[0], `"list":"`+today+`"`):
		return "today's"
	case w.marked():
		return "other day's, marked"
	}
	return "other day's"
}

func erasesBoth(w *town, _ string, wrong func(bool)) string {
	church := kvtest.Create(w, w.centre, record.Church, `{"name":"Igreja"}`)
	w.enrolFor(w.laptop, office.Enrolment{Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{church}}})
	person := kvtest.Create(w, w.centre, record.Person, fmt.Sprintf(`{"full_name":"Zulmira Quintela","church_id":%d}`, church))
	w.visits(w.laptop)
	wrong(true)
	if _, err := w.centre.Erasures.Erase(auth.Operator(), record.Person, record.Int(person)); err != nil {
		w.Fatal(err)
	}
	said := "erased"
	if _, err := venue.VisitOnce(w.Context(), venue.Config{Store: w.laptop, Version: "test"}, http.DefaultClient, func() {}); err != nil {
		said = "later"
		wrong(false)
	}
	for late := time.Now().Add(20 * time.Second); len(w.all(w.laptop, record.Person))+len(w.all(w.centre, record.Person)) > 0; {
		if time.Now().After(late) {
			return "not erased"
		}
		w.visits(w.laptop)
	}
	return said
}

func writesAnew(w *town, _ string, wrong func(bool)) string {
	person := kvtest.Create(w, w.centre, record.Person, `{"full_name":"Zulmira Quintela"}`)
	wrong(true)
	if _, err := w.centre.Erasures.Erase(auth.Operator(), record.Person, record.Int(person)); err != nil {
		w.Fatal(err)
	}
	wrong(false)
	w.later.Add(int64(24 * time.Hour))
	if due, err := w.centre.Erasures.WantsCompacting(); err != nil || !due {
		return fmt.Sprint(due, err)
	}
	return "rewritten"
}

func repeats(w *town, _ string, wrong func(bool)) string {
	target := desk.Target{Surface: record.Admin, Kind: record.Person, Once: &idempotency.Request{Key: [32]byte{1}, Body: [32]byte{2}}}
	ask := func() entry.Reply {
		r, err := w.centre.Desk.Create(auth.Operator(), target, kvtest.Parse(w, record.Person, `{"full_name":"Ana Souza"}`, true))
		if err != nil {
			w.Fatal(err)
		}
		return r
	}
	first := ask()
	wrong(true)
	if second := ask(); second.ID == first.ID && second.Replayed {
		return "same answer"
	}
	return "done again"
}
