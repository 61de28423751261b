package venue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/backup"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/door"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/sync"
	"doorward/sync/venue"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// The helpers of this package's tests; the simulation has its own in sim_test.go:
//
//	newTown, parish               a centre with an event, or with a church that has it, and a laptop
//	join, follow, visits          keep a laptop in step, or have it visit once; enrol and enrolFor make a store one of the centre's
//	sell, scan, changes, revokes  what people do at the centre and at the laptop; ends and passes move its clock
//	arrives, comes, await, tells  wait for a record, a database or a line of the log
//	has, all, holds, namesAt      what a store has
//	relapses                      the centre restored to an older backup
//	gauge, lagOf, peersOf         metrics
//	linked                        a link of which the test carries the bytes
//	export_test.go                a visit and a loop over a client of the test's own

// town is a centre with an event, and a laptop that has joined it.
type town struct {
	testing.TB
	centre, laptop *kv.Store
	url            string
	event          int64
	later          atomic.Int64 // how much time has passed besides
	ahead          atomic.Int64 // by how much the centre's clock is ahead of the laptop's
	log            lines        // of the laptop
	hellos         atomic.Int64 // that came to the centre
	serving        atomic.Pointer[sync.Server]
}

// lines are what a log says.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

func newTown(t testing.TB) *town {
	w := &town{TB: t, log: make(lines, 1000)}
	w.laptop = kvtest.OpenConfig(t, kv.Config{Clock: w.now})
	w.centre = kvtest.OpenConfig(t, kv.Config{Clock: func() time.Time { return w.now().Add(time.Duration(w.ahead.Load())) }})
	w.event = kvtest.Create(t, w.centre, record.Event, `{"name":"Sunday","start_datetime":"2030-01-01T19:00:00Z"}`)
	w.serve()
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == "/sync/_hello" {
			w.hellos.Add(1)
		}
		w.serving.Load().ServeHTTP(rw, r)
	}))
	t.Cleanup(func() {
		w.serving.Load().Close()
		s.Close()
	})
	w.url = s.URL
	return w
}

// now is the laptop's clock.
func (w *town) now() time.Time { return time.Now().Add(time.Duration(w.later.Load())) }

// passes lets a laptop be told that an event which is over will be dropped, and lets a day pass.
func (w *town) passes(v *venue.Venue) {
	w.Helper()
	w.later.Store(int64(74 * time.Hour))
	v.Wake()
	w.tells("will be dropped here")
	w.later.Store(int64(99 * time.Hour))
	v.Wake()
}

// serve has the centre's address answer for the store that it has now.
func (w *town) serve() {
	w.Helper()
	server, err := sync.New(sync.Config{Store: w.centre, Version: "test", OverAfter: 72 * time.Hour})
	if err != nil {
		w.Fatal(err)
	}
	if before := w.serving.Swap(server); before != nil {
		before.Close()
	}
}

// join enrols the laptop and keeps it in step for as long as the test runs.
func (w *town) join() *venue.Venue {
	w.Helper()
	w.enrol(w.laptop)
	v, leave := w.follow(w.laptop)
	w.Cleanup(leave)
	return v
}

// enrol makes a store one of the centre's, for the event.
func (w *town) enrol(laptop *kv.Store) {
	w.Helper()
	w.enrolFor(laptop, office.Enrolment{Level: auth.Level{Name: auth.EventOf, IDs: []int64{w.event}}, Venue: auth.Venue{Names: true}})
}

// follow keeps a laptop in step until it leaves.
func (w *town) follow(laptop *kv.Store) (v *venue.Venue, leave func()) {
	w.Helper()
	return w.followAs(venue.Config{Store: laptop})
}

func (w *town) followAs(c venue.Config) (v *venue.Venue, leave func()) {
	w.Helper()
	c.Version, c.Logger = "test", slog.New(slog.NewTextHandler(w.log, nil))
	v, err := venue.New(c)
	if err != nil {
		w.Fatal(err)
	}
	ctx, end := context.WithCancel(w.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		v.Run(ctx)
	}()
	return v, func() {
		end()
		<-ended
	}
}

// arrives waits for a ticket to be at a store.
func (w *town) arrives(s *kv.Store, id int64) {
	w.Helper()
	w.comes(s, record.Ticket, id)
}

