package replicate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"doorward/kv/auth"
	"doorward/sync/dial"
	"doorward/sync/peertest"
	"doorward/sync/replicate"
)

// scissors break off the nth exchange and let all others pass.
type scissors struct {
	at   int64 // counted from 1
	how  cut
	made atomic.Int64
}

// cut is where an exchange breaks off.
type cut string

const (
	requestLost cut = "the request is lost"
	answerLost  cut = "the answer is lost"
	answerHalf  cut = "half of the answer comes"
	overloaded  cut = "the peer is overloaded"
)

var errScissors = errors.New("snip")

// RoundTrip makes an exchange.
func (s *scissors) RoundTrip(r *http.Request) (*http.Response, error) {
	mine := s.made.Add(1) == s.at
	switch {
	case mine && s.how == requestLost:
		return nil, errScissors
	case mine && s.how == overloaded:
		w := httptest.NewRecorder()
		w.WriteHeader(http.StatusServiceUnavailable)
		return w.Result(), nil
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || !mine {
		return resp, err
	}
	all, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if s.how == answerLost || err != nil {
		return nil, errScissors
	}
	resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(string(all[:len(all)/2])), peertest.Broken{}))
	return resp, nil
}

// renew makes the site's database anew.
func renew(s *peertest.Site) {
	s.Helper()
	if err := s.Store.Docs.DeleteDatabase(auth.Operator(), "notes"); err != nil {
		s.Fatal(err)
	}
	if err := s.Store.Docs.CreateDatabase(auth.Operator(), "notes"); err != nil {
		s.Fatal(err)
	}
}

func TestAReplicationGoesOnAfterAnyCut(t *testing.T) {
	t.Parallel()
	for _, fast := range []bool{false, true} {
		for _, how := range []cut{requestLost, answerLost, answerHalf, overloaded} {
			for _, push := range []bool{true, false} {
				t.Run(fmt.Sprintf("push %v fast %v %s", push, fast, how), func(t *testing.T) {
					t.Parallel()
					a, b := peertest.NewSite(t), peertest.NewSite(t)
					docs := 20
					if how == answerHalf {
						docs = 510 // several batches of the plain protocol
					}
					a.Fill(docs)
					for n := int64(1); ; n++ {
						renew(b)
						s := &scissors{at: n, how: how}
						over := replicate.RemoteConfig{Plain: !fast, Config: dial.Config{Client: &http.Client{Transport: s}}}
						job := replicate.Job{Source: a.Local(), Target: b.Remote(over), Tries: 1}
						if !push {
							job.Source, job.Target = a.Remote(over), b.Local()
						}
						first, err := replicate.Run(t.Context(), job)
						if err == nil && s.made.Load() < n {
							break // nothing is left to break
						}
						second, err2 := replicate.Run(t.Context(), job)
						if err2 != nil {
							t.Fatalf("after cut %d (%v): %v", n, err, err2)
						}
						peertest.WantSame(t, a, b)
						if copied := first.History[0].Read + second.History[0].Read; copied > docs+5+1000 {
							t.Errorf("cut %d: %d revisions copied, of %d", n, copied, docs+5)
						}
						if t.Failed() {
							t.Fatalf("cut %d: %v", n, err)
						}
					}
				})
			}
		}
	}
}

func TestAReplicationHealsByItself(t *testing.T) {
	t.Parallel()
	for _, how := range []cut{requestLost, answerLost, answerHalf, overloaded} {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			a, b := peertest.NewSite(t), peertest.NewSite(t)
			a.Fill(100)
			for n := int64(1); n < 8; n++ {
				renew(b)
				over := replicate.RemoteConfig{Plain: true, Config: dial.Config{Client: &http.Client{Transport: &scissors{at: n, how: how}}}}
				peertest.CopyAll(t, a.Local(), b.Remote(over))
				peertest.WantSame(t, a, b)
			}
		})
	}
}

func TestAReplicationGoesOnAfterItWasEnded(t *testing.T) {
	eachWay(t, 5000, func(t *testing.T, a, b *peertest.Site, ends ends) {
		source, target := ends(a, b)
		read, runs := 0, 0
		for ; ; runs++ {
			ctx, end := context.WithCancel(t.Context())
			out, err := replicate.Run(ctx, replicate.Job{Source: source, Target: target, Note: 1, On: replicate.Hooks{Progress: func(replicate.Outcome) { end() }}})
			end()
			read += out.History[0].Read
			if err == nil {
				break
			}
			if !errors.Is(err, context.Canceled) || runs == 50 {
				t.Fatalf("after %d runs: %v", runs, err)
			}
		}
		peertest.WantSame(t, a, b)
		if runs < 1 || read > 5005+runs*4000 {
			t.Errorf("%d revisions copied in %d runs", read, runs)
		}
	})
}

func TestWhatThePeerHasIsAskedFor(t *testing.T) {
	eachWay(t, 30, func(t *testing.T, a, b *peertest.Site, ends ends) {
		source, target := ends(a, b)
		peertest.CopyAll(t, source, target)
		renew(b) // an older backup, as it were
		source, target = ends(a, b)
		peertest.CopyAll(t, source, target)
		peertest.WantSame(t, a, b)
		source, target = ends(b, a) // and back: nothing is new there
		if back := peertest.CopyAll(t, source, target); back.Checked != 35 || back.Read != 0 {
			t.Errorf("the way back = %+v, want 35 looked at and none copied", back)
		}
	})
}

func TestALiveReplicationBringsAChangeAtOnce(t *testing.T) {
	eachWay(t, 3, func(t *testing.T, a, b *peertest.Site, ends ends) {
		source, target := ends(a, b)
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		reached := make(chan struct{}, 100)
		go func() {
			_, err := replicate.Run(ctx, replicate.Job{Source: source, Target: target, Live: true, On: replicate.Hooks{Progress: func(replicate.Outcome) { reached <- struct{}{} }}})
			ended <- err
		}()
		<-reached
		var took []time.Duration
		for i := range 5 {
			began := time.Now()
			a.Put(fmt.Sprintf("late%d", i), `{}`)
			peertest.AwaitDoc(t, b, fmt.Sprintf("late%d", i))
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		if took[2] > 2*time.Second { // under the race detector, beside others; the bench is stricter
			t.Errorf("five changes took %v", took)
		}
		end()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Replicate = %v", err)
		}
	})
}
