package sync_test

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"testing"

	"doorward/kv/merge"
	"doorward/sync/peertest"
)

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return b.String()
}

func TestBodiesMayBeCompressedBothWays(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	s.Want(201, "POST", "/notes/_bulk_docs", zipped(`{"docs":[{"_id":"a","n":1}]}`), "Content-Encoding", "gzip")
	a := s.Do("GET", "/notes/_changes", "", "Accept-Encoding", "br, gzip;q=0.5")
	z, err := gzip.NewReader(strings.NewReader(a.Body))
	if err != nil || a.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("_changes = %v, %v", a.Header, err)
	}
	if plain, err := io.ReadAll(z); err != nil || !strings.Contains(string(plain), `"id":"a"`) {
		t.Errorf("_changes = %s, %v", plain, err)
	}
	for _, none := range []string{"gzip;q=0", "gzip;q=0.0"} {
		if a := s.Do("GET", "/notes/_changes", "", "Accept-Encoding", none); a.Header.Get("Content-Encoding") != "" {
			t.Errorf("_changes for who takes no gzip = %v", a.Header)
		}
	}
	s.Want(400, "POST", "/notes/_bulk_docs", "no gzip", "Content-Encoding", "gzip")
	for path, body := range map[string]string{"/notes/_bulk_docs": `{"docs":[{"_id":"x"}]}`, "/notes": `{"_id":"x"}`} {
		damaged := []byte(zipped(body))
		damaged[len(damaged)-8] ^= 1 // the checksum
		s.Want(400, "POST", path, string(damaged), "Content-Encoding", "gzip")
	}
	if a := s.Want(415, "POST", "/notes/_bulk_docs", "x", "Content-Encoding", "br"); !strings.Contains(a.Body, "Content-Encoding must be gzip") {
		t.Errorf("br = %s, want that gzip is wanted", a.Body)
	}
	bomb := zipped(`{"docs":[{"_id":"x","a":"` + strings.Repeat("a", 1<<20) + `"}]}`)
	s.Want(413, "POST", "/notes/_bulk_docs", bomb, "Content-Encoding", "gzip")
	s.Want(413, "POST", "/notes/_bulk_docs", `{"docs":[{"a":"`+strings.Repeat("a", 64<<20)+`"}]}`)
	s.Want(413, "POST", "/notes", `{"_id":"x","a":"`+strings.Repeat("a", 64<<20)+`"}`)
	s.Want(404, "GET", "/notes/x", "")
}

// TestOneBadDocumentBlocksNoOther pushes what a client may have got wrong within documents that are well-formed (else
// TestOneMalformedDocumentRefusesAllOfARequest). Replicated, each is forbidden and nothing else.
func TestOneBadDocumentBlocksNoOther(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("a", 32)
	large := strings.Repeat("x", 9<<20)
	for _, replicated := range []bool{false, true} {
		s := peertest.NewSite(t)
		s.Put("old", `{}`)
		docs := []string{
			`{"_id":"good1","_rev":"1-` + hash + `"}`, `{"_id":"twice","a":{"b":1,"b":2},"_rev":"1-` + hash + `"}`,
			`{"_id":"stub","_attachments":{"a":{"stub":true}},"_rev":"1-` + hash + `"}`,
			`{"_id":"good3","_attachments":{"a":{"data":"YQ==","digest":"md5-AAAA"}},"_rev":"1-` + hash + `"}`,
			`{"_id":"data","_attachments":{"a":{"data":"!"}},"_rev":"1-` + hash + `"}`,
			`{"_id":"large","a":"` + large + `","_rev":"1-` + hash + `"}`,
			`{"_id":"good2","_rev":"1-` + hash + `"}`,
		}
		body := `{"docs":[` + strings.Join(docs, ",") + `],"new_edits":` + fmt.Sprint(!replicated) + `}`
		if !replicated {
			body = strings.ReplaceAll(body, `"_rev":"1-`+hash+`"`, `"n":1`)
		}
		var results []struct {
			OK                bool
			ID, Error, Reason string
		}
		s.Want(201, "POST", "/notes/_bulk_docs", body).Into(t, &results)
		want := len(docs)
		if replicated {
			want -= 3 // those that are taken
		}
		if len(results) != want {
			t.Fatalf("replicated %v: %d results, want %d: %+v", replicated, len(results), want, results)
		}
		for _, r := range results {
			good := strings.HasPrefix(r.ID, "good")
			if r.OK != good || replicated && r.Error != "forbidden" || !good && r.Reason == "" {
				t.Errorf("replicated %v: %+v", replicated, r)
			}
		}
		for _, id := range []string{"good1", "good2", "good3"} {
			s.Want(200, "GET", "/notes/"+id, "")
		}
		if a := s.Want(200, "GET", "/notes", ""); !strings.Contains(a.Body, `"doc_count":4`) {
			t.Errorf("replicated %v: %s", replicated, a.Body)
		}
	}
}

