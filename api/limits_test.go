package api

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"doorward/kv/kvtest"
)

func TestHTTPServerHasItsLimits(t *testing.T) {
	s := HTTPServer(http.NotFoundHandler())
	for name, got := range map[string][2]time.Duration{
		"header": {s.ReadHeaderTimeout, 5 * time.Second}, "body": {s.ReadTimeout, 15 * time.Second},
		"write": {s.WriteTimeout, 30 * time.Second}, "idle": {s.IdleTimeout, time.Minute},
	} {
		if got[0] != got[1] {
			t.Errorf("%s = %v, want %v", name, got[0], got[1])
		}
	}
	if s.MaxHeaderBytes != 64<<10 {
		t.Errorf("MaxHeaderBytes = %d", s.MaxHeaderBytes)
	}
}

// deadlines notes the deadlines that a handler sets.
type deadlines struct {
	http.ResponseWriter
	read, write []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.read = append(d.read, t)
	return nil
}

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.write = append(d.write, t)
	return nil
}

func TestImportMovesItsDeadlines(t *testing.T) {
	s, err := New(Config{Store: kvtest.Open(t)})
	if err != nil {
		t.Fatal(err)
	}
	w := &deadlines{ResponseWriter: httptest.NewRecorder()}
	r := httptest.NewRequest("POST", "/admin/v1/import/?kind=role", strings.NewReader("name\nUsher\n"))
	r.Header.Set("Content-Type", "text/csv")
	s.Control().ServeHTTP(w, r)
	if len(w.read) == 0 || len(w.write) == 0 || time.Until(w.read[0]) > importPause || time.Until(w.read[0]) < importPause/2 {
		t.Errorf("deadlines = %v, %v", w.read, w.write)
	}
}

// A client that leaves in the middle of its file is answered as its own fault, and nothing of the file is stored.
func TestAnImportThatBreaksOffIsTheClientsFault(t *testing.T) {
	var log bytes.Buffer
	s, err := New(Config{Store: kvtest.Open(t), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	cut := io.MultiReader(strings.NewReader("name\nUsher\n"), iotest.ErrReader(io.ErrUnexpectedEOF))
	r := httptest.NewRequest("POST", "/admin/v1/import/?kind=role", cut)
	r.Header.Set("Content-Type", "text/csv")
	s.Control().ServeHTTP(rec, r)
	if rec.Code != http.StatusBadRequest || !strings.Contains(rec.Body.String(), "could not be read") || strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("the import = %d %s\n%s", rec.Code, rec.Body, log.String())
	}
	rec = httptest.NewRecorder()
	s.Control().ServeHTTP(rec, httptest.NewRequest("GET", "/admin/v1/role/", nil))
	if !strings.Contains(rec.Body.String(), `"count":0`) {
		t.Errorf("the roles = %s", rec.Body)
	}
}

func TestOperatorNeedsNoKeyAndNoHost(t *testing.T) {
	s, err := New(Config{Store: kvtest.Open(t), PublicURL: "https://centre.example/doorward", AuthFailures: 1})
	if err != nil {
		t.Fatal(err)
	}
	h := s.Control()
	for i, c := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/admin/v1/keys/", `{"name":"first","level":"denomination","permissions":["*:*"]}`, 201}, {"GET", "/admin/v1/keys/", "", 200},
		{"POST", "/admin/v1/church/", `{"name":"x"}`, 201}, {"GET", "/admin/v1/church/1", "", 200}, {"GET", "/v1/people/", "", 404}, {"PUT", "/admin/v1/church/", "", 405},
	} {
		rec := httptest.NewRecorder()
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		r.Host, r.RemoteAddr = "doorward", "@"
		r.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(rec, r)
		if rec.Code != c.status {
			t.Errorf("%d: %s %s = %d, want %d: %s", i, c.method, c.path, rec.Code, c.status, rec.Body)
		}
	}
}
