package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
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
	l := newLimits(20, clock.Now)
	addr := netip.MustParseAddr("192.0.2.1")
	fails := func(key string) int {
		for n := 0; ; n++ {
			if _, waits := l.fail(addr, key).(*throttled); waits {
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
	if err := newLimits(0, clock.Now).fail(addr, ""); err != nil {
		t.Errorf("without a throttle a failure answers %v", err)
	}
}

func TestClientAddrTakesAnIPv6NetworkAsOne(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "[::ffff:192.0.2.1]:80": "192.0.2.1", "[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::", "@": "invalid IP",
	} {
		if got := clientAddr(&http.Request{RemoteAddr: remote}).String(); got != want {
			t.Errorf("clientAddr(%s) = %s, want %s", remote, got, want)
		}
	}
}

func TestHTTPServerHasItsLimits(t *testing.T) {
	s := HTTPServer(http.NotFoundHandler())
	for name, got := range map[string][2]time.Duration{
		"header": {s.ReadHeaderTimeout, 5 * time.Second}, "body": {s.ReadTimeout, 15 * time.Second},
		"write": {s.WriteTimeout, 30 * time.Second}, "idle": {s.IdleTimeout, time.Minute},
	} {
		if got[0] != got[1] {
			t.Errorf("%s = %v, want %v", name, got[0], got[1])
		}
	}
	if s.MaxHeaderBytes != 64<<10 {
		t.Errorf("MaxHeaderBytes = %d", s.MaxHeaderBytes)
	}
}

// deadlines notes the deadlines that a handler sets.
type deadlines struct {
	http.ResponseWriter
	read, write []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.read = append(d.read, t)
	return nil
}

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.write = append(d.write, t)
	return nil
}

func TestImportMovesItsDeadlines(t *testing.T) {
	s, err := New(Config{Store: kvtest.Open(t)})
	if err != nil {
		t.Fatal(err)
	}
	w := &deadlines{ResponseWriter: httptest.NewRecorder()}
	r := httptest.NewRequest("POST", "/admin/v1/import/?kind=role", strings.NewReader("name\nUsher\n"))
	s.operator().ServeHTTP(w, r)
	if len(w.read) == 0 || len(w.write) == 0 || time.Until(w.read[0]) > importPause || time.Until(w.read[0]) < importPause/2 {
		t.Errorf("deadlines = %v, %v", w.read, w.write)
	}
}

func TestOperatorNeedsNoKeyAndNoHost(t *testing.T) {
	s, err := New(Config{Store: kvtest.Open(t), PublicURL: "https://centre.example/doorward", AuthFailures: 1})
	if err != nil {
		t.Fatal(err)
	}
	h := s.operator()
	for i, c := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/admin/v1/keys/", `{"name":"first","level":"denomination","permissions":["*:*"]}`, 201}, {"GET", "/admin/v1/keys/", "", 200},
		{"POST", "/admin/v1/church/", `{"name":"x"}`, 201}, {"GET", "/admin/v1/church/1", "", 200}, {"GET", "/v1/people/", "", 404}, {"PUT", "/admin/v1/church/", "", 405},
	} {
		rec := httptest.NewRecorder()
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		r.Host, r.RemoteAddr = "doorward", "@"
		r.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(rec, r)
		if rec.Code != c.status {
			t.Errorf("%d: %s %s = %d, want %d: %s", i, c.method, c.path, rec.Code, c.status, rec.Body)
		}
	}
}

func TestNaturalReadsDigitsOnly(t *testing.T) {
	for text, want := range map[string]int{
		"7": 7, " 7 ": 7, "007": 7, "": 0, "-7": 0, "7.0": 0, "x": 0, "+7": 0, "1_0": 0, fmt.Sprint(farOffset): farOffset,
		"9223372036854775807": farOffset, "99999999999999999999": farOffset, "12345678901234567890123": farOffset,
	} {
		if got := natural(text); got != want {
			t.Errorf("natural(%q) = %d, want %d", text, got, want)
		}
	}
}
