package replicate_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"doorward/sync/dial"
	"doorward/sync/peertest"
	"doorward/sync/replicate"
)

// ways are the ways in which two sites may be joined.
var ways = []struct {
	name string
	ends ends
}{
	{"within one process", func(a, b *peertest.Site) (replicate.Peer, replicate.Peer) { return a.Local(), b.Local() }},
	{"pushing plainly", func(a, b *peertest.Site) (replicate.Peer, replicate.Peer) {
		return a.Local(), b.Remote(peertest.Plainly)
	}},
	{"pulling plainly", func(a, b *peertest.Site) (replicate.Peer, replicate.Peer) {
		return a.Remote(peertest.Plainly), b.Local()
	}},
	{"from server to server", func(a, b *peertest.Site) (replicate.Peer, replicate.Peer) {
		return a.Remote(peertest.Plainly), b.Remote(peertest.Plainly)
	}},
	{"pushing", func(a, b *peertest.Site) (replicate.Peer, replicate.Peer) {
		return a.Local(), b.Remote(replicate.RemoteConfig{})
	}},
	{"pulling", func(a, b *peertest.Site) (replicate.Peer, replicate.Peer) {
		return a.Remote(replicate.RemoteConfig{}), b.Local()
	}},
	{"from node to node", func(a, b *peertest.Site) (replicate.Peer, replicate.Peer) {
		return a.Remote(replicate.RemoteConfig{}), b.Remote(replicate.RemoteConfig{})
	}},
}

// ends are a source at one site and a target at another.
type ends func(a, b *peertest.Site) (replicate.Peer, replicate.Peer)

// eachWay runs a test in parallel for every way, with n documents at the source.
func eachWay(t *testing.T, n int, test func(t *testing.T, a, b *peertest.Site, ends ends)) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			a, b := peertest.NewSite(t), peertest.NewSite(t)
			a.Fill(n)
			test(t, a, b, way.ends)
		})
	}
}

func TestReplicationCopiesAllThatIsMissing(t *testing.T) {
	eachWay(t, 1200, func(t *testing.T, a, b *peertest.Site, ends ends) {
		source, target := ends(a, b)
		first := peertest.CopyAll(t, source, target)
		peertest.WantSame(t, a, b)
		if first.Failures != 0 || first.Written != 1200+5 || first.Read != first.Written {
			t.Errorf("first run = %+v", first)
		}
		source, target = ends(a, b)
		if again := peertest.CopyAll(t, source, target); again.Checked != 0 {
			t.Errorf("a second run looked at %d revisions: %s..%s after %s", again.Checked, again.From, again.To, first.To)
		}
		a.Put("new", `{}`)
		if third := peertest.CopyAll(t, source, target); third.Checked != 1 || third.Written != 1 {
			t.Errorf("a third run = %+v", third)
		}
		peertest.WantSame(t, a, b)
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
	a, b := peertest.NewSite(t), peertest.NewSite(t)
	peertest.LikePeople(a, good*batch+100)
	link := &stumbling{good: good, failed: make(chan struct{})}
	out, err := replicate.Run(t.Context(), replicate.Job{Source: a.Local(), Target: b.Remote(replicate.RemoteConfig{Config: dial.Config{Client: &http.Client{Transport: link}}}), Tries: 1})
	if err == nil || out.History[0].Written != good*batch {
		t.Errorf("%d documents written, %v, want %d and an error", out.History[0].Written, err, good*batch)
	}
	if run := peertest.CopyAll(t, a.Local(), b.Remote(replicate.RemoteConfig{})); run.Checked != 100 {
		t.Errorf("the next run looks at %d documents, want the last 100 alone", run.Checked)
	}
}
