package rehearsal

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"doorward/cmd/doorward/console"
)

// Report is what a rehearsal has found. Its JSON is what rehearse --json prints.
type Report struct {
	Event    int64          `json:"event_id"`
	Name     string         `json:"name"`
	At       time.Time      `json:"at"` // where the clock of the rehearsal stood
	Helpers  int            `json:"helpers"`
	Tickets  int            `json:"tickets"`
	Named    int            `json:"named"`           // of these, that were named as a search at the door does: a laptop may not know their codes
	Before   int            `json:"checkins_before"` // of the real event
	Outcomes map[string]int `json:"outcomes"`        // that the doors have seen
	Speed    Speed          `json:"speed"`
	Cables   Cables         `json:"cables"`
	Twice    int            `json:"admitted_twice"` // tickets; 0 is what is promised
	Lost     int            `json:"lost"`           // admissions that were answered and are not in the store; 0 is what is promised
	Missing  []Missing      `json:"missing"`
}

// Speed is how fast codes were decided.
type Speed struct {
	Codes     int     `json:"codes"`
	PerSecond float64 `json:"codes_per_second"`
	Median    float64 `json:"median_ms"`
	Most      float64 `json:"p99_ms"`
}

// Cables are the cut cables.
type Cables struct {
	Cut    int `json:"cut"`
	Kept   int `json:"kept"`           // codes that the phones kept
	Handed int `json:"handed_in"`      // of these, of guests that were let in
	Differ int `json:"differ"`         // of these, that the laptop decided otherwise
	Double int `json:"double_entries"` // of these, listed as double entries
}

// Missing is what the event lacks.
type Missing struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Well reports whether nothing is missing and what is promised was kept.
func (r *Report) Well() bool { return len(r.Missing) == 0 && r.Twice == 0 && r.Lost == 0 }

// report makes the report. kept are the check-ins in the store.
func (c Config) report(k known, tickets []ticket, seen tally, took time.Duration, kept map[string]bool) Report {
	codes := 0
	for _, n := range seen.outcomes {
		codes += n
	}
	r := Report{
		Event: c.Event, Name: k.name, At: k.start, Helpers: c.Helpers, Tickets: len(tickets), Named: named(tickets), Before: seen.before, Outcomes: seen.outcomes,
		Cables: seen.Cables, Twice: seen.twice(), Lost: seen.lost(kept),
		Speed: Speed{Codes: codes, Median: milliseconds(seen.share(0.5)), Most: milliseconds(seen.share(0.99))},
	}
	if took > 0 {
		r.Speed.PerSecond = float64(codes) / took.Seconds()
	}
	r.Missing = c.missing(k, tickets, seen)
	return r
}

