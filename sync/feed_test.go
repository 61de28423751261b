package sync_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/kvtest/proof"
	"doorward/kv/merge"
	"doorward/kv/table"
	"doorward/sync"
	"doorward/sync/peertest"
)

// rowsOf are the rows of a feed by document and sequence: "a@1 b@3".
func rowsOf(t testing.TB, a peertest.Answer) (rows string, last string, pending int) {
	t.Helper()
	var page struct {
		Results []struct {
			Seq, ID string
			Deleted bool
			Changes []struct{ Rev string }
		}
		Last    string `json:"last_seq"`
		Pending int
	}
	a.Into(t, &page)
	var all []string
	for _, r := range page.Results {
		n, _, _ := strings.Cut(r.Seq, "-")
		text := r.ID + "@" + n
		if r.Deleted {
			text += "-"
		}
		if len(r.Changes) > 1 {
			text += fmt.Sprint("x", len(r.Changes))
		}
		all = append(all, text)
	}
	last, _, _ = strings.Cut(page.Last, "-")
	return strings.Join(all, " "), last, page.Pending
}

func TestChanges(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	for _, id := range []string{"a", "b", "c"} {
		s.Put(id, `{"kind":"`+id+`","n":{"m":[1,2]}}`)
	}
	rev := s.Put("gone", `{}`)
	s.Want(200, "DELETE", "/notes/gone?rev="+rev, "")
	conflict := `{"new_edits":false,"docs":[{"_id":"b","_rev":"1-` + strings.Repeat("0", 32) + `","kind":"other"}]}`
	s.Want(201, "POST", "/notes/_bulk_docs", conflict)
	epoch := s.Store.Tables.Epochs.Present()
	for _, c := range []struct {
		query, body, want, last string
		pending                 int
	}{
		{"", "", "a@1 c@3 gone@5- b@6", "6", 0},
		{"?style=all_docs", "", "a@1 c@3 gone@5- b@6x2", "6", 0},
		{"?limit=2", "", "a@1 c@3", "3", 2},
		{"?limit=4", "", "a@1 c@3 gone@5- b@6", "6", 0},
		{"?limit=0", "", "", "0", 4},
		{"?limit=0&since=5-" + epoch, "", "", "5", 1},
		{"?since=3-" + epoch, "", "gone@5- b@6", "6", 0},
		{`?since="3-` + epoch + `"`, "", "gone@5- b@6", "6", 0},
		{"?since=99-" + epoch, "", "", "6", 0},
		{"?since=3-01ARZ3NDEKTSV4RRFFQ69G5FAV", "", "a@1 c@3 gone@5- b@6", "6", 0},
		{"?since=0", "", "a@1 c@3 gone@5- b@6", "6", 0},
		{"?since=now", "", "", "6", 0},
		{"?descending=true&limit=2", "", "b@6 gone@5-", "5", 0},
		{"?descending=true", "", "b@6 gone@5- c@3 a@1", "1", 0},
		{"?descending=True&limit=1", "", "b@6", "6", 0},
		{`?filter=_doc_ids&doc_ids=["c","none","b"]`, "", "c@3 b@6", "6", 0},
		{"?filter=_doc_ids", `{"doc_ids":["gone","a"]}`, "a@1 gone@5-", "6", 0},
		{"?filter=_doc_ids&limit=1", `{"doc_ids":["gone","a"]}`, "a@1", "1", 3},
		{"?filter=_selector", `{"selector":{"kind":"a"}}`, "a@1", "6", 0},
		{"", `{"filter":"_selector","selector":{"kind":"a"},"since":0}`, "a@1", "6", 0},
		{"", `{"filter":"_doc_ids","doc_ids":["gone","a"],"limit":1}`, "a@1", "1", 3},
		{"?since=0&limit=1", `{"since":"3-` + epoch + `","style":"all_docs","limit":9}`, "gone@5- b@6x2", "6", 0},
		{"?filter=_selector", `{"selector":{"kind":{"$gt":"a","$lte":"c"}}}`, "c@3 b@6", "6", 0},
		{"?filter=_selector", `{"selector":{"kind":{"$in":["c"]},"n.m":[1,2]}}`, "c@3", "6", 0},
		{"?filter=_selector", `{"selector":{"$or":[{"kind":{"$exists":false}},{"_id":"a"}]}}`, "a@1 gone@5-", "6", 0},
		{"?filter=_selector", `{"selector":{"$and":[{"kind":{"$gte":"a"}},{"kind":{"$lt":"b"}}]}}`, "a@1", "6", 0},
	} {
		method := "GET"
		if c.body != "" {
			method = "POST"
		}
		a := s.Want(200, method, "/notes/_changes"+c.query, c.body)
		if rows, last, pending := rowsOf(t, a); rows != c.want || last != c.last || pending != c.pending {
			t.Errorf("_changes%s %s = %s, last_seq %s, pending %d; want %s, %s, %d", c.query, c.body, rows, last, pending, c.want, c.last, c.pending)
		}
	}
	for query, want := range map[string]string{
		"?include_docs=true&conflicts=true&since=5-" + epoch: `{"results":[{"seq":"6-E","id":"b","changes":[{"rev":"1-R"}],"doc":{"_id":"b","_rev":"1-R","_conflicts":["1-R"],"kind":"b","n":{"m":[1,2]}}}],"last_seq":"6-E","pending":0}`,
		"?include_docs=true&limit=1&since=3-" + epoch:        `{"results":[{"seq":"5-E","id":"gone","changes":[{"rev":"2-R"}],"deleted":true,"doc":{"_id":"gone","_rev":"2-R","_deleted":true}}],"last_seq":"5-E","pending":1}`,
	} {
		if got := peertest.Replaced(strings.ReplaceAll(s.Want(200, "GET", "/notes/_changes"+query, "").Body, "\n", "")); got != want {
			t.Errorf("_changes%s = %s, want %s", query, got, want)
		}
	}
	for _, query := range []string{"?since=x", "?limit=-1", "?limit=x", "?feed=events", "?descending=7", "?filter=_doc_ids"} {
		s.Want(400, "GET", "/notes/_changes"+query, "")
	}
	s.Want(400, "POST", "/notes/_changes?filter=_selector", `{"selector":{"a":{"$regex":"x"}}}`)
	s.Want(404, "GET", "/notes/_changes?filter=x/y", "")
}