// related is a document and attachments as CouchDB's replicator puts them.
func related(t testing.TB, doc string, named bool, contents ...string) (body, media string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i, content := range append([]string{doc}, contents...) {
		h := textproto.MIMEHeader{"Content-Type": {"application/json"}}
		if i > 0 {
			h = textproto.MIMEHeader{"Content-Type": {"text/plain"}}
			if named {
				h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%c"`, 'a'+i-1))
			}
		}
		part, err := w.CreatePart(h)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(part, content)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), `multipart/related; boundary="` + w.Boundary() + `"`
}

func TestADocumentAndItsAttachmentsInOneBody(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	rev := "1-" + strings.Repeat("b", 32)
	doc := `{"_id":"doc","_rev":"` + rev + `","_revisions":{"start":1,"ids":["` + strings.Repeat("b", 32) + `"]},"_attachments":{
		"b":{"follows":true,"content_type":"text/b","revpos":1,"length":3},
		"a":{"follows":true,"content_type":"text/a","revpos":1,"length":3,"digest":"md5-R7zlx09Yn0hn29V+nKn4CA=="}}}`
	for _, named := range []bool{true, false} {
		first, second := "aaa", "bbb"
		if !named {
			first, second = second, first // in the document's own order then
		}
		body, media := related(t, doc, named, first, second)
		s.Want(201, "PUT", "/notes/doc?new_edits=false", body, "Content-Type", media)
		for name, want := range map[string]string{"a": "aaa", "b": "bbb"} {
			a := s.Want(200, "GET", "/notes/doc/"+name, "")
			if a.Body != want || a.Header.Get("Content-Type") != "text/"+name || a.Header.Get("Content-Security-Policy") != "sandbox" {
				t.Errorf("named %v: %s = %s %v", named, name, a.Body, a.Header)
			}
		}
		s.Want(200, "DELETE", "/notes", "")
		s.Want(201, "PUT", "/notes", "")
	}
	for _, c := range []struct {
		name   string
		status int
		parts  []string
	}{{"nothing follows", 412, nil}, {"one is missing", 412, []string{"aaa"}}, {"one is another", 400, []string{"xxx", "bbb"}}, {"one is short", 400, []string{"aaa", "bb"}}, {"one too many", 400, []string{"aaa", "bbb", "ccc"}}} {
		body, media := related(t, doc, true, c.parts...)
		if a := s.Do("PUT", "/notes/doc?new_edits=false", body, "Content-Type", media); a.Status != c.status {
			t.Errorf("%s: %d %s, want %d", c.name, a.Status, a.Body, c.status)
		}
	}
	body, media := related(t, doc, true, "aaa", "bbb")
	s.Want(400, "PUT", "/notes/doc?new_edits=false", body[:len(body)/2], "Content-Type", media)
	s.Want(404, "GET", "/notes/doc", "")
	body, media = related(t, strings.Replace(doc, "md5-R7zlx09Yn0hn29V+nKn4CA==", "sha1-fkqTkiDwcSQXR8+gKKhzYUNA3Yw=", 1), true, "aaa", "bbb")
	s.Want(201, "PUT", "/notes/doc?new_edits=false", body, "Content-Type", media) // as Couchbase Lite
	s.Want(201, "PUT", "/notes/doc?rev="+rev, `{"_attachments":{"a":{"stub":true,"digest":"sha1-fkqTkiDwcSQXR8+gKKhzYUNA3Yw="}}}`)
}

