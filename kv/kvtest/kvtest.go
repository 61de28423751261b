package kvtest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/keys"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Open opens a store that closes with the test.
func Open(t testing.TB) *kv.Store { return OpenConfig(t, table.Config{}) }

// OpenConfig opens a store of a configuration, in a temporary folder where it names none.
func OpenConfig(t testing.TB, c table.Config) *kv.Store {
	t.Helper()
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	s, err := kv.Open(c)
	if err != nil {
		t.Fatalf("open store: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	return s
}

// Create makes a record out of a JSON object, as the operator, on the admin surface, and answers its id.
func Create(t testing.TB, s *kv.Store, k *record.Kind, body string) int64 {
	t.Helper()
	r, err := s.Desk.Create(auth.Operator(), desk.Target{Surface: record.Admin, Kind: k}, Parse(t, k, body, true))
	if err != nil {
		t.Fatalf("create %s %s: %v", k.Name, body, err)
	}
	return r.ID.Int()
}

// failer is a test, or one that draws: *rapid.T is no testing.TB.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Parse reads a body of the admin surface; a ticket's is the writer's form.
func Parse(t failer, k *record.Kind, body string, create bool) *record.Patch {
	t.Helper()
	if k == record.Ticket {
		k = record.TicketForm
	}
	p, err := k.Parse([]byte(body), record.ParseOptions{Surface: record.Admin, Create: create})
	if err != nil {
		t.Fatalf("parse %s: %v", body, err)
	}
	return p
}

// Login makes a key of a level, with permissions as ParsePermission reads them, and logs it in.
func Login(t testing.TB, s *kv.Store, level string, permissions ...string) auth.Principal {
	t.Helper()
	key, secret := Key(t, s, level, permissions...)
	p, err := s.Keys.Login(key, secret)
	if err != nil {
		t.Fatalf("log in: %v", err)
	}
	return p
}

// Key makes a key of a level and answers it with its secret.
func Key(t testing.TB, s *kv.Store, level string, permissions ...string) (key, secret string) {
	t.Helper()
	l, err := auth.ParseLevel(level)
	if err != nil {
		t.Fatal(err)
	}
	spec := keys.KeySpec{Name: "key of " + level, Level: l}
	for _, text := range permissions {
		g, err := auth.ParsePermission(text)
		if err != nil {
			t.Fatal(err)
		}
		spec.Permissions = append(spec.Permissions, g)
	}
	k, secret, err := s.Keys.AddKey(auth.Operator(), spec)
	if err != nil {
		t.Fatalf("add key: %v", err)
	}
	return k.Key, secret
}

// Clock is a clock that a test moves.
type Clock struct{ now chan time.Time }

// NewClock starts at a moment.
func NewClock(at time.Time) *Clock {
	c := &Clock{now: make(chan time.Time, 1)}
	c.now <- at
	return c
}

// Now is the clock's reading.
func (c *Clock) Now() time.Time {
	t := <-c.now
	c.now <- t
	return t
}

// Move moves the clock.
func (c *Clock) Move(d time.Duration) { c.now <- (<-c.now).Add(d) }

// Decided reads what an answer decides about a code: that of a check-in or of a scan, a success or an error. An answer that decides
// nothing gives empty texts.
func Decided(status int, h http.Header, body string) (outcome, id, at string) {
	if status == http.StatusNoContent {
		return "admitted", h.Get("X-Checkin-Id"), h.Get("X-Checkin-At")
	}
	type ruling struct {
		Outcome    string
		CheckinID  string `json:"checkin_id"`
		AdmittedAt string `json:"admitted_at"`
	}
	var b struct {
		ruling
		Error struct{ Details ruling }
	}
	_ = json.Unmarshal([]byte(body), &b) // anything else decides nothing
	if status == http.StatusConflict {
		b.ruling = b.Error.Details
	}
	return b.Outcome, b.CheckinID, b.AdmittedAt
}

// Fill writes n records of a kind as an import does, one batch after the other. The store gives ids in the order of i, so a seed makes the
// same records each time. body is the JSON of each.
func Fill(t testing.TB, s *kv.Store, k *record.Kind, n int, body func(i int) string) {
	t.Helper()
	for from := 0; from < n; from += table.MaxRows {
		rows := make([]entry.Row, 0, table.MaxRows)
		for i := from; i < min(n, from+table.MaxRows); i++ {
			rows = append(rows, entry.Row{Kind: k, Patch: Parse(t, k, body(i), true)})
		}
		results, err := s.Desk.Upsert(auth.Operator(), rows, false)
		if err != nil {
			t.Error(err)
		}
		for _, r := range results {
			if r.Fate != desk.Created {
				t.Errorf("a row of %s is %s: %v", k.Name, r.Fate, r.Err)
			}
		}
	}
}

// Lower makes the ASCII letters of a text small, in place. The race detector skips it: only the caller has the text, and checking each
// byte of large files takes minutes.
//
//go:norace
func Lower(text []byte) []byte {
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			text[i] = c + 'a' - 'A'
		}
	}
	return text
}

// Metrics are the values of a gauge or a counter, by the values of their labels with a space between; "" for none.
func Metrics(t testing.TB, r prometheus.Gatherer, name string) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, pair := range m.GetLabel() {
				labels = append(labels, pair.GetValue())
			}
			values[strings.Join(labels, " ")] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return values
}

// Metric is the value of a gauge or a counter without labels.
func Metric(t testing.TB, r prometheus.Gatherer, name string) float64 {
	t.Helper()
	value, there := Metrics(t, r, name)[""]
	if !there {
		t.Fatalf("no metric %s", name)
	}
	return value
}

// Changes reads the store's whole log after a sequence, oldest first.
func Changes(t testing.TB, s *kv.Store, since uint64) (all []table.Change) {
	t.Helper()
	all, err := ChangesOf(s, since)
	if err != nil {
		t.Fatalf("changes: %v", err)
	}
	return all
}

// ChangesOf is Changes for a store that may be damaged.
func ChangesOf(s *kv.Store, since uint64) (all []table.Change, err error) {
	err = s.Tables.View(func(v *table.View) error {
		return v.Scan(table.LogBucket, nil, table.SeqKey(since+1), func(key, row []byte) (bool, error) {
			c, err := table.ParseLog(key, row)
			all = append(all, c)
			return true, err
		})
	})
	return all, err
}
