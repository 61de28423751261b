package upkeep

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/engine"
	"doorward/kv/keys"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// Figures counts what an operator wants to know of a store.
type Figures struct {
	tables *table.Set
	keys   *keys.Ring
}

// New makes the figures of a store.
func New(t *table.Set, keys *keys.Ring) *Figures { return &Figures{tables: t, keys: keys} }

// Verification is a check of every value of a store that came to its end.
type Verification struct {
	At     time.Time // zero = there was none
	Faults int64
}

// NoteVerify remembers a check of the store in a folder.
func NoteVerify(dir string, v Verification) error {
	err := table.ReplaceSmall(dir, table.VerifyName, fmt.Appendf(nil, "%d %d\n", v.At.UnixMicro(), v.Faults))
	if err != nil {
		return fmt.Errorf("note the check beside the store: %w", err)
	}
	return nil
}

// LastVerify returns the last check of the store in a folder; the zero Verification if none is known. It returns ErrCorrupt if the file that
// says so is damaged; the next check replaces the file.
func LastVerify(dir string) (Verification, error) {
	name := filepath.Join(dir, table.VerifyName)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Verification{}, nil
	}
	var at, faults int64
	if err == nil {
		if _, failed := fmt.Sscanf(string(text), "%d %d", &at, &faults); failed != nil {
			err = fmt.Errorf("%w: %s does not tell of a check", engine.ErrCorrupt, name)
		}
	}
	if err != nil {
		return Verification{}, err
	}
	return Verification{At: time.UnixMicro(at), Faults: faults}, nil
}

// LastVerify returns the last check of this store. It returns *Forbidden, and the errors of the function LastVerify.
func (fg *Figures) LastVerify(p auth.Principal) (Verification, error) {
	if err := p.CheckRule(); err != nil {
		return Verification{}, err
	}
	return LastVerify(fg.tables.Folder.Dir)
}

// LastBackup returns the newest backup that the store or the file beside it names: the one nearest to now, since a clock that was ahead gives a
// backup a time that is still to come. It returns *Forbidden.
func (fg *Figures) LastBackup(p auth.Principal) (last table.Backup, err error) {
	if err := p.CheckRule(); err != nil {
		return last, err
	}
	known := table.BackupsBeside(fg.tables.Folder.Dir)
	err = fg.tables.View(func(v *table.View) error {
		own, err := table.Backups(v)
		known = append(known, own...)
		return err
	})
	if err != nil {
		return last, err
	}
	now := fg.tables.Clock.Now()
	for _, b := range known {
		if now.Sub(b.At).Abs() < now.Sub(last.At).Abs() {
			last = b
		}
	}
	return last, nil
}

// LastRestore returns when the store was made of a backup; zero = it never was. It returns *Forbidden.
func (fg *Figures) LastRestore(p auth.Principal) (at time.Time, err error) {
	if err := p.CheckRule(); err != nil {
		return at, err
	}
	err = fg.tables.View(func(v *table.View) error {
		at, err = table.RestoredAt(v)
		return err
	})
	return at, err
}

// shownEvents is how many events the gauge of check-ins has: the latest ones.
const shownEvents = 100

// upkeepGauge collects the times by which an operator must act, and the check-ins of events.
type upkeepGauge struct {
	figures                                           *Figures
	backup, verify, faults, expiry, expired, checkins *prometheus.Desc
}

// Gauge returns the metrics of what an operator has to do in time.
func (fg *Figures) Gauge() prometheus.Collector {
	desc := prometheus.NewDesc
	return &upkeepGauge{
		figures:  fg,
		backup:   desc("doorward_backup_timestamp_seconds", "When the last backup was made; NaN = none is known.", nil, nil),
		verify:   desc("doorward_verify_timestamp_seconds", "When every value was last checked, by verify or for a backup; NaN = never.", nil, nil),
		faults:   desc("doorward_verify_faults", "Faults that the last check of every value found; NaN = there was none.", nil, nil),
		expiry:   desc("doorward_key_expiry_timestamp_seconds", "When the first of the keys that work ends, by class (key, laptop); NaN = none does.", []string{"class"}, nil),
		expired:  desc("doorward_keys_expired", "Keys that have ended and are not revoked, by class (key, laptop).", []string{"class"}, nil),
		checkins: desc("doorward_event_checkins", "Check-ins that the store has of an event, double and undone ones included; the latest 100 events.", []string{"event"}, nil),
	}
}

// Describe lists the gauges.
func (g *upkeepGauge) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.backup, g.verify, g.faults, g.expiry, g.expired, g.checkins} {
		ch <- d
	}
}

// Collect reads the figures. A figure that cannot be read is NaN.
func (g *upkeepGauge) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	made, _ := g.figures.LastBackup(auth.Operator()) // zero, and so NaN
	gauge(g.backup, seconds(made.At))
	checked, _ := g.figures.LastVerify(auth.Operator()) // as above
	gauge(g.verify, seconds(checked.At))
	faults := float64(checked.Faults)
	if checked.At.IsZero() {
		faults = math.NaN()
	}
	gauge(g.faults, faults)
	all, laptops, _ := g.figures.keys.KeyExpiry(auth.Operator()) // as above
	for class, e := range map[string]keys.KeyExpiry{"key": all, "laptop": laptops} {
		gauge(g.expiry, seconds(e.Soonest), class)
		gauge(g.expired, float64(e.Expired), class)
	}
	lists := g.figures.tables.Lists.Current()
	events := lists.Kind(record.Event).All
	first := max(0, events.Len()-shownEvents)
	for _, id := range events.Page(nil, first, events.Len()-first) {
		gauge(g.checkins, float64(lists.Kind(record.Checkin).Home.Of(id.Int()).Len()), record.Event.FormatID(id))
	}
}

