package sync_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	gosync "sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/kvtest/proof"
	"doorward/kv/merge"
	"doorward/sync"
	"doorward/sync/peertest"
)

// marked returns a text without its mark, and the place of the mark.
func marked(text string) (rest, place string) {
	before, after, _ := strings.Cut(text, "▼")
	last := before[strings.LastIndex(before, "\n")+1:]
	return before + after, fmt.Sprintf("line %d, column %d: ", 1+strings.Count(before, "\n"), 1+utf8.RuneCountInString(last))
}

// TestPush_BadDocument: a document that may not be stored is an item of the answer, with the id and the revision that it came with, and its neighbours are
// stored.
func TestPush_BadDocument(t *testing.T) {
	t.Parallel()
	const rev = `"_rev":"1-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"`
	item := func(id, rev string) string {
		if rev != "" {
			rev = `,` + strings.Replace(rev, `"_rev"`, `"rev"`, 1)
		}
		return `{"id":` + id + rev + `,"error":"forbidden","reason":"`
	}
	deep := func(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
	long := `"` + strings.Repeat("L", 9000) + `"`
	const badID = "A document's id is a text of 1 to 8192 bytes. Only reserved ids begin with an underscore."
	const not = "The document is not a JSON object: " // at the mark
	for name, c := range map[string]struct{ doc, item, reason string }{
		"an id with NUL":                   {`{"_id":"a\u0000b",` + rev + `}`, item(`"a\u0000b"`, rev), badID},
		"an id of 9,000 bytes":             {`{"_id":` + long + `,` + rev + `}`, item(long, rev), badID},
		"an empty id":                      {`{"_id":"",` + rev + `}`, item(`""`, rev), badID},
		"no id":                            {`{` + rev + `}`, item(`""`, rev), badID},
		"an id that is no text":            {`{"_id":5,` + rev + `}`, item(`""`, rev), badID},
		"an id with an underscore":         {`{"_id":"_x",` + rev + `}`, item(`"_x"`, rev), badID},
		"half a surrogate in the id":       {`{"_id":"half ▼\ud800",` + rev + `}`, item(`"half \ud800"`, rev), not + "invalid escape sequence in string."},
		"half a surrogate in a text":       {"{\n\t\"é\": 1, \"a\":[\"▼\\udc00\"],\"_id\":\"h\"," + rev + `}`, item(`"h"`, rev), not + "invalid escape sequence in string."},
		"half a surrogate in a name":       {`{"_id":"h",` + rev + `,"▼\ud800":1}`, item(`"h"`, rev), not + "invalid escape sequence in string."},
		"text that is no UTF-8":            {`{"_id":"h",` + rev + `,"a":"▼` + "\xff" + `"}`, item(`"h"`, rev), not + "invalid UTF-8."},
		"an unknown member":                {`{"_id":"u",` + rev + `,"_zing":1}`, item(`"u"`, rev), "Bad special document member: _zing"},
		"no revision":                      {`{"_id":"n"}`, item(`"n"`, ""), "If new_edits is false, a well-formed _rev must be included in the document."},
		"a revision that is none":          {`{"_id":"n","_rev":"first"}`, item(`"n"`, `"_rev":"first"`), "Invalid rev format"},
		"a revision of other letters":      {`{"_id":"n","_rev":"1-` + strings.Repeat("g", 32) + `"}`, item(`"n"`, `"_rev":"1-`+strings.Repeat("g", 32)+`"`), "Invalid rev format"},
		"a revision that is no text":       {`{"_id":"n","_rev":1}`, item(`"n"`, ""), "Invalid rev format"},
		"a path that is none":              {`{"_id":"n",` + rev + `,"_revisions":{"start":1,"ids":["a","b"]}}`, item(`"n"`, rev), "Invalid rev format"},
		"a key twice":                      {`{"_id":"t","a":1,"b":2,▼"a":3,` + rev + `}`, item(`"t"`, rev), not + "duplicate object member name."},
		"a key twice within":               {`{"_id":"t",` + rev + `,"a":[{"b":1,▼"b":2}]}`, item(`"t"`, rev), not + "duplicate object member name."},
		"an id twice":                      {`{"_id":"t",▼"_id":"u",` + rev + `}`, item(`"u"`, rev), not + "duplicate object member name."},
		"an attachment twice":              {`{"_id":"t",` + rev + `,"_attachments":{"a":{"data":"YQ=="},▼"a":{"data":"YQ=="}}}`, item(`"t"`, rev), not + "duplicate object member name."},
		"1,001 levels":                     {`{"a":` + strings.Repeat("[", 999) + "▼" + deep(2) + strings.Repeat("]", 999) + `,"_id":"d",` + rev + `}`, item(`"d"`, rev), not + "more than 1000 levels deep."},
		"20,000 levels":                    {`{"a":` + strings.Repeat("[", 999) + "▼" + deep(19_000) + strings.Repeat("]", 999) + `,"_id":"d",` + rev + `}`, item(`"d"`, rev), not + "more than 1000 levels deep."},
		"over 8 MiB":                       {`{"a":"` + strings.Repeat("x", merge.MaxDoc) + `","_id":"l",` + rev + `}`, item(`"l"`, rev), "The document is too large."},
		"a text over 20 MiB":               {`{"a":"` + strings.Repeat("x", 20<<20) + `","_id":"l",` + rev + `}`, item(`"l"`, rev), "The document is too large."},
		"a list over 20 MiB":               {`{"a":[` + strings.Repeat(`1,`, 10<<20) + `1],"_id":"l",` + rev + `}`, item(`"l"`, rev), "The document is too large."},
		"many members over 20 MiB":         {`{"_id":"l",` + rev + strings.Repeat(`,"a":1`, 4<<20) + `}`, item(`"l"`, rev), "The document is too large."},
		"a number":                         {`▼5`, item(`""`, ""), not + "expected an object."},
		"a list":                           {`▼[{"_id":"x"}]`, item(`""`, ""), not + "expected an object."},
		"nothing":                          {`▼null`, item(`""`, ""), not + "expected an object."},
		"an attachment that is no base64":  {`{"_id":"b",` + rev + `,"_attachments":{"a":{"data":"!` + strings.Repeat("YQ", 9999) + `"}}}`, item(`"b"`, rev), ""},
		"attachments that are none":        {`{"_id":"b",` + rev + `,"_attachments":[]}`, item(`"b"`, rev), ""},
		"attachments of which one is none": {`{"_id":"b",` + rev + `,"_attachments":{"a":["` + strings.Repeat("YQ", 9999) + `"]}}`, item(`"b"`, rev), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, place := marked(c.doc)
			c.reason = strings.Replace(c.reason, not, not+place, 1)
			s := peertest.NewSite(t)
			good := func(id string) string { return `{"_id":"` + id + `",` + rev + `,"text":"good"}` }
			// Most clients send new_edits last.
			a := s.Want(201, "POST", "/notes/_bulk_docs", `{"docs":[`+good("before")+`,`+doc+` , `+good("after")+`],"new_edits":false}`)
			if !strings.HasPrefix(a.Body, "["+c.item+c.reason) || strings.Count(a.Body, `"error"`) != 1 || c.reason != "" && a.Body != "["+c.item+c.reason+"\"}]\n" {
				t.Errorf("_bulk_docs = %.9200s, want %.9200s%s", a.Body, c.item, c.reason)
			}
			for _, id := range []string{"before", "after"} {
				if a := s.Want(200, "GET", "/notes/"+id, ""); !strings.Contains(a.Body, `"text":"good"`) {
					t.Errorf("%s is %s", id, a.Body)
				}
			}
			if a := s.Want(200, "GET", "/notes", ""); !strings.Contains(a.Body, `"doc_count":2`) {
				t.Errorf("the database is %s, want the neighbours in it", a.Body)
			}
		})
	}
}

