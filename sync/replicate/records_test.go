package replicate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/sync/dial"
	"doorward/sync/peertest"
	"doorward/sync/replicate"
)

func TestRecordsAreCopiedWithinOneRealm(t *testing.T) {
	t.Parallel()
	for _, plain := range []bool{true, false} {
		t.Run(fmt.Sprintf("plain %v", plain), func(t *testing.T) {
			t.Parallel()
			a := peertest.NewSite(t)
			church := kvtest.Create(t, a.Store, record.Church, `{"name":"Central"}`)
			for i := range 250 {
				kvtest.Create(t, a.Store, record.Person, fmt.Sprintf(`{"full_name":"Ana Souza %d","church_id":%d}`, i, church))
			}
			b := a.InRealm()
			for _, name := range []string{"reference", fmt.Sprintf("church-%d", church)} {
				from, err := replicate.NewRemote(replicate.RemoteConfig{Config: dial.Config{URL: a.URL + "/" + name, Key: a.Auth[0], Secret: a.Auth[1]}, Plain: plain})
				if err != nil {
					t.Fatal(err)
				}
				to, err := replicate.OpenLocal(b.Store, auth.Operator(), name)
				if err != nil {
					t.Fatal(err)
				}
				run := peertest.CopyAll(t, from, to)
				if run.Failures > 0 || run.Written == 0 {
					t.Errorf("%s = %+v", name, run)
				}
				wantSameFeed(t, a, b, name, !plain)
			}
			other := peertest.NewSite(t)
			to, err := replicate.OpenLocal(other.Store, auth.Operator(), "reference")
			if err != nil {
				t.Fatal(err)
			}
			from, err := replicate.OpenLocal(a.Store, auth.Operator(), "reference")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := replicate.Run(t.Context(), replicate.Job{Source: from, Target: to}); !errors.Is(err, replicate.ErrRealm) {
				t.Errorf("to another congregation: %v", err)
			}
		})
	}
}

// wantSameFeed wants a database of two sites to hold the same winners, and to know when they were made: lines tell it, the plain
// protocol does not.
func wantSameFeed(t testing.TB, a, b *peertest.Site, name string, told bool) {
	t.Helper()
	var both [2]map[string]string
	for i, s := range []*peertest.Site{a, b} {
		db, err := s.Store.Docs.Database(auth.Operator(), name)
		if err != nil {
			t.Fatal(err)
		}
		page, _, err := db.Changes(docs.Feed{Limit: docs.DocPage, Bodies: true})
		if err != nil {
			t.Fatal(err)
		}
		both[i] = map[string]string{}
		for _, c := range page {
			both[i][c.ID] = fmt.Sprintf("%v %s", c.Winner.Revision, c.Winner.Body)
			if told {
				both[i][c.ID] += fmt.Sprint(c.Leaves[0].At)
			}
		}
	}
	if len(both[0]) == 0 || len(both[0]) != len(both[1]) {
		t.Errorf("%s: %d records, want %d", name, len(both[1]), len(both[0]))
	}
	for id, want := range both[0] {
		if both[1][id] != want {
			t.Errorf("%s is %.200s, want %.200s", id, both[1][id], want)
		}
	}
}

// TestAFilterTellsOfWhatHasLeft: whatever it asks for, a client that holds the document must learn.
func TestAFilterTellsOfWhatHasLeft(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	for range 2 {
		kvtest.Create(t, s.Store, record.Church, `{"name":"Church"}`)
	}
	id := kvtest.Create(t, s.Store, record.Person, `{"full_name":"Ana","church_id":1}`)
	var before struct {
		Seq string `json:"update_seq"`
	}
	s.Want(200, "GET", "/church-1", "").Into(t, &before)
	at := desk.Target{Surface: record.Admin, Kind: record.Person, ID: record.Int(id)}
	if _, err := s.Store.Desk.Update(auth.Operator(), at, kvtest.Parse(t, record.Person, `{"church_id":2}`, false)); err != nil {
		t.Fatal(err)
	}
	got := s.Want(200, "POST", "/church-1/_changes?filter=_selector&since="+before.Seq, `{"selector":{"full_name":"Ana"}}`)
	if !strings.Contains(got.Body, `"removed":true`) {
		t.Errorf("changes = %s, want what has left", got.Body)
	}
}

// holding is a link that holds back what is written over it.
type holding struct{ writes, release chan struct{} }

func (l *holding) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/_feed") {
		l.writes <- struct{}{}
		<-l.release
	}
	return http.DefaultTransport.RoundTrip(r)
}

