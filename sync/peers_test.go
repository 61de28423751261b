package sync_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"doorward/sync/dial"
	"doorward/sync/peertest"
	"doorward/sync/replicate"
)

// pouchServer starts a pouchdb-server that keeps everything in memory, and answers its address.
func pouchServer(t testing.TB) string {
	t.Helper()
	program := filepath.Join(pouchFolder(t), "node_modules", "pouchdb-server", "bin", "pouchdb-server")
	if _, err := os.Stat(program); err != nil {
		t.Skip("pouchdb-server is missing; make test installs it")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(free.Addr().(*net.TCPAddr).Port)
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	cmd := exec.CommandContext(ctx, "node", program, "--in-memory", "--host", "127.0.0.1", "--port", port)
	cmd.Dir = t.TempDir() // it writes a log and a configuration
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
	})
	lines := bufio.NewReader(out)
	for {
		text, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("pouchdb-server: %v", err)
		}
		if strings.Contains(text, "navigate to") || strings.Contains(text, "started") || strings.Contains(text, "listening") {
			go func() { _, _ = io.Copy(io.Discard, lines) }()
			return "http://127.0.0.1:" + port
		}
	}
}

// elsewhere is a database at another server.
func elsewhere(t testing.TB, address string) *replicate.Remote {
	t.Helper()
	there, err := replicate.NewRemote(replicate.RemoteConfig{Config: dial.Config{URL: address}, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	return there
}

func TestPouchDBServerIsAPeer(t *testing.T) {
	t.Parallel()
	address := pouchServer(t) + "/notes"
	a, b := newSite(t), newSite(t)
	a.fill(700)
	first := copyAll(t, a.here(), elsewhere(t, address))
	if first.Failures != 0 || first.Written != 705 {
		t.Errorf("push = %+v", first)
	}
	if again := copyAll(t, a.here(), elsewhere(t, address)); again.Checked != 0 {
		t.Errorf("a second push = %+v", again)
	}
	copyAll(t, elsewhere(t, address), b.here())
	wantSame(t, a, b, revpos)
	if again := copyAll(t, elsewhere(t, address), b.here()); again.Checked != 0 {
		t.Errorf("a second pull = %+v", again)
	}
	if back := copyAll(t, elsewhere(t, address), a.here()); back.Read != 0 {
		t.Errorf("the way back = %+v", back)
	}
	a.put("late", `{"_attachments":{"a":{"content_type":"text/plain","data":"aGVsbG8="}}}`)
	copyAll(t, a.here(), elsewhere(t, address))
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = replicate.Run(ctx, replicate.Job{Source: elsewhere(t, address), Target: b.here(), Live: true})
	}()
	awaitDoc(t, b, "late")
	end()
	<-ended
	wantSame(t, a, b, revpos)
}

// quirk is a site behind a server that answers some requests itself.
func (s *site) quirk(answers func(w http.ResponseWriter, r *http.Request) bool) *site {
	s.Helper()
	u, err := url.Parse(s.url)
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
	other.url = srv.URL + "/sync"
	return &other
}

func TestAPeerThatKnowsNoBulkGet(t *testing.T) {
	t.Parallel()
	a, b := newSite(t), newSite(t)
	a.fill(30)
	old := a.quirk(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/_bulk_get") {
			return false
		}
		http.NotFound(w, r)
		return true
	})
	copyAll(t, old.there(plainly), b.here())
	wantSame(t, a, b)
}

func TestAPeerThatTakesLittleAtATime(t *testing.T) {
	t.Parallel()
	a, b := newSite(t), newSite(t)
	a.fill(300)
	large := a.put("large", `{"text":"`+strings.Repeat("x", 20_000)+`"}`)
	var refusals atomic.Int32
	small := b.quirk(func(w http.ResponseWriter, r *http.Request) bool {
		if r.ContentLength < 16_000 || !strings.HasSuffix(r.URL.Path, "/_bulk_docs") {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		refusals.Add(1)
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return true
	})
	out, err := replicate.Run(t.Context(), replicate.Job{Source: a.here(), Target: small.there(plainly)})
	if err != nil || refusals.Load() < 3 {
		t.Fatalf("Replicate = %+v, %v after %d refusals", out, err, refusals.Load())
	}
	if len(out.Denied) != 1 || out.Denied[0].ID != "large" || out.Denied[0].Rev != large || out.History[0].Failures != 1 {
		t.Errorf("denied = %+v, want the one that is too large alone", out.Denied)
	}
	if n := len(b.content()); n != 304 {
		t.Errorf("%d documents came, want all others: 304", n)
	}
}

func TestDocumentsThatAreRefusedBlockNobody(t *testing.T) {
	t.Parallel()
	for _, fast := range []bool{false, true} {
		a, b := newSite(t), newSite(t)
		a.fill(10)
		refusing := b.quirk(func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/_bulk_docs") && (r.Method != "POST" || !strings.HasSuffix(r.URL.Path, "/_feed")) {
				return false
			}
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, `[{"id":"doc00003","rev":"1-0","error":"forbidden","reason":"no"},{"id":"doc00004","error":"unauthorized","reason":"no"}]`)
			return true
		})
		out, err := replicate.Run(t.Context(), replicate.Job{Source: a.here(), Target: refusing.there(replicate.RemoteConfig{Plain: !fast})})
		if err != nil || !out.OK || out.History[0].Failures != 2 || len(out.Denied) != 2 || out.Denied[0].Reason != "no" {
			t.Errorf("Replicate = %+v, %v, want two refused", out, err)
		}
	}
}