// named counts the tickets of which this machine does not know the code.
func named(tickets []ticket) (n int) {
	for _, t := range tickets {
		if t.Code == nil {
			n++
		}
	}
	return n
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// over is how long after its end an event is surely over.
const over = 24 * time.Hour

// missing is what the event lacks, the most urgent first.
func (c Config) missing(k known, tickets []ticket, seen tally) []Missing {
	all := []Missing{}
	lacks := func(is bool, code, format string, args ...any) {
		if is {
			all = append(all, Missing{code, fmt.Sprintf(format, args...)})
		}
	}
	start := k.start.In(c.Zone)
	when := start.Format("Monday, 2 January 2006, 15:04 MST")
	early, late, here := seen.outcomes["not_yet_valid"], seen.outcomes["no_longer_valid"], cmp.Or(c.Local, time.Local)
	lacks(len(tickets) == 0, "no_tickets", "The event has no ticket. A list is read with: %s", c.command("import", "--kind", "ticket", "--event", c.named(), "list.csv"))
	lacks(!k.open, "event_closed", "The event takes no check-ins: it is to be active and enabled.")
	lacks(k.now.After(k.end.Add(over)), "event_over", "The event was over on %s.", k.end.In(c.Zone).Format("Monday, 2 January 2006"))
	lacks(early > 0, "not_yet_valid", "%s scans were refused, because the ticket is not valid yet when the event begins (%s): look at valid_from, and at the time zone.", console.Number(early), when)
	lacks(late > 0, "no_longer_valid", "%s scans were refused, because the ticket is no longer valid when the event begins (%s): look at valid_until, and at the time zone.", console.Number(late), when)
	lacks(start.Hour() < 6 && start.Hour()*60+start.Minute() > 0, "wrong_zone", "The event begins at night in %s (%s): look at the event, and at --timezone.", c.Timezone, when)
	lacks(isElsewhere(here, c.Zone, k.start), "wrong_zone", "This machine's own clock is in another time zone than %s: one of the two is wrong.", c.Timezone)
	lacks(k.doubted, "clock_doubted", "The clock of this machine is doubted, so that no window of a ticket is judged. Look at it and set it; if it is right: %s", c.command("clock", "trust"))
	return all
}

// isElsewhere reports whether a machine's own zone shows another time than the congregation's. A machine without a zone shows UTC.
func isElsewhere(machine, zone *time.Location, at time.Time) bool {
	_, here := at.In(machine).Zone()
	_, there := at.In(zone).Zone()
	return here != 0 && here != there
}

// Print writes the report for people.
func (r *Report) Print(w io.Writer, zone *time.Location) {
	fmt.Fprintf(w, "%d %s, as if it began now (%s): %d %s, %s %s\n\n", r.Event, console.Printable(r.Name), r.At.In(zone).Format("Mon 2 Jan 2006 15:04 MST"),
		r.Helpers, console.Plural(r.Helpers, "helper", "helpers"), console.Number(r.Tickets), console.Plural(r.Tickets, "ticket", "tickets"))
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-18s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("codes", "%s, %s a second; half are answered within %.1f ms, 99 of 100 within %.1f ms",
		console.Number(r.Speed.Codes), console.Number(int(r.Speed.PerSecond)), r.Speed.Median, r.Speed.Most)
	for _, name := range slices.SortedFunc(maps.Keys(r.Outcomes), func(a, b string) int { return cmp.Or(r.Outcomes[b]-r.Outcomes[a], cmp.Compare(a, b)) }) {
		line("  "+name, "%s", console.Number(r.Outcomes[name]))
	}
	if r.Before > 0 {
		line("in before", "%s %s of the real event: their tickets are already_admitted", console.Number(r.Before), console.Plural(r.Before, "check-in", "check-ins"))
	}
	if r.Named > 0 {
		line("without a code", "%s %s of which this machine knows no code, named as a search at the door does",
			console.Number(r.Named), console.Plural(r.Named, "ticket", "tickets"))
	}
	line("cut cables", "%d: phones kept %s codes, and handed %s in; of these %s were decided otherwise, %s as double entries",
		r.Cables.Cut, console.Number(r.Cables.Kept), console.Number(r.Cables.Handed), console.Number(r.Cables.Differ), console.Number(r.Cables.Double))
	line("admitted twice", "%s", console.Number(r.Twice))
	line("lost", "%s", console.Number(r.Lost))
	if len(r.Missing) == 0 {
		fmt.Fprintln(w, "\nNOTHING IS MISSING. The event itself is untouched.")
		return
	}
	fmt.Fprintf(w, "\nMISSING (%d)\n", len(r.Missing))
	for i, m := range r.Missing {
		fmt.Fprintf(w, "%2d. %s\n", i+1, console.Printable(m.Text))
	}
	fmt.Fprintln(w, "The event itself is untouched.")
}

// admitted is the outcome that lets a guest in.
const admitted = "admitted"

// tally counts what helpers have seen.
type tally struct {
	outcomes   map[string]int
	admissions map[string]int64          // check-in → ticket
	first      map[int64]map[string]bool // ticket → check-ins that were answered as its first
	times      []time.Duration           // of the scans that were answered at once
	before     int                       // check-ins of the event that there were before
	Cables
}

func newTally() tally {
	return tally{outcomes: map[string]int{}, admissions: map[string]int64{}, first: map[int64]map[string]bool{}}
}

// note counts a ruling.
func (t *tally) note(of ticket, r ruling) {
	if r.Outcome == "" {
		r.Outcome = "error"
	}
	t.outcomes[r.Outcome]++
	if r.Double != nil {
		t.Double++
	}
	if r.Outcome == admitted && r.Checkin != nil {
		t.admit(*r.Checkin, of.ID)
	}
}

func (t *tally) admit(checkin string, of int64) {
	t.admissions[checkin] = of
	if t.first[of] == nil {
		t.first[of] = map[string]bool{}
	}
	t.first[of][checkin] = true
}

// add adds what another helper has seen.
func (t *tally) add(o tally) {
	for name, n := range o.outcomes {
		t.outcomes[name] += n
	}
	for checkin, of := range o.admissions {
		t.admit(checkin, of)
	}
	t.times = append(t.times, o.times...)
	t.Cut += o.Cut
	t.Kept += o.Kept
	t.Handed += o.Handed
	t.Differ += o.Differ
	t.Double += o.Double
}

// twice counts the tickets that were admitted more than once.
func (t *tally) twice() (n int) {
	for of := range maps.Values(t.first) {
		if len(of) > 1 {
			n++
		}
	}
	return n
}

// lost counts the admissions that were answered and are not in the store.
func (t *tally) lost(store map[string]bool) (n int) {
	for checkin := range t.admissions {
		if !store[checkin] {
			n++
		}
	}
	return n
}

// share is the time within which so large a share of the scans was answered.
func (t *tally) share(of float64) time.Duration {
	if len(t.times) == 0 {
		return 0
	}
	slices.Sort(t.times)
	return t.times[min(len(t.times)-1, int(of*float64(len(t.times))))]
}
