package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// aWorkbook begins as a workbook does, which is kept in a temporary file while it is read.
const aWorkbook = "PK\x03\x04"

// TestTheOwnerIsToldWhatHisMachineLacks, in one line and instead of the log.
func TestTheOwnerIsToldWhatHisMachineLacks(t *testing.T) {
	var log strings.Builder
	_, url := control(t, logTo(&log))
	t.Setenv("TMPDIR", "/nonexistent")
	for _, path := range []string{"/control/import?kind=church", "/admin/v1/import/?kind=church"} {
		resp, err := http.Post(url+path, "text/csv", strings.NewReader(aWorkbook))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != 500 || !strings.Contains(string(body), `"message":"Keep the file: open /nonexistent/`) {
			t.Errorf("POST %s = %s %s (%v), want the cause", path, resp.Status, body, err)
		}
	}
	if log.Len() > 0 {
		t.Errorf("the log says it too: %s", log.String())
	}
}

// TestNobodyElseIsToldWhatTheMachineLacks: a key's client reads a number to ask by, and the cause stands in the log once.
func TestNobodyElseIsToldWhatTheMachineLacks(t *testing.T) {
	var log strings.Builder
	w := settle(newSite(t, logTo(&log)))
	t.Setenv("TMPDIR", "/nonexistent")
	a := w.status(w.do("POST", "/admin/v1/import/?kind=church", aWorkbook, header("Content-Type", "text/csv"), invalid), 500)
	if a.text(t, "error.message") != "Something went wrong on our side." || a.text(t, "error.details.request_id") == "" || strings.Contains(a.body, "nonexistent") {
		t.Errorf("body = %s", a.body)
	}
	if strings.Count(log.String(), "/nonexistent/") != 1 {
		t.Errorf("the log = %s, want the cause once", log.String())
	}
}
