package throttle

import (
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"doorward/kv/kvtest"
)

func TestMeterCountsAMinuteFromTheFirst(t *testing.T) {
	clock := kvtest.NewClock(time.Unix(1000, 0))
	m := newMeter[string](clock.Now)
	for want := 1; want <= 3; want++ {
		if w := m.add("a"); w.n != want || !w.ends.Equal(time.Unix(1060, 0)) {
			t.Errorf("add = %d until %v, want %d", w.n, w.ends, want)
		}
		clock.Move(10 * time.Second)
	}
	if w := m.add("b"); w.n != 1 || !w.ends.Equal(time.Unix(1090, 0)) {
		t.Errorf("another name has %d until %v", w.n, w.ends)
	}
	clock.Move(30 * time.Second)
	if w := m.add("a"); w.n != 1 || !w.ends.Equal(time.Unix(1120, 0)) {
		t.Errorf("after its minute a name has %d until %v", w.n, w.ends)
	}
}

func TestMeterRemembersABoundedNumberOfNames(t *testing.T) {
	clock := kvtest.NewClock(time.Unix(1000, 0))
	m := newMeter[int](clock.Now)
	for i := 1; i <= 3*meterNames; i++ {
		m.add(i)
	}
	if n := len(m.windows); n > meterNames+1 {
		t.Errorf("%d names are remembered, want at most %d", n, meterNames+1)
	}
	if w := m.add(5 * meterNames); w.n != 2*meterNames+1 {
		t.Errorf("names beyond the bound count %d together, want %d", w.n, 2*meterNames+1)
	}
	clock.Move(time.Hour)
	if w := m.add(5 * meterNames); w.n != 1 || len(m.windows) > 2 {
		t.Errorf("after an hour: %d, of %d names", w.n, len(m.windows))
	}
}

func TestLimitsOfFailuresAreOfTheMinute(t *testing.T) {
	clock := kvtest.NewClock(time.Unix(1000, 0))
	l := NewLimits(20, clock.Now, slog.New(slog.DiscardHandler))
	addr := netip.MustParseAddr("192.0.2.1")
	fails := func(key string) int {
		for n := 0; ; n++ {
			if _, waits := l.Fail(addr, key).(*Error); waits {
				return n
			}
		}
	}
	if n := fails("dw_a"); n != 10 {
		t.Errorf("%d failures of one key pass, want 10", n)
	}
	if n := fails(""); n != 9 { // eleven were counted
		t.Errorf("%d further failures of the address pass, want 9", n)
	}
	clock.Move(time.Minute)
	if n := fails(""); n != 20 {
		t.Errorf("%d failures of the address pass in the next minute, want 20", n)
	}
	if err := NewLimits(0, clock.Now, slog.New(slog.DiscardHandler)).Fail(addr, ""); err != nil {
		t.Errorf("without a throttle a failure answers %v", err)
	}
}
