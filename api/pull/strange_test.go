package pull_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"doorward/api/pull"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// stranger is a server that speaks /v1 in its own way.
type stranger struct {
	*httptest.Server
	most   int                                               // records of a page
	before func(w http.ResponseWriter, r *http.Request) bool // answers itself, or lets the list answer
	after  func(path string)                                 // after each page
	mu     sync.Mutex
	lists  map[string][]string // records by the path of their list, with a slash at its end
	waits  []time.Duration     // that the pull made
}

func newStranger(t *testing.T) *stranger {
	t.Helper()
	s := &stranger{most: 100, lists: map[string][]string{"/v1/group/": nil, "/v1/people/": nil, "/v1/event/": nil, "/v1/financial_entries/": nil}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *stranger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.before != nil && s.before(w, r) {
		return
	}
	path := strings.TrimSuffix(r.URL.Path, "/") + "/"
	s.mu.Lock()
	all, ok := s.lists[path]
	s.mu.Unlock()
	if !ok {
		http.Error(w, `<html>There is no such page</html>`, http.StatusNotFound)
		return
	}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	from := min(offset, len(all))
	page := all[from:min(len(all), from+min(limit, s.most))]
	fmt.Fprintf(w, `{"count":%d,"took":"3ms","next":"https://elsewhere.example.org/v1/","results":[%s]}`, len(all), strings.Join(page, ","))
	if s.after != nil {
		s.after(path)
	}
}

func (s *stranger) config(store *kv.Store) pull.Config {
	return pull.Config{Store: store, Who: auth.Operator(), URL: s.URL, Key: "dw_key", Secret: "the-secret", Client: &http.Client{},
		Wait: func(ctx context.Context, d time.Duration) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.waits = append(s.waits, d)
			return ctx.Err()
		}}
}

// people are some records of people, with all members that a list needs.
func people(from, to int) (all []string) {
	for id := from; id <= to; id++ {
		all = append(all, person(id))
	}
	return all
}

func person(id int) string { return fmt.Sprintf(`{"id":%d,"full_name":"Person %d"}`, id, id) }

