package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"doorward/kv/kvtest/proof"
)

// longestGap is how long doors may stand still while the store is compacted, on a machine that has nothing else to do. One that
// has may let them wait for longer at any time.
const longestGap = 200 * time.Millisecond

// TestDoorsGoOnWhileTheStoreIsCompacted: check-ins of 50,000 tickets go on during doorward compact, and all are kept.
func TestDoorsGoOnWhileTheStoreIsCompacted(t *testing.T) {
	proof.Unraced(t)
	proof.Only(t, "a machine of its own")
	const tickets, doors = 50_000, 2
	d := &doorsOpen{program: &program{TB: t, path: compiled(t), dir: filepath.Join(proof.Disk(t), "d")}}
	var file strings.Builder
	file.WriteString("code,holder_name\n")
	for i := range tickets {
		fmt.Fprintf(&file, "CODE-%08d,Ana Souza\n", i)
	}
	d.load("event.ndjson", `{"kind":"event","id":7,"name":"Festa","start_datetime":"2026-12-31T19:30:00Z"}`)
	d.load("tickets.csv", file.String(), "--kind", "ticket", "--event", "7")
	var made struct{ Key, Secret string }
	d.run(&made, "keys", "add", "--name", "door", "--level", "event:7", "--allow", "*:*")
	d.key, d.secret = made.Key, made.Secret
	s := d.serve()
	defer func() {
		s.kill()
		<-s.exited
	}()
	d.url = s.url
	var all sync.WaitGroup
	for door := range doors {
		all.Go(func() { d.stand(door, doors) })
	}
	d.await(500)
	usual := time.Duration(d.longest.Load())
	gap := time.Hour
	for range 3 { // what the machine does besides does not strike each time
		gap = min(gap, d.compact())
	}
	d.closed.Store(true)
	all.Wait()
	if most := max(longestGap, 3*usual); gap > most {
		t.Errorf("doors stood still for %v, want %v at most; usual is %v", gap, most, usual)
	}
	if answer := d.ask("GET", "/admin/v1/checkin/?limit=1", ""); !strings.Contains(answer, fmt.Sprintf(`"count":%d,`, d.admitted.Load())) {
		t.Errorf("check-ins: %s, want %d of them", answer, d.admitted.Load())
	}
}

// doorsOpen is an event with its doors.
type doorsOpen struct {
	*program
	url, key, secret string
	admitted         atomic.Int64
	last, longest    atomic.Int64 // the latest admission; the longest time between two
	closed           atomic.Bool
}

// load imports a file of the given content.
func (d *doorsOpen) load(name, content string, flags ...string) {
	d.Helper()
	name = filepath.Join(d.TempDir(), name)
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		d.Fatal(err)
	}
	var rep struct{ Rejected []any }
	d.run(&rep, append([]string{"import", name}, flags...)...)
	if len(rep.Rejected) > 0 {
		d.Fatalf("import of %s: %v", name, rep.Rejected)
	}
}

// compact compacts the store and answers the longest time without an admission.
func (d *doorsOpen) compact() (gap time.Duration) {
	d.Helper()
	d.longest.Store(0)
	start, before := time.Now(), d.admitted.Load()
	var done struct {
		Before int64 `json:"bytes_before"`
		Bytes  int64
	}
	d.run(&done, "compact")
	took, during := time.Since(start), d.admitted.Load()-before
	d.await(50)
	gap = time.Duration(d.longest.Load())
	d.Logf("%d bytes became %d in %v; %d check-ins meanwhile, the longest gap %v", done.Before, done.Bytes, took, during, gap)
	return gap
}

// stand checks in every ticket that comes to a door until it closes.
func (d *doorsOpen) stand(door, doors int) {
	for i := door; !d.closed.Load(); i += doors {
		if answer := d.ask("POST", "/door/v1/event/7/scan/", fmt.Sprintf(`{"code":"CODE-%08d"}`, i)); !strings.Contains(answer, `"outcome":"admitted"`) {
			d.Errorf("ticket %d: %s", i, answer)
			return
		}
		d.admitted.Add(1)
		now := time.Now().UnixNano()
		if gap := now - d.last.Swap(now); gap < int64(time.Hour) && gap > d.longest.Load() {
			d.longest.Store(gap)
		}
	}
}

// await waits until so many more are in.
func (d *doorsOpen) await(more int64) {
	for until := d.admitted.Load() + more; d.admitted.Load() < until && !d.Failed(); {
		d.ask("GET", "/healthz", "")
	}
}

func (d *doorsOpen) ask(method, path, body string) string {
	r, err := http.NewRequest(method, d.url+path, strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	r.SetBasicAuth(d.key, d.secret)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = resp.Body.Close() }() // it is read to its end
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(answer)
}