func TestAPeerThatIsBusySaysForHowLong(t *testing.T) {
	t.Parallel()
	a, b := newSite(t), newSite(t)
	a.fill(3)
	var refused atomic.Pointer[time.Time]
	busy := b.quirk(func(w http.ResponseWriter, _ *http.Request) bool {
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
	copyAll(t, a.here(), busy.there(plainly))
	wantSame(t, a, b)
}

func TestWhatIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 403, 404, 302} {
		var asked atomic.Int32
		a := newSite(t)
		peer := a.quirk(func(w http.ResponseWriter, _ *http.Request) bool {
			asked.Add(1)
			w.WriteHeader(status)
			return true
		})
		if _, err := replicate.Run(t.Context(), replicate.Job{Source: a.here(), Target: peer.there(plainly), Pause: time.Millisecond}); err == nil || asked.Load() != 1 {
			t.Errorf("%d: asked %d times: %v", status, asked.Load(), err)
		}
	}
}

func TestAKeyThatReadsAloneIsEnoughToPull(t *testing.T) {
	t.Parallel()
	a, b := newSite(t), newSite(t)
	a.fill(5)
	reader := a.as("denomination", "sync:GET")
	copyAll(t, reader.there(plainly), b.here())
	wantSame(t, a, b)
	out, err := replicate.Run(t.Context(), replicate.Job{Source: b.here(), Target: reader.there(plainly)})
	if err != nil {
		t.Errorf("nothing to push = %+v, %v", out, err)
	}
	b.put("mine", `{}`)
	if out, err := replicate.Run(t.Context(), replicate.Job{Source: b.here(), Target: reader.there(plainly)}); err == nil {
		t.Errorf("a push with it = %+v", out)
	}
}

// TestFactsThatAreRefusedAreCounted: all of them, also behind so many others that they are not named.
func TestFactsThatAreRefusedAreCounted(t *testing.T) {
	t.Parallel()
	a, b := newSite(t), newSite(t)
	a.fill(1100)
	a.put("checkin:01J00000000000000000000000", `{}`)
	refusing := b.quirk(func(w http.ResponseWriter, r *http.Request) bool {
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
	out, err := replicate.Run(t.Context(), replicate.Job{Source: a.here(), Target: refusing.there(replicate.RemoteConfig{})})
	if err != nil || out.RefusedFacts != 1 || len(out.Denied) != 1000 {
		t.Errorf("%d facts refused, %d refusals named, %v, want 1 and the first 1000", out.RefusedFacts, len(out.Denied), err)
	}
}

// TestYesIsNoAnswer: nor is a replication with any server done because that says {} to everything, or to what it was asked to give.
func TestYesIsNoAnswer(t *testing.T) {
	t.Parallel()
	a, b := newSite(t), newSite(t)
	a.fill(10)
	yes := func() *replicate.Remote {
		there, err := replicate.NewRemote(replicate.RemoteConfig{Config: dial.Config{URL: peertest.Strange(t) + "/notes"}})
		if err != nil {
			t.Fatal(err)
		}
		return there
	}
	for name, job := range map[string]replicate.Job{
		"to one that says yes":                    {Source: a.here(), Target: yes()},
		"from one that says yes":                  {Source: yes(), Target: b.here()},
		"from one that says yes to what it gives": {Source: a.there(replicate.RemoteConfig{Plain: true, Config: dial.Config{Client: peertest.Portal("/_bulk_get", "{}", nil)}}), Target: b.here()},
	} {
		job.Tries = 1
		if out, err := replicate.Run(t.Context(), job); err == nil || out.OK || out.Last != nil {
			t.Errorf("%s = %+v, %v, want an error and no place", name, out, err)
		}
	}
	copyAll(t, a.there(plainly), b.here())
	wantSame(t, a, b)
}