func TestAStrangeSourceIsUnderstood(t *testing.T) {
	s, store := newStranger(t), kvtest.Open(t)
	s.most = 7
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/") { // it knows no slash there
			http.NotFound(w, r)
			return true
		}
		if id, ok := strings.CutPrefix(r.URL.Path, "/v1/people/"); ok { // by itself a person has more
			fmt.Fprintf(w, `{"id":%s,"full_name":"Person %s","email":"","rg_state":"","gender":"female","photo":"/media/%s.jpg","shoe":40,`+
				`"church":{"id":"3","name":"Central","city":"Santos"},"roles":[{"id":1,"name":"Deacon"},{"id":2}],"profile_change_date":"2020-01-02"}`, id, id, id)
			return true
		}
		return false
	}
	s.lists["/v1/people/"] = people(1, 20)
	s.lists["/v1/group/"] = []string{`{"id":4,"name":"Choir"}`}
	s.lists["/v1/group/4/memberships/"] = []string{`{"id":8,"person":2,"is_approved":true,"approval_date":"2020-01-01T00:00:00Z","joined_at":"2020-01-01T00:00:00Z"}`}
	s.lists["/v1/event/"] = []string{`{"id":5,"name":"Festa","start_datetime":"2026-12-31T19:30:00-03:00","responsible_church":3,"regional":null,"contact_email":""}`}
	s.lists["/v1/financial_entries/"] = []string{`{"id":6,"transaction_type":"income","base_amount":"5.00","church":{"id":3},"supplier":{"id":1,"name":"Light","document":null},` +
		`"financial_account":{"id":2,"name":"Bank","currency":"BRL"},"recurrence_config":null,"small_groups":[{"id":4,"name":"Choir"}],"status":"strange"}`}
	conf := s.config(store)
	conf.URL += "/v1"
	rep := pulled(t, conf)
	if created, _, _, refused := sums(rep); !rep.Complete || created != 28 || refused != 0 {
		t.Fatalf("report = %+v, lines %+v", rep, rep.Kinds)
	}
	want := []string{"20 times a role without a name was left out: the source does not say what it is", "20 photos were left out: their addresses are not https://"}
	if diff := cmp.Diff(want, rep.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	one := exported(t, store, record.Person)[2.0]
	for name, want := range map[string]any{"church_id": 3.0, "gender": "female", "rg_state": nil, "email": "", "profile_change_date": "2020-01-02", "photo": nil} {
		if diff := cmp.Diff(want, one[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := exported(t, store, record.Event)[5.0]["church_id"]; got != 3.0 {
		t.Errorf("the event's church = %v, want 3", got)
	}
	if got := exported(t, store, record.Membership)[8.0]; got["group_id"] != 4.0 || got["approval_date"] != "2020-01-01T00:00:00Z" {
		t.Errorf("membership = %v", got)
	}
	if rep := pulled(t, conf); !rep.Complete || line(rep, "person").Updated+line(rep, "event").Updated > 0 {
		t.Errorf("the second pull: %+v", rep.Kinds)
	}
}

// TestABlankPhotoIsNone: only a photo that a person has can be left out.
func TestABlankPhotoIsNone(t *testing.T) {
	s, store := newStranger(t), kvtest.Open(t)
	s.lists["/v1/people/"] = []string{`{"id":1,"full_name":"Ana","photo":""}`}
	if rep := pulled(t, s.config(store)); !rep.Complete || len(rep.Notes) > 0 {
		t.Errorf("report = %+v", rep)
	}
}

// TestAnUnsteadySourceIsWaitedFor: 429 and 503 as long as they say, what breaks each time longer.
func TestAnUnsteadySourceIsWaitedFor(t *testing.T) {
	s, store := newStranger(t), kvtest.Open(t)
	s.lists["/v1/people/"] = people(1, 3)
	n := 0
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v1/people/" {
			return false
		}
		n++
		switch n {
		case 1, 2:
			w.Header().Set("Retry-After", "42")
			w.WriteHeader(http.StatusTooManyRequests)
		case 3:
			now := time.Date(2026, 5, 1, 18, 0, 0, 0, time.UTC)
			w.Header().Set("Date", now.Format(http.TimeFormat))
			w.Header().Set("Retry-After", now.Add(90*time.Second).Format(http.TimeFormat))
			w.WriteHeader(http.StatusServiceUnavailable)
		case 4:
			w.WriteHeader(http.StatusBadGateway)
		case 5:
			_, _ = w.Write([]byte(`{"count":3,"results":[{"id":1,`))
		case 6:
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`{"count":3,`))
		case 7:
			panic(http.ErrAbortHandler)
		default:
			return false
		}
		return true
	}
	rep := pulled(t, s.config(store))
	if got := line(rep, "person"); got.Created != 3 || !rep.Complete {
		t.Errorf("person: %+v", got)
	}
	want := []time.Duration{42 * time.Second, 42 * time.Second, 90 * time.Second, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}
	if diff := cmp.Diff(want, s.waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}