// TestAFeedIsLongerThanAPage reads more changes than the store answers at once.
func TestAFeedIsLongerThanAPage(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	db, err := s.Store.Docs.Database(auth.Operator(), "notes")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 25 {
		writes := make([]merge.DocWrite, 100)
		for n := range writes {
			writes[n].ID = fmt.Sprintf("doc%d", i*100+n)
		}
		if _, err := db.Write(writes); err != nil {
			t.Fatal(err)
		}
	}
	for limit, want := range map[string]int{"": 2500, "?limit=1001": 1001, "?limit=2500": 2500, "?descending=true": 2500} {
		var page struct {
			Results []struct{ ID string }
			Pending int
		}
		s.Want(200, "GET", "/notes/_changes"+limit, "").Into(t, &page)
		if len(page.Results) != want || page.Pending != 2500-want {
			t.Errorf("_changes%s = %d changes, pending %d, want %d", limit, len(page.Results), page.Pending, want)
		}
	}
}

// openFeed asks for a feed and answers what it says, line by line.
func openFeed(s *peertest.Site, ctx context.Context, query string) *bufio.Reader {
	s.Helper()
	resp, err := http.DefaultClient.Do(s.Request("GET", "/notes/_changes"+query, "").WithContext(ctx))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != 200 {
		s.Fatalf("_changes%s = %d", query, resp.StatusCode)
	}
	return bufio.NewReader(resp.Body)
}

