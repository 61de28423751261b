package screen

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"doorward/api/overview"

	"doorward/cmd/doorward/console"
)

// The size of the screen, in characters.
const (
	Width = 100
	Lines = 40
)

// Overview is the answer of the control handler.
type Overview = overview.Overview

// Text is an overview as one screen. data is the folder that its commands name, zone the time zone of its times.
func Text(o Overview, data string, zone *time.Location) string {
	s := &screen{o, moment(o.At), data, zone}
	calm := s.calm()
	all := append([]string{s.head(), ""}, s.needLines(Lines-3-len(calm))...)
	return strings.Join(append(append(all, ""), calm...), "\n")
}

// screen is an overview with what its lines need besides.
type screen struct {
	Overview
	now  time.Time
	data string
	zone *time.Location
}

// moment reads a time of an overview; zero = it has none there.
func moment(v []byte) (at time.Time) {
	_ = json.Unmarshal(v, &at) // null, or left out
	return at
}

// How many lines each part has at most.
const (
	mostEvents  = 3
	mostLaptops = 6
	leastNeeds  = 8
)

func (s *screen) head() string {
	what := s.Role
	if s.Centre != nil {
		what = "laptop " + plain(s.Centre.Name, 24) + " of " + s.Centre.URL
	}
	return plain(fmt.Sprintf("%s, Doorward %s, %s", s.now.In(s.zone).Format("Mon 2 Jan 2006 15:04:05 MST"), plain(s.Version, 16), what), Width)
}

// needLines are what needs a person, in so many lines or, where there is less room than for two, in a few more.
func (s *screen) needLines(room int) (lines []string) {
	if len(s.Needs) == 0 {
		return []string{"ALL IS CALM: nothing needs a person."}
	}
	lines = []string{fmt.Sprintf("NEEDS A PERSON (%d), the most urgent first", s.NeedsCount)}
	for i := range s.Needs {
		more := s.needText(i)
		if i > 0 && len(lines)+len(more) >= max(room, leastNeeds) {
			return append(lines, fmt.Sprintf("    and %d more: %s", s.NeedsCount-i, s.command([]string{"status", "--json"}, s.data)))
		}
		lines = append(lines, more...)
	}
	return lines
}

// needText is one of them: what it is, and what to run.
func (s *screen) needText(of int) (lines []string) {
	n := s.Needs[of]
	text := fold(plain(n.Text, 3*Width), Width-4)
	for i, line := range text {
		lead := "    "
		if i == 0 {
			lead = fmt.Sprintf("%2d. ", of+1)
		}
		lines = append(lines, lead+line)
	}
	switch {
	case len(n.Command) > 0:
		data, where := s.data, ""
		if n.On != nil {
			data, where = "DIR", plain(*n.On, 24)+"$ "
		}
		lines = append(lines, "    > "+where+s.command(n.Command, data))
	case n.See != nil:
		lines = append(lines, "    > GET "+*n.See)
	}
	return lines
}

// command is a command of this program as a shell takes it.
func (s *screen) command(args []string, data string) string {
	clean := []string{"doorward"}
	for _, a := range append(slices.Clone(args), "--data", data) {
		clean = append(clean, plain(a, len(a)))
	}
	return console.Shell(clean...)
}

// calm are the figures.
func (s *screen) calm() (lines []string) {
	for _, part := range [][]string{s.eventLines(), s.laptopLines(), s.centreLines(), s.figureLines()} {
		if len(part) > 0 && len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, part...)
	}
	return lines
}

// table lines columns up.
func table(rows [][]string) []string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(w, strings.Join(r, "\t"))
	}
	_ = w.Flush() // to memory
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for i, l := range lines {
		lines[i] = plain(strings.TrimRight(l, " "), Width)
	}
	return lines
}

func (s *screen) eventLines() []string {
	if len(s.Events) == 0 {
		return nil
	}
	rows := [][]string{{"EVENT", "IN", "OF", "TWICE", "DOORS, and when somebody was last scanned there"}}
	for i, e := range s.Events[:min(len(s.Events), mostEvents)] {
		in := e.Admitted + e.LetIn
		if e.Reentry || e.Daily { // guests leave, or come again on another day
			in = e.Inside
		}
		rows = append(rows, []string{fmt.Sprintf("%d %s", e.ID, plain(e.Name, 24)), strconv.Itoa(in), strconv.Itoa(e.Expected), strconv.Itoa(e.Doubles - e.LetIn), s.doors(i)})
	}
	return more(table(rows), s.EventsCount-mostEvents)
}