// TestAHostileSourceEndsThePullOfItsList: soon, with a reason, and the other lists are read.
func TestAHostileSourceEndsThePullOfItsList(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
		asked  int // requests at most
	}{
		"always 500":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "the source answers 500 Internal Server Error", 6},
		"429 for ever": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "0"); w.WriteHeader(429) }, "the source answers 429 Too Many Requests", 31},
		"429 for a day": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "86400")
			w.WriteHeader(429)
		}, "the source answers 429 Too Many Requests", 1},
		"429 without a time":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }, "the source answers 429 Too Many Requests", 6},
		"a page of HTML":       {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>Welcome</html>") }, "broken off or no JSON", 6},
		"JSON that is no list": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"detail":"hello"}`) }, "broken off or no JSON", 6},
		"a list of numbers":    {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"count":2,"results":[1,2]}`) }, "broken off or no JSON", 6},
		"an error with much to say": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(400)
			fmt.Fprint(w, `{"error":{"code":"Ana Souza is 40","message":"x"}}`)
		}, "the source answers 400 Bad Request", 1},
		"the same page for ever": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"count":1000000,"results":[%s]}`, person(1))
		}, "the list changed again and again", 6},
		"empty pages for ever": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"count":1000000,"results":[]}`) }, "the list changed again and again", 3},
		"new records for ever": {func(w http.ResponseWriter, r *http.Request) {
			offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
			fmt.Fprintf(w, `{"count":%d,"results":[%s]}`, offset+1000, strings.Join(people(offset+1, offset+100), ","))
		}, "the list has no end", 12},
		"an answer without an end": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"count":1,"results":["`))
			for range 33 {
				if _, err := w.Write([]byte(strings.Repeat("x", 1<<20))); err != nil {
					return
				}
			}
		}, "larger than 32 MiB", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, store := newStranger(t), kvtest.Open(t)
			s.lists["/v1/group/"] = []string{`{"id":4,"name":"Choir"}`}
			s.lists["/v1/group/4/memberships/"] = nil
			s.lists["/v1/event/"] = []string{`{"id":5,"name":"Festa","start_datetime":"2026-12-31T19:30:00Z"}`}
			asked := 0
			s.before = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/v1/people/" {
					asked++
					c.answer(w, r)
				}
				return r.URL.Path == "/v1/people/"
			}
			conf := s.config(store)
			conf.MaxRecords = 1000
			rep := pulled(t, conf)
			if got := line(rep, "person"); !strings.Contains(got.Failed, c.want) || rep.Complete {
				t.Errorf("person: %+v, want it to fail with %q", got, c.want)
			}
			if asked > c.asked {
				t.Errorf("%d requests, want at most %d", asked, c.asked)
			}
			if line(rep, "group").Created+line(rep, "event").Created != 2 {
				t.Errorf("the other lists: %+v", rep.Kinds)
			}
		})
	}
}

// TestASourceThatIsNoneIsAnError: before anything was read.
func TestASourceThatIsNoneIsAnError(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		url    string
		want   string
		is     error
	}{
		"a wrong secret":          {status(401), "", "the source refuses the key or its secret (401)", pull.ErrSource},
		"no such path":            {status(404), "", "it shows no list of /v1 to this key", pull.ErrSource},
		"no server there":         {nil, "http://127.0.0.1:1", "the source cannot be reached", pull.ErrSource},
		"a secret in the address": {nil, "https://dw_key:secret@example.org", "no key or secret stands in the address", pull.ErrUsage},
		"no address":              {nil, "centre", "the address of a server is wanted", pull.ErrUsage},
		"a file":                  {nil, "file:///etc/passwd", "the address of a server is wanted", pull.ErrUsage},
	} {
		t.Run(name, func(t *testing.T) {
			s, store := newStranger(t), kvtest.Open(t)
			s.before = func(w http.ResponseWriter, r *http.Request) bool { c.answer(w, r); return true }
			conf := s.config(store)
			if c.url != "" {
				conf.URL = c.url
			}
			rep, err := pull.Run(context.Background(), conf)
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, c.is) || strings.Contains(err.Error(), "secret@") {
				t.Errorf("Run = %+v, %v, want %q", rep, err, c.want)
			}
			if _, ok, err := store.Laptop.Mirror.Source(auth.Operator()); ok || err != nil {
				t.Errorf("the store is a mirror of what nothing came from: %v, %v", ok, err)
			}
		})
	}
}

