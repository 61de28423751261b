package kv_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/oklog/ulid/v2"

	"doorward/api"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
)

// TestRaceForTwoTicketsOfOneCode lets many clients bring codes that two tickets each have, as replicas may have written them
// apart from each other: of all clients exactly one is let in by each code.
func TestRaceForTwoTicketsOfOneCode(t *testing.T) {
	const clients, codes = 32, 40
	s := kvtest.Open(t)
	event := newEvent(t, s, "")
	for i := range codes {
		code := fmt.Sprintf("TWIN-%02d", i)
		newTicket(t, s, event, code, "")
		form := kvtest.Parse(t, record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":%q}`, event, code), true)
		if _, err := kv.TwinTicket(s, form); err != nil {
			t.Fatal(err)
		}
	}
	d := newDoorOver(t, s, event)
	var mu sync.Mutex
	admitted := map[string]int{}
	var all sync.WaitGroup
	for n := range clients {
		all.Go(func() {
			for i := range codes {
				code := fmt.Sprintf("TWIN-%02d", i)
				status := d.checkIn([]string{code, strings.ToLower(code)}[(i+n)%2])
				mu.Lock()
				switch status {
				case http.StatusNoContent:
					admitted[code]++
				case http.StatusConflict:
				default:
					t.Errorf("%s = %d", code, status)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for i := range codes {
		if code := fmt.Sprintf("TWIN-%02d", i); admitted[code] != 1 {
			t.Errorf("%s was admitted %d times, want once", code, admitted[code])
		}
	}
	if n := pageOf(t, s, record.Checkin).Count; n != codes {
		t.Errorf("%d admissions, want %d", n, codes)
	}
	healthy(t, s)
}

// overHTTP is a door that asks over HTTP.
type overHTTP struct {
	testing.TB
	url         string
	key, secret string
	client      *http.Client
}

func newDoorOver(t testing.TB, s *kv.Store, event int64) *overHTTP {
	t.Helper()
	server, err := api.New(api.Config{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(server.Handler())
	t.Cleanup(srv.Close)
	d := &overHTTP{TB: t, url: fmt.Sprintf("%s/v1/event/%d/checkin/", srv.URL, event),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}}
	t.Cleanup(d.client.CloseIdleConnections)
	d.key, d.secret = kvtest.Key(t, s, fmt.Sprintf("event:%d", event), "checkin:*")
	return d
}

// checkIn answers the status; 0 where no answer came.
func (d *overHTTP) checkIn(code string) int {
	r, err := http.NewRequest("POST", d.url, strings.NewReader(fmt.Sprintf(`{"code":%q}`, code)))
	if err != nil {
		d.Error(err)
		return 0
	}
	r.Header.Set("Content-Type", "application/json")
	r.SetBasicAuth(d.key, d.secret)
	resp, err := d.client.Do(r)
	if err != nil {
		d.Error(err)
		return 0
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		d.Error(err)
	}
	return resp.StatusCode
}

// A cancelled ticket stays cancelled for whoever came in by the twin that was merged with it.
func TestACheckInFollowsAMergedTicket(t *testing.T) {
	s := twoChurches(t)
	kv1 := drawnTwin{id: 1, code: 1}
	p := enrolled(t, s, "church:1", auth.Venue{})
	db := opens(t, s, p, "event-1")
	second := drawnTwin{id: 2, code: 1}
	for _, w := range []merge.DocWrite{second.ticketDocs()[0].w, kv1.ticketDocs()[0].w} {
		if err := push(t, db, w); err != nil {
			t.Fatal(err)
		}
	}
	f := drawnFact{kind: record.Checkin, id: record.FromULID(ulid.Make()), ticket: int(record.FirstDrawn + 2), code: 1, direction: "in", hlc: 5}
	f.put(t, s, 1)
	if got := toldBy(t, s, 1); got.Admitted != 1 || len(got.Doubles) != 0 {
		t.Errorf("the event is %+v, want one admitted", got)
	}
	patched(t, s, record.Ticket, record.FirstDrawn+1, `{"state":"cancelled"}`)
	if got := toldBy(t, s, 1); len(got.Doubles) != 1 {
		t.Errorf("double entries are %v, want the admission by the merged ticket", got.Doubles)
	}
	healthy(t, s)
}