// TestCouchDBCompressesTexts takes attachments that come as gzip, as CouchDB's replicator sends texts, for what they were.
func TestCouchDBCompressesTexts(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	text := strings.Repeat("a text that compresses well\n", 1000)
	packed := zipped(text)
	digest := merge.Blob{MD5: md5.Sum([]byte(packed))}.Digest()
	s.Put("doc", `{"_attachments":{"a":{"content_type":"text/plain","encoding":"gzip","digest":"md5-AAAA","data":"`+base64.StdEncoding.EncodeToString([]byte(packed))+`"}}}`)
	body, media := related(t, `{"_id":"other","_attachments":{"a":{"content_type":"text/plain","encoding":"gzip","digest":"`+digest+`","follows":true}}}`, true, packed)
	s.Want(201, "PUT", "/notes/other", body, "Content-Type", media)
	for _, id := range []string{"doc", "other"} {
		if a := s.Want(200, "GET", "/notes/"+id+"/a", ""); a.Body != text {
			t.Errorf("attachment of %s = %.40s…, want the text", id, a.Body)
		}
	}
	s.Want(400, "PUT", "/notes/bad", `{"_attachments":{"a":{"encoding":"gzip","data":"YWFh"}}}`)
}

// TestADigestOfCompressedBytes is CouchDB's, which keeps texts compressed: the bytes that come have it, and a later revision names them by it. A stub stands
// for what its ancestors have, not for what another branch has under the same name.
func TestADigestOfCompressedBytes(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	digest := func(content string) string { return merge.Blob{MD5: md5.Sum([]byte(content))}.Digest() }
	put := func(status int, doc string, follows ...string) {
		t.Helper()
		body, media := related(t, doc, true, follows...)
		if a := s.Do("PUT", "/notes/doc?new_edits=false", body, "Content-Type", media); a.Status != status {
			t.Errorf("%s: %d %s, want %d", doc, a.Status, a.Body, status)
		}
	}
	written := func(path, member, text string) string {
		ids := strings.Split(path, ",")
		return fmt.Sprintf(`{"_id":"doc","_revisions":{"start":%d,"ids":["%s"]},"_attachments":{"a":{"content_type":"text/plain","encoding":"gzip","length":%d,"digest":"%s",%s}}}`,
			len(ids), strings.Join(ids, `","`), len(text), digest(zipped(text)), member)
	}
	text, other := strings.Repeat("one text\n", 100), strings.Repeat("two text\n", 100)
	put(400, written("a", `"follows":true,"revpos":1`, text), zipped(other))
	s.Want(404, "GET", "/notes/doc", "")
	put(201, written("a", `"follows":true,"revpos":1`, text), zipped(text))
	put(201, written("z", `"follows":true,"revpos":1`, other), zipped(other))
	put(201, written("b,a", `"stub":true,"revpos":1`, text))
	put(412, written("c,a", `"stub":true,"revpos":2`, text))
	put(412, written("c,a", `"stub":true,"revpos":1`, text+"\n"))
	put(412, written("d,x", `"stub":true,"revpos":1`, text)) // x is not held
	put(412, strings.Replace(written("e,a", `"stub":true,"revpos":1`, text), `"encoding":"gzip",`, "", 1))
	if a := s.Want(200, "GET", "/notes/doc/a?rev=2-b", ""); a.Body != text {
		t.Errorf("the attachment is %.40s…, want the text", a.Body)
	}
}

