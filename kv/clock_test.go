package kv_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
)

// venueLaptop is a store whose clock, log and restarts a test has in hand.
type venueLaptop struct {
	*testing.T
	*kv.Store
	clock  *kvtest.Clock
	log    bytes.Buffer
	config kv.Config
}

// newLaptop opens one that was built a month before sunday.
func newLaptop(t *testing.T) *venueLaptop {
	t.Helper()
	l := &venueLaptop{T: t, clock: kvtest.NewClock(sunday)}
	l.config = kv.Config{Dir: folder(t), Clock: l.clock.Now, Built: sunday.AddDate(0, -1, 0), Logger: slog.New(slog.NewTextHandler(&l.log, nil))}
	l.Store = reopenable(t, l.config)
	t.Cleanup(func() { closed(t, l.Store) })
	return l
}

func (l *venueLaptop) restart() {
	l.Helper()
	closed(l.T, l.Store)
	l.Store = reopenable(l.T, l.config)
}

func (l *venueLaptop) measure(offset time.Duration) {
	l.Helper()
	if err := l.Store.Tables.Clock.Measure("centre", offset, l.Store.Tables.Clock.Now()); err != nil {
		l.Fatal(err)
	}
}

func (l *venueLaptop) trust() {
	l.Helper()
	if _, err := l.Store.Tables.Clock.Trust(auth.Operator()); err != nil {
		l.Fatal(err)
	}
}

// set sets the wall clock.
func (l *venueLaptop) set(to time.Time) { l.clock.Move(to.Sub(l.clock.Now())) }

func (l *venueLaptop) wantDoubt(when string, want table.Doubt) {
	l.Helper()
	for _, then := range []string{"", " and a restart"} {
		if got := l.Store.Tables.Clock.Reading().Doubt; got != want {
			l.Errorf("doubt of the clock %s%s = %q, want %q", when, then, got, want)
		}
		l.restart()
	}
}

var in2035 = time.Date(2035, 3, 1, 8, 0, 0, 0, time.UTC)

func TestClockIsBelievedUnlessDoubted(t *testing.T) {
	l := newLaptop(t)
	l.wantDoubt("that nobody measured", "")
	l.measure(2 * time.Minute)
	l.wantDoubt("two minutes behind a peer's", "")
	l.measure(-2*time.Minute - time.Second)
	l.wantDoubt("over two minutes ahead of a peer's", table.OffPeer)
	l.clock.Move(90 * 24 * time.Hour)
	l.wantDoubt("that is still measured so", table.OffPeer)
	l.measure(time.Second)
	l.wantDoubt("after a good measure", "")
	l.clock.Move(-time.Minute)
	l.wantDoubt("a minute before the good measure", "")
	l.clock.Move(-2 * time.Minute)
	l.wantDoubt("three minutes before the good measure", table.WentBack)
	l.set(l.config.Built.Add(-time.Second))
	l.wantDoubt("before the build", table.BeforeBuild)
	l.set(sunday.AddDate(1, 0, 0))
	l.wantDoubt("that is past all it was", "")
}

func TestTrustOfAPersonLastsUntilTheClockIsAnother(t *testing.T) {
	l := newLaptop(t)
	l.set(in2035)
	l.measure(sunday.Sub(in2035))
	l.wantDoubt("in 2035", table.OffPeer)
	l.trust()
	l.wantDoubt("that is trusted", "")
	l.measure(sunday.Sub(in2035) + time.Minute)
	l.wantDoubt("of which the peer says the same as before", "")
	l.measure(sunday.Sub(in2035) + time.Hour)
	l.wantDoubt("of which the peer says something else", table.OffPeer)
	l.trust()
	l.set(sunday)
	l.wantDoubt("put right after it was trusted", table.WentBack)
	l.measure(0)
	l.wantDoubt("after a good measure", "")
	l.measure(sunday.Sub(in2035))
	l.wantDoubt("that differs as it did when it was trusted", table.OffPeer)
}

// TestTrustOfAClockBeforeTheBuild: the build's date was the wrong one. Another program asks again.
func TestTrustOfAClockBeforeTheBuild(t *testing.T) {
	for _, confirm := range []func(*venueLaptop){(*venueLaptop).trust, func(l *venueLaptop) { l.measure(0) }} {
		l := newLaptop(t)
		l.config.Built = sunday.Add(time.Hour)
		l.restart()
		l.wantDoubt("before the build", table.BeforeBuild)
		confirm(l)
		l.wantDoubt("that was confirmed before the build", "")
		l.config.Built = sunday.Add(2 * time.Hour)
		l.restart()
		l.wantDoubt("before another build", table.BeforeBuild)
	}
}