func nextLine(t testing.TB, r *bufio.Reader) string {
	t.Helper()
	text, err := r.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return peertest.Replaced(strings.TrimSuffix(text, "\n"))
}

func TestALongPoll(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	s.Put("a", `{}`)
	feed := openFeed(s, t.Context(), "?feed=longpoll&since=now&heartbeat=100")
	if got := nextLine(t, feed); got != `{"results":[` {
		t.Errorf("the first line = %s", got)
	}
	for range 2 {
		if got := nextLine(t, feed); got != "" {
			t.Errorf("a heartbeat = %q", got)
		}
	}
	s.Put("b", `{}`)
	got := nextLine(t, feed)
	for got == "" {
		got = nextLine(t, feed)
	}
	if got != `{"seq":"2-E","id":"b","changes":[{"rev":"1-R"}]}` {
		t.Errorf("the change = %s", got)
	}
	if got := nextLine(t, feed); got != `],"last_seq":"2-E","pending":0}` {
		t.Errorf("the last line = %s", got)
	}
	for query, want := range map[string]string{
		"?feed=longpoll&timeout=50&since=2-" + s.Store.Tables.Epochs.Present(): "",
		"?feed=longpoll&since=1-" + s.Store.Tables.Epochs.Present():            "b@2",
		"?feed=longpoll&limit=0&since=now":                                     "",
	} {
		if rows, last, _ := rowsOf(t, s.Want(200, "GET", "/notes/_changes"+query, "")); rows != want || last != "2" {
			t.Errorf("_changes%s = %s, last_seq %s", query, rows, last)
		}
	}
}

// TestALongPollOfAFreeDatabaseEndsWithTheFirstChange: what is written right after it comes with the next one. Both may be there when the
// feed looks, so it may take several attempts to see.
func TestALongPollOfAFreeDatabaseEndsWithTheFirstChange(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	for i := range 100 {
		feed := openFeed(s, t.Context(), "?feed=longpoll&since=now")
		nextLine(t, feed) // it waits
		s.Put(fmt.Sprint("first", i), `{}`)
		s.Put(fmt.Sprint("second", i), `{}`)
		nextLine(t, feed)
		if strings.HasPrefix(nextLine(t, feed), "]") {
			return
		}
	}
	t.Error("no feed ended with the first change")
}

// TestAFeedBeatsWhileOthersWrite: changes that the filter leaves out are silence to the client and to the proxies before it.
func TestAFeedBeatsWhileOthersWrite(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	const filter = `&since=now&filter=_doc_ids&doc_ids=["mine"]`
	ctx, leave := context.WithTimeout(t.Context(), 10*time.Second)
	defer leave()
	beats := openFeed(s, ctx, "?feed=longpoll&heartbeat=100"+filter)
	ends := openFeed(s, ctx, "?feed=continuous&timeout=100"+filter)
	heard := make(chan error, 1)
	go func() {
		var err error
		for _, feed := range []*bufio.Reader{beats, beats, beats, ends} { // the beginning and two beats; the end
			if err == nil {
				_, err = feed.ReadString('\n')
			}
		}
		heard <- err
	}()
	for i := 0; ; i++ {
		select {
		case err := <-heard:
			if err != nil {
				t.Errorf("feeds that others write beside: %v, want heartbeats, and an end after the timeout", err)
			}
			return
		default:
			s.Put(fmt.Sprint("other", i), `{}`)
		}
	}
}