// churchesOfAna makes a site of two churches with a person in the first, and a site that knows the churches.
func churchesOfAna(t *testing.T) (a, b *peertest.Site, ana int64) {
	t.Helper()
	a = peertest.NewSite(t)
	for range 2 {
		kvtest.Create(t, a.Store, record.Church, `{"name":"Church"}`)
	}
	ana = kvtest.Create(t, a.Store, record.Person, `{"full_name":"Ana","church_id":1}`)
	b = a.InRealm()
	peertest.CopyAll(t, a.LocalOf("reference"), b.LocalOf("reference"))
	return a, b, ana
}

// TestWhatHasLeftGoesAfterItIsWritten: a record that is on its way to a laptop leaves the source. If it were taken away first and written
// then, it would stay for good.
func TestWhatHasLeftGoesAfterItIsWritten(t *testing.T) {
	a, b, ana := churchesOfAna(t)
	held := &holding{writes: make(chan struct{}, 8), release: make(chan struct{})}
	ctx, stop := context.WithCancel(t.Context())
	left, ended := make(chan string, 8), make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = replicate.Run(ctx, replicate.Job{ // it ends with ctx
			Source: a.LocalOf("church-1"), Target: b.RemoteOf("church-1", replicate.RemoteConfig{Config: dial.Config{Client: &http.Client{Transport: held}}}), Live: true, Tries: 1,
			On: replicate.Hooks{Left: func(_ context.Context, ids []string) error {
				left <- fmt.Sprint(ids)
				return nil
			}},
		})
	}()
	defer func() {
		stop()
		<-ended
	}()
	within := func(c <-chan struct{}, what string) {
		t.Helper()
		select {
		case <-c:
		case <-time.After(20 * time.Second):
			t.Fatal(what)
		}
	}
	within(held.writes, "nothing is written")
	patch := kvtest.Parse(t, record.Person, `{"church_id":2}`, false)
	if _, err := a.Store.Desk.Update(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Person, ID: record.Int(ana)}, patch); err != nil {
		t.Fatal(err)
	}
	select {
	case ids := <-left:
		t.Errorf("%s left while it was being written", ids)
	case <-time.After(300 * time.Millisecond): // long enough for the feed, which does not wait for what is written
	}
	close(held.release)
	select {
	case ids := <-left:
		if want := fmt.Sprint([]string{record.Person.DocID(record.Int(ana))}); ids != want {
			t.Errorf("%s left, want %s", ids, want)
		}
	case <-time.After(20 * time.Second):
		t.Error("nothing has left")
	}
}

// TestARestoredTargetIsToldAgainWhatHasLeft: a target is restored to a backup from before a record left the source, in the middle of a
// live run in which nothing else happened since. The next run begins where the backup ends.
func TestARestoredTargetIsToldAgainWhatHasLeft(t *testing.T) {
	a, b, ana := churchesOfAna(t)
	source, target := a.LocalOf("church-1"), b.LocalOf("church-1")
	left, saved := make(chan string, 8), make(chan string, 100)
	job := replicate.Job{Source: source, Target: target, Note: time.Millisecond, On: replicate.Hooks{
		Left: func(_ context.Context, ids []string) error {
			left <- fmt.Sprint(ids)
			return nil
		},
		Progress: func(o replicate.Outcome) { saved <- string(o.Last) },
	}}
	next := func(c <-chan string, what string) string {
		t.Helper()
		select {
		case got := <-c:
			return got
		case <-time.After(20 * time.Second):
			t.Fatalf("never: %s", what)
			return ""
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		live := job
		live.Live = true
		_, _ = replicate.Run(ctx, live) // it ends with ctx
	}()
	first := ""
	for first == "" || first == "null" {
		first = next(saved, "a checkpoint")
	}
	id := replicationOf(t, source, target)
	backup, err := target.Checkpoint(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	patch := kvtest.Parse(t, record.Person, `{"church_id":2}`, false)
	if _, err := a.Store.Desk.Update(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Person, ID: record.Int(ana)}, patch); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprint([]string{record.Person.DocID(record.Int(ana))})
	if ids := next(left, "the person leaves"); ids != want {
		t.Errorf("%s left, want %s", ids, want)
	}
	for next(saved, "a checkpoint behind the person") == first {
	}
	stop()
	<-ended
	if err := target.Keep(t.Context(), id, backup); err != nil {
		t.Fatal(err)
	}
	if _, err := replicate.Run(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if ids := next(left, "the restored target is told"); ids != want {
		t.Errorf("%s left, want %s", ids, want)
	}
}

// replicationOf is the id of a replication without a filter.
func replicationOf(t *testing.T, source, target replicate.Peer) string {
	t.Helper()
	var ids []string
	for _, p := range []replicate.Peer{source, target} {
		says, err := p.Identify(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, says.ID)
	}
	return replicate.ReplicationID(ids[0], ids[1], &replicate.Job{})
}
