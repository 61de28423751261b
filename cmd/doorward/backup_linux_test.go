package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// longestPause is how long doors may stand still while a backup is made.
const longestPause = 500 * time.Millisecond

// TestBackupsWhileDoorsAreBusy: 64 doors check in and undo without a pause while backups are made, one after another. Each is sound,
// holds all that was answered before it was begun, and is exactly what the store held at one moment.
func TestBackupsWhileDoorsAreBusy(t *testing.T) {
	const doors = 64
	b := newBusyDoors(t, doors, int(kvtest.Tortured(t)/time.Second)/2+4)
	s := b.serve()
	b.url = s.url
	var all sync.WaitGroup
	for door := range doors {
		all.Go(func() { b.stand(door) })
	}
	b.await(2000)
	usual := time.Duration(b.longest.Swap(0))
	var made []madeBackup
	gap := time.Hour
	for until := time.Now().Add(kvtest.Tortured(t)); (len(made) < 3 || time.Now().Before(until)) && !t.Failed(); {
		m := b.backup()
		made, gap = append(made, m), min(gap, time.Duration(b.longest.Swap(0))) // what the machine does besides does not strike each time
		b.await(500)
	}
	b.closed.Store(true)
	all.Wait()
	s.kill()
	<-s.exited
	if most := max(longestPause, 3*usual); gap > most {
		t.Errorf("doors stood still for %v, want %v at most; usual is %v", gap, most, usual)
	}
	final := b.factsIn(b.dir)
	for _, m := range made {
		m.isPrefix(t, final)
	}
	if left, err := filepath.Glob(filepath.Join(b.dir, "backup-*")); err != nil || len(left) > 0 {
		t.Errorf("backups leave %v, %v", left, err)
	}
	t.Logf("torture: backups=%d requests=%d; longest pause %v, usual %v", len(made), b.asked.Load(), gap, usual)
}

// busyUndos is how often a busy door undoes one ticket before it takes its next: no code can be undone for ever.
const busyUndos = 50

// busyDoors are doors at which tickets are checked in and undone again, one after another.
type busyDoors struct {
	*program
	tickets          int // of each door
	url, key, secret string
	http             *http.Client
	mu               sync.Mutex
	admitted         []string // ids of check-ins, as they were answered
	last             time.Time
	longest          atomic.Int64 // time between two of them
	asked            atomic.Int64
	closed           atomic.Bool
}

func newBusyDoors(t *testing.T, doors, tickets int) *busyDoors {
	b := &busyDoors{program: &program{TB: t, path: compiled(t), dir: filepath.Join(t.TempDir(), "d")}, tickets: tickets}
	b.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: doors}}
	t.Cleanup(b.http.CloseIdleConnections)
	rows := &strings.Builder{}
	rows.WriteString(`{"kind":"event","id":7,"name":"Festa","start_datetime":"2026-12-31T19:30:00Z"}` + "\n")
	for n := range doors * tickets {
		fmt.Fprintf(rows, `{"kind":"ticket","event_id":7,"code":"CODE-%08d"}`+"\n", n)
	}
	file := filepath.Join(t.TempDir(), "event.ndjson")
	if err := os.WriteFile(file, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var rep struct{ Rejected []any }
	if b.run(&rep, "import", file); len(rep.Rejected) > 0 {
		t.Fatalf("import: %v", rep.Rejected)
	}
	var made struct{ Key, Secret string }
	b.run(&made, "keys", "add", "--name", "door", "--level", "event:7", "--allow", "checkin:*")
	b.key, b.secret = made.Key, made.Secret
	return b
}

// stand checks the door's tickets in and undoes that until the doors close.
func (b *busyDoors) stand(door int) {
	for n := 0; !b.closed.Load() && !b.Failed(); n++ {
		var d struct{ Outcome, CheckinID string }
		if b.post("scan", fmt.Sprintf(`{"code":"CODE-%08d"}`, door*b.tickets+n/busyUndos), &d); d.Outcome != "admitted" {
			b.Errorf("scan at door %d = %+v", door, d)
			return
		}
		b.note(d.CheckinID)
		if b.post("undo", fmt.Sprintf(`{"checkin_id":%q}`, d.CheckinID), &d); d.Outcome != "undone" {
			b.Errorf("undo at door %d = %+v", door, d)
			return
		}
	}
}