func TestTrustIsForWhoRulesTheStore(t *testing.T) {
	s, _ := opened(t)
	for _, p := range []auth.Principal{{}, kvtest.Login(t, s, "denomination", "people:GET"), kvtest.Login(t, s, "church:1", "*:*")} {
		if _, err := s.Tables.Clock.Trust(p); !errors.Is(err, auth.ErrForbidden) {
			t.Errorf("TrustClock by %v = %v, want ErrForbidden", p, err)
		}
	}
}

func TestClockTellsWhatWasMeasured(t *testing.T) {
	l := newLaptop(t)
	if got := l.Store.Tables.Clock.Reading(); got != (table.Reading{}) {
		t.Errorf("Clock() of a new store = %+v, want nothing known", got)
	}
	l.measure(-90 * time.Millisecond)
	want := table.Reading{Measured: sunday, Peer: "centre", Offset: -90 * time.Millisecond}
	if got := l.Store.Tables.Clock.Reading(); got != want {
		t.Errorf("Clock() = %+v, want %+v", got, want)
	}
	if err := l.Store.Tables.Clock.Measure(strings.Repeat("é", 1000), math.MinInt64, sunday); err != nil {
		t.Errorf("MeasureClock of nonsense: %v", err)
	}
	l.wantDoubt("that nonsense was measured of", table.OffPeer)
}

// TestDoubtIsSaidOnce: in the log when it begins and ends, in a metric all the while.
func TestDoubtIsSaidOnce(t *testing.T) {
	l := newLaptop(t)
	registry := prometheus.NewRegistry()
	l.config.Registerer = registry
	l.restart()
	if v := kvtest.Metric(t, registry, "doorward_clock_offset_seconds"); !math.IsNaN(v) {
		t.Errorf("doorward_clock_offset_seconds before a measure = %v, want NaN", v)
	}
	for _, want := range []struct {
		offset  time.Duration
		doubted float64
		warns   int
		infos   int
	}{{time.Second, 0, 0, 0}, {-time.Hour, 1, 1, 0}, {-2 * time.Hour, 1, 1, 0}, {0, 0, 1, 1}, {time.Hour, 1, 2, 1}} {
		l.measure(want.offset)
		churches(t, l.Store, 2)
		if v := kvtest.Metric(t, registry, "doorward_clock_doubted"); v != want.doubted {
			t.Errorf("doorward_clock_doubted at an offset of %v = %v, want %v", want.offset, v, want.doubted)
		}
		if v := kvtest.Metric(t, registry, "doorward_clock_offset_seconds"); v != want.offset.Seconds() {
			t.Errorf("doorward_clock_offset_seconds = %v, want %v", v, want.offset.Seconds())
		}
		warns, infos := strings.Count(l.log.String(), "level=WARN"), strings.Count(l.log.String(), "level=INFO")
		if warns != want.warns || infos != want.infos {
			t.Errorf("after an offset of %v the log has %d warnings and %d others, want %d and %d:\n%s", want.offset, warns, infos, want.warns, want.infos, l.log.String())
		}
	}
}