// TestAStubIsOfTheRevisionBefore: it takes no bytes that another branch, or an earlier revision, has under its name.
func TestAStubIsOfTheRevisionBefore(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	with := func(doc, attachment string) string {
		return strings.TrimSuffix(doc, "}") + `,"_attachments":{"a":{` + attachment + `}}}`
	}
	peertest.Bring(s, with(peertest.Leaf("doc", 1, "a"), `"data":"YWFh"`), peertest.Leaf("doc", 2, "b", "a"), with(peertest.Leaf("doc", 2, "c", "a"), `"data":"Y2Nj"`))
	for _, c := range []struct {
		name, rev, stub string
		status          int
		want            string
	}{
		{"none, but an earlier one and another branch have one", "2-b", `"stub":true`, 412, `"missing_stub"`},
		{"one of another revpos", "2-c", `"stub":true,"revpos":1`, 412, `"missing_stub"`},
		{"one of another digest", "2-c", `"stub":true,"digest":"md5-AAAAAAAAAAAAAAAAAAAAAA=="`, 412, `"missing_stub"`},
		{"one after a revision that is not there", "2-x", `"stub":true`, 409, `"conflict"`},
		{"one after no revision", "", `"stub":true`, 409, `"conflict"`},
		{"one of this revpos", "2-c", `"stub":true,"revpos":2`, 201, `"3-`},
	} {
		if a := s.Do("PUT", "/notes/doc?rev="+c.rev, with(`{"n":1}`, c.stub)); a.Status != c.status || !strings.Contains(a.Body, c.want) {
			t.Errorf("%s: %d %s, want %d", c.name, a.Status, a.Body, c.status)
		}
		if c.status != 412 {
			continue
		}
		doc := with(peertest.Leaf("doc", 3, "d", strings.TrimPrefix(c.rev, "2-"), "a"), c.stub)
		a := s.Want(201, "POST", "/notes/_bulk_docs", `{"new_edits":false,"docs":[`+doc+`]}`)
		if !strings.Contains(a.Body, "A stub of an attachment that is not there.") {
			t.Errorf("%s, replicated: %s", c.name, a.Body)
		}
	}
	if a := s.Want(200, "GET", "/notes/doc?attachments=true", ""); !strings.Contains(a.Body, `"revpos":2`) || !strings.Contains(a.Body, `"data":"Y2Nj"`) {
		t.Errorf("the document is %s", a.Body)
	}
	s.Want(412, "PUT", "/notes/none", with(`{"n":1}`, `"stub":true`))
}

