package sync_test

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"doorward/kv"
	"doorward/sync/dial"
	"doorward/sync/replicate"
)

// here is the site's database of notes, as its own process has it.
func (s *site) here() *replicate.Local {
	s.Helper()
	return s.hereIs("notes")
}

func (s *site) hereIs(name string) *replicate.Local {
	s.Helper()
	h, err := replicate.OpenLocal(s.store, kv.Operator(), name)
	if err != nil {
		s.Fatal(err)
	}
	return h
}

// there is the site's database of notes as a peer has it.
func (s *site) there(c replicate.RemoteConfig) *replicate.Remote {
	s.Helper()
	return s.thereIs("notes", c)
}

func (s *site) thereIs(name string, c replicate.RemoteConfig) *replicate.Remote {
	s.Helper()
	c.URL, c.Key, c.Secret = s.url+"/"+name, s.auth[0], s.auth[1]
	t, err := replicate.NewRemote(c)
	if err != nil {
		s.Fatal(err)
	}
	return t
}

// plainly is a peer that is spoken to as any server is.
var plainly = replicate.RemoteConfig{Plain: true}

// copyAll carries out a job that must succeed.
func copyAll(t testing.TB, source replicate.Peer, target replicate.Peer) replicate.HistoryEntry {
	t.Helper()
	out, err := replicate.Run(t.Context(), replicate.Job{Source: source, Target: target, Pause: time.Millisecond})
	if err != nil || !out.OK {
		t.Fatalf("Replicate = %+v, %v", out, err)
	}
	return out.History[0]
}

