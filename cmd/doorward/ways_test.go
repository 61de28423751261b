package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"doorward/kv/kvtest/proof"
	"doorward/kv/record"
)

// way is a request, and how much of the program it may pass. The limits are what was measured last: a change that makes a way shorter
// lowers them. The aims are those of the plan of the rooms; 0 = none.
type way struct {
	name            string
	files, packages limit
	prepare         func(w *waysWorld, n int) waysRequest
}

// limit is what a way passes at most, and what it is meant to pass.
type limit struct{ most, aim int }

func (l limit) String() string {
	if l.aim == 0 {
		return fmt.Sprintf("limit %d", l.most)
	}
	return fmt.Sprintf("limit %d, aim %d", l.most, l.aim)
}

// ways are the three ways that every change is measured by.
var ways = []way{
	{"a check-in over HTTP", limit{38, 25}, limit{10, 8}, (*waysWorld).checkIn},
	{"a person pushed by a CouchDB client", limit{52, 40}, limit{13, 0}, (*waysWorld).push},
	{"erasing a person with two tickets", limit{45, 35}, limit{10, 0}, (*waysWorld).erase},
}

// waysRequest is a request with the status that it is answered with.
type waysRequest struct {
	method, path, body string
	want               int
}

// timesAWay is how often each way is walked. Only what every walk passes counts, so that what runs beside a request by chance does not.
const timesAWay = 4

// TestTheWaysThroughTheHouse counts the files and packages with a statement that a request carries out. The counters of all packages are
// cleared right before the request. testdata/ways is the server.
func TestTheWaysThroughTheHouse(t *testing.T) {
	t.Parallel()
	proof.Unraced(t)
	if os.Getenv("DOORWARD_BENCH") != "1" {
		t.Skip("a measure, and all packages are built again for it: make bench")
	}
	w := newWaysWorld(t)
	for i := range ways {
		w.walk(&ways[i])
	}
}

// walk walks a way and holds what it passes against the limits.
func (w *waysWorld) walk(way *way) {
	w.Helper()
	w.do(way.prepare(w, 0)) // fills what is kept in memory
	var passed []string
	for n := range timesAWay {
		files := w.counted(way.prepare(w, n+1))
		if n > 0 {
			files = slices.DeleteFunc(files, func(f string) bool { return !slices.Contains(passed, f) })
		}
		passed = files
	}
	rooms := map[string][]string{}
	for _, f := range passed {
		rooms[path.Dir(f)] = append(rooms[path.Dir(f)], path.Base(f))
	}
	list := &strings.Builder{}
	for _, room := range slices.Sorted(maps.Keys(rooms)) {
		fmt.Fprintf(list, "\n  %d in %s: %s", len(rooms[room]), room, strings.Join(rooms[room], " "))
	}
	w.Logf("%s passes %d files (%s) in %d packages (%s)%s", way.name, len(passed), way.files, len(rooms), way.packages, list)
	if len(passed) > way.files.most || len(rooms) > way.packages.most {
		w.Errorf("%s passes %d files (%s) in %d packages (%s)", way.name, len(passed), way.files, len(rooms), way.packages)
	}
}