// readParts reads an answer of several parts; those of a part with parts of its own one after the other.
func readParts(t testing.TB, media, body string) (texts []string) {
	t.Helper()
	_, parameters, err := mime.ParseMediaType(media)
	if err != nil {
		t.Fatalf("%s: %v", media, err)
	}
	r := multipart.NewReader(strings.NewReader(body), parameters["boundary"])
	for {
		p, err := r.NextRawPart()
		if err == io.EOF {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		if inner := p.Header.Get("Content-Type"); strings.HasPrefix(inner, "multipart/") {
			texts = append(texts, readParts(t, inner, string(b))...)
			continue
		}
		texts = append(texts, p.Header.Get("Content-Type")+" "+p.FileName()+" "+peertest.Replaced(string(b)))
	}
}

func TestRevisionsAsParts(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	first := s.Put("doc", `{"_attachments":{"a":{"content_type":"text/plain","data":"YWFh"}}}`)
	second := s.Put("doc", `{"_rev":"`+first+`","n":2,"_attachments":{"a":{"stub":true},"é":{"content_type":"text/plain","data":"YmJi"}}}`)
	a := s.Do("GET", `/notes/doc?attachments=true&open_revs=["`+second+`","`+first+`","7-`+strings.Repeat("0", 32)+`"]`, "", "Accept", "application/json;q=0.1, multipart/mixed")
	got := strings.Join(readParts(t, a.Header.Get("Content-Type"), a.Body), "\n")
	meta := `{"_attachments":{"a":{"content_type":"text/plain","revpos":1,"digest":"md5-R7zlx09Yn0hn29V+nKn4CA==","length":3,"follows":true}`
	meta = strings.TrimPrefix(meta, "{")
	want := `application/json  {"_id":"doc","_rev":"2-R",` + meta + `,"é":{"content_type":"text/plain","revpos":2,"digest":"md5-CPjgJgxkQYUQzvsrBu7lzQ==","length":3,"follows":true}},"n":2}
text/plain a aaa
text/plain é bbb
application/json  {"_id":"doc","_rev":"1-R",` + meta + `}}
text/plain a aaa
application/json; error="true"  {"missing":"7-R"}`
	if got != want {
		t.Errorf("open_revs = %d\n%s\nwant\n%s", a.Status, got, want)
	}
	a = s.Do("GET", `/notes/doc?attachments=true&atts_since=["`+first+`"]`, "", "Accept", "multipart/related")
	if got := readParts(t, a.Header.Get("Content-Type"), a.Body); len(got) != 2 || got[1] != "text/plain é bbb" || !strings.Contains(got[0], `"length":3,"stub":true`) {
		t.Errorf("a document with what is new of its attachments = %q", got)
	}
	for _, a := range []peertest.Answer{
		s.Do("GET", `/notes/doc?open_revs=all&atts_since=["`+first+`"]`, ""),
		s.Do("POST", "/notes/_bulk_get", `{"docs":[{"id":"doc","atts_since":["`+first+`"]}]}`),
	} {
		if !strings.Contains(a.Body, `"length":3,"stub":true`) || strings.Contains(a.Body, "YWFh") || !strings.Contains(a.Body, `"data":"YmJi"`) {
			t.Errorf("revisions with what is new of their attachments = %d %s", a.Status, a.Body)
		}
	}
	a = s.Want(200, "GET", `/notes/doc?attachments=true`, "")
	if !strings.Contains(a.Body, `"data":"YWFh"`) || !strings.Contains(a.Body, `"data":"YmJi"`) {
		t.Errorf("a document with its attachments = %s", a.Body)
	}
	if a := s.Do("GET", "/notes/doc", "", "If-None-Match", `"`+second+`"`); a.Status != http.StatusNotModified {
		t.Errorf("a document that is known = %d", a.Status)
	}
}

func TestAttachmentsByThemselves(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	var w struct{ Rev string }
	s.Want(201, "PUT", "/notes/doc/a/b", "one", "Content-Type", "text/one").Into(t, &w)
	s.Want(409, "PUT", "/notes/doc/a/b", "two", "Content-Type", "text/two")
	s.Want(201, "PUT", "/notes/doc/a%2Fb?rev="+w.Rev, "two", "Content-Type", "text/two").Into(t, &w)
	if a := s.Want(200, "GET", "/notes/doc/a/b", ""); a.Body != "two" || a.Header.Get("Etag") == "" {
		t.Errorf("attachment = %s %v", a.Body, a.Header)
	}
	if a := s.Want(200, "HEAD", "/notes/doc/a/b", ""); a.Body != "" || a.Header.Get("Content-Length") != "3" {
		t.Errorf("HEAD = %q %v", a.Body, a.Header)
	}
	s.Want(404, "DELETE", "/notes/doc/none?rev="+w.Rev, "")
	s.Want(409, "DELETE", "/notes/doc/a/b", "")
	s.Want(200, "DELETE", "/notes/doc/a/b", "", "If-Match", `"`+w.Rev+`"`)
	s.Want(404, "GET", "/notes/doc/a/b", "")
	s.Want(200, "GET", "/notes/doc/a/b?rev="+w.Rev, "")
	s.Want(404, "DELETE", "/notes/none/a?rev="+w.Rev, "")
}
