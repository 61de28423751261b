package sync_test

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/value"
	"doorward/sync"
)

// leaf is a document of _bulk_docs with a path of hashes, the newest first.
func leaf(id string, generation int, hashes ...string) string {
	return fmt.Sprintf(`{"_id":%q,"_rev":%q,"_revisions":{"start":%d,"ids":%s},"is":%q}`,
		id, fmt.Sprintf("%d-%s", generation, hashes[0]), generation, value.Texts(hashes...), hashes[0])
}

// brought pushes revisions as they are.
func (s *site) brought(docs ...string) {
	s.Helper()
	a := s.want(201, "POST", "/notes/_bulk_docs", `{"new_edits":false,"docs":[`+strings.Join(docs, ",")+`]}`)
	if shape(s, a.body) != "[]" {
		s.Errorf("_bulk_docs = %s, want that all are taken", a.body)
	}
}

// TestAFreeDatabaseTakesAnyHash: a revision that another server named in its own way is stored, found, edited and shown by that name.
func TestAFreeDatabaseTakesAnyHash(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	long := strings.Repeat("long", 1000)
	s.brought(leaf("doc", 2, "x", "a"), leaf("doc", 2, "y", "a"), leaf("long", 1, long), leaf("bare", 1, ""), leaf("UPPER", 1, strings.Repeat("AB", 16)))
	odd := `"é" \ ` + "\n"
	s.brought(leaf("odd", 1, odd))
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/notes/doc?conflicts=true", "", `{"_id":"doc","_rev":"2-y","_conflicts":["2-x"],"is":"y"}`},
		{"GET", "/notes/doc?rev=2-x&revs=true", "", `{"_id":"doc","_rev":"2-x","_revisions":{"start":2,"ids":["x","a"]},"is":"x"}`},
		{"GET", "/notes/doc?revs_info=true", "", `"_revs_info":[{"rev":"2-y","status":"available"},{"rev":"1-a","status":"missing"}]`},
		{"GET", `/notes/doc?open_revs=["2-x","1-a","1-fake"]`, "", `[{"ok":{"_id":"doc","_rev":"2-x","is":"x"}},{"missing":"1-a"},{"missing":"1-fake"}]`},
		{"POST", "/notes/_revs_diff", `{"doc":["2-x","3-z"],"long":["1-` + long + `","1-long"]}`, `{"doc":{"missing":["3-z"],"possible_ancestors":["2-y","2-x"]},"long":{"missing":["1-long"]}}`},
		{"POST", "/notes/_bulk_get", `{"docs":[{"id":"doc","rev":"2-x"},{"id":"bare"}]}`, `{"results":[{"id":"doc","docs":[{"ok":{"_id":"doc","_rev":"2-x","is":"x"}}]},{"id":"bare","docs":[{"ok":{"_id":"bare","_rev":"1-","is":""}}]}]}`},
		{"GET", "/notes/_changes?style=all_docs&limit=1", "", `"id":"doc","changes":[{"rev":"2-y"},{"rev":"2-x"}]`},
		{"GET", `/notes/_all_docs?key="doc"`, "", `"value":{"rev":"2-y"}`},
		{"GET", "/notes/UPPER", "", `"_rev":"1-` + replaced(strings.Repeat("ab", 16)) + `"`},
		{"GET", "/notes/odd?rev=" + url.QueryEscape("1-"+odd), "", `{"_id":"odd","_rev":"1-\"é\" \\ \n",`},
	} {
		if a := s.want(200, c.method, c.path, c.body); !strings.Contains(shape(t, a.body), c.want) {
			t.Errorf("%s %s = %s, want %s", c.method, c.path, shape(t, a.body), c.want)
		}
	}
	if tag := s.do("GET", "/notes/doc", "").header.Get("Etag"); tag != `"2-y"` {
		t.Errorf("the tag is %s", tag)
	}
	if tag := s.do("GET", "/notes/odd", "").header.Get("Etag"); tag != "" {
		t.Errorf("the tag of what no header can say is %s", tag)
	}
	next := s.put("doc", `{"_rev":"2-x","edited":true}`)
	if !strings.HasPrefix(next, "3-") || len(next) != 34 {
		t.Errorf("an edit of 2-x is %s", next)
	}
	s.want(409, "PUT", "/notes/doc", `{"_rev":"2-fake"}`)
	if a := s.want(201, "POST", "/notes/_bulk_docs", `{"docs":[{"_id":"new","_rev":"1-123"}]}`); !strings.Contains(a.body, `[{"id":"new","error":"conflict"`) {
		t.Errorf("an edit of what is not there = %s", a.body)
	}
	if r, err := s.store.Verify(kv.Operator(), nil); err != nil || r.Damaged > 0 {
		t.Errorf("Verify = %+v, %v", r, err)
	}
}

