package replicate_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"doorward/sync/dial"
	"doorward/sync/peertest"
	"doorward/sync/replicate"
)

// quirk is a site behind a server that answers some requests itself.
func quirk(s *peertest.Site, answers func(w http.ResponseWriter, r *http.Request) bool) *peertest.Site {
	s.Helper()
	u, err := url.Parse(s.URL)
	if err != nil {
		s.Fatal(err)
	}
	u.Path = ""
	proxy := httputil.NewSingleHostReverseProxy(u)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answers(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	s.Cleanup(srv.Close)
	other := *s
	other.URL = srv.URL + "/sync"
	return &other
}

func TestAPeerThatKnowsNoBulkGet(t *testing.T) {
	t.Parallel()
	a, b := peertest.NewSite(t), peertest.NewSite(t)
	a.Fill(30)
	old := quirk(a, func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/_bulk_get") {
			return false
		}
		http.NotFound(w, r)
		return true
	})
	peertest.CopyAll(t, old.Remote(peertest.Plainly), b.Local())
	peertest.WantSame(t, a, b)
}

func TestAPeerThatTakesLittleAtATime(t *testing.T) {
	t.Parallel()
	a, b := peertest.NewSite(t), peertest.NewSite(t)
	a.Fill(300)
	large := a.Put("large", `{"text":"`+strings.Repeat("x", 20_000)+`"}`)
	var refusals atomic.Int32
	small := quirk(b, func(w http.ResponseWriter, r *http.Request) bool {
		if r.ContentLength < 16_000 || !strings.HasSuffix(r.URL.Path, "/_bulk_docs") {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		refusals.Add(1)
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return true
	})
	out, err := replicate.Run(t.Context(), replicate.Job{Source: a.Local(), Target: small.Remote(peertest.Plainly)})
	if err != nil || refusals.Load() < 3 {
		t.Fatalf("Replicate = %+v, %v after %d refusals", out, err, refusals.Load())
	}
	if len(out.Denied) != 1 || out.Denied[0].ID != "large" || out.Denied[0].Rev != large || out.History[0].Failures != 1 {
		t.Errorf("denied = %+v, want the one that is too large alone", out.Denied)
	}
	if n := len(b.Content()); n != 304 {
		t.Errorf("%d documents came, want all others: 304", n)
	}
}

func TestDocumentsThatAreRefusedBlockNobody(t *testing.T) {
	t.Parallel()
	for _, fast := range []bool{false, true} {
		a, b := peertest.NewSite(t), peertest.NewSite(t)
		a.Fill(10)
		refusing := quirk(b, func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/_bulk_docs") && (r.Method != "POST" || !strings.HasSuffix(r.URL.Path, "/_feed")) {
				return false
			}
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, `[{"id":"doc00003","rev":"1-0","error":"forbidden","reason":"no"},{"id":"doc00004","error":"unauthorized","reason":"no"}]`)
			return true
		})
		out, err := replicate.Run(t.Context(), replicate.Job{Source: a.Local(), Target: refusing.Remote(replicate.RemoteConfig{Plain: !fast})})
		if err != nil || !out.OK || out.History[0].Failures != 2 || len(out.Denied) != 2 || out.Denied[0].Reason != "no" {
			t.Errorf("Replicate = %+v, %v, want two refused", out, err)
		}
	}
}

func TestAPeerThatIsBusySaysForHowLong(t *testing.T) {
	t.Parallel()
	a, b := peertest.NewSite(t), peertest.NewSite(t)
	a.Fill(3)
	var refused atomic.Pointer[time.Time]
	busy := quirk(b, func(w http.ResponseWriter, _ *http.Request) bool {
		now := time.Now()
		if refused.CompareAndSwap(nil, &now) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		}
		if early := time.Since(*refused.Load()); early < time.Second {
			t.Errorf("it was asked again after %v", early)
		}
		return false
	})
	peertest.CopyAll(t, a.Local(), busy.Remote(peertest.Plainly))
	peertest.WantSame(t, a, b)
}

func TestWhatIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 403, 404, 302} {
		var asked atomic.Int32
		a := peertest.NewSite(t)
		peer := quirk(a, func(w http.ResponseWriter, _ *http.Request) bool {
			asked.Add(1)
			w.WriteHeader(status)
			return true
		})
		if _, err := replicate.Run(t.Context(), replicate.Job{Source: a.Local(), Target: peer.Remote(peertest.Plainly), Pause: time.Millisecond}); err == nil || asked.Load() != 1 {
			t.Errorf("%d: asked %d times: %v", status, asked.Load(), err)
		}
	}
}

func TestAKeyThatReadsAloneIsEnoughToPull(t *testing.T) {
	t.Parallel()
	a, b := peertest.NewSite(t), peertest.NewSite(t)
	a.Fill(5)
	reader := a.As("denomination", "sync:GET")
	peertest.CopyAll(t, reader.Remote(peertest.Plainly), b.Local())
	peertest.WantSame(t, a, b)
	out, err := replicate.Run(t.Context(), replicate.Job{Source: b.Local(), Target: reader.Remote(peertest.Plainly)})
	if err != nil {
		t.Errorf("nothing to push = %+v, %v", out, err)
	}
	b.Put("mine", `{}`)
	if out, err := replicate.Run(t.Context(), replicate.Job{Source: b.Local(), Target: reader.Remote(peertest.Plainly)}); err == nil {
		t.Errorf("a push with it = %+v", out)
	}
}

// TestFactsThatAreRefusedAreCounted: all of them, also behind so many others that they are not named.
func TestFactsThatAreRefusedAreCounted(t *testing.T) {
	t.Parallel()
	a, b := peertest.NewSite(t), peertest.NewSite(t)
	a.Fill(1100)
	a.Put("checkin:01J00000000000000000000000", `{}`)
	refusing := quirk(b, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/_feed") {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusCreated)
		var all []string
		for i := range 1100 {
			all = append(all, fmt.Sprintf(`{"id":"doc%05d","rev":"1-0","error":"forbidden","reason":"no"}`, i))
		}
		fmt.Fprintf(w, `[%s,{"id":"checkin:01J00000000000000000000000","rev":"1-0","error":"forbidden","reason":"no"}]`, strings.Join(all, ","))
		return true
	})
	out, err := replicate.Run(t.Context(), replicate.Job{Source: a.Local(), Target: refusing.Remote(replicate.RemoteConfig{})})
	if err != nil || out.RefusedFacts != 1 || len(out.Denied) != 1000 {
		t.Errorf("%d facts refused, %d refusals named, %v, want 1 and the first 1000", out.RefusedFacts, len(out.Denied), err)
	}
}

// TestYesIsNoAnswer: nor is a replication with any server done because that says {} to everything, or to what it was asked to give.
func TestYesIsNoAnswer(t *testing.T) {
	t.Parallel()
	a, b := peertest.NewSite(t), peertest.NewSite(t)
	a.Fill(10)
	yes := func() *replicate.Remote {
		there, err := replicate.NewRemote(replicate.RemoteConfig{Config: dial.Config{URL: peertest.Strange(t) + "/notes"}})
		if err != nil {
			t.Fatal(err)
		}
		return there
	}
	for name, job := range map[string]replicate.Job{
		"to one that says yes":                    {Source: a.Local(), Target: yes()},
		"from one that says yes":                  {Source: yes(), Target: b.Local()},
		"from one that says yes to what it gives": {Source: a.Remote(replicate.RemoteConfig{Plain: true, Config: dial.Config{Client: peertest.Portal("/_bulk_get", "{}", nil)}}), Target: b.Local()},
	} {
		job.Tries = 1
		if out, err := replicate.Run(t.Context(), job); err == nil || out.OK || out.Last != nil {
			t.Errorf("%s = %+v, %v, want an error and no place", name, out, err)
		}
	}
	peertest.CopyAll(t, a.Remote(peertest.Plainly), b.Local())
	peertest.WantSame(t, a, b)
}