// comes waits for a record to be in the event's database at a store.
func (w *town) comes(s *kv.Store, k *record.Kind, id int64) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 20*time.Second)
	defer cancel()
	db, err := s.Docs.Database(auth.Operator(), scopes.Scope{Sort: scopes.Event, ID: w.event}.String())
	if err != nil {
		w.Fatal(err)
	}
	for {
		info, err := db.Info()
		if err != nil {
			w.Fatal(err)
		}
		if _, err := db.Read(k.DocID(record.Int(id)), docs.Ask{Leaves: true}); err == nil {
			return
		}
		if err := db.Await(ctx, info.Seq); err != nil {
			w.Fatalf("%s %d never came: %v", k.Name, id, err)
		}
	}
}

func (w *town) sell(s *kv.Store, code string) int64 {
	w.Helper()
	form, err := json.Marshal(map[string]any{"event_id": w.event, "code": code, "holder_name": "Ana Souza"})
	if err != nil {
		w.Fatal(err)
	}
	return kvtest.Create(w, s, record.Ticket, string(form))
}

// refusals are what the centre keeps for its staff.
func (w *town) refusals() string {
	w.Helper()
	var all strings.Builder
	if err := w.centre.Log.Export(auth.Operator(), record.Refusal, func(json []byte) error {
		_, err := all.Write(json)
		return err
	}); err != nil {
		w.Fatal(err)
	}
	return all.String()
}

// sellsAt sells a ticket at an event, on the laptop.
func (w *town) sellsAt(event int64) (record.ID, error) {
	w.Helper()
	r, err := w.laptop.Desk.Create(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Ticket}, kvtest.Parse(w, record.Ticket, fmt.Sprintf(`{"event_id":%d}`, event), true))
	return r.ID, err
}

// enrolFor makes a store one of the centre's, for what an enrolment says.
func (w *town) enrolFor(laptop *kv.Store, e office.Enrolment) {
	w.Helper()
	e.Name = ulid.Make().String() // no two laptops have one name
	_, code, _, err := w.centre.Venues.Enrol(auth.Operator(), e)
	if err != nil {
		w.Fatal(err)
	}
	if _, err := venue.Join(w.Context(), venue.JoinConfig{Store: laptop, URL: w.url + "/#" + code}); err != nil {
		w.Fatal(err)
	}
}

// churchEvent makes an event of a church.
func (w *town) churchEvent(s *kv.Store, church int64, ends string) int64 {
	w.Helper()
	return kvtest.Create(w, s, record.Event, fmt.Sprintf(`{"name":"Feast","start_datetime":"2026-01-01T19:00:00Z","end_datetime":%q,"church_id":%d}`, ends, church))
}

// tells waits for the laptop's log to say something.
func (w *town) tells(what string) {
	w.Helper()
	late := time.After(20 * time.Second)
	for {
		select {
		case line := <-w.log:
			if strings.Contains(line, what) {
				return
			}
		case <-late:
			w.Fatalf("the laptop's log never says %q", what)
		}
	}
}

// scan checks a code in.
func (w *town) scan(s *kv.Store, code string) door.Decision {
	w.Helper()
	d, err := s.Door.CheckIn(auth.Operator(), door.Attempt{Event: w.event, Code: code})
	if err != nil {
		w.Fatal(err)
	}
	return d
}

// holds is how much a store has in the databases of the event.
func (w *town) holds(s *kv.Store) (n int) {
	w.Helper()
	for _, sort := range []scopes.Sort{scopes.Event, scopes.EventNames, scopes.EventHolders} {
		db, err := s.Docs.Database(auth.Operator(), scopes.Scope{Sort: sort, ID: w.event}.String())
		if err != nil {
			w.Fatal(err)
		}
		info, err := db.Info()
		if err != nil {
			w.Fatal(err)
		}
		n += info.Docs
	}
	return n
}

// ends sets when the event is over. It began the day before.
func (w *town) ends(at time.Time) {
	w.Helper()
	patch := kvtest.Parse(w, record.Event, fmt.Sprintf(`{"start_datetime":%q,"end_datetime":%q}`, at.UTC().AddDate(0, 0, -1).Format(time.RFC3339), at.UTC().Format(time.RFC3339)), false)
	target := desk.Target{Surface: record.Admin, Kind: record.Event, ID: record.Int(w.event)}
	if _, err := w.centre.Desk.Update(auth.Operator(), target, patch); err != nil {
		w.Fatal(err)
	}
}

