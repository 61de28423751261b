package sync_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/sync"
)

// goneClient takes no byte of a body, and hungUp sends none of those it took.
type (
	goneClient struct{ *httptest.ResponseRecorder }
	hungUp     struct{ *httptest.ResponseRecorder }
)

func (goneClient) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }
func (hungUp) FlushError() error             { return errors.New("connection reset by peer") }

// TestAnAnswerThatBreaksOffIsNoFaultOfOurs: the connection is ended, so that half an answer looks like one, and nothing is logged,
// because nobody has to act on a client that left.
func TestAnAnswerThatBreaksOffIsNoFaultOfOurs(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	store := kvtest.Open(t)
	server, err := sync.New(sync.Config{Store: store, Version: "test", Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	if err := store.Docs.CreateDatabase(auth.Operator(), "notes"); err != nil {
		t.Fatal(err)
	}
	ask := func(w http.ResponseWriter, method, path, body string) (cut bool) {
		defer func() {
			found := recover()
			if cut = found == http.ErrAbortHandler; found != nil && !cut { //nolint:errorlint // it is what net/http compares with
				panic(found)
			}
		}()
		server.Control().ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		return false
	}
	doc := `{"_attachments":{"a":{"data":"YQ=="}},"text":"` + strings.Repeat("x", 100) + `"}`
	if w := httptest.NewRecorder(); ask(w, "PUT", "/sync/notes/a", doc) || w.Code != http.StatusCreated {
		t.Fatalf("PUT = %d %s", w.Code, w.Body)
	}
	for _, path := range []string{"/sync/notes/_all_docs", "/sync/notes/_changes", "/sync/notes/a", "/sync/notes/a/a"} {
		if !ask(goneClient{httptest.NewRecorder()}, "GET", path, "") {
			t.Errorf("GET %s did not cut the connection", path)
		}
	}
	if !ask(hungUp{httptest.NewRecorder()}, "GET", "/sync/notes/_changes?feed=continuous&timeout=0", "") {
		t.Error("a feed that cannot be flushed did not cut the connection")
	}
	if log.Len() > 0 {
		t.Errorf("log = %s", log.String())
	}
}