// TestLaptopIn2035: its clock is years ahead. Doors go on, without judging times; keys end as ever; and once the clock is
// believed everything is as before.
func TestLaptopIn2035(t *testing.T) {
	l := newLaptop(t)
	event := newEvent(t, l.Store, "")
	for _, code := range []string{"past", "past2", "past3", "past4"} {
		newTicket(t, l.Store, event, code, `,"valid_until":"2026-11-23T00:00:00Z"`)
	}
	level, _ := auth.ParseLevel("denomination")
	k, secret, err := l.Store.Keys.AddKey(auth.Operator(), keys.KeySpec{Name: "until 2030", Level: level, Expires: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	first := scanned(t, l.Store, auth.Operator(), door.Attempt{Event: event, Code: "past"}, outcome.Admitted)
	l.wantFact(first, `[]`, "null")
	church := kvtest.Create(t, l.Store, record.Church, `{"name":"A"}`)

	l.set(in2035)
	scanned(t, l.Store, auth.Operator(), door.Attempt{Event: event, Code: "past2"}, outcome.NoLongerValid)
	l.measure(sunday.Sub(in2035))
	second := scanned(t, l.Store, auth.Operator(), door.Attempt{Event: event, Code: "past2"}, outcome.Admitted)
	l.wantFact(second, `["clock_suspect"]`, fmt.Sprint(sunday.Sub(in2035).Milliseconds()))
	if _, err := l.Store.Keys.Login(k.Key, secret); !errors.Is(err, table.ErrBadLogin) {
		t.Errorf("Login in 2035 with a key until 2030 = %v, want ErrBadLogin: key expiry always counts", err)
	}
	if at := updatedAt(t, patched(t, l.Store, record.Church, church, `{"name":"B"}`)); !at.Equal(in2035) {
		t.Errorf("updated_at in 2035 = %v", at)
	}

	l.set(sunday.Add(time.Hour)) // a person puts the clock right; what was measured of it is not yet
	third := scanned(t, l.Store, auth.Operator(), door.Attempt{Event: event, Code: "past3"}, outcome.Admitted)
	l.wantFact(third, `["clock_suspect"]`, fmt.Sprint(sunday.Sub(in2035).Milliseconds()))
	if at := updatedAt(t, patched(t, l.Store, record.Church, church, `{"name":"C"}`)); !at.Equal(in2035) {
		t.Errorf("updated_at under a doubted clock that went back = %v, want %v still", at, in2035)
	}
	if _, err := l.Store.Keys.Login(k.Key, secret); err != nil {
		t.Errorf("Login in 2026: %v", err)
	}
	l.measure(20 * time.Millisecond)
	fourth := scanned(t, l.Store, auth.Operator(), door.Attempt{Event: event, Code: "past4"}, outcome.Admitted)
	l.wantFact(fourth, `[]`, "20")
	if at := updatedAt(t, patched(t, l.Store, record.Church, church, `{"name":"D"}`)); !at.Equal(l.clock.Now()) {
		t.Errorf("updated_at under a believed clock = %v, want %v", at, l.clock.Now())
	}
	for i, d := range []door.Decision{first, second, third} {
		if a, b := l.hlc(d), l.hlc([]door.Decision{second, third, fourth}[i]); a >= b {
			t.Errorf("hlc of admission %d = %s, not before %s", i, a, b)
		}
	}
	healthy(t, l.Store)
}

func (l *venueLaptop) hlc(d door.Decision) string {
	return fact(l.T, l.Store, record.Checkin, d.CheckinID, "hlc")
}

func (l *venueLaptop) wantFact(d door.Decision, flags, offset string) {
	l.Helper()
	if got := fact(l.T, l.Store, record.Checkin, d.CheckinID, "flags"); got != flags {
		l.Errorf("flags = %s, want %s", got, flags)
	}
	if got := fact(l.T, l.Store, record.Checkin, d.CheckinID, "clock_offset_ms"); got != offset {
		l.Errorf("clock_offset_ms = %s, want %s", got, offset)
	}
}

// TestStampsOfOthersMoveTheHybridClock, but not those that lie over a day ahead.
func TestStampsOfOthersMoveTheHybridClock(t *testing.T) {
	stamp := func(at time.Time, n uint64) uint64 { return uint64(at.UnixMilli())<<16 | n }
	for _, c := range []struct {
		name string
		seen uint64
		want uint64
	}{
		{"of the past", stamp(sunday.Add(-time.Hour), 7), stamp(sunday, 0)},
		{"an hour ahead", stamp(sunday.Add(time.Hour), 7), stamp(sunday.Add(time.Hour), 8)},
		{"a day ahead", stamp(sunday.Add(24*time.Hour), 7), stamp(sunday.Add(24*time.Hour), 8)},
		{"more than a day ahead", stamp(sunday.Add(24*time.Hour+time.Millisecond), 0), stamp(sunday, 0)},
		{"in 2035", stamp(in2035, 0), stamp(sunday, 0)},
		{"at the end of time", math.MaxUint64, stamp(sunday, 0)},
	} {
		l := newLaptop(t)
		event := newEvent(t, l.Store, "")
		newTicket(t, l.Store, event, "K1", "")
		if err := kv.Observe(l.Store, c.seen); err != nil {
			t.Fatal(err)
		}
		l.restart()
		d := scanned(t, l.Store, auth.Operator(), door.Attempt{Event: event, Code: "K1"}, outcome.Admitted)
		if got, want := l.hlc(d), fmt.Sprintf(`"%016x"`, c.want); got != want {
			t.Errorf("hlc after a stamp %s = %s, want %s", c.name, got, want)
		}
	}
}

// TestClockBefore1970 is that of a machine without a battery, in the far west.
func TestClockBefore1970(t *testing.T) {
	l := newLaptop(t)
	l.set(time.Date(1969, 12, 31, 20, 0, 0, 0, time.UTC))
	event := newEvent(t, l.Store, "")
	var last string
	for _, code := range []string{"K1", "K2"} {
		newTicket(t, l.Store, event, code, "")
		d := scanned(t, l.Store, auth.Operator(), door.Attempt{Event: event, Code: code}, outcome.Admitted)
		if hlc := l.hlc(d); hlc <= last || hlc > `"0000000000001000"` {
			t.Errorf("hlc in 1969 = %s, after %s", hlc, last)
		} else {
			last = hlc
		}
	}
}