// doors are the doors of an event, those that are silent first, as far as they fit.
func (s *screen) doors(of int) string {
	e := s.Events[of]
	if len(e.Doors) == 0 {
		return "no scan yet; starts " + moment(e.Start).In(s.zone).Format("Mon 2 Jan 2006 15:04")
	}
	sort.SliceStable(e.Doors, func(a, b int) bool { return e.Doors[a].Silent && !e.Doors[b].Silent })
	text := ""
	for i, d := range e.Doors {
		one := plain(d.Name, 20) + " " + s.ago(moment(d.LastScan))
		switch {
		case d.Silent:
			one += " SILENT"
		case d.Closed:
			one += " closed"
		}
		if i > 0 && utf8.RuneCountInString(text+one) > 52 {
			return fmt.Sprintf("%s, and %d more", text, e.DoorsCount-i)
		}
		if i > 0 {
			one = ", " + one
		}
		text += one
	}
	return text
}

func (s *screen) laptopLines() []string {
	if s.LaptopsCount == 0 {
		return nil
	}
	rows := [][]string{{"LAPTOP", "MET", "TO SEND", "CLOCK", "PROGRAM", "IS"}}
	for i, l := range s.Laptops[:min(len(s.Laptops), mostLaptops)] {
		rows = append(rows, []string{plain(l.Name, 24), s.met(l.LastContact), console.OrDash(l.Backlog), clockOf(l.Offset), plain(console.OrDash(l.Version), 16), s.state(i)})
	}
	return more(table(rows), s.LaptopsCount-mostLaptops)
}

