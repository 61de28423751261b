package api_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"doorward/api"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// goneClient takes no byte of a body.
type goneClient struct{ *httptest.ResponseRecorder }

func (goneClient) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// hungUp takes bytes, and sends none.
type hungUp struct{ *httptest.ResponseRecorder }

func (hungUp) FlushError() error { return errors.New("connection reset by peer") }

// TestAnAnswerThatBreaksOffIsNoFaultOfOurs: nobody has to act on a client that left, so nothing is logged.
func TestAnAnswerThatBreaksOffIsNoFaultOfOurs(t *testing.T) {
	var log strings.Builder
	c := api.Config{Store: kvtest.Open(t)}
	logTo(&log)(&c)
	server, err := api.New(c)
	if err != nil {
		t.Fatal(err)
	}
	kvtest.Create(t, c.Store, record.Role, `{"name":"Pastora"}`)
	for name, leave := range map[string]func(*httptest.ResponseRecorder) http.ResponseWriter{
		"a client that is gone":     func(w *httptest.ResponseRecorder) http.ResponseWriter { return goneClient{w} },
		"a client that has hung up": func(w *httptest.ResponseRecorder) http.ResponseWriter { return hungUp{w} },
	} {
		for _, target := range []string{"GET /control/export", "GET /control/verify", "GET /admin/v1/role/", "POST /control/import?kind=role"} {
			method, path, _ := strings.Cut(target, " ")
			w := httptest.NewRecorder()
			server.Control().ServeHTTP(leave(w), httptest.NewRequest(method, path, strings.NewReader("name\nDiácona\n")))
			if w.Code != http.StatusOK || log.Len() > 0 {
				t.Errorf("%s, %s: status %d, log %q", name, target, w.Code, log.String())
			}
			log.Reset()
		}
	}
}