// TestTheSecretGoesNowhereElse: a redirect within the host is followed, one to another is not, and no link of an answer is.
func TestTheSecretGoesNowhereElse(t *testing.T) {
	var stolen []string
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stolen = append(stolen, r.Header.Get("Authorization"))
		fmt.Fprint(w, `{"count":0,"results":[]}`)
	}))
	defer thief.Close()
	s, store := newStranger(t), kvtest.Open(t)
	s.lists["/v1/group/"] = []string{`{"id":4,"name":"Choir"}`}
	s.lists["/v1/group/4/memberships/"] = nil
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Path {
		case "/v1/people/":
			http.Redirect(w, r, thief.URL+r.URL.Path, http.StatusFound)
		case "/v1/event/":
			http.Redirect(w, r, "/api"+r.URL.Path, http.StatusMovedPermanently)
		case "/api/v1/event/":
			if _, secret, _ := r.BasicAuth(); secret != "the-secret" {
				w.WriteHeader(http.StatusForbidden)
				return true
			}
			fmt.Fprintf(w, `{"count":0,"results":[],"next":"%s"}`, thief.URL)
		default:
			return false
		}
		return true
	}
	rep := pulled(t, s.config(store))
	if got := line(rep, "person").Failed; !strings.Contains(got, "sends on to another address") {
		t.Errorf("person: %q", got)
	}
	if got := line(rep, "event"); got.Failed+got.NotReadable != "" {
		t.Errorf("event: %+v", got)
	}
	if len(stolen) > 0 {
		t.Errorf("another host was asked: %q", stolen)
	}
}

// TestAListThatShiftsIsReadAgain: what comes or goes while pages are read hides no other record.
func TestAListThatShiftsIsReadAgain(t *testing.T) {
	for name, shift := range map[string]func(all []string) []string{
		"a record comes at the front": func(all []string) []string { return slices.Insert(slices.Clone(all), 0, person(9000+len(all))) },
		"a record goes at the front":  func(all []string) []string { return all[1:] },
		"one goes at the front and one comes at the end": func(all []string) []string {
			return append(slices.Clone(all[1:]), strings.Replace(all[0], `"id":`, `"id":1000`, 1))
		},
		"the last of a page goes and one comes at the front": func(all []string) []string {
			return slices.Insert(slices.Delete(slices.Clone(all), 99, 100), 0, strings.Replace(all[99], `"id":`, `"id":1000`, 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, store := newStranger(t), kvtest.Open(t)
			s.lists["/v1/people/"] = people(1, 350)
			pages := 0
			s.after = func(path string) {
				if pages++; path == "/v1/people/" && pages < 5 {
					s.mu.Lock()
					s.lists[path] = shift(s.lists[path])
					s.mu.Unlock()
				}
			}
			rep := pulled(t, s.config(store))
			there := exported(t, store, record.Person)
			for _, one := range s.lists["/v1/people/"] {
				var id float64
				if _, err := fmt.Sscanf(one, `{"id":%f`, &id); err != nil {
					t.Fatal(err)
				}
				if there[id] == nil {
					t.Errorf("person %v is missing", id)
				}
			}
			if !rep.Complete {
				t.Errorf("report = %+v", rep)
			}
		})
	}
}

// TestARecordThatGoesHidesNothingOfTheRest: the first person and the first group go after their lists were read.
func TestARecordThatGoesHidesNothingOfTheRest(t *testing.T) {
	s, store := newStranger(t), kvtest.Open(t)
	s.lists["/v1/people/"] = people(1, 3)
	s.lists["/v1/group/"] = []string{`{"id":4,"name":"Choir"}`, `{"id":5,"name":"Band"}`}
	s.lists["/v1/group/5/memberships/"] = []string{`{"id":8,"person":2,"is_approved":true,"approval_date":"2020-01-01T00:00:00Z","joined_at":"2020-01-01T00:00:00Z"}`}
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		id := strings.Trim(strings.TrimPrefix(r.URL.Path, "/v1/people/"), "/")
		if id != "2" && id != "3" {
			return false
		}
		fmt.Fprintf(w, `{"id":%s,"full_name":"Person %s","gender":"female"}`, id, id)
		return true
	}
	rep := pulled(t, s.config(store))
	for id, want := range map[float64]any{1: nil, 2: "female", 3: "female"} {
		if got := exported(t, store, record.Person)[id]["gender"]; got != want {
			t.Errorf("person %v: gender = %v, want %v", id, got, want)
		}
	}
	if got := line(rep, "membership"); got.Created != 1 || got.NotReadable != "" {
		t.Errorf("membership: %+v", got)
	}
}