// visits has a laptop visit its centre once.
func (w *town) visits(laptop *kv.Store) {
	w.Helper()
	if _, err := venue.VisitOnce(w.Context(), venue.Config{Store: laptop, Version: "test"}, http.DefaultClient, func() {}); err != nil {
		w.Fatal(err)
	}
}

// parish is a town whose laptop is enrolled for a church, which has the event; there is another church.
func parish(t *testing.T) (w *town, church, other int64) {
	t.Helper()
	w = newTown(t)
	church = kvtest.Create(t, w.centre, record.Church, `{"name":"Igreja"}`)
	other = kvtest.Create(t, w.centre, record.Church, `{"name":"North"}`)
	w.event = w.churchEvent(w.centre, church, "2040-01-01T21:00:00Z")
	w.enrolFor(w.laptop, office.Enrolment{Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{church}}, Venue: auth.Venue{Names: true}})
	return w, church, other
}

// changes patches a record as staff do.
func (w *town) changes(s *kv.Store, k *record.Kind, id int64, to string) {
	w.Helper()
	if _, err := s.Desk.Update(auth.Operator(), desk.Target{Surface: record.Admin, Kind: k, ID: record.Int(id)}, kvtest.Parse(w, k, to, false)); err != nil {
		w.Fatal(err)
	}
}

// all are a store's records of a kind, as they are exported.
func (w *town) all(s *kv.Store, k *record.Kind) (records []string) {
	w.Helper()
	if err := s.Log.Export(auth.Operator(), k, func(json []byte) error {
		records = append(records, string(json))
		return nil
	}); err != nil {
		w.Fatal(err)
	}
	return records
}

// has tells whether a store has a document in one of its databases.
func (w *town) has(s *kv.Store, database, doc string) bool {
	db, err := s.Docs.Database(auth.Operator(), database)
	if err != nil {
		return false // its church or event has not come yet
	}
	_, err = db.Read(doc, docs.Ask{Leaves: true})
	return err == nil
}

// code is one that a laptop joins the event with.
func (w *town) code(name string) string {
	w.Helper()
	_, code, _, err := w.centre.Venues.Enrol(auth.Operator(), office.Enrolment{Name: name, Level: auth.Level{Name: auth.EventOf, IDs: []int64{w.event}}})
	if err != nil {
		w.Fatal(err)
	}
	return code
}

// enrolled is what a laptop is told that has exchanged its code; its secret is "secret".
func (w *town) enrolled(node string) office.Credential {
	w.Helper()
	c, err := w.centre.Venues.Exchange(w.code(node), office.Joiner{Node: node, Secret: keys.HashSecret("secret")})
	if err != nil {
		w.Fatal(err)
	}
	return c
}

func (w *town) post(path, key, secret, body string) (int, string) {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.url+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	req.SetBasicAuth(key, secret)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// gauge are the values of a gauge, by their labels.
func gauge(t testing.TB, r prometheus.Gatherer, name string) iter.Seq2[map[string]string, float64] {
	t.Helper()
	all, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(map[string]string, float64) bool) {
		for _, family := range all {
			if family.GetName() != name {
				continue
			}
			for _, m := range family.GetMetric() {
				labels := map[string]string{}
				for _, l := range m.GetLabel() {
					labels[l.GetName()] = l.GetValue()
				}
				if !yield(labels, m.GetGauge().GetValue()) {
					return
				}
			}
		}
	}
}

// lagOf is by how many changes a store and its centre are apart, one way.
func lagOf(t testing.TB, r prometheus.Gatherer, direction string) float64 {
	t.Helper()
	for labels, n := range gauge(t, r, "doorward_peer_lag_changes") {
		if labels["direction"] == direction {
			return n
		}
	}
	t.Fatalf("nothing tells of the lag of %s", direction)
	return 0
}

// revokes has the centre revoke its only laptop.
func (w *town) revokes() {
	w.Helper()
	all, err := w.centre.Venues.Venues(auth.Operator())
	if err != nil || len(all) != 1 {
		w.Fatalf("Venues() = %v, %v", all, err)
	}
	if err := w.centre.Venues.RevokeVenue(auth.Operator(), all[0].ID); err != nil {
		w.Fatal(err)
	}
}

