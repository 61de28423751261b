package sync_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/sync/peertest"
)

// TestAFreeDatabaseTakesAnyHash: a revision that another server named in its own way is stored, found, edited and shown by that name.
func TestAFreeDatabaseTakesAnyHash(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	long := strings.Repeat("long", 1000)
	peertest.Bring(s, peertest.Leaf("doc", 2, "x", "a"), peertest.Leaf("doc", 2, "y", "a"), peertest.Leaf("long", 1, long), peertest.Leaf("bare", 1, ""), peertest.Leaf("UPPER", 1, strings.Repeat("AB", 16)))
	odd := `"é" \ ` + "\n"
	peertest.Bring(s, peertest.Leaf("odd", 1, odd))
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/notes/doc?conflicts=true", "", `{"_id":"doc","_rev":"2-y","_conflicts":["2-x"],"is":"y"}`},
		{"GET", "/notes/doc?rev=2-x&revs=true", "", `{"_id":"doc","_rev":"2-x","_revisions":{"start":2,"ids":["x","a"]},"is":"x"}`},
		{"GET", "/notes/doc?revs_info=true", "", `"_revs_info":[{"rev":"2-y","status":"available"},{"rev":"1-a","status":"missing"}]`},
		{"GET", `/notes/doc?open_revs=["2-x","1-a","1-fake"]`, "", `[{"ok":{"_id":"doc","_rev":"2-x","is":"x"}},{"missing":"1-a"},{"missing":"1-fake"}]`},
		{"POST", "/notes/_revs_diff", `{"doc":["2-x","3-z"],"long":["1-` + long + `","1-long"]}`, `{"doc":{"missing":["3-z"],"possible_ancestors":["2-y","2-x"]},"long":{"missing":["1-long"]}}`},
		{"POST", "/notes/_bulk_get", `{"docs":[{"id":"doc","rev":"2-x"},{"id":"bare"}]}`, `{"results":[{"id":"doc","docs":[{"ok":{"_id":"doc","_rev":"2-x","is":"x"}}]},{"id":"bare","docs":[{"ok":{"_id":"bare","_rev":"1-","is":""}}]}]}`},
		{"GET", "/notes/_changes?style=all_docs&limit=1", "", `"id":"doc","changes":[{"rev":"2-y"},{"rev":"2-x"}]`},
		{"GET", `/notes/_all_docs?key="doc"`, "", `"value":{"rev":"2-y"}`},
		{"GET", "/notes/UPPER", "", `"_rev":"1-` + peertest.Replaced(strings.Repeat("ab", 16)) + `"`},
		{"GET", "/notes/odd?rev=" + url.QueryEscape("1-"+odd), "", `{"_id":"odd","_rev":"1-\"é\" \\ \n",`},
	} {
		if a := s.Want(200, c.method, c.path, c.body); !strings.Contains(peertest.Shape(t, a.Body), c.want) {
			t.Errorf("%s %s = %s, want %s", c.method, c.path, peertest.Shape(t, a.Body), c.want)
		}
	}
	if tag := s.Do("GET", "/notes/doc", "").Header.Get("Etag"); tag != `"2-y"` {
		t.Errorf("the tag is %s", tag)
	}
	if tag := s.Do("GET", "/notes/odd", "").Header.Get("Etag"); tag != "" {
		t.Errorf("the tag of what no header can say is %s", tag)
	}
	next := s.Put("doc", `{"_rev":"2-x","edited":true}`)
	if !strings.HasPrefix(next, "3-") || len(next) != 34 {
		t.Errorf("an edit of 2-x is %s", next)
	}
	s.Want(409, "PUT", "/notes/doc", `{"_rev":"2-fake"}`)
	if a := s.Want(201, "POST", "/notes/_bulk_docs", `{"docs":[{"_id":"new","_rev":"1-123"}]}`); !strings.Contains(a.Body, `[{"id":"new","error":"conflict"`) {
		t.Errorf("an edit of what is not there = %s", a.Body)
	}
	if r, err := s.Store.Files.Verify(auth.Operator(), nil); err != nil || r.Damaged > 0 {
		t.Errorf("Verify = %+v, %v", r, err)
	}
}