// seconds returns a time in seconds since 1970; NaN for the zero time.
func seconds(at time.Time) float64 {
	if at.IsZero() {
		return math.NaN()
	}
	return float64(at.UnixMicro()) / 1e6
}

// RecordCounts returns how many live records there are, by kind. It returns *Forbidden.
func (fg *Figures) RecordCounts(p auth.Principal) (map[string]int, error) {
	if err := p.CheckWhole(); err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for _, k := range record.Kinds() {
		counts[k.Name] = fg.tables.Lists.Live(k)
	}
	return counts, nil
}

// statesPage is how many tickets TicketStates reads in one View.
const statesPage = 2000

// TicketStates returns how many tickets of an event are in each state; event 0 means all events. It returns *Forbidden.
func (fg *Figures) TicketStates(p auth.Principal, event int64) (map[string]int, error) {
	if err := p.CheckWhole(); err != nil {
		return nil, err
	}
	counts := map[string]int{}
	if state, _ := record.Ticket.Field("state"); state != nil {
		for _, word := range state.Type.(record.Choice) {
			counts[word] = 0
		}
	}
	for at := 0; ; at += statesPage {
		n := 0
		err := fg.tables.View(func(v *table.View) error {
			list := v.Lists.Kind(record.Ticket).All
			if event != 0 {
				list = v.Lists.Kind(record.Ticket).Home.Of(event)
			}
			ids := list.Page(nil, at, statesPage)
			n = len(ids)
			return v.Each(record.Ticket, ids, func(st *table.Stored) error {
				counts[value.Unquote(st.Body.Member("state"))]++
				return nil
			})
		})
		if err != nil || n < statesPage {
			return counts, err
		}
	}
}

// isWanted tells whether a count meets the conditions.
func isWanted(r *table.Reads, where []desk.Where) bool {
	for _, w := range where {
		var value any = r.Key
		switch w.Field {
		case "kind":
			value = r.Kind.Name
		case "minute":
			from, _ := w.From.(time.Time)
			to, bounded := w.To.(time.Time)
			if r.Minute.Before(from) || bounded && r.Minute.After(to) {
				return false
			}
			continue
		}
		if !slices.Contains(w.In, value) {
			return false
		}
	}
	return true
}

// readsPage is how many rows one View reads, so that no View stays open for long.
const readsPage = 20_000

// Reads lists how many records of people each key within p was shown, and when, the latest first. The conditions are on key_id, kind and
// minute. It returns *Forbidden if p may not list keys.
func (fg *Figures) Reads(p auth.Principal, q desk.Part) (page desk.PageOf[table.Reads], err error) {
	keys, err := fg.keys.Keys(p)
	if err != nil {
		return page, err
	}
	l := &readsList{query: q, within: map[int64]bool{}}
	for _, k := range keys {
		l.within[k.ID] = true
	}
	var from []byte
	for more := true; more && err == nil; {
		err = fg.tables.View(func(v *table.View) (err error) {
			if from == nil {
				held, ok := fg.tables.Reads.Held(v)
				if !ok {
					return nil // the next View is a later one
				}
				from, l.held = bytes.Repeat([]byte{0xff}, 17), held
			}
			from, more, err = l.read(v, from)
			return err
		})
	}
	for _, r := range l.held {
		l.add(r)
	}
	return l.page, err
}

// readsList collects the counts of one page, and counts all others.
type readsList struct {
	query  desk.Part
	within map[int64]bool
	held   []table.Reads // in memory and not passed yet, the latest first
	page   desk.PageOf[table.Reads]
}

// read goes back from a row, at most readsPage rows, and returns where the next call begins.
func (l *readsList) read(v *table.View, from []byte) (next []byte, more bool, err error) {
	n := 0
	err = v.Walk(table.ReadsBucket, true, nil, from, func(key, row []byte) (bool, error) {
		if n++; n > readsPage {
			next, more = bytes.Clone(key), true
			return false, nil
		}
		r, err := table.ParseReads(key, row)
		if err != nil {
			return false, err
		}
		for ; len(l.held) > 0 && l.held[0].Compare(&r) < 0; l.held = l.held[1:] {
			l.add(l.held[0])
		}
		if len(l.held) > 0 && l.held[0].Compare(&r) == 0 {
			r.Records += l.held[0].Records
			l.held = l.held[1:]
		}
		l.add(r)
		return true, nil
	})
	return next, more, err
}

func (l *readsList) add(r table.Reads) {
	if !l.within[r.Key] || !isWanted(&r, l.query.Where) {
		return
	}
	if l.page.Count++; l.page.Count > l.query.Offset && len(l.page.Items) < l.query.Limit {
		l.page.Items = append(l.page.Items, r)
	}
}