// peersOf are the peers of which a metric tells.
func peersOf(t *testing.T, r prometheus.Gatherer, name string) (peers []string) {
	t.Helper()
	for labels := range gauge(t, r, name) {
		peers = append(peers, labels["peer"])
	}
	slices.Sort(peers)
	return peers
}

// relapses has the centre be lost and restored elsewhere to a backup that was made before something happened: there is no ledger.
func (w *town) relapses(between func()) {
	w.Helper()
	w.relapsesFor(0, between)
}

// relapsesFor is relapses, and the centre's clock goes on by so much before a laptop meets it.
func (w *town) relapsesFor(ahead time.Duration, between func()) {
	w.Helper()
	copied := filepath.Join(w.TempDir(), "backup")
	if _, err := w.centre.Files.CopyTo(auth.Operator(), copied); err != nil {
		w.Fatal(err)
	}
	between()
	dir := w.TempDir()
	if _, err := backup.ReplaceStore(dir, copied, time.Now(), slog.New(slog.DiscardHandler)); err != nil {
		w.Fatal(err)
	}
	s, err := kv.Open(kv.Config{Dir: dir, Restored: true})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		w.Fatal(err)
	}
	w.centre = kvtest.OpenConfig(w, kv.Config{Dir: dir, Clock: func() time.Time { return time.Now().Add(ahead) }})
	w.serve()
}

// namesAt is what a store's file has of the event's tickets and their holders' names.
func (w *town) namesAt(s *kv.Store) string {
	return strings.Join(append(w.all(s, record.HolderName), w.all(s, record.Ticket)...), "")
}

// labels is what a store's file has of the labels of holders.
func (w *town) labels(s *kv.Store) string { return strings.Join(w.all(s, record.HolderLabel), "") }

// showsTheLabel wants a store to have the labels of the centre, this one among them, and a sound file.
func (w *town) showsTheLabel(s *kv.Store, label string) {
	w.Helper()
	if got, want := w.labels(s), w.labels(w.centre); got != want || !strings.Contains(got, label) {
		w.Errorf("the store has the labels %s, the centre %s", got, want)
	}
	w.healthy(s)
}

// healthy wants verify to find nothing wrong with a store.
func (w *town) healthy(s *kv.Store) {
	w.Helper()
	if r, err := s.Files.Verify(auth.Operator(), nil); err != nil || r.Damaged != 0 {
		w.Errorf("Verify = %+v, %v", r, err)
	}
}

// admits waits until a store has so many admissions.
func (w *town) admits(s *kv.Store, n int) {
	w.Helper()
	w.await(s, scopes.Event, fmt.Sprint(n, " admissions"), func(docs.DatabaseInfo) bool {
		status, err := s.Door.Status(auth.Operator(), w.event)
		if err != nil {
			w.Fatal(err)
		}
		return status.Admitted == n
	})
}

// await waits for a database of the event to be as it is wanted.
func (w *town) await(s *kv.Store, sort scopes.Sort, what string, is func(docs.DatabaseInfo) bool) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 20*time.Second)
	defer cancel()
	db, err := s.Docs.Database(auth.Operator(), scopes.Scope{Sort: sort, ID: w.event}.String())
	if err != nil {
		w.Fatal(err)
	}
	for {
		info, err := db.Info()
		if err != nil {
			w.Fatal(err)
		}
		if is(info) {
			return
		}
		if err := db.Await(ctx, info.Seq); err != nil {
			w.Fatalf("%s never came: %v", what, err)
		}
	}
}

// said is what the laptop's log says now, "" if nothing.
func (w *town) said() string {
	select {
	case line := <-w.log:
		return line
	default:
		return ""
	}
}

// between is how long after one another some moments are.
func between(times []time.Time) (gaps []time.Duration) {
	for i := range times[1:] {
		gaps = append(gaps, times[i+1].Sub(times[i]))
	}
	return gaps
}

// linked is a link to a server. up and down carry what one end of a connection sends to the other.
func linked(t testing.TB, address string, up, down func(to, from net.Conn)) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // those who dial are told
	server := u.Host
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", server)
			if err != nil {
				_ = near.Close() // as a link that is down
				continue
			}
			go up(far, near)
			go down(near, far)
		}
	}()
	u.Host = l.Addr().String()
	return u.String()
}
