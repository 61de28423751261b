package index_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"doorward/index"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/fault"
	"doorward/kv/feed"
	"doorward/kv/kvtest"
	"doorward/kv/kvtest/proof"
	"doorward/kv/record"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"
)

// The helpers of this package's tests:
//
//	opened, caughtUp   an index over a store, and the wait until it has all that the store holds
//	stored, copied     the records of a store, and a copy of a folder
//	newWorld           a store and its index that a test of rapid changes, opens again and searches; name and person draw people
//	export_test.go     an index that is made to flush, to fail, to sweep, or that lies ahead of its store

// patience is how long a test waits for an index that must get on.
const patience = 3 * time.Minute

// opened opens an index over a store, as it is beside it.
func opened(t testing.TB, s *kv.Store, c index.Config) *index.Index {
	t.Helper()
	c.Store = s
	x, err := index.Open(c)
	if err != nil {
		t.Fatalf("open index: %v", err)
	}
	t.Cleanup(x.Close)
	return x
}

// caughtUp waits until an index has all that the store holds.
func caughtUp(t testing.TB, s *kv.Store, x *index.Index) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := x.Await(ctx, s.Tables.Commits.Seq()); err != nil {
		t.Fatalf("the index has not caught up: %v, %+v", err, x.Status())
	}
}

// body is a JSON object.
func body(members map[string]any) string {
	text, err := json.Marshal(members, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return string(text)
}

// stored are the live records of the kinds that are searched, as the store has them.
func stored(t testing.TB, s *kv.Store) (rows []feed.Replayed) {
	t.Helper()
	all, _, err := s.Log.Replay(auth.Operator(), 0, 1<<30, record.Person, record.HolderName, record.Ticket)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if !r.Deleted {
			rows = append(rows, r)
		}
	}
	return rows
}

// copied copies what a running process has written, as a kill would leave it; files that are removed during the copy are left out.
func copied(t testing.TB, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "data")
	err := filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return nil // it has gone
		}
		rel, err := filepath.Rel(from, path)
		if err != nil || d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil // it has gone
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// world is a store and its index in drawn hands.
type world struct {
	*rapid.T
	tb       testing.TB
	store    *kv.Store
	index    *index.Index
	dir      string
	churches []int64
	events   []int64
	people   []int64
	tickets  []int64
}

func newWorld(rt *rapid.T, t testing.TB) *world {
	w := &world{T: rt, tb: t, dir: filepath.Join(t.TempDir(), "data")}
	w.open()
	for i := range 3 {
		w.churches = append(w.churches, kvtest.Create(t, w.store, record.Church, fmt.Sprintf(`{"name":"Igreja %d"}`, i)))
	}
	for range 2 {
		w.events = append(w.events, kvtest.Create(t, w.store, record.Event, `{"name":"Culto","start_datetime":"2026-11-22T19:00:00Z"}`))
	}
	return w
}

func (w *world) open() {
	s, err := kv.Open(kv.Config{Dir: w.dir})
	if err != nil {
		w.Fatalf("open store: %v", err)
	}
	x, err := index.Open(index.Config{Store: s, Dir: w.dir})
	if err != nil {
		w.Fatalf("open index: %v", err)
	}
	w.store, w.index = s, x
}

func (w *world) close() {
	w.index.Close()
	if err := w.store.Close(); err != nil {
		w.Fatalf("close store: %v", err)
	}
}

// Names are made of few words, so that they share them, and of what no name should hold.
var nameWords = []string{
	"Ana", "ana", "Anna", "Ana-Maria", "Ána", "João", "JOÃO", "Joa\u0303o", "Jo", "Souza", "Sousa", "de", "da", "Gonçalves", "Goncalvez",
	"Gonçalvez", "Straße", "Łukasz", "O'Neil", "ﬁel", "Antoniosilva", "Antnoiosilva", "Antonio", "🎉", "Ωmega", "李小龍", "x", "éé", "a.b*c", "(ana)", "“Ana”", "  ", "\u0301", "ana\u200bana",
	"Maria", "Mariana", "Marina", "Mraia", "Maira", "14", "12", "2º", "D'Ávila", "d´", "Ávila", "Davila", "Sant'Anna", "Sant", "Sta.", "Jr", "Mª", "Thaynná", "Tainá", "H",
}