// fill writes some documents: plain ones, one with branches, one deleted, one with attachments small and large.
func (s *site) fill(n int) {
	s.Helper()
	var writes []kv.DocWrite
	for i := range n {
		writes = append(writes, kv.DocWrite{ID: fmt.Sprintf("doc%05d", i), Body: fmt.Appendf(nil, `{"n":%d}`, i)})
	}
	db := s.open()
	for some := range slices.Chunk(writes, kv.MaxRows) {
		if _, err := db.Write(some); err != nil {
			s.Fatal(err)
		}
	}
	rev := s.put("twice", `{"v":1}`)
	s.put("twice", `{"v":2,"_rev":"`+rev+`"}`)
	s.want(201, "POST", "/notes/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"twice","other":true,"_rev":"2-`+strings.Repeat("0", 32)+`",
		"_revisions":{"start":2,"ids":["`+strings.Repeat("0", 32)+`","`+rev[2:]+`"]}}]}`)
	rev = s.put("gone", `{}`)
	s.want(200, "DELETE", "/notes/gone?rev="+rev, "")
	rev = s.put("with%2Fslash", `{"_attachments":{"small ä.txt":{"content_type":"text/plain","data":"aGVsbG8="}}}`)
	s.want(201, "PUT", "/notes/with%2Fslash/large?rev="+rev, strings.Repeat("large ", 50_000), "Content-Type", "text/x-large")
	s.put("_design/views", `{"language":"javascript"}`)
}

func (s *site) open() *kv.Database {
	s.Helper()
	return s.openAs("notes")
}

func (s *site) openAs(name string) *kv.Database {
	s.Helper()
	db, err := s.store.Database(kv.Operator(), name)
	if err != nil {
		s.Fatal(err)
	}
	return db
}

// content is all that a database holds: every leaf with its path, body and attachments' bytes.
func (s *site) content() map[string]string {
	s.Helper()
	db := s.open()
	all := map[string]string{}
	feed := kv.Feed{Limit: kv.DocPage}
	for more := true; more; {
		page, m, err := db.Changes(feed)
		if err != nil {
			s.Fatal(err)
		}
		for _, c := range page {
			feed.Since = c.Seq
			doc, err := db.Read(c.ID, kv.Ask{Leaves: true})
			if err != nil {
				s.Fatal(err)
			}
			var text strings.Builder
			for _, r := range doc.Revisions {
				fmt.Fprintf(&text, "%v %v %s\n", doc.Tree.Path(r.Revision), r.Deleted, r.Body)
				for _, a := range r.Attachments {
					fmt.Fprintf(&text, "%s %s %d %s\n", a.Name, a.Type, a.RevPos, a.Digest())
					if err := db.Blob(a.SHA256, &text); err != nil {
						s.Error(err)
					}
				}
			}
			all[c.ID] = text.String()
		}
		more = m
	}
	return all
}

// revpos is the generation that brought an attachment. PouchDB gives it the one that it came with.
var revpos = regexp.MustCompile(` [0-9]+ md5-`)

// wantSame wants two sites to hold the same, but for what matches.
func wantSame(t testing.TB, a, b *site, but ...*regexp.Regexp) {
	t.Helper()
	x, y := a.content(), b.content()
	for id := range x {
		for _, m := range but {
			x[id], y[id] = m.ReplaceAllString(x[id], " "), m.ReplaceAllString(y[id], " ")
		}
		if x[id] != y[id] {
			at := 0
			for at < min(len(x[id]), len(y[id])) && x[id][at] == y[id][at] {
				at++
			}
			from := max(0, at-100)
			t.Errorf("%s has at %d\n%.200q\nwant\n%.200q", id, at, y[id][min(from, len(y[id])):], x[id][min(from, len(x[id])):])
		}
	}
	if len(x) != len(y) {
		t.Errorf("%d documents, want %d", len(y), len(x))
	}
}

// ways are the ways in which two sites may be joined.
var ways = []struct {
	name string
	ends ends
}{
	{"within one process", func(a, b *site) (replicate.Peer, replicate.Peer) { return a.here(), b.here() }},
	{"pushing plainly", func(a, b *site) (replicate.Peer, replicate.Peer) { return a.here(), b.there(plainly) }},
	{"pulling plainly", func(a, b *site) (replicate.Peer, replicate.Peer) { return a.there(plainly), b.here() }},
	{"from server to server", func(a, b *site) (replicate.Peer, replicate.Peer) { return a.there(plainly), b.there(plainly) }},
	{"pushing", func(a, b *site) (replicate.Peer, replicate.Peer) { return a.here(), b.there(replicate.RemoteConfig{}) }},
	{"pulling", func(a, b *site) (replicate.Peer, replicate.Peer) { return a.there(replicate.RemoteConfig{}), b.here() }},
	{"from node to node", func(a, b *site) (replicate.Peer, replicate.Peer) {
		return a.there(replicate.RemoteConfig{}), b.there(replicate.RemoteConfig{})
	}},
}

// ends are a source at one site and a target at another.
type ends func(a, b *site) (replicate.Peer, replicate.Peer)

// eachWay runs a test in parallel for every way, with n documents at the source.
func eachWay(t *testing.T, n int, test func(t *testing.T, a, b *site, ends ends)) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			a, b := newSite(t), newSite(t)
			a.fill(n)
			test(t, a, b, way.ends)
		})
	}
}

func TestReplicationCopiesAllThatIsMissing(t *testing.T) {
	eachWay(t, 1200, func(t *testing.T, a, b *site, ends ends) {
		source, target := ends(a, b)
		first := copyAll(t, source, target)
		wantSame(t, a, b)
		if first.Failures != 0 || first.Written != 1200+5 || first.Read != first.Written {
			t.Errorf("first run = %+v", first)
		}
		source, target = ends(a, b)
		if again := copyAll(t, source, target); again.Checked != 0 {
			t.Errorf("a second run looked at %d revisions: %s..%s after %s", again.Checked, again.From, again.To, first.To)
		}
		a.put("new", `{}`)
		if third := copyAll(t, source, target); third.Checked != 1 || third.Written != 1 {
			t.Errorf("a third run = %+v", third)
		}
		wantSame(t, a, b)
	})
}

// stumbling is a link over which nothing is written until a question has failed, and nothing is asked after that.
type stumbling struct {
	questions atomic.Int64
	good      int64
	failed    chan struct{}
}

func (l *stumbling) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/_revs_diff"):
		if l.questions.Add(1) == l.good+1 {
			close(l.failed)
		}
		if l.questions.Load() > l.good {
			return nil, errors.New("the link is down")
		}
	case strings.HasSuffix(r.URL.Path, "/_feed"):
		<-l.failed
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestWhatWasReadIsWrittenThoughTheNextFails: a link that breaks every time at the same place is got over all the same.
func TestWhatWasReadIsWrittenThoughTheNextFails(t *testing.T) {
	const batch, good = 4000, 3
	a, b := newSite(t), newSite(t)
	a.likePeople(good*batch + 100)
	link := &stumbling{good: good, failed: make(chan struct{})}
	out, err := replicate.Run(t.Context(), replicate.Job{Source: a.here(), Target: b.there(replicate.RemoteConfig{Config: dial.Config{Client: &http.Client{Transport: link}}}), Tries: 1})
	if err == nil || out.History[0].Written != good*batch {
		t.Errorf("%d documents written, %v, want %d and an error", out.History[0].Written, err, good*batch)
	}
	if run := copyAll(t, a.here(), b.there(replicate.RemoteConfig{})); run.Checked != 100 {
		t.Errorf("the next run looks at %d documents, want the last 100 alone", run.Checked)
	}
}