// counted are the files with a statement that a request carries out, in order.
func (w *waysWorld) counted(r waysRequest) (files []string) {
	w.Helper()
	dir := w.TempDir()
	w.do(waysRequest{http.MethodPost, "/counters/clear", "", http.StatusOK})
	if answer := w.do(r); bytes.Contains(answer, []byte(`"error"`)) {
		w.Fatalf("%s %s is answered, and refused: %s", r.method, r.path, answer)
	}
	w.do(waysRequest{http.MethodPost, "/counters/write?dir=" + url.QueryEscape(dir), "", http.StatusOK})
	profile := filepath.Join(dir, "profile")
	if out, err := exec.CommandContext(w.Context(), "go", "tool", "covdata", "textfmt", "-i="+dir, "-o="+profile).CombinedOutput(); err != nil {
		w.Fatalf("go tool covdata: %v\n%s", err, out)
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		w.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		file, rest, counts := strings.Cut(strings.TrimPrefix(line, "doorward/"), ":")
		statements := !strings.Contains(rest, " 0 ") // what is empty without a build tag, as kv/crash, is passed by no request
		if counts && statements && !strings.HasSuffix(rest, " 0\n") && !strings.Contains(file, "/testdata/") && strings.HasSuffix(file, ".go") {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// waysWorld is the server with a church and an event.
type waysWorld struct {
	*program
	url, key, secret string
	event            int64
}

func newWaysWorld(t *testing.T) *waysWorld {
	w := &waysWorld{program: &program{t, compiled(t), filepath.Join(t.TempDir(), "data")}}
	var key struct{ Key, Secret string }
	w.run(&key, "keys", "add", "--name", "ways", "--level", "denomination", "--allow", "*:*")
	w.key, w.secret = key.Key, key.Secret
	counting := filepath.Join(t.TempDir(), "ways")
	build := exec.CommandContext(t.Context(), "go", "build", "-cover", "-covermode=atomic", "-coverpkg=doorward/...", "-o", counting, "./testdata/ways")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	server := exec.CommandContext(t.Context(), counting, w.dir)
	server.Env = append(os.Environ(), "GOCOVERDIR="+t.TempDir()) // it asks for one when it ends
	diesWithTest(server)
	server.Stderr = &output{}
	stdout, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, server.Stderr)
	}
	w.url = strings.TrimSpace(line)
	regional := w.make("regional", `{"name":"Norte"}`)
	church := w.make("church", fmt.Sprintf(`{"name":"Central","regional_id":%d}`, regional))
	w.event = w.make("event", fmt.Sprintf(`{"start_datetime":"2026-01-01T12:00:00Z","church_id":%d}`, church))
	return w
}

// make makes a record of a kind and answers its id.
func (w *waysWorld) make(kind, body string) int64 {
	w.Helper()
	var made struct{ ID int64 }
	answer := w.do(waysRequest{http.MethodPost, "/admin/v1/" + kind + "/", body, http.StatusCreated})
	if err := json.Unmarshal(answer, &made); err != nil {
		w.Fatal(err)
	}
	return made.ID
}

// do sends a request and wants its status.
func (w *waysWorld) do(r waysRequest) []byte {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), r.method, w.url+r.path, strings.NewReader(r.body))
	if err != nil {
		w.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.SetBasicAuth(w.key, w.secret)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != r.want {
		w.Fatalf("%s %s = %d %s, %v; want %d", r.method, r.path, resp.StatusCode, answer, err, r.want)
	}
	return bytes.TrimSpace(answer)
}

func (w *waysWorld) checkIn(n int) waysRequest {
	code := fmt.Sprintf("WAY-%04d-KQ7P", n)
	w.make("ticket", fmt.Sprintf(`{"event_id":%d,"code":%q,"holder_name":"Ana Souza"}`, w.event, code))
	return waysRequest{http.MethodPost, fmt.Sprintf("/v1/event/%d/checkin/", w.event), fmt.Sprintf(`{"code":%q}`, code), http.StatusNoContent}
}

func (w *waysWorld) push(n int) waysRequest {
	hash := fmt.Sprintf("%032x", n+1)
	id := record.FirstDrawn + n // a client that has no lease draws its ids
	doc := fmt.Sprintf(`{"_id":"person:%016d","_rev":"1-%s","_revisions":{"start":1,"ids":[%[2]q]},"full_name":"Bia Lima","church_id":1}`, id, hash)
	return waysRequest{http.MethodPost, "/sync/church-1/_bulk_docs", `{"new_edits":false,"docs":[` + doc + `]}`, http.StatusCreated}
}

func (w *waysWorld) erase(n int) waysRequest {
	person := w.make("person", `{"full_name":"Caio Reis","church_id":1}`)
	for i := range 2 {
		w.make("ticket", fmt.Sprintf(`{"event_id":%d,"code":"ERASE-%d-%04d","holder_name":"Caio Reis","person_id":%d}`, w.event, i, n, person))
	}
	return waysRequest{http.MethodPost, fmt.Sprintf("/control/erase?id=%d", person), "", http.StatusOK}
}