// state is a laptop's, what is wrong in capitals.
func (s *screen) state(of int) string {
	switch l := &s.Laptops[of]; {
	case l.Wiped:
		return "wiped"
	case l.Replaced:
		return "enrolled again since"
	case !moment(l.WipeOrdered).IsZero():
		return "revoked, to be wiped"
	case l.Revoked && len(l.Needs) == 0:
		return "revoked"
	case moment(l.Joined).IsZero():
		return "not joined yet"
	case len(l.Needs) == 0:
		return "well"
	}
	var words []string
	for _, code := range s.Laptops[of].Needs {
		word, ok := map[string]string{"laptop_revoked": "REVOKED", "laptop_clock": "CLOCK WRONG", "laptop_backlog": "BACKLOG", "laptop_unmet": "NOT MET", "laptop_credential": "CREDENTIAL ENDS"}[code]
		if !ok {
			word = code
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

func (s *screen) met(at []byte) string {
	if t := moment(at); !t.IsZero() {
		return s.ago(t) + " ago"
	}
	return "never"
}

// clockOf is a laptop's clock against the centre's, which is so many milliseconds ahead.
func clockOf(ms *int64) string {
	switch {
	case ms == nil:
		return "-"
	case *ms > -2000 && *ms < 2000:
		return "right"
	case *ms > 0:
		return overview.Lasting(time.Duration(*ms)*time.Millisecond) + " behind"
	}
	return overview.Lasting(time.Duration(-*ms)*time.Millisecond) + " ahead"
}

// centreLines are a laptop's own state.
func (s *screen) centreLines() []string {
	c := s.Centre
	if c == nil {
		return nil
	}
	waits := "-"
	if c.Backlog != nil {
		waits = "changes " + console.Number(*c.Backlog)
		if oldest := moment(c.Oldest); !oldest.IsZero() {
			waits += ", the oldest " + s.ago(oldest) + " old"
		}
	}
	lines := []string{
		field("CENTRE", fmt.Sprintf("%s, met %s", plain(c.URL, 60), s.met(c.LastContact))),
		field("TO SEND", waits),
		field("READY FOR", "events "+numbers(c.Events)),
	}
	if ends := moment(c.Ends); !ends.IsZero() {
		lines = append(lines, field("CREDENTIAL", "good until "+ends.In(s.zone).Format("2 January 2006, 15:04")))
	}
	for _, d := range c.Drops[:min(len(c.Drops), 3)] {
		lines = append(lines, field("DROPS", fmt.Sprintf("event %d may be dropped here from %s on; the centre keeps it", d.EventID, moment(d.At).In(s.zone).Format("Mon 2 Jan, 15:04"))))
	}
	return lines
}

func numbers(ids []int64) string {
	if len(ids) == 0 {
		return "none"
	}
	var all []string
	for _, id := range ids[:min(len(ids), 12)] {
		all = append(all, strconv.FormatInt(id, 10))
	}
	if len(ids) > 12 {
		all = append(all, fmt.Sprintf("and %d more", len(ids)-12))
	}
	return strings.Join(all, ", ")
}

// figureLines are the counts and the state of the store.
func (s *screen) figureLines() []string {
	return []string{
		field("TO LOOK AT", fmt.Sprintf("facts to review %d, double entries %d, conflicts %d, refused documents %d", s.Reviews, s.Doubles, s.Conflicts, s.Refusals)),
		field("TICKETS", counts(s.Tickets, stateWords)),
		field("RECORDS", counts(s.Records, kindWords)),
		field("STORE", s.storeText()),
		field("BACKUP", s.backupText()),
		field("ERASURES", s.erasureText()),
		field("KEYS", s.keyText()),
	}
}

func field(name, text string) string { return plain(fmt.Sprintf("%-11s %s", name, text), Width) }

// The words of counts that the screen has, in its order.
var (
	stateWords = [][2]string{{"valid", "valid"}, {"unpaid", "unpaid"}, {"blocked", "blocked"}, {"refunded", "refunded"}, {"cancelled", "cancelled"}}
	kindWords  = [][2]string{{"person", "people"}, {"group", "groups"}, {"membership", "memberships"}, {"financial_entry", "entries"}, {"event", "events"},
		{"ticket", "tickets"}, {"checkin", "check-ins"}, {"scan", "refusals at doors"}, {"undo", "taken back"}}
)

// counts are some of the counts, those that are none left out.
func counts(all map[string]int, words [][2]string) string {
	var parts []string
	for _, w := range words {
		if n := all[w[0]]; n > 0 {
			parts = append(parts, w[1]+" "+console.Number(n))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func (s *screen) storeText() string {
	text := "takes writes"
	if !s.State.Writable {
		text = "TAKES NO WRITES"
	}
	text += fmt.Sprintf(", %s MB", console.Number(s.State.Bytes>>20))
	if s.State.Free != nil {
		text += fmt.Sprintf("; disk %s MB free", console.Number(*s.State.Free>>20))
	}
	if s.Clock.Doubted {
		return text + "; clock DOUBTED"
	}
	if !moment(s.Clock.Measured).IsZero() && s.Clock.Offset != nil {
		return text + fmt.Sprintf("; clock %s when last measured", clockOf(s.Clock.Offset))
	}
	return text + "; clock not doubted"
}

func (s *screen) backupText() string {
	text := "values not checked yet; "
	if v := s.Verify; v != nil {
		text = "values checked " + s.ago(moment(v.At)) + " ago; "
		if v.Faults > 0 {
			text = fmt.Sprintf("%d FAULTS found %s ago; ", v.Faults, s.ago(moment(v.At)))
		}
	}
	b := s.Backup
	if b == nil {
		return text + "no backup is known"
	}
	text += s.ago(moment(b.At)) + " old, "
	file := []rune(b.File)
	if room := Width - 13 - utf8.RuneCountInString(text); len(file) > room { // its end tells more than its beginning
		file = append([]rune("…"), file[len(file)-room+1:]...)
	}
	return text + string(file)
}

func (s *screen) erasureText() string {
	e, since := s.Erasures, moment(s.Erasures.Since)
	switch {
	case e.Unfinished > 0:
		return fmt.Sprintf("%d NOT FINISHED", e.Unfinished)
	case e.Uncompacted == 0:
		return "none due"
	case since.IsZero():
		return fmt.Sprintf("%d due", e.Uncompacted)
	}
	return fmt.Sprintf("%d due for %s; serve writes the file anew within a day", e.Uncompacted, s.ago(since))
}

func (s *screen) keyText() string {
	text := ""
	if c := s.Certificate; c != nil {
		text = fmt.Sprintf("; the certificate ends in %s", overview.Lasting(moment(c.Ends).Sub(s.now)))
	}
	for _, k := range s.Keys {
		if !k.Expired {
			return fmt.Sprintf("the next to end is %s of %s, in %s%s", plain(k.Name, 24), plain(k.Level, 16), overview.Lasting(moment(k.Ends).Sub(s.now)), text)
		}
	}
	return "none ends within 30 days" + text
}

func (s *screen) ago(at time.Time) string { return overview.Lasting(s.now.Sub(at)) }

// more adds how many lines were left out.
func more(lines []string, n int) []string {
	if n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more: --json names them", n))
	}
	return lines
}

// plain is a text without what would do something to a terminal, of so many characters at most.
func plain(text string, most int) string {
	clean := []rune(console.Printable(text))
	if len(clean) > most {
		clean = append(clean[:max(0, most-1)], '…')
	}
	return string(clean)
}

// fold breaks a text into lines.
func fold(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line+" "+word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