func TestAContinuousFeed(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	s.Put("a", `{}`)
	feed := openFeed(s, t.Context(), "?feed=continuous&limit=2&heartbeat=60000")
	if got := nextLine(t, feed); got != `{"seq":"1-E","id":"a","changes":[{"rev":"1-R"}]}` {
		t.Errorf("the first change = %s", got)
	}
	s.Put("b", `{}`)
	for _, want := range []string{`{"seq":"2-E","id":"b","changes":[{"rev":"1-R"}]}`, `{"last_seq":"2-E","pending":0}`, ""} {
		if got := nextLine(t, feed); got != want {
			t.Errorf("the next line = %s, want %s", got, want)
		}
	}
	if got := peertest.Replaced(s.Want(200, "GET", "/notes/_changes?feed=continuous&timeout=50&since=now", "").Body); got != `{"last_seq":"2-E","pending":0}`+"\n" {
		t.Errorf("a feed that times out = %s", got)
	}
}

// TestAFeedOfEvents reads server-sent events, and asks again as a browser does.
func TestAFeedOfEvents(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	s.Put("a", `{}`)
	s.Put("b", `{}`)
	const query = "/notes/_changes?feed=eventsource&timeout=0&since=0"
	event := func(n, id string) string {
		return `data: {"seq":"` + n + `-E","id":"` + id + `","changes":[{"rev":"1-R"}]}` + "\nid: \"" + n + "-E\"\n\n"
	}
	a := s.Want(200, "GET", query, "")
	if got, media := peertest.Replaced(a.Body), a.Header.Get("Content-Type"); got != event("1", "a")+event("2", "b") || media != "text/event-stream" {
		t.Errorf("events of type %s = %s", media, got)
	}
	again := s.Want(200, "GET", query, "", "Last-Event-ID", `"1-`+s.Store.Tables.Epochs.Present()+`"`)
	if got := peertest.Replaced(again.Body); got != event("2", "b") {
		t.Errorf("events after the first = %s", got)
	}
	beats := openFeed(s, t.Context(), "?feed=eventsource&since=now&heartbeat=100")
	for _, want := range []string{"event: heartbeat", "data: ", ""} {
		if got := nextLine(t, beats); got != want {
			t.Errorf("a line of a heartbeat = %s, want %s", got, want)
		}
	}
}