// TestWinnersAreCouchDBs: of two leaves the one wins that wins at CouchDB, which compares the digits of a hash as the bytes that they
// stand for.
func TestWinnersAreCouchDBs(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	for i, c := range []struct{ loses, wins string }{
		{"1-a", "1-b"}, {"9-z", "10-a"}, {"1-", "1-a"}, {"1-Z", "1-a"}, {"1-a", "1-aa"},
		{"1-" + strings.Repeat("6", 32), "1-x"}, {"1-x", "1-" + strings.Repeat("9", 32)}, {"1-" + strings.Repeat("6", 31), "1-x"},
	} {
		id := fmt.Sprint("doc", i)
		for _, rev := range []string{c.wins, c.loses} {
			peertest.Bring(s, fmt.Sprintf(`{"_id":%q,"_rev":%q}`, id, rev))
		}
		if a := s.Want(200, "GET", "/notes/"+id+"?conflicts=true", ""); !strings.Contains(a.Body, fmt.Sprintf(`"_rev":%q,"_conflicts":[%q]`, c.wins, c.loses)) {
			t.Errorf("of %s and %s: %s", c.loses, c.wins, a.Body)
		}
		peertest.Bring(s, fmt.Sprintf(`{"_id":%q,"_rev":"11-zz","_deleted":true}`, id))
		if a := s.Want(200, "GET", "/notes/"+id, ""); !strings.Contains(a.Body, fmt.Sprintf(`"_rev":%q`, c.wins)) {
			t.Errorf("a tombstone wins against %s: %s", c.wins, a.Body)
		}
	}
}

// TestARecordTakesNoOtherHash: a record's revisions are 32 hex digits, whoever brings them; its neighbours are taken.
func TestARecordTakesNoOtherHash(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	kvtest.Create(t, s.Store, record.Church, `{"name":"North"}`)
	person := func(n int) string { return record.Person.DocID(record.Int(int64(record.FirstDrawn) + int64(n))) }
	body := func(n int, rev string) string {
		return fmt.Sprintf(`{"_id":%q,"_rev":%q,"full_name":"Ana Souza","church_id":1}`, person(n), rev)
	}
	a := s.Want(201, "POST", "/church-1/_bulk_docs", `{"new_edits":false,"docs":[`+body(1, "1-a")+","+body(2, "1-"+strings.Repeat("1", 32))+","+body(3, "1-")+","+body(4, "1-"+strings.Repeat("A", 32))+","+
		strings.Replace(body(5, "2-"+strings.Repeat("a", 32)), "{", `{"_revisions":{"start":2,"ids":["`+strings.Repeat("A", 32)+`","`+strings.Repeat("b", 32)+`"]},`, 1)+`]}`)
	if n := strings.Count(a.Body, `"error":"forbidden","reason":"Invalid rev format"`); n != 4 || strings.Contains(a.Body, person(2)) {
		t.Errorf("_bulk_docs = %s, want all but one forbidden", a.Body)
	}
	s.Want(200, "GET", "/church-1/"+person(2), "")
	for _, n := range []int{1, 3, 4, 5} {
		s.Want(404, "GET", "/church-1/"+person(n), "")
	}
	s.Want(400, "PUT", "/church-1/"+person(2), body(2, "1-a"))
	s.Want(404, "GET", "/church-1/"+person(2)+"?rev=1-a", "")
	if a := s.Want(200, "POST", "/church-1/_bulk_get", `{"docs":[{"id":"`+person(2)+`","rev":"1-a"},{"id":"`+person(9)+`"}]}`); strings.Count(a.Body, `"docs":[]`) != 2 {
		t.Errorf("_bulk_get = %s", a.Body)
	}
	if r, err := s.Store.Files.Verify(auth.Operator(), nil); err != nil || r.Damaged > 0 {
		t.Errorf("Verify = %+v, %v", r, err)
	}
}

// TestOneMalformedDocumentRefusesAllOfARequest: of new edits in a free database, as CouchDB has it; nothing of the request is stored. What is pushed is
// refused by itself (TestPush_BadDocument).
func TestOneMalformedDocumentRefusesAllOfARequest(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	for _, c := range []struct{ doc, want string }{
		{`{"_id":"bad","_rev":"first"}`, `"bad_request","reason":"Invalid rev format"`},
		{`{"_id":"bad","_rev":"1-` + strings.Repeat("g", 32) + `"}`, `"Invalid rev format"`},
		{`{"_id":"bad","_revisions":{"start":1,"ids":["a","b"]}}`, `"Invalid rev format"`},
		{`{"_id":"bad","_zing":4}`, `"doc_validation","reason":"Bad special document member: _zing"`},
		{`{"_id":"bad","_deleted":"yes"}`, `"doc_validation","reason":"Bad special document member: _deleted"`},
		{`{"_id":"_bad"}`, `"illegal_docid"`},
		{`{"_id":5}`, `"illegal_docid"`},
		{`{"_id":"half \ud800"}`, `"bad_request","reason":"The document is not a JSON object: line 1, column 14: invalid escape sequence in string."`},
		{`5`, `"bad_request"`},
	} {
		a := s.Want(400, "POST", "/notes/_bulk_docs", `{"docs":[{"_id":"good","_rev":"1-a"},`+c.doc+`]}`)
		if !strings.Contains(a.Body, `{"error":`) || !strings.Contains(a.Body, c.want) {
			t.Errorf("%s: %s, want %s", c.doc, a.Body, c.want)
		}
	}
	if info, err := s.Open().Info(); err != nil || info.Seq != 0 {
		t.Errorf("the database is %+v, %v, want it untouched", info, err)
	}
}