// TestWinnersAreCouchDBs: of two leaves the one wins that wins at CouchDB, which compares the digits of a hash as the bytes that they
// stand for.
func TestWinnersAreCouchDBs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i, c := range []struct{ loses, wins string }{
		{"1-a", "1-b"}, {"9-z", "10-a"}, {"1-", "1-a"}, {"1-Z", "1-a"}, {"1-a", "1-aa"},
		{"1-" + strings.Repeat("6", 32), "1-x"}, {"1-x", "1-" + strings.Repeat("9", 32)}, {"1-" + strings.Repeat("6", 31), "1-x"},
	} {
		id := fmt.Sprint("doc", i)
		for _, rev := range []string{c.wins, c.loses} {
			s.brought(fmt.Sprintf(`{"_id":%q,"_rev":%q}`, id, rev))
		}
		if a := s.want(200, "GET", "/notes/"+id+"?conflicts=true", ""); !strings.Contains(a.body, fmt.Sprintf(`"_rev":%q,"_conflicts":[%q]`, c.wins, c.loses)) {
			t.Errorf("of %s and %s: %s", c.loses, c.wins, a.body)
		}
		s.brought(fmt.Sprintf(`{"_id":%q,"_rev":"11-zz","_deleted":true}`, id))
		if a := s.want(200, "GET", "/notes/"+id, ""); !strings.Contains(a.body, fmt.Sprintf(`"_rev":%q`, c.wins)) {
			t.Errorf("a tombstone wins against %s: %s", c.wins, a.body)
		}
	}
}

// TestAnyHashIsReplicated: whatever way joins two sites, and in a file.
func TestAnyHashIsReplicated(t *testing.T) {
	t.Parallel()
	filled := func(t *testing.T) *site {
		a := newSite(t)
		a.brought(leaf("doc", 2, "x", "a"), leaf("doc", 2, "y", "a"), leaf("bare", 1, ""), leaf("odd", 2, `"é" \ `+"\n", strings.Repeat("0", 32)))
		a.brought(`{"_id":"att","_rev":"1-` + "ä ?&" + `","_attachments":{"a":{"content_type":"text/plain","data":"aGVsbG8="}}}`)
		return a
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			a, b := filled(t), newSite(t)
			source, target := way.ends(a, b)
			if run := replicate(t, source, target); run.Failures != 0 || run.Written != 5 {
				t.Errorf("run = %+v", run)
			}
			wantSame(t, a, b)
		})
	}
	t.Run("in a file", func(t *testing.T) {
		a, b := filled(t), newSite(t)
		source, err := sync.NewFileSource(bytes.NewReader(a.export(t)))
		if err != nil {
			t.Fatal(err)
		}
		replicate(t, source, b.here())
		wantSame(t, a, b)
	})
}