func (b *busyDoors) post(what, body string, into *struct{ Outcome, CheckinID string }) {
	r, err := http.NewRequest(http.MethodPost, b.url+"/door/v1/event/7/"+what+"/", strings.NewReader(body))
	if err != nil {
		b.Error(err)
		return
	}
	r.SetBasicAuth(b.key, b.secret)
	r.Header.Set("Content-Type", "application/json")
	b.asked.Add(1)
	resp, err := b.http.Do(r)
	if err != nil {
		b.Error(err)
		return
	}
	defer func() { _ = resp.Body.Close() }() // it is read to its end
	text, err := io.ReadAll(resp.Body)
	var answer struct {
		Outcome   string `json:"outcome"`
		CheckinID string `json:"checkin_id"`
	}
	if err != nil || resp.StatusCode != http.StatusOK || json.Unmarshal(text, &answer) != nil {
		b.Errorf("%s = %d %s, %v", what, resp.StatusCode, text, err)
	}
	into.Outcome, into.CheckinID = answer.Outcome, answer.CheckinID
}

// note notes an admission that was answered.
func (b *busyDoors) note(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if gap := now.Sub(b.last); !b.last.IsZero() && int64(gap) > b.longest.Load() {
		b.longest.Store(int64(gap))
	}
	b.admitted, b.last = append(b.admitted, id), now
}

func (b *busyDoors) acked() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.admitted)
}

// await waits until so many more were admitted.
func (b *busyDoors) await(more int) {
	for until := len(b.acked()) + more; len(b.acked()) < until && !b.Failed(); {
		resp, err := b.http.Get(b.url + "/healthz")
		if err != nil {
			b.Error(err)
			return
		}
		_ = resp.Body.Close() // that it answers is all
	}
}

// madeBackup is what a backup held.
type madeBackup struct {
	seq   uint64
	facts int
	sum   uint64 // of them all
}

// sumOf is one number for facts, in order.
func sumOf(facts []kv.Change) uint64 {
	sum := fnv.New64a()
	for _, c := range facts {
		fmt.Fprintln(sum, c.Seq, c.Kind.Name, c.Kind.FormatID(c.ID), c.Revision)
	}
	return sum.Sum64()
}

// backup makes one, looks into it and deletes it.
func (b *busyDoors) backup() madeBackup {
	b.Helper()
	dir := b.TempDir()
	before, start := b.acked(), time.Now()
	var of manifest
	b.run(&of, "backup", kv.Path(dir))
	b.Logf("%d bytes in %v; %d check-ins meanwhile", of.Bytes, time.Since(start), len(b.acked())-len(before))
	facts := b.factsIn(dir)
	if err := os.RemoveAll(dir); err != nil {
		b.Error(err)
	}
	there := map[string]bool{}
	for _, c := range facts {
		there[c.Kind.FormatID(c.ID)] = true
	}
	if lost := missing(before, there); lost > 0 {
		b.Errorf("a backup lacks %d of %d check-ins that were answered before it was begun", lost, len(before))
	}
	return madeBackup{of.Seq, len(facts), sumOf(facts)}
}

// factsIn opens a folder's store, which must be sound, and reads what happened at its doors.
func (b *busyDoors) factsIn(dir string) (facts []kv.Change) {
	b.Helper()
	s, err := kv.Open(kv.Config{Dir: dir, Aside: true})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}()
	if rep, err := s.Verify(kv.Operator(), nil); err != nil || rep.Damaged > 0 {
		b.Errorf("verify: %v, %q", err, rep.Damage)
	}
	for since := uint64(0); ; {
		page, err := s.Changes(kv.Operator(), since, 10_000)
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range page {
			if since = c.Seq; c.Kind == record.Checkin || c.Kind == record.Undo {
				facts = append(facts, c)
			}
		}
		if len(page) == 0 {
			return facts
		}
	}
}

// isPrefix wants a backup to hold what happened up to one moment, all of it and nothing else.
func (m madeBackup) isPrefix(t *testing.T, all []kv.Change) {
	t.Helper()
	end, _ := slices.BinarySearchFunc(all, m.seq+1, func(c kv.Change, seq uint64) int { return cmp.Compare(c.Seq, seq) })
	if m.facts != end || m.sum != sumOf(all[:end]) {
		t.Errorf("a backup as of %d holds %d facts, and not the %d that happened until then", m.seq, m.facts, end)
	}
}