// TestCompacting makes the bodies of superseded revisions unreadable; leaves keep theirs, and their attachments.
func TestCompacting(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	var revs []string
	rev := ""
	for i := range 4 {
		body := fmt.Sprintf(`{"n":%d,"_attachments":{"a":{"data":"aGVsbG8%d"}}}`, i, i)
		if rev != "" {
			body = strings.Replace(body, "{", `{"_rev":"`+rev+`",`, 1)
		}
		rev = s.Put("doc", body)
		revs = append(revs, rev)
	}
	peertest.Bring(s, fmt.Sprintf(`{"_id":"doc","_rev":"2-a","_revisions":{"start":2,"ids":["a",%q]},"n":"lost"}`, revs[0][2:]))
	for i := range 250 { // more than one step of it
		rev := s.Put(fmt.Sprint("many", i), `{"n":1}`)
		s.Put(fmt.Sprint("many", i), `{"n":2,"_rev":"`+rev+`"}`)
	}
	for _, other := range []*peertest.Site{s.As("church:1", "sync:GET"), s.As("church:1", "sync:*"), s.As("denomination", "sync:*")} {
		other.Want(403, "POST", "/notes/_compact", `{}`) // what it drops is gone for good
	}
	s.Want(200, "GET", "/notes/doc?rev="+revs[2], "")
	before, sizesBefore, _ := strings.Cut(s.Do("GET", "/notes", "").Body, `,"sizes":`)
	if a := s.Want(202, "POST", "/notes/_compact", `{}`); peertest.Shape(t, a.Body) != `{"ok":true}` {
		t.Errorf("_compact = %s", a.Body)
	}
	after, sizesAfter, _ := strings.Cut(s.Do("GET", "/notes", "").Body, `,"sizes":`)
	if after != before || len(sizesAfter) > len(sizesBefore) || sizesAfter >= sizesBefore {
		t.Errorf("the database is %s %s, was %s %s", after, sizesAfter, before, sizesBefore)
	}
	for i, old := range revs[:3] {
		if a := s.Want(404, "GET", "/notes/doc?rev="+old, ""); !strings.Contains(a.Body, "missing") {
			t.Errorf("revision %d = %s", i, a.Body)
		}
		s.Want(404, "GET", "/notes/doc/a?rev="+old, "")
	}
	if a := s.Want(200, "GET", "/notes/doc?revs_info=true&conflicts=true&attachments=true", ""); !strings.Contains(peertest.Shape(t, a.Body), `"_revs_info":[{"rev":"4-R","status":"available"},{"rev":"3-R","status":"missing"},`+
		`{"rev":"2-R","status":"missing"},{"rev":"1-R","status":"missing"}],"_conflicts":["2-a"]`) || !strings.Contains(a.Body, `"data":"aGVsbG83"`) {
		t.Errorf("the document is %s", a.Body)
	}
	if a := s.Want(200, "GET", "/notes/doc?rev=2-a", ""); !strings.Contains(a.Body, `"n":"lost"`) {
		t.Errorf("the other leaf is %s", a.Body)
	}
	if a := s.Want(200, "POST", "/notes/_bulk_get", `{"docs":[{"id":"doc","rev":"`+revs[0]+`"}]}`); !strings.Contains(a.Body, `"reason":"missing"`) {
		t.Errorf("_bulk_get = %s", a.Body)
	}
	for i := range 250 {
		if a := s.Want(200, "GET", fmt.Sprintf("/notes/many%d?revs_info=true", i), ""); !strings.Contains(a.Body, `"status":"missing"`) {
			t.Fatalf("many%d is %s", i, a.Body)
		}
	}
	if r, err := s.Store.Files.Verify(auth.Operator(), nil); err != nil || r.Damaged > 0 {
		t.Errorf("Verify = %+v, %v", r, err)
	}
	kvtest.Create(t, s.Store, record.Church, `{"name":"North"}`)
	s.Want(202, "POST", "/church-1/_compact", `{}`)
	s.Want(404, "POST", "/none/_compact", `{}`)
}