// TestARecordTakesNoOtherHash: a record's revisions are 32 hex digits, whoever brings them; its neighbours are taken.
func TestARecordTakesNoOtherHash(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	kvtest.Create(t, s.store, record.Church, `{"name":"North"}`)
	person := func(n int) string { return record.Person.DocID(record.Int(int64(record.FirstDrawn) + int64(n))) }
	body := func(n int, rev string) string {
		return fmt.Sprintf(`{"_id":%q,"_rev":%q,"full_name":"Ana Souza","church_id":1}`, person(n), rev)
	}
	a := s.want(201, "POST", "/church-1/_bulk_docs", `{"new_edits":false,"docs":[`+body(1, "1-a")+","+body(2, "1-"+strings.Repeat("1", 32))+","+body(3, "1-")+","+body(4, "1-"+strings.Repeat("A", 32))+","+
		strings.Replace(body(5, "2-"+strings.Repeat("a", 32)), "{", `{"_revisions":{"start":2,"ids":["`+strings.Repeat("A", 32)+`","`+strings.Repeat("b", 32)+`"]},`, 1)+`]}`)
	if n := strings.Count(a.body, `"error":"forbidden","reason":"Invalid rev format"`); n != 4 || strings.Contains(a.body, person(2)) {
		t.Errorf("_bulk_docs = %s, want all but one forbidden", a.body)
	}
	s.want(200, "GET", "/church-1/"+person(2), "")
	for _, n := range []int{1, 3, 4, 5} {
		s.want(404, "GET", "/church-1/"+person(n), "")
	}
	s.want(400, "PUT", "/church-1/"+person(2), body(2, "1-a"))
	s.want(404, "GET", "/church-1/"+person(2)+"?rev=1-a", "")
	if a := s.want(200, "POST", "/church-1/_bulk_get", `{"docs":[{"id":"`+person(2)+`","rev":"1-a"},{"id":"`+person(9)+`"}]}`); strings.Count(a.body, `"docs":[]`) != 2 {
		t.Errorf("_bulk_get = %s", a.body)
	}
	if r, err := s.store.Verify(kv.Operator(), nil); err != nil || r.Damaged > 0 {
		t.Errorf("Verify = %+v, %v", r, err)
	}
}

// TestOneMalformedDocumentRefusesAllOfARequest: in a free database, as CouchDB has it; nothing of the request is stored.
func TestOneMalformedDocumentRefusesAllOfARequest(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, c := range []struct{ doc, edits, want string }{
		{`{"_id":"bad","n":1}`, "false", `"doc_validation"`},
		{`{"_id":"bad","_rev":"first"}`, "false", `"bad_request","reason":"Invalid rev format"`},
		{`{"_id":"bad","_rev":"first"}`, "true", `"bad_request","reason":"Invalid rev format"`},
		{`{"_id":"bad","_rev":"1-` + strings.Repeat("g", 32) + `"}`, "false", `"Invalid rev format"`},
		{`{"_id":"bad","_revisions":{"start":1,"ids":["a","b"]}}`, "false", `"Invalid rev format"`},
		{`{"_id":"bad","_zing":4}`, "true", `"doc_validation","reason":"Bad special document member: _zing"`},
		{`{"_id":"bad","_rev":"1-a","_zing":4}`, "false", `"doc_validation","reason":"Bad special document member: _zing"`},
		{`{"_id":"bad","_deleted":"yes"}`, "true", `"doc_validation","reason":"Bad special document member: _deleted"`},
		{`{"_id":"_bad"}`, "true", `"illegal_docid"`},
		{`{"_id":5}`, "true", `"illegal_docid"`},
		{`{"_rev":"1-a"}`, "false", `"illegal_docid"`},
		{`5`, "true", `"bad_request"`},
	} {
		a := s.want(400, "POST", "/notes/_bulk_docs", `{"new_edits":`+c.edits+`,"docs":[{"_id":"good","_rev":"1-a"},`+c.doc+`]}`)
		if !strings.Contains(a.body, `{"error":`) || !strings.Contains(a.body, c.want) {
			t.Errorf("%s with new_edits %s: %s, want %s", c.doc, c.edits, a.body, c.want)
		}
	}
	if info, err := s.open().Info(); err != nil || info.Seq != 0 {
		t.Errorf("the database is %+v, %v, want it untouched", info, err)
	}
}

// TestADocumentThatATargetFindsMalformedKeepsNoneBack: a server that refuses a whole request for it is given the others.
func TestADocumentThatATargetFindsMalformedKeepsNoneBack(t *testing.T) {
	t.Parallel()
	a := newSite(t)
	for i := range 20 {
		a.put(fmt.Sprint("doc", i), `{}`)
	}
	lines := unpackedLines(t, a.export(t))
	lines[7] = strings.Replace(lines[7], `"_id":"`, `"_id":"`+strings.Repeat("i", 8<<10), 1)
	for name, config := range map[string]sync.ThereConfig{"plainly": plainly, "in lines": {}} {
		b := newSite(t)
		source, err := sync.NewFileSource(bytes.NewReader(packedLines(t, lines)))
		if err != nil {
			t.Fatal(err)
		}
		out, err := sync.Replicate(t.Context(), sync.Job{Source: source, Target: b.there(config), Tries: 1})
		if err != nil || len(out.Denied) != 1 || out.Denied[0].Error != "forbidden" || len(out.Denied[0].ID) <= 8<<10 {
			t.Errorf("%s: %d denied, %v, want the one", name, len(out.Denied), err)
		}
		if info, err := b.open().Info(); err != nil || info.Docs != 19 {
			t.Errorf("%s: %d documents, %v, want the others", name, info.Docs, err)
		}
	}
}