// TestAFeedEndsWithWhatItIsOf ends feeds by a client that leaves, by a database that goes and by a key that is revoked.
func TestAFeedEndsWithWhatItIsOf(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	ctx, leave := context.WithCancel(t.Context())
	openFeed(s, ctx, "?feed=longpoll&since=now")
	leave()
	key := s.As("denomination", "sync:GET")
	feed := openFeed(key, t.Context(), "?feed=longpoll&since=now&heartbeat=100")
	p, err := s.Store.Keys.Login(key.Auth[0], key.Auth[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Store.Keys.RevokeKey(auth.Operator(), p.Key()); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(feed)
	if got := peertest.Replaced(strings.ReplaceAll(string(rest), "\n", "")); err != nil || got != `{"results":[],"last_seq":"0-E","pending":0}` {
		t.Errorf("the feed of a revoked key = %s, %v", got, err)
	}
	key.Want(403, "GET", "/notes/_changes", "")
	feed = openFeed(s, t.Context(), "?feed=continuous&since=now")
	s.Want(200, "DELETE", "/notes", "")
	if rest, err := io.ReadAll(feed); err != nil || !strings.HasPrefix(string(rest), `{"last_seq":`) {
		t.Errorf("the feed of a database that goes = %s, %v", rest, err)
	}
}

// TestAFeedThatEndsBeforeItsFirstReadTellsAWholeSequence: a sequence without its epoch would make the client start over.
func TestAFeedThatEndsBeforeItsFirstReadTellsAWholeSequence(t *testing.T) {
	t.Parallel()
	store := kvtest.Open(t)
	server, err := sync.New(sync.Config{Store: store, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	for _, kind := range []string{"longpoll", "continuous"} {
		if err := store.Docs.CreateDatabase(auth.Operator(), "notes"); err != nil {
			t.Fatal(err)
		}
		begun := &onFlush{httptest.NewRecorder(), func() {
			if err := store.Docs.DeleteDatabase(auth.Operator(), "notes"); err != nil {
				t.Error(err)
			}
		}}
		server.Control().ServeHTTP(begun, httptest.NewRequest("GET", "/sync/notes/_changes?since=now&feed="+kind, nil))
		if got := peertest.Replaced(begun.Body.String()); !strings.Contains(got, `"last_seq":"0-E"`) {
			t.Errorf("a feed that ends at once, %s = %s", kind, got)
		}
	}
}

// onFlush calls do when the answer has begun.
type onFlush struct {
	*httptest.ResponseRecorder
	do func()
}

func (w *onFlush) FlushError() error {
	if w.do != nil {
		w.do()
		w.do = nil
	}
	return nil
}

// TestAnAnswerTakesNoNewRoomToBePacked: what compresses, gzip or zstd, takes a megabyte, and one answer hands it on to the next.
func TestAnAnswerTakesNoNewRoomToBePacked(t *testing.T) {
	if proof.Raced {
		t.Skip("under the race detector a pool loses some of what it is given")
	}
	procs := runtime.GOMAXPROCS(1) // each of them keeps packers of its own
	t.Cleanup(func() { runtime.GOMAXPROCS(procs) })
	s := peertest.NewSite(t)
	s.Put("a", `{"n":1}`)
	for _, packing := range []struct{ path, name string }{{"/notes/_changes", "gzip"}, {"/notes/_feed", "zstd"}} {
		var before, after runtime.MemStats
		const answers = 50
		for i := range answers + 1 { // the first one's is made
			if i == 1 {
				runtime.ReadMemStats(&before)
			}
			a := s.Do("GET", packing.path, "", "Accept-Encoding", packing.name, "Doorward-Feed", "1")
			if got := a.Header.Get("Content-Encoding"); a.Status != 200 || got != packing.name {
				t.Fatalf("%s = %d, packed with %q", packing.path, a.Status, got)
			}
		}
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / answers; each > 300<<10 {
			t.Errorf("an answer of %s takes %d KiB", packing.path, each>>10)
		}
	}
}

// TestFeedsLeakNothing opens feeds of all kinds that end in all ways, and one that thousands of changes go through.
func TestFeedsLeakNothing(t *testing.T) {
	s := peertest.NewSite(t)
	transport := &http.Transport{MaxIdleConnsPerHost: -1} // no connection outlives its request
	client := &http.Client{Transport: transport}
	before := runtime.NumGoroutine()
	for i := range 60 {
		ctx, leave := context.WithCancel(t.Context())
		kind := []string{"longpoll", "continuous", "continuous&timeout=20"}[i%3]
		resp, err := client.Do(s.Request("GET", "/notes/_changes?since=now&feed="+kind, "").WithContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		if i%3 == 2 {
			_, _ = io.Copy(io.Discard, resp.Body) // to the end of its time
		}
		leave()
		_ = resp.Body.Close()
	}
	settled(t, before)

	db, err := s.Store.Docs.Database(auth.Operator(), "notes")
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(s.Request("GET", "/notes/_changes?feed=continuous&include_docs=true&limit=20000", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	memory := heap()
	done := make(chan int64)
	go func() {
		n, _ := io.Copy(io.Discard, resp.Body)
		done <- n
	}()
	for i := range 200 {
		writes := make([]merge.DocWrite, table.MaxRows)
		for n := range writes {
			writes[n] = merge.DocWrite{ID: fmt.Sprintf("%d-%d", i, n), Body: []byte(`{"a":"text"}`)}
		}
		if _, err := db.Write(writes); err != nil {
			t.Fatal(err)
		}
	}
	if n := <-done; n < 20_000*100 {
		t.Errorf("the feed told %d bytes", n)
	}
	if grown := heap() - memory; grown > 24<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	_ = resp.Body.Close()
	settled(t, before)
}

// settled waits until no more goroutines run than before.
func settled(t testing.TB, before int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, then %d:\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
		}
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
