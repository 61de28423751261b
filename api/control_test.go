package api_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"doorward/api"
	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// control serves the control handler of an empty store.
func control(t *testing.T, configure ...func(*api.Config)) (*kv.Store, string) {
	t.Helper()
	store := kvtest.Open(t)
	c := api.Config{Store: store}
	for _, f := range configure {
		f(&c)
	}
	server, err := api.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(server.Control())
	t.Cleanup(s.Close)
	return store, s.URL
}

func TestControlNeedsNoKey(t *testing.T) {
	_, url := control(t)
	for _, path := range []string{"/admin/v1/keys/", "/admin/v1/church/", "/control/export"} {
		wantStatus(t, url+path, http.StatusOK)
	}
}

// wantStatus wants a path of the command line's to be answered so.
func wantStatus(t testing.TB, url string, want int) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != want {
		t.Errorf("GET %s = %s, want %d", url, resp.Status, want)
	}
}

func TestControlAnswersInLines(t *testing.T) {
	store, url := control(t)
	kvtest.Create(t, store, record.Role, `{"name":"Pastora"}`)
	for name, c := range map[string]struct {
		path, body string
		status     int
		last       string // what the last line holds
	}{
		"an import":                        {"/control/import?kind=church", "name\nCentral\n", 200, `{"result":{"created":1,`},
		"a row that is refused":            {"/control/import?kind=church", "name;regional_id\nNorte;99\n", 200, `"rejected":[{"line":2,"column":"regional_id","reason":"Invalid pk - object does not exist."}]`},
		"a header that is wrong":           {"/control/import?kind=church", "xyz\nCentral\n", 200, `{"error":{"code":"INVALID_REQUEST","message":"`},
		"a kind that is none":              {"/control/import?kind=parish", "name\nCentral\n", 400, `there is no kind “parish”`},
		"a map that is none":               {"/control/import?kind=church&map=name", "name\nCentral\n", 400, `field=column is wanted`},
		"a field mapped twice":             {"/control/import?kind=church&map=name%3DA&map=name%3DB", "name\nCentral\n", 400, `name is given two columns`},
		"a title with a comma":             {"/control/import?kind=church&map=name%3DName,%20full", "\"Name, full\"\nLeste\n", 200, `{"result":{"created":1,`},
		"two pairs in one":                 {"/control/import?kind=church&map=name%3DA,external_id%3DB", "A;B\nOeste;1\n", 200, `{"result":{"created":1,`},
		"a demo of no size":                {"/control/demo?size=huge", "", 400, `--size`},
		"a demo in a store that is in use": {"/control/demo?size=s", "", 409, `the store holds records already`},
	} {
		resp, last := postLines(t, url+c.path, c.body)
		if resp.StatusCode != c.status || !strings.Contains(strings.ToLower(last), strings.ToLower(c.last)) || !json.Valid([]byte(last)) {
			t.Errorf("%s = %s, last line %s, want %d and a line with %s", name, resp.Status, last, c.status, c.last)
		}
		if c.status == 200 && resp.Header.Get("Content-Type") != "application/x-ndjson" {
			t.Errorf("%s: Content-Type = %s, want lines", name, resp.Header.Get("Content-Type"))
		}
	}
}

// postLines sends a body and reads the last line of the answer.
func postLines(t *testing.T, url, body string) (resp *http.Response, last string) {
	t.Helper()
	resp, err := http.Post(url, "application/octet-stream", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return resp, lines[len(lines)-1]
}

// TestControlTellsProgress: the answer's lines come while the rows are being written.
func TestControlTellsProgress(t *testing.T) {
	_, url := control(t)
	var file strings.Builder
	file.WriteString("name\n")
	for i := range 20_000 {
		fmt.Fprintf(&file, "Igreja %d\n", i)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/control/import?kind=church", strings.NewReader(file.String()))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	seen, last := 0, ""
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); last = lines.Text() {
		if strings.HasPrefix(lines.Text(), `{"progress":{"done":`) {
			seen++
		}
	}
	if seen == 0 || !strings.HasPrefix(last, `{"result":{"created":`) {
		t.Errorf("saw %d lines of progress, last line %s, want some and a result", seen, last)
	}
}

func TestControlBuildsTheIndexAnew(t *testing.T) {
	reindex := func(t *testing.T, configure ...func(*api.Config)) (int, string) {
		store, url := control(t, configure...)
		for range 3 {
			kvtest.Create(t, store, record.Person, `{"full_name":"Ana"}`)
		}
		kvtest.Create(t, store, record.Role, `{"name":"Ana"}`)
		resp, last := postLines(t, url+"/control/reindex", "")
		return resp.StatusCode, last
	}
	for name, c := range map[string]struct {
		configure []func(*api.Config)
		status    int
		last      string
	}{
		"an index":                      {[]func(*api.Config){indexed(t)}, 200, `{"result":{"documents":3}}`},
		"no index":                      {nil, 409, `"message":"Nothing keeps a search index here."`},
		"a folder that cannot be there": {[]func(*api.Config){indexIn(t, "/dev/null")}, 503, `"message":"The search index could not be built: `},
	} {
		if status, last := reindex(t, c.configure...); status != c.status || !strings.Contains(last, c.last) {
			t.Errorf("%s = %d %s, want %d and %s", name, status, last, c.status, c.last)
		}
	}
}