// TestPush_NotJSON: nothing of a body is stored that is not JSON up to its end, whichever way it is not; the answer says where.
func TestPush_NotJSON(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	good := `{"new_edits":false,"docs":[{"_id":"good","_rev":"1-a"},` + "\n"
	for marks, want := range map[string]string{
		good + `{"_id":"bad","_rev":"1-a",▼}]}`:         "unexpected character '}'.",
		good + `{"_id":"bad","é":tru▼}]}`:               "unexpected character '}'.",
		good + `{"_id":"bad","_rev":"1-a","n":0▼1}]}`:   "unexpected character '1'.",
		good + `{"_id":"bad","_rev":"1-a","n":"\▼x"}]}`: "invalid escape sequence in string.",
		good + "{\"_id\":\"bad\",\"n\":\"▼\t\"}]}":      "invalid character within string.",
		good + `{"_id":"bad"}]▼`:                        "unexpected EOF.",
		good + `{"_id":"bad"}]} ▼x`:                     "data after the object.",
		good + `{"_id":"bad"}],"new_edits":false}▼}`:    "data after the object.",
		`▼`: "unexpected EOF.",
		strings.Repeat(" ", 100<<10) + good + `{"a":▼}]}`: "unexpected character '}'.",
	} {
		body, place := marked(marks)
		a := s.Want(400, "POST", "/notes/_bulk_docs", body, "Content-Type", "application/json")
		if a.Body != `{"error":"bad_request","reason":"The body is not a JSON object: `+place+want+"\"}\n" {
			t.Errorf("%.80s = %s, want %s%s", body, a.Body, place, want)
		}
	}
	if a := s.Want(400, "POST", "/notes/_revs_diff", `{"good":["1-a"],"half \ud800":["1-a"]}`); !strings.Contains(a.Body, "invalid UTF-8 JSON") {
		t.Errorf("_revs_diff with half a surrogate = %s", a.Body)
	}
	s.Want(400, "POST", "/notes", `{"_id":"half \ud800"}`)
	if info, err := s.Open().Info(); err != nil || info.Seq != 0 {
		t.Errorf("the database is %+v, %v, want it untouched", info, err)
	}
}

