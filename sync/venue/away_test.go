package venue_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/sync/dial"
	"doorward/sync/venue"
)

// away is a link to a centre that is not reached. It notes when that was tried.
type away struct {
	answers func() (*http.Response, error)
	tries   []time.Time
}

func (l *away) RoundTrip(*http.Request) (*http.Response, error) {
	l.tries = append(l.tries, time.Now())
	return l.answers()
}

// linkDown is a link on which nothing goes.
func linkDown() (*http.Response, error) { return nil, errLink }

// answers is a server that always says the same.
func answers(status int, headers ...string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		resp := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("no"))}
		for i := 0; i < len(headers); i += 2 {
			resp.Header.Set(headers[i], headers[i+1])
		}
		return resp, nil
	}
}

// triesFor is when a laptop tries its centre within five minutes, of an event that begins after a while and lasts for two hours.
func triesFor(t *testing.T, begins time.Duration, scans bool, tried *away) (gaps []time.Duration) {
	t.Helper()
	laptop := kvtest.Open(t)
	at := time.Now().Add(begins).UTC()
	event := kvtest.Create(t, laptop, record.Event, fmt.Sprintf(`{"name":"Feast","start_datetime":%q,"end_datetime":%q}`,
		at.Format(time.RFC3339), at.Add(2*time.Hour).Format(time.RFC3339)))
	kvtest.Create(t, laptop, record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":"first","holder_name":"Ana Souza"}`, event))
	centre := table.Upstream{URL: "http://centre", Insecure: true, Node: ulid.Make().String(), Key: "k", Secret: "s"}
	if err := laptop.Laptop.Join(auth.Operator(), centre, office.Credential{Realm: laptop.Tables.Identity.Realm()}); err != nil {
		t.Fatal(err)
	}
	if scans {
		if _, err := laptop.Door.CheckIn(auth.Operator(), door.Attempt{Event: event, Code: "first"}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	client := dial.NewClient(dial.Anywhere)
	client.Transport = tried
	if err := venue.RunOver(ctx, venue.Config{Store: laptop}, client); err != nil {
		t.Fatal(err)
	}
	for i := range tried.tries[1:] {
		gaps = append(gaps, tried.tries[i+1].Sub(tried.tries[i]))
	}
	return gaps
}

// TestALaptopTriesItsCentreEverySecondDuringAnEvent: doors wait for what the centre knows. Otherwise the pauses grow. No two laptops
// try at the same time for ever.
func TestALaptopTriesItsCentreEverySecondDuringAnEvent(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	for _, c := range []struct {
		name    string
		begins  time.Duration
		scans   bool
		answers func() (*http.Response, error)
		often   bool
	}{
		{"while it is held", -hour, false, linkDown, true},
		{"while the doors open", 2 * hour, false, linkDown, true},
		{"shortly after its end", -4 * hour, false, linkDown, true},
		{"while people are let in, a day too early", 24 * hour, true, linkDown, true},
		{"with a centre that is starting", -hour, false, answers(503, "Retry-After", "5"), true},
		{"with a gateway whose centre is not there", -hour, false, answers(502), true},
		{"with a portal in the place of the centre", -hour, false, answers(302, "Location", "https://portal.example/"), true},
		{"a week before", 7 * 24 * hour, false, linkDown, false},
		{"a day after", -26 * hour, false, linkDown, false},
		{"with a centre that wants to be left alone", -hour, false, answers(429, "Retry-After", "12"), false},
		{"with a centre that refuses", -hour, false, answers(403), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gaps := triesFor(t, c.begins, c.scans, &away{answers: c.answers})
				longest, shortest := slices.Max(gaps), slices.Min(gaps)
				switch {
				case c.often && (longest > time.Second || len(gaps) < 300):
					t.Errorf("%d tries, up to %v apart, want one each second", len(gaps), longest)
				case c.often && (longest-shortest < 100*time.Millisecond || shortest < 200*time.Millisecond):
					t.Errorf("tries are %v to %v apart, want that to differ, and no hurry", shortest, longest)
				case !c.often && longest < 5*time.Second:
					t.Errorf("tries are up to %v apart, want pauses that grow", longest)
				}
			})
		})
	}
}