// TestCompacting makes the bodies of superseded revisions unreadable; leaves keep theirs, and their attachments.
func TestCompacting(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var revs []string
	rev := ""
	for i := range 4 {
		body := fmt.Sprintf(`{"n":%d,"_attachments":{"a":{"data":"aGVsbG8%d"}}}`, i, i)
		if rev != "" {
			body = strings.Replace(body, "{", `{"_rev":"`+rev+`",`, 1)
		}
		rev = s.put("doc", body)
		revs = append(revs, rev)
	}
	s.brought(fmt.Sprintf(`{"_id":"doc","_rev":"2-a","_revisions":{"start":2,"ids":["a",%q]},"n":"lost"}`, revs[0][2:]))
	for i := range 250 { // more than one step of it
		rev := s.put(fmt.Sprint("many", i), `{"n":1}`)
		s.put(fmt.Sprint("many", i), `{"n":2,"_rev":"`+rev+`"}`)
	}
	for _, other := range []*site{s.as("church:1", "sync:GET"), s.as("church:1", "sync:*"), s.as("denomination", "sync:*")} {
		other.want(403, "POST", "/notes/_compact", `{}`) // what it drops is gone for good
	}
	s.want(200, "GET", "/notes/doc?rev="+revs[2], "")
	before := s.do("GET", "/notes", "").body
	if a := s.want(202, "POST", "/notes/_compact", `{}`); shape(t, a.body) != `{"ok":true}` {
		t.Errorf("_compact = %s", a.body)
	}
	if after := s.do("GET", "/notes", "").body; after != before {
		t.Errorf("the database is %s, want %s", after, before)
	}
	for i, old := range revs[:3] {
		if a := s.want(404, "GET", "/notes/doc?rev="+old, ""); !strings.Contains(a.body, "missing") {
			t.Errorf("revision %d = %s", i, a.body)
		}
		s.want(404, "GET", "/notes/doc/a?rev="+old, "")
	}
	if a := s.want(200, "GET", "/notes/doc?revs_info=true&conflicts=true&attachments=true", ""); !strings.Contains(shape(t, a.body), `"_revs_info":[{"rev":"4-R","status":"available"},{"rev":"3-R","status":"missing"},`+
		`{"rev":"2-R","status":"missing"},{"rev":"1-R","status":"missing"}],"_conflicts":["2-a"]`) || !strings.Contains(a.body, `"data":"aGVsbG83"`) {
		t.Errorf("the document is %s", a.body)
	}
	if a := s.want(200, "GET", "/notes/doc?rev=2-a", ""); !strings.Contains(a.body, `"n":"lost"`) {
		t.Errorf("the other leaf is %s", a.body)
	}
	if a := s.want(200, "POST", "/notes/_bulk_get", `{"docs":[{"id":"doc","rev":"`+revs[0]+`"}]}`); !strings.Contains(a.body, `"reason":"missing"`) {
		t.Errorf("_bulk_get = %s", a.body)
	}
	for i := range 250 {
		if a := s.want(200, "GET", fmt.Sprintf("/notes/many%d?revs_info=true", i), ""); !strings.Contains(a.body, `"status":"missing"`) {
			t.Fatalf("many%d is %s", i, a.body)
		}
	}
	if r, err := s.store.Verify(kv.Operator(), nil); err != nil || r.Damaged > 0 {
		t.Errorf("Verify = %+v, %v", r, err)
	}
	kvtest.Create(t, s.store, record.Church, `{"name":"North"}`)
	s.want(202, "POST", "/church-1/_compact", `{}`)
	s.want(404, "POST", "/none/_compact", `{}`)
}