// TestListsHaveABound: each list of a request may have 100,000 items and no more.
func TestListsHaveABound(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	times := func(n int, item string) string { return strings.Repeat(item+",", n-1) + item }
	numbered := func(n int, item string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, item, i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	const most = 100_000
	for _, c := range []struct {
		path, body string
		status     int
	}{
		{"/notes/_bulk_docs", `{"new_edits":false,"docs":[` + times(most+1, `{}`) + `]}`, 413},
		{"/notes/_bulk_docs", `{"docs":[` + times(most+1, `5`) + `]}`, 413},
		{"/notes/_bulk_docs", `{"docs":[{"_id":"a","_attachments":{` + times(most/50, `"a":{"data":"`+strings.Repeat("Y", 1100)+`"}`) + `}}]}`, 201},
		{"/notes/_bulk_get", `{"docs":[` + times(most+1, `{}`) + `]}`, 413},
		{"/notes/_bulk_get", `{"docs":[` + times(3, `{"atts_since":[`+times(most/2, `"1-a"`)+`]}`) + `]}`, 413},
		{"/notes/_revs_diff", `{` + numbered(most+1, `"%d":[],`) + `}`, 413},
		{"/notes/_revs_diff", `{"a":[` + times(most, `"1-a"`) + `],"b":["1-b"]}`, 413},
		{"/notes/_revs_diff", `{` + numbered(most, `"%d":["1-a"],`) + `}`, 200},
		{"/notes/_all_docs", `{"keys":[` + times(most+1, `"a"`) + `]}`, 413},
		{"/notes/_all_docs", `{"keys":[` + times(most, `"a"`) + `]}`, 200},
		{"/notes/_all_docs", `{"keys":["a",5]}`, 400},
		{"/notes/_changes?filter=_doc_ids", `{"doc_ids":[` + times(most+1, `"a"`) + `]}`, 413},
		{"/notes/_changes?filter=_doc_ids", `{"doc_ids":[` + times(most, `"a"`) + `]}`, 200},
		{"/notes/_changes?filter=_selector", `{"selector":{"$or":[` + times(most+1, `{}`) + `]}}`, 413},
		{"/notes/_changes?filter=_selector", `{"selector":{"a":{"$in":[` + times(most+1, `1`) + `]}}}`, 413},
	} {
		if a := s.Do("POST", c.path, c.body); a.Status != c.status || a.Status == 413 && !strings.Contains(a.Body, "more than 100,000 items") {
			t.Errorf("%s %.60s… = %d %.200s, want %d", c.path, c.body, a.Status, a.Body, c.status)
		}
	}
}

// repeated is a text that is given again and again.
type repeated struct {
	text string
	left int // bytes
}

// Read gives some more.
func (r *repeated) Read(p []byte) (n int, err error) {
	for n < len(p) && r.left > 0 {
		at := len(r.text) - 1 - (r.left-1)%len(r.text)
		some := copy(p[n:min(len(p), n+r.left)], r.text[at:])
		n, r.left = n+some, r.left-some
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// TestTinyDocumentsTakeLittleMemory: not even from eight clients at a time, compressed or not. It is alone, as what others allocate would count.
func TestTinyDocumentsTakeLittleMemory(t *testing.T) { //nolint:paralleltest // see above
	proof.Unraced(t)
	const docs = 20_000_000
	body := func() io.Reader {
		return io.MultiReader(strings.NewReader(`{"docs":[`), &repeated{`{},`, 3 * docs}, strings.NewReader(`{}]}`))
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := io.Copy(z, body()); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	s := peertest.NewSite(t)
	for name, send := range map[string]func() (io.Reader, string){
		"compressed": func() (io.Reader, string) { return bytes.NewReader(packed.Bytes()), "gzip" },
		"plain":      func() (io.Reader, string) { return body(), "identity" },
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var all gosync.WaitGroup
		for range 8 {
			all.Go(func() {
				r := s.Request("POST", "/notes/_bulk_docs", "")
				from, packing := send()
				r.Body = io.NopCloser(from)
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Content-Encoding", packing)
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = resp.Body.Close() }()
				if resp.StatusCode != http.StatusRequestEntityTooLarge {
					t.Errorf("%s: %s", name, resp.Status)
				}
			})
		}
		all.Wait()
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 120<<20 {
			t.Errorf("%s, eight requests allocate %d MiB, want less than 120", name, took>>20)
		}
	}
}

// photos is a push of documents with attachments of random bytes, as PouchDB sends them.
func photos(docs, bytes int) (body []byte, photo string) {
	random := make([]byte, bytes)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	photo = base64.StdEncoding.EncodeToString(random)
	body = []byte(`{"docs":[`)
	for i := range docs {
		if i > 0 {
			body = append(body, ',')
		}
		// Each is another one, or they would be stored once.
		body = fmt.Appendf(body, `{"_attachments":{"photo.jpg":{"content_type":"image/jpeg","data":"%04d%s"},"thumb":{"data":"aGVsbG8="}},"_id":"p%d","_rev":"1-a"}`, i, photo, i)
	}
	return append(body, `],"new_edits":false}`...), photo
}

// TestPush_Large: a body over 64 MiB is taken, as PouchDB's usual batch of photos comes to, and comes back as it was. Nothing is left of its file.
func TestPush_Large(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	body, photo := photos(10, 5_400_000)
	if len(body) < 68<<20 {
		t.Fatalf("the body has %d bytes", len(body))
	}
	if a := s.Want(201, "POST", "/notes/_bulk_docs", string(body)); a.Body != "[]\n" {
		t.Fatalf("_bulk_docs = %.300s", a.Body)
	}
	for i := range 10 {
		want, err := base64.StdEncoding.DecodeString(fmt.Sprintf("%04d%s", i, photo))
		if err != nil {
			t.Fatal(err)
		}
		if a := s.Want(200, "GET", fmt.Sprintf("/notes/p%d/photo.jpg", i), ""); a.Body != string(want) {
			t.Errorf("photo %d came back with %d bytes, want the %d that were sent", i, len(a.Body), len(want))
		}
		if a := s.Want(200, "GET", fmt.Sprintf("/notes/p%d/thumb", i), ""); a.Body != "hello" {
			t.Errorf("thumb %d = %q", i, a.Body)
		}
	}
	entries, err := os.ReadDir(s.Store.Tables.Folder.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".doorward-unnamed") {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// smallSpools is a server that keeps 64 KiB of a push in memory and takes 1 MiB of it, with a free database "notes".
func smallSpools(t *testing.T, c kv.Config) (*kv.Store, *httptest.Server) {
	t.Helper()
	s := kvtest.OpenConfig(t, c)
	server, err := sync.New(sync.Config{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	server.LimitSpools(64<<10, 1<<20)
	server.LimitIdle(idleAfter)
	if err := s.Docs.CreateDatabase(auth.Operator(), "notes"); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(server)
	t.Cleanup(srv.Close)
	t.Cleanup(server.Close)
	return s, srv
}

// beginPush sends the beginning of a push with a key.
func beginPush(t *testing.T, srv *httptest.Server, key, secret, headers string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	login := base64.StdEncoding.EncodeToString([]byte(key + ":" + secret))
	fmt.Fprintf(conn, "POST /sync/notes/_bulk_docs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic %s\r\nContent-Type: application/json\r\n%s\r\n\r\n", login, headers)
	return conn
}

// answerOf reads an answer.
func answerOf(t *testing.T, conn net.Conn) (*http.Response, string) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

// TestPush_TooLarge: a client that sends more than may be sees the answer, though it reads it only when all is sent.
func TestPush_TooLarge(t *testing.T) {
	t.Parallel()
	s, srv := smallSpools(t, kv.Config{})
	key, secret := kvtest.Key(t, s, "denomination", "*:*")
	const size = 12 << 20
	waits := beginPush(t, srv, key, secret, fmt.Sprintf("Expect: 100-continue\r\nContent-Length: %d", size))
	if resp, text := answerOf(t, waits); resp.StatusCode != http.StatusRequestEntityTooLarge || resp.ContentLength != int64(len(text)) {
		t.Errorf("before anything is sent: %s %s, want the whole answer", resp.Status, text)
	}
	for name, headers := range map[string]string{"of a known length": fmt.Sprintf("Content-Length: %d", size), "in chunks": "Transfer-Encoding: chunked"} {
		conn := beginPush(t, srv, key, secret, headers)
		body := io.Reader(io.MultiReader(strings.NewReader(`{"docs":[{"_id":"a","a":"`), &repeated{"x", size - 29}, strings.NewReader(`"}]}`)))
		if strings.Contains(headers, "chunked") {
			body = io.MultiReader(strings.NewReader(fmt.Sprintf("%x\r\n", size)), body, strings.NewReader("\r\n0\r\n\r\n"))
		}
		if _, err := io.Copy(conn, body); err != nil {
			t.Errorf("%s: %v, want that all is taken", name, err)
		}
		if resp, text := answerOf(t, conn); resp.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(text, "too_large") {
			t.Errorf("%s: %s %s, want 413", name, resp.Status, text)
		}
	}
}

// TestPush_TwoLarge: while two large bodies come, a third waits, and is then told to come again. Once one of the two is over there is room.
func TestPush_TwoLarge(t *testing.T) {
	t.Parallel()
	s, srv := smallSpools(t, kv.Config{})
	key, secret := kvtest.Key(t, s, "denomination", "*:*")
	body, _ := photos(1, 300_000)
	headers := fmt.Sprintf("Content-Length: %d", len(body))
	begun := func() net.Conn {
		conn := beginPush(t, srv, key, secret, headers)
		if _, err := conn.Write(body[:200<<10]); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	going := make(chan bool)
	first, second := begun(), begun()
	go func() { // they make progress until the third has its answer
		for i := 200 << 10; i < len(body)-1; i++ {
			for _, conn := range []net.Conn{first, second} {
				_, _ = conn.Write(body[i : i+1])
			}
			select {
			case <-going:
				_, _ = first.Write(body[i+1:])
				_, _ = second.Write(body[i+1:])
				going <- true
				return
			case <-time.After(idleAfter / 20):
			}
		}
	}()
	var last int
	for deadline := time.Now().Add(20 * time.Second); last != http.StatusServiceUnavailable && time.Now().Before(deadline); {
		// The two may not have begun yet: then the third is taken.
		third := begun()
		_, _ = third.Write(body[200<<10:])
		resp, text := answerOf(t, third)
		if last = resp.StatusCode; last == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "" {
			t.Errorf("the third = %v %s, want Retry-After", resp.Header, text)
		}
	}
	if last != http.StatusServiceUnavailable {
		t.Errorf("the third = %d, want 503", last)
	}
	going <- true
	<-going
	for _, conn := range []net.Conn{first, second} {
		if resp, text := answerOf(t, conn); resp.StatusCode != http.StatusCreated || text != "[]\n" {
			t.Errorf("one of the two = %s %s", resp.Status, text)
		}
	}
	third := begun()
	_, _ = third.Write(body[200<<10:])
	if resp, text := answerOf(t, third); resp.StatusCode != http.StatusCreated {
		t.Errorf("once there is room: %s %s", resp.Status, text)
	}
}

// TestPush_DiskFull: a large body is 507 as soon as it fills the disk up, before all of it has come.
func TestPush_DiskFull(t *testing.T) {
	t.Parallel()
	var free, asked atomic.Int64
	free.Store(4 << 30)
	begun := make(chan bool, 10)
	s, srv := smallSpools(t, kv.Config{Free: func() (int64, error) {
		if asked.Add(1) == 1 {
			begun <- true
		}
		return free.Load(), nil
	}})
	key, secret := kvtest.Key(t, s, "denomination", "*:*")
	body, _ := photos(1, 300_000)
	asked.Store(-1) // once for whether the caller may write, then for the file
	conn := beginPush(t, srv, key, secret, fmt.Sprintf("Content-Length: %d", len(body)))
	if _, err := conn.Write(body[:200<<10]); err != nil {
		t.Fatal(err)
	}
	select {
	case <-begun:
	case <-time.After(10 * time.Second):
		t.Error("the disk is not looked at")
	}
	free.Store(500 << 20)
	if _, err := conn.Write(body[200<<10 : 300<<10]); err != nil {
		t.Fatal(err)
	}
	if resp, text := answerOf(t, conn); resp.StatusCode != http.StatusInsufficientStorage || resp.Header.Get("Retry-After") == "" {
		t.Errorf("a large push = %s %s, want 507", resp.Status, text)
	}
}