func (w *world) name() string {
	words := rapid.SliceOfN(rapid.SampledFrom(nameWords), 1, 5).Draw(w.T, "name")
	out := words[0]
	for _, word := range words[1:] {
		out += rapid.SampledFrom([]string{" ", "  ", "-", ", ", "\u00a0", ""}).Draw(w.T, "between") + word
	}
	return out
}

func (w *world) person() map[string]any {
	m := map[string]any{"full_name": w.name(), "church_id": rapid.SampledFrom(w.churches).Draw(w.T, "church")}
	if rapid.IntRange(0, 4).Draw(w.T, "homeless") == 0 {
		m["church_id"] = nil
	}
	digits := rapid.StringMatching(`[0-2]{3,6}`)
	switch rapid.IntRange(0, 5).Draw(w.T, "with") {
	case 5:
		m["cpf"] = rapid.SampledFrom([]string{"12345678909", "1234567890", "11900000001"}).Draw(w.T, "cpf")
	case 1:
		m["phone"] = "+55 (11) " + digits.Draw(w.T, "phone")
	case 2:
		m["mobile_phone"] = digits.Draw(w.T, "mobile")
	case 3:
		m["membership_number"] = rapid.IntRange(0, 300).Draw(w.T, "number")
	case 4:
		m["email"] = rapid.SampledFrom([]string{"ana", "joao.souza", "maria_"}).Draw(w.T, "email") + digits.Draw(w.T, "at") + "@ex.org"
	}
	return m
}

// change does something to the store.
func (w *world) change() {
	t := w.tb
	switch op := rapid.IntRange(0, 9).Draw(w.T, "op"); {
	case op < 5 || len(w.people) == 0:
		p, err := record.Person.Parse([]byte(body(w.person())), record.ParseOptions{Surface: record.Admin, Create: true})
		if err != nil {
			return // the name is none that a store takes
		}
		r, err := w.store.Desk.Create(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Person}, p)
		if refused(err) {
			return
		}
		if err != nil {
			w.Fatalf("create: %v", err)
		}
		w.people = append(w.people, r.ID.Int())
	case op < 7:
		p, err := record.Person.Parse([]byte(body(w.person())), record.ParseOptions{Surface: record.Admin})
		if err != nil {
			return
		}
		id := rapid.SampledFrom(w.people).Draw(w.T, "person")
		if _, err := w.store.Desk.Update(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Person, ID: record.Int(id)}, p); err != nil && !refused(err) {
			w.Fatalf("update: %v", err)
		}
	case op == 7:
		i := rapid.IntRange(0, len(w.people)-1).Draw(w.T, "person")
		if err := w.store.Desk.Delete(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Person, ID: record.Int(w.people[i])}); err != nil {
			w.Fatalf("delete: %v", err)
		}
		w.people = append(w.people[:i], w.people[i+1:]...)
	default:
		n := len(w.tickets)
		w.tickets = append(w.tickets, kvtest.Create(t, w.store, record.Ticket, body(map[string]any{
			"event_id": rapid.SampledFrom(w.events).Draw(w.T, "event"), "code": fmt.Sprintf("CODE%012d", n), "type": "Adult",
			"holder_name": rapid.SampledFrom(nameWords[:20]).Draw(w.T, "holder") + " Souza", "phone": fmt.Sprint(11900000000 + n),
		})))
	}
}

// refused tells what no store takes, as a name of nothing.
func refused(err error) bool {
	var faults fault.ByField
	return errors.As(err, &faults)
}

// TestMain draws fewer cases than rapid does by itself: each has a store and an index of its own.
func TestMain(m *testing.M) {
	proof.Draws(2, 30)
	os.Exit(m.Run())
}