// TestASourceThatGivesNoRecordByItselfIsAskedForOnePageOfThem: what its lists show is taken.
func TestASourceThatGivesNoRecordByItselfIsAskedForOnePageOfThem(t *testing.T) {
	s, store := newStranger(t), kvtest.Open(t)
	s.lists["/v1/people/"] = people(1, 250)
	var asked atomic.Int64
	s.before = func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/v1/people/") && r.URL.Path != "/v1/people/" {
			asked.Add(1)
		}
		return false
	}
	rep := pulled(t, s.config(store))
	if got := line(rep, "person"); got.Created != 250 || asked.Load() != 100 {
		t.Errorf("after %d questions for one person: %+v", asked.Load(), got)
	}
}

// TestASourceWithoutMembershipsIsReadAllTheSame: none of its groups has a list of them.
func TestASourceWithoutMembershipsIsReadAllTheSame(t *testing.T) {
	s, store := newStranger(t), kvtest.Open(t)
	s.lists["/v1/group/"] = []string{`{"id":4,"name":"Choir"}`, `{"id":5,"name":"Band"}`}
	rep := pulled(t, s.config(store))
	if groups, members := line(rep, "group"), line(rep, "membership"); groups.Created != 2 || members.NotReadable == "" || members.Failed != "" {
		t.Errorf("groups: %+v, memberships: %+v", groups, members)
	}
}

// TestARecordThatIsRefusedBlocksNoOther: its reason stands once, with the first ids, and repeats nothing that it holds. The list is
// compared as a whole until it is taken.
func TestARecordThatIsRefusedBlocksNoOther(t *testing.T) {
	s, store := newStranger(t), kvtest.Open(t)
	s.lists["/v1/people/"] = append(people(1, 3), `{"id":4,"full_name":"Bia","gender":"Bia's own"}`, `{"id":5,"full_name":"Caio","gender":"Caio's own"}`, `{"full_name":"Dora"}`, person(3))
	for range 2 {
		rep := pulled(t, s.config(store))
		want := []pull.Reason{{Kind: "person", Reason: "The record has no id that is an integer from 1", Count: 1, IDs: []int64{0}},
			{Kind: "person", Field: "gender", Reason: "is not a valid choice.", Count: 2, IDs: []int64{4, 5}}}
		if diff := cmp.Diff(want, rep.Refused); diff != "" {
			t.Errorf("refused (-want +got):\n%s", diff)
		}
		if got := line(rep, "person"); got.Created+got.Unchanged != 3 || got.Refused != 3 || got.Changes || rep.Complete {
			t.Errorf("person: %+v", got)
		}
	}
}

// TestChangesAreAskedForWithAnOverlap: by the source's clock, not by ours.
func TestChangesAreAskedForWithAnOverlap(t *testing.T) {
	s, store := newStranger(t), kvtest.Open(t)
	s.lists["/v1/people/"] = people(1, 3)
	var asked []string
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Date", time.Date(2026, 5, 1, 18, 0, 0, 0, time.UTC).Format(http.TimeFormat))
		if since := r.URL.Query().Get("updated_at_after"); since != "" {
			asked = append(asked, r.URL.Path+" "+since)
		}
		return false
	}
	conf := s.config(store)
	conf.Now = func() time.Time { return time.Date(2035, 1, 1, 0, 0, 0, 0, time.UTC) }
	pulled(t, conf)
	pulled(t, conf)
	if diff := cmp.Diff([]string{"/v1/people/ 2026-05-01T17:00:00Z", "/v1/event/ 2026-05-01T17:00:00Z"}, asked); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	asked = nil
	conf.Full = true
	if pulled(t, conf); len(asked) > 0 {
		t.Errorf("a full pull asks for %q", asked)
	}
	conf.Full, conf.Key = false, "dw_another"
	if pulled(t, conf); len(asked) > 0 {
		t.Errorf("a pull with another key asks for %q", asked)
	}
}
