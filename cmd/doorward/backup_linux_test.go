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
	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/kvtest/proof"
	"doorward/kv/record"
	"doorward/kv/table"
)

// busyUndos is how often a busy door undoes one ticket before it takes its next: no code can be undone for ever.
const busyUndos = 50

// busyDoors are doors at which tickets are checked in and undone again, one after another.
type busyDoors struct {
	*program
	tickets          int           // of each door
	every            time.Duration // a door takes a ticket; 0 = without a pause
	url, key, secret string
	http             *http.Client
	gate             sync.RWMutex // locked: doors wait
	mu               sync.Mutex
	admitted         []string // ids of check-ins, as they were answered
	pace             paces
	asked            atomic.Int64
	closed           atomic.Bool
}

func newBusyDoors(t *testing.T, people, tickets int) *busyDoors {
	b := &busyDoors{program: &program{TB: t, path: compiled(t), dir: filepath.Join(proof.Disk(t), "d")}, tickets: tickets}
	b.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: busyDoorCount}}
	t.Cleanup(b.http.CloseIdleConnections)
	rows := &strings.Builder{}
	rows.WriteString(`{"kind":"event","id":7,"name":"Festa","start_datetime":"2026-12-31T19:30:00Z"}` + "\n")
	rows.WriteString(`{"kind":"church","id":3,"name":"Central"}` + "\n")
	for n := range people {
		fmt.Fprintf(rows, `{"kind":"person","full_name":"Ana Souza %d","church_id":3,"email":"ana.%d@example.org"}`+"\n", n, n)
	}
	for n := range busyDoorCount * tickets {
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

// stand checks the door's tickets in and undoes that until the doors close. Doors that have a pace are out of step, and stay so when all
// of them were shut.
func (b *busyDoors) stand(door int) {
	due := time.Now().Add(b.every * time.Duration(door) / busyDoorCount)
	for n := 0; !b.closed.Load() && !b.Failed(); n++ {
		time.Sleep(time.Until(due))
		b.gate.RLock()
		late := time.Since(due)
		if late <= b.every || b.every == 0 {
			b.checkIn(door, n)
			late = 0
		}
		b.gate.RUnlock()
		if due = due.Add(b.every); late > 0 {
			due = due.Add(late - late%b.every)
		}
	}
}

func (b *busyDoors) checkIn(door, n int) {
	var d struct{ Outcome, CheckinID string }
	if b.post("scan", fmt.Sprintf(`{"code":"CODE-%08d"}`, door*b.tickets+n/busyUndos), &d); d.Outcome != "admitted" {
		b.Errorf("scan at door %d = %+v", door, d)
		return
	}
	b.note(d.CheckinID)
	if b.post("undo", fmt.Sprintf(`{"checkin_id":%q}`, d.CheckinID), &d); d.Outcome != "undone" {
		b.Errorf("undo at door %d = %+v", door, d)
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
	defer b.pace.note(time.Now())
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
	b.admitted = append(b.admitted, id)
}

// page reads one of the pages that are for anybody.
func (b *busyDoors) page(path string) string {
	resp, err := b.http.Get(b.url + path)
	if err != nil {
		b.Error(err)
		return ""
	}
	defer func() { _ = resp.Body.Close() }() // it is read to its end
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Error(err)
	}
	return string(text)
}

func (b *busyDoors) acked() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.admitted)
}

// madeBackup is a backup, and what it held.
type madeBackup struct {
	dir    string
	before int // check-ins were answered before it was begun
	took   time.Duration
	seq    uint64
	facts  int
	sum    uint64 // of them all
}

// sumOf is one number for facts, in order.
func sumOf(facts []table.Change) uint64 {
	sum := fnv.New64a()
	for _, c := range facts {
		fmt.Fprintln(sum, c.Seq, c.Kind.Name, c.Kind.FormatID(c.ID), c.Revision)
	}
	return sum.Sum64()
}

// factsIn opens a folder's store, which must be sound, and reads what happened at its doors.
func (b *busyDoors) factsIn(dir string) (facts []table.Change) {
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
	if rep, err := s.Files.Verify(auth.Operator(), nil); err != nil || rep.Damaged > 0 {
		b.Errorf("verify: %v, %q", err, rep.Damage)
	}
	for _, c := range kvtest.Changes(b, s, 0) {
		if c.Kind == record.Checkin || c.Kind == record.Undo {
			facts = append(facts, c)
		}
	}
	return facts
}

// isPrefix wants a backup to hold what happened up to one moment, all of it and nothing else.
func (m madeBackup) isPrefix(t *testing.T, all []table.Change) {
	t.Helper()
	end, _ := slices.BinarySearchFunc(all, m.seq+1, func(c table.Change, seq uint64) int { return cmp.Compare(c.Seq, seq) })
	if m.facts != end || m.sum != sumOf(all[:end]) {
		t.Errorf("a backup as of %d holds %d facts, and not the %d that happened until then", m.seq, m.facts, end)
	}
}
