package kv_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doorward/index"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/feed"
	"doorward/kv/kvtest"
	"doorward/kv/names"
	"doorward/kv/record"
)

// town is a congregation whose people have names to search for, at two churches, with an event of ticket holders.
type town struct {
	*bench
	people []citizen // by id, from 1
	index  *index.Index
}

// citizen is what somebody is searched by.
type citizen struct {
	name, phone string
	home        int64
}

// plain is a text as searches compare it.
func plain(text string) string { return names.Fold(text) }

// newTown makes a congregation of so many people, always the same ones.
func newTown(t *testing.T, b *bench, people int) *town {
	w := &town{bench: &bench{table: b.table, dir: t.TempDir()}}
	s, err := kv.Open(w.config(w.dir))
	if err != nil {
		t.Fatal(err)
	}
	w.store = s
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	w.church = kvtest.Create(t, s, record.Church, `{"name":"Igreja Central"}`)
	other := kvtest.Create(t, s, record.Church, `{"name":"Igreja do Norte"}`)
	r := rand.New(rand.NewPCG(searchSeed, 0))
	names := make([]string, people)
	for i := range names {
		names[i] = fullName(r)
	}
	kvtest.Fill(t, s, record.Person, people, func(i int) string {
		local := strings.ReplaceAll(plain(names[i]), " ", ".")
		return fmt.Sprintf(`{"full_name":%q,"church_id":%d,"email":"%s%d@example.org","phone":%q,"membership_number":%d}`,
			names[i], []int64{w.church, other}[i%2], local, i%1000, phoneOf(i), i)
	})
	w.people = make([]citizen, people+1)
	page, _, err := s.Log.Replay(auth.Operator(), 0, 1<<20, record.Person)
	if err != nil || len(page) != people {
		t.Fatalf("%d people, %v", len(page), err)
	}
	for _, r := range page {
		w.people[r.ID.Int()] = citizen{textOf(t, r, "full_name"), textOf(t, r, "phone"), r.Home}
	}
	w.event = kvtest.Create(t, s, record.Event, `{"name":"Conferência","start_datetime":"2026-11-22T19:00:00Z","list_rule":"daily"}`)
	w.reader = kvtest.Login(t, s, "denomination", "people:*", "admin:*")
	w.door = kvtest.Login(t, s, fmt.Sprintf("event:%d", w.event), "checkin:*")
	w.key[0], w.key[1] = kvtest.Key(t, s, fmt.Sprintf("event:%d", w.event), "checkin:*")
	return w
}

func phoneOf(i int) string { return fmt.Sprintf("+55 11 9%08d", i*7919%100_000_000) }

// textOf is a stored text.
func textOf(t testing.TB, r feed.Replayed, field string) (text string) {
	t.Helper()
	if err := json.Unmarshal(r.Body.Member(field), &text); err != nil {
		t.Fatal(err)
	}
	return text
}

// sellTickets gives the first people tickets, which the index learns of as they come.
func (w *town) sellTickets(t *testing.T) {
	kvtest.Fill(t, w.store, record.Ticket, benchTickets, func(i int) string {
		p := w.people[i+1]
		return fmt.Sprintf(`{"event_id":%d,"code":%q,"holder_name":%q,"phone":%q}`, w.event, w.code(i), p.name, p.phone)
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := w.index.Await(ctx, w.store.Tables.Commits.Seq()); err != nil {
		t.Fatal(err)
	}
}

// build makes the index of the people, and tells how long that takes and how large it is once its segments are one.
func (w *town) build(t *testing.T) {
	start := time.Now()
	w.follow(t)
	t.Cleanup(w.unfollow)
	w.table.add(line{name: fmt.Sprintf("index of %d people built", len(w.people)-1), unit: "s", atMost: 10, bare: true,
		pairs: []pair{{ours: time.Since(start).Seconds()}}})
	until(t, func() bool { return w.files(t, ".zap").count == 1 })
	w.table.add(line{name: "index on disk", unit: " MB", atMost: 30, bare: true, pairs: []pair{{ours: w.files(t, "").bytes / 1e6}}})
}

// follow opens the index and waits until it can be asked.
func (w *town) follow(t testing.TB) {
	t.Helper()
	if w.index != nil {
		return
	}
	x, err := index.Open(index.Config{Store: w.store, Dir: w.dir, Sweep: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	w.index = x
	until(t, func() bool { return x.Status().Usable })
}

func (w *town) unfollow() {
	if w.index != nil {
		w.index.Close()
		w.index = nil
	}
}

// until waits for a background task that says when it is done.
func until(t testing.TB, done func() bool) {
	t.Helper()
	late := time.After(2 * time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("waited for two minutes")
		}
	}
}

// files are how many files of the index end so, and their bytes.
func (w *town) files(t testing.TB, end string) (n struct {
	count int
	bytes float64
}) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(w.dir, "index"), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, end) {
			return err
		}
		if info, err := os.Stat(path); err == nil {
			n.count++
			n.bytes += float64(info.Size())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
