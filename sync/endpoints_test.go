package sync_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/sync/peertest"
)

// endpoint is one request and what its answer holds. $ONE and $TWO are the two revisions of document b.
type endpoint struct {
	name, method, path, body string
	status                   int
	want                     string // a part of the shape of the body
}

// endpoints are asked one after the other.
var endpoints = []endpoint{
	{"the welcome", "GET", "/", "", 200, `{"couchdb":"Welcome","uuid":`},
	{"the welcome without its slash", "GET", "", "", 200, `{"couchdb":"Welcome"`},
	{"being up", "GET", "/_up", "", 200, `{"status":"ok"}`},
	{"all databases", "GET", "/_all_dbs", "", 200, `["notes"`},
	{"ids", "GET", "/_uuids?count=2", "", 200, `{"uuids":["R","R"]}`},
	{"databases from a name on", "GET", `/_all_dbs?startkey="o"&limit=1`, "", 200, `["reference"]`},
	{"databases up to a name", "GET", `/_all_dbs?end_key="notes"`, "", 200, `["notes"]`},
	{"databases before a name", "GET", `/_all_dbs?endkey="notes"&inclusive_end=false`, "", 200, `[]`},
	{"the last database but one", "GET", `/_all_dbs?descending=true&start_key="reference"&skip=1&limit=1`, "", 200, `["notes"]`},
	{"databases by name", "GET", `/_all_dbs?keys=["notes"]`, "", 400, `keys is not supported`},
	{"too many ids", "GET", "/_uuids?count=1001", "", 400, `"query_parse_error"`},
	{"a database", "GET", "/notes", "", 200, `{"db_name":"notes","update_seq":"7-E","doc_count":4,"doc_del_count":1,"instance_start_time":"T","purge_seq":0,"compact_running":false,"sizes":{"file":`},
	{"a database with its slash", "GET", "/notes/", "", 200, `"doc_count":4`},
	{"no database", "GET", "/none", "", 404, `{"error":"not_found","reason":"Database does not exist."}`},
	{"no name of a database", "GET", "/Notes", "", 400, `{"error":"illegal_database_name"`},
	{"a database that is there", "PUT", "/notes", "", 412, `{"error":"file_exists"`},
	{"a reserved database", "PUT", "/church-x", "", 403, `{"error":"forbidden"`},
	{"deleting a reserved database", "DELETE", "/reference", "", 403, `forbidden`},
	{"another database", "PUT", "/a%2Fb", "", 201, `{"ok":true}`},
	{"deleting it", "DELETE", "/a%2Fb", "", 200, `{"ok":true}`},
	{"deleting what is not there", "DELETE", "/a%2Fb", "", 404, `Database does not exist.`},
	{"a database in parts", "PUT", "/parts?partitioned=true", "", 400, `partitioned is not supported`},
	{"it was not made", "GET", "/parts", "", 404, `Database does not exist.`},
	{"parts or not", "PUT", "/parts?partitioned=perhaps", "", 400, `"query_parse_error"`},
	{"deleting a document by an empty id", "DELETE", "/notes/?rev=$TWO", "", 400, `Did you mean to DELETE a document instead?`},
	{"a method that is none", "PATCH", "/notes", "", 405, `method_not_allowed`},
	{"a path that is none", "GET", "/notes/a/", "", 400, `bad_request`},
	{"a reserved path", "GET", "/notes/_none", "", 404, `not_found`},
	{"a commit", "POST", "/notes/_ensure_full_commit", `{}`, 201, `{"ok":true,"instance_start_time":"T"}`},
	{"the limit of revisions", "GET", "/notes/_revs_limit", "", 200, `50`},
	{"the same limit", "PUT", "/notes/_revs_limit", "50", 200, `{"ok":true}`},
	{"another limit", "PUT", "/notes/_revs_limit", "1000", 403, `forbidden`},

	{"a document", "GET", "/notes/a", "", 200, `{"_id":"a","_rev":"1-R","n":1}`},
	{"an earlier revision", "GET", "/notes/b?rev=$ONE", "", 200, `{"_id":"b","_rev":"1-R","n":2}`},
	{"its history", "GET", "/notes/b?revs=true", "", 200, `"_revisions":{"start":2,"ids":["R","R"]}`},
	{"its history, asked in Python", "GET", "/notes/b?revs=True&revs_info=False", "", 200, `"_revisions":{"start":2,"ids":["R","R"]},"n":3}`},
	{"what is left of its history", "GET", "/notes/b?revs_info=true", "", 200, `"_revs_info":[{"rev":"2-R","status":"available"},{"rev":"1-R","status":"available"}]`},
	{"a document that is not there", "GET", "/notes/none", "", 404, `{"error":"not_found","reason":"missing"}`},
	{"a deleted document", "GET", "/notes/gone", "", 404, `{"error":"not_found","reason":"deleted"}`},
	{"a revision that is not there", "GET", "/notes/a?rev=9-" + strings.Repeat("0", 32), "", 404, `missing`},
	{"a revision of another server's", "GET", "/notes/a?rev=1-x", "", 404, `missing`},
	{"what is no revision", "GET", "/notes/a?rev=x-1", "", 400, `bad_request`},
	{"a design document", "GET", "/notes/_design/x", "", 200, `{"_id":"_design/x","_rev":"1-R","views":{}}`},
	{"a design document by another spelling", "GET", "/notes/_design%2Fx", "", 200, `"_id":"_design/x"`},
	{"a document with a slash", "GET", "/notes/with%2Fslash", "", 200, `"_id":"with/slash"`},
	{"all leaves", "GET", "/notes/b?open_revs=all", "", 200, `[{"ok":{"_id":"b","_rev":"2-R","n":3}}]`},
	{"some revisions", "GET", `/notes/b?open_revs=["$ONE","1-x"]`, "", 200, `[{"ok":{"_id":"b","_rev":"1-R","n":2}},{"missing":"1-x"}]`},
	{"some of which one is none", "GET", `/notes/b?open_revs=["$ONE","x"]`, "", 400, `"bad_request","reason":"Invalid rev format"`},
	{"revisions that are no list", "GET", `/notes/b?open_revs={"1-x":1}`, "", 400, `"bad_request"`},
	{"a selector that is none", "POST", "/notes/_changes?filter=_selector", `{"selector":"x"}`, 400, `"bad_request","reason":"Selector error: expected a JSON object"`},
	{"a selector of what is no test", "POST", "/notes/_changes?filter=_selector", `{"selector":{"x":{"$none":1}}}`, 400, `"query_parse_error"`},
	{"the latest of a revision", "GET", `/notes/b?latest=true&open_revs=["$ONE"]`, "", 200, `[{"ok":{"_id":"b","_rev":"2-R","n":3}}]`},
	{"revisions of no document", "GET", `/notes/none?open_revs=["$ONE"]`, "", 200, `[{"missing":"1-R"}]`},

	{"a second document under an id", "PUT", "/notes/a", `{}`, 409, `{"error":"conflict","reason":"Document update conflict."}`},
	{"an edit of an old revision", "PUT", "/notes/b?rev=$ONE", `{}`, 409, `conflict`},
	{"an edit of one revision by the path and another in the body", "PUT", "/notes/b?rev=$TWO", `{"_rev":"$ONE"}`, 400, `"bad_request","reason":"Document rev from`},
	{"a document that is no object", "PUT", "/notes/new", `[]`, 400, `bad_request`},
	{"half a document", "PUT", "/notes/new", `{"a":`, 400, `bad_request`},
	{"a document and more", "PUT", "/notes/new", `{}{}`, 400, `bad_request`},
	{"what is deleted in a way", "PUT", "/notes/new", `{"_deleted":"yes"}`, 400, `doc_validation`},
	{"a member of ours", "PUT", "/notes/new", `{"_mine":1}`, 400, `doc_validation`},
	{"another id within", "PUT", "/notes/outer", `{"_id":"_design/inner"}`, 201, `{"ok":true,"id":"outer","rev":"1-R"}`},
	{"the id within", "GET", "/notes/_design/inner", "", 404, `missing`},
	{"deleting without a revision", "DELETE", "/notes/a", "", 409, `conflict`},
	{"deleting what is deleted", "DELETE", "/notes/gone", "", 404, `deleted`},
	{"a document without an id", "POST", "/notes", `{"x":1}`, 201, `{"ok":true,"id":"R","rev":"1-R"}`},
	{"a form", "POST", "/notes/_bulk_docs", "", 415, `bad_content_type`},

	{"a semicolon in a parameter", "PUT", "/notes/a%3Bb", `{}`, 201, `"id":"a;b"`},
	{"an id with a semicolon", "GET", `/notes/_all_docs?key="a;b"`, "", 200, `"rows":[{"id":"a;b","key":"a;b","value":{"rev":"1-R"}}]}`},
	{"the id, escaped", "GET", `/notes/_all_docs?key="a%3Bb"`, "", 200, `"rows":[{"id":"a;b","key":"a;b","value":{"rev":"1-R"}}]}`},
	{"a bad escape", "GET", `/notes/_all_docs?key="100%"`, "", 400, `"query_parse_error"`},
	{"a bad escape of what is not asked", "GET", `/_up?x=%zz`, "", 400, `"query_parse_error"`},
	{"a number and a semicolon", "GET", "/notes/_changes?limit=1;", "", 400, `"query_parse_error"`},
	{"a sequence and a semicolon", "GET", "/notes/_changes?since=now;", "", 400, `"bad_request"`},
	{"a flag and a semicolon", "PUT", "/notes/z?new_edits=false;", `{"_rev":"7-` + strings.Repeat("a", 32) + `"}`, 400, `"query_parse_error"`},
	{"nothing was stored by it", "GET", "/notes/z", "", 404, `missing`},

	{"documents together or not at all", "POST", "/notes/_bulk_docs", `{"docs":[{"_id":"together"},{}],"all_or_nothing":true}`, 417,
		`[{"id":"together","error":"not_implemented","reason":"all_or_nothing is not supported"},{"id":"R","error":"not_implemented","reason":"all_or_nothing is not supported"}]`},
	{"none was stored", "GET", "/notes/together", "", 404, `missing`},
	{"a long poll that does not wait", "GET", "/notes/_changes?feed=longpoll&since=now&timeout=0", "", 200, `{"results":[],"last_seq":"`},
	{"a continuous feed that does not wait", "GET", "/notes/_changes?feed=continuous&since=now&timeout=0", "", 200, `","pending":0}`},
	{"changes of design documents", "GET", "/notes/_changes?filter=_design", "", 200, `{"results":[{"seq":"6-E","id":"_design/x","changes":[{"rev":"1-R"}]}],"last_seq":"`},
	{"its other name", "GET", "/notes/_changes?feed=live&since=now&timeout=0", "", 200, `{"last_seq":"`},
	{"a time that is none", "GET", "/notes/_changes?timeout=soon", "", 400, `"query_parse_error"`},

	{"a difference", "POST", "/notes/_revs_diff", `{"b":["$ONE","$TWO","3-00000000000000000000000000000000","x"],"a":[],"new":["1-00000000000000000000000000000000"]}`, 200,
		`{"b":{"missing":["3-R","x"],"possible_ancestors":["2-R"]},"new":{"missing":["1-R"]}}`},
	{"no difference", "POST", "/notes/_revs_diff", `{"b":["$ONE"]}`, 200, `{}`},
	{"a difference of nothing", "POST", "/notes/_revs_diff", `[]`, 400, `bad_request`},
	{"some documents", "POST", "/notes/_bulk_get?revs=true", `{"docs":[{"id":"b","rev":"$ONE"},{"id":"none"},{"id":"a"},{"id":"b","rev":"1-x"}]}`, 200,
		`{"results":[{"id":"b","docs":[{"ok":{"_id":"b","_rev":"1-R","_revisions":{"start":1,"ids":["R"]},"n":2}}]},{"id":"none","docs":[{"error":{"id":"none","rev":"undefined","error":"not_found","reason":"missing"}}]},` +
			`{"id":"a","docs":[{"ok":{"_id":"a","_rev":"1-R","_revisions":{"start":1,"ids":["R"]},"n":1}}]},{"id":"b","docs":[{"error":{"id":"b","rev":"1-x","error":"not_found","reason":"missing"}}]}]}`},
	{"items that name nothing", "POST", "/notes/_bulk_get", `{"docs":[{"rev":"$ONE"},{"id":"b","rev":5},{"id":"b","rev":"x"},{"id":"a","rev":null,"atts_since":7}]}`, 200,
		`{"results":[` + lackingID("1-R") + `,{"id":"b","docs":[{"error":{"id":"b","rev":"undefined","error":"bad_request","reason":"Invalid rev format"}}]},` +
			`{"id":"b","docs":[{"error":{"id":"b","rev":"x","error":"bad_request","reason":"Invalid rev format"}}]},{"id":"a","docs":[{"ok":{"_id":"a","_rev":"1-R","n":1}}]}]}`},
	{"items that are none", "POST", "/notes/_bulk_get", `{"docs":[{"id":7},{},{"id":null},"b",null,[{"id":"b"}],{"id":"a"}]}`, 200,
		`{"results":[` + strings.Repeat(lackingID("undefined")+",", 6) + `{"id":"a","docs":[{"ok":`},
	{"members as parameters", "POST", "/notes/_bulk_get", `{"docs":[{"id":"b","rev":"$ONE"}],"latest":true,"revs":true}`, 200, `"_revisions":{"start":2`},
	{"the latest of some", "POST", "/notes/_bulk_get?latest=true", `{"docs":[{"id":"b","rev":"$ONE"}]}`, 200, `"_rev":"2-R"`},
	{"a filter by a view that is not named", "GET", "/notes/_changes?filter=_view", "", 400, `"bad_request"`},
	{"documents of nothing", "POST", "/notes/_bulk_get", `{}`, 400, `bad_request`},

	{"a local document that is not there", "GET", "/notes/_local/c", "", 404, `missing`},
	{"a local document", "PUT", "/notes/_local/c", `{"_id":"_local/c","seq":1}`, 201, `{"ok":true,"id":"_local/c","rev":"0-1"}`},
	{"a local document again", "PUT", "/notes/_local%2Fc", `{"_rev":"0-1","seq":2}`, 201, `"rev":"0-2"`},
	{"reading it", "GET", "/notes/_local/c", "", 200, `{"_id":"_local/c","_rev":"0-2","seq":2}`},
	{"a local document with revisions of its own", "PUT", "/notes/_local/c", `{"_rev":"0-2","_revisions":{"start":0,"ids":["1"]},"seq":2}`, 201, `"rev":"0-3"`},
	{"deleting it", "DELETE", "/notes/_local/c", "", 200, `{"ok":true,"id":"_local/c","rev":"0-0"}`},
	{"deleting it again", "DELETE", "/notes/_local/c", "", 404, `missing`},
	{"a local document once more", "PUT", "/notes/_local/d", `{"seq":1}`, 201, `"rev":"0-1"`},
	{"after another revision", "PUT", "/notes/_local/d", `{"_rev":"0-2","seq":2}`, 409, `conflict`},
	{"after what is none", "PUT", "/notes/_local/d", `{"_rev":"1-` + strings.Repeat("0", 32) + `","seq":2}`, 400, `Invalid rev format`},
	{"attaching to it", "PUT", "/notes/_local/d/a.txt", `{}`, 400, `_local documents do not accept attachments.`},
	{"reading an attachment of it", "GET", "/notes/_local%2Fd/a.txt", "", 400, `_local documents do not accept attachments.`},
	{"deleting an attachment of what is not there", "DELETE", "/notes/_local/none/a.txt?rev=1-a", "", 400, `_local documents do not accept attachments.`},
	{"after what is no text", "PUT", "/notes/_local/d", `{"_rev":1,"seq":2}`, 400, `Invalid rev format`},
	{"after one revision by the path and another in the body", "PUT", "/notes/_local/d?rev=0-2", `{"_rev":"0-1"}`, 400, `"bad_request","reason":"Document rev from`},
	{"another local id within", "PUT", "/notes/_local/q", `{"_id":"_local/other"}`, 201, `"id":"_local/q","rev":"0-1"`},
	{"a local document that is posted", "POST", "/notes", `{"_id":"_local/p","n":1}`, 201, `{"ok":true,"id":"_local/p","rev":"0-1"}`},
	{"one that is posted after another revision", "POST", "/notes", `{"_id":"_local/p","_rev":"0-2"}`, 409, `conflict`},
	{"the local id within", "GET", "/notes/_local/other", "", 404, `missing`},
	{"deleting another revision", "DELETE", "/notes/_local/d?rev=0-2", "", 409, `conflict`},
	{"putting it deleted", "PUT", "/notes/_local/d", `{"_rev":"0-1","_deleted":true}`, 200, `{"ok":true,"id":"_local/d","rev":"0-0"}`},
	{"it is gone", "GET", "/notes/_local/d", "", 404, `missing`},
	{"an edit that comes too late", "POST", "/notes/_bulk_docs", `{"docs":[{"_id":"b","_rev":"$ONE"}]}`, 201, `[{"id":"b","error":"conflict","reason":"Document update conflict."}]`},
	{"a long id", "PUT", "/notes/" + strings.Repeat("i", 8<<10), `{}`, 201, `"ok":true`},
	{"too long an id", "POST", "/notes", `{"_id":"` + strings.Repeat("i", 8<<10+1) + `"}`, 400, `illegal_docid`},
	{"a local document with an attachment", "PUT", "/notes/_local/e", `{"n":1,"_attachments":{"a":{"data":""}}}`, 201, `"rev":"0-1"`},
	{"it has none", "GET", "/notes/_local/e?attachments=true", "", 200, `{"_id":"_local/e","_rev":"0-1","n":1}`},
	{"local documents among others", "POST", "/notes/_bulk_docs", `{"docs":[{"_id":"_local/e","_rev":"0-1","_deleted":true},{"_id":"beside"},{"_id":"_local/f","_rev":"0-7"},{"_id":"_local/g","n":2}]}`, 201,
		`[{"ok":true,"id":"_local/e","rev":"0-0"},{"ok":true,"id":"beside","rev":"1-R"},{"id":"_local/f","error":"conflict","reason":"Document update conflict."},{"ok":true,"id":"_local/g","rev":"0-1"}]`},
	{"the one that was deleted", "GET", "/notes/_local/e", "", 404, `missing`},
	{"the one that was written", "GET", "/notes/_local/g", "", 200, `"n":2`},
	{"the one beside them", "GET", "/notes/beside", "", 200, `"_rev":"1-R"`},
	{"deleting an attachment of a revision that is gone", "DELETE", "/notes/b/a.txt?rev=9-x", "", 409, `conflict`},
	{"deleting an attachment of what is not there", "DELETE", "/notes/none/a.txt", "", 404, `missing`},
	{"data beside the digest of before", "PUT", "/notes/att", `{"_attachments":{"a":{"digest":"md5-AAAAAAAAAAAAAAAAAAAAAA==","data":"aGVsbG8="}}}`, 201, `"ok":true`},
	{"the data counts", "GET", "/notes/att?attachments=true", "", 200, `"data":"aGVsbG8="`},
}

// TestEndpoints asks one after the other; what is wanted is what CouchDB's documentation says of each.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	s.Put("a", `{"n":1}`)
	one := s.Put("b", `{"n":2}`)
	two := s.Put("b", `{"n":3,"_rev":"`+one+`"}`)
	gone := s.Put("gone", `{}`)
	s.Want(200, "DELETE", "/notes/gone?rev="+gone, "")
	s.Want(201, "PUT", "/notes/_design/x", `{"views":{}}`)
	s.Want(201, "PUT", "/notes/with%2Fslash", `{}`)
	revisions := strings.NewReplacer("$ONE", one, "$TWO", two)
	for _, c := range endpoints {
		c.path, c.body = revisions.Replace(c.path), revisions.Replace(c.body)
		a := s.Do(c.method, c.path, c.body)
		if got := peertest.Shape(t, a.Body); a.Status != c.status || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s %s = %d %s, want %d %s", c.name, c.method, c.path, a.Status, got, c.status, c.want)
		}
		if !strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") {
			t.Errorf("%s is of type %s", c.name, a.Header.Get("Content-Type"))
		}
	}
}

// TestAnAnswerThatTellsMoreThanARevisionHasNoEtag: a browser would go on showing the conflicts of before, since the winner is the same.
func TestAnAnswerThatTellsMoreThanARevisionHasNoEtag(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	tag := `"` + s.Put("a", `{"n":1}`) + `"`
	for query, etag := range map[string]string{"": tag, "?revs=true": tag, "?conflicts=true": "", "?deleted_conflicts=true": "", "?meta=true": "", "?revs_info=true": "", "?local_seq=true": ""} {
		status := 200
		if etag != "" {
			status = 304
		}
		if got := s.Want(200, "GET", "/notes/a"+query, "").Header.Get("Etag"); got != etag {
			t.Errorf("GET /notes/a%s has the ETag %s, want %s", query, got, etag)
		}
		if a := s.Do("GET", "/notes/a"+query, "", "If-None-Match", tag); a.Status != status {
			t.Errorf("GET /notes/a%s, if it is not %s = %d, want %d", query, tag, a.Status, status)
		}
	}
}

// TestAnAnswerThatIsKnownIsNotSentAgain: proxies weaken a tag, and clients name several. A browser keeps what the answer without a body says.
func TestAnAnswerThatIsKnownIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	tag := `"` + s.Put("a", `{"_attachments":{"b":{"data":"YQ=="}}}`) + `"`
	for path, tag := range map[string]string{"/notes/a": tag, "/notes/a/b": s.Do("GET", "/notes/a/b", "").Header.Get("Etag")} {
		whole := s.Want(200, "GET", path, "", "If-None-Match", `"x,`+tag)
		for _, known := range []string{tag, "W/" + tag, `"x", W/"y",` + tag, "*"} {
			a := s.Want(304, "GET", path, "", "If-None-Match", known)
			for _, name := range []string{"Cache-Control", "Etag", "Vary"} {
				if got, want := a.Header.Get(name), whole.Header.Get(name); got != want {
					t.Errorf("GET %s, if it is not %s: %s is %s, want %s", path, known, name, got, want)
				}
			}
		}
		r := s.Request("GET", path, "", "If-None-Match", `"x"`)
		r.Header.Add("If-None-Match", tag)
		resp, err := http.DefaultClient.Do(r)
		if err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusNotModified {
			t.Errorf("GET %s with two lines = %v, %v", path, resp, err)
		}
	}
	for path, want := range map[string]string{"/notes/a": "private, must-revalidate", "/reference": "no-store", "/_session": "no-store", "/_uuids": "no-store", "/_all_dbs": "no-store"} {
		if got := s.Want(200, "GET", path, "").Header.Get("Cache-Control"); got != want {
			t.Errorf("GET %s: Cache-Control = %s, want %s", path, got, want)
		}
	}
}

// TestTwoRevisionsToWriteAfterAreRefused: one of them is stale, and the server cannot tell which one the client means.
func TestTwoRevisionsToWriteAfterAreRefused(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	one := s.Put("a", `{"n":1}`)
	two := s.Put("a", `{"n":2,"_rev":"`+one+`"}`)
	for _, c := range []struct{ method, path, body string }{
		{"PUT", "/notes/a?rev=" + two, `{"n":3}`}, {"PUT", "/notes/a", `{"n":3,"_rev":"` + two + `"}`}, {"DELETE", "/notes/a?rev=" + two, ""}, {"PUT", "/notes/a/b.txt?rev=" + two, "x"},
	} {
		if a := s.Do(c.method, c.path, c.body, "If-Match", `"`+one+`"`); a.Status != 400 || !strings.Contains(a.Body, "different values") {
			t.Errorf("%s %s %s, if it matches another = %d %s", c.method, c.path, c.body, a.Status, a.Body)
		}
	}
	for _, c := range []struct {
		method, path, body, tag string
		status                  int
	}{
		{"PUT", "/notes/_local/c", `{}`, "", 201}, {"PUT", "/notes/_local/c", `{}`, `"0-1"`, 201}, {"PUT", "/notes/_local/c", `{}`, `"0-1"`, 409},
		{"PUT", "/notes/_local/c", `{}`, "0-1", 409}, {"PUT", "/notes/_local/c?rev=0-2", `{}`, "0-1", 400}, {"PUT", "/notes/_local/c", `{"_rev":"0-2"}`, "0-1", 400},
		{"PUT", "/notes/_local/c", `{}`, "x", 400}, {"PUT", "/notes/_local/c", `{}`, `""`, 400}, {"DELETE", "/notes/_local/c", "", "0-1", 409},
		{"DELETE", "/notes/_local/c?rev=0-1", "", "0-2", 400}, {"DELETE", "/notes/_local/c", "", `W/"0-2"`, 200},
		{"PUT", "/notes/a", `{"n":3}`, `W/"` + one + `"`, 409}, {"PUT", "/notes/a", `{"n":3}`, `W/"` + two + `"`, 201}, // a proxy that compresses weakens the tag
	} {
		if a := s.Do(c.method, c.path, c.body, "If-Match", c.tag); a.Status != c.status {
			t.Errorf("%s %s %s, if it matches %s = %d %s, want %d", c.method, c.path, c.body, c.tag, a.Status, a.Body, c.status)
		}
	}
}

// TestAWriteTellsTheAddressAndTheTagOfWhatItWrote: clients go on from there.
func TestAWriteTellsTheAddressAndTheTagOfWhatItWrote(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	for _, c := range []struct{ method, path, body, at string }{
		{"POST", "/notes", `{"_id":"a/ü"}`, "/sync/notes/a%2F%C3%BC"}, {"POST", "/notes/", `{"_id":"_design/d"}`, "/sync/notes/_design%2Fd"},
		{"PUT", "/notes/b", `{}`, "/sync/notes/b"}, {"PUT", "/notes/c/d%2Fe", "{}", "/sync/notes/c/d%2Fe"}, {"PUT", "/notes/_local/c", `{}`, ""}, {"GET", "/notes/_local/c", "", ""},
	} {
		var w struct {
			Rev   string
			Local string `json:"_rev"`
		}
		a := s.Do(c.method, c.path, c.body)
		a.Into(t, &w)
		if got := a.Header.Get("Location"); got != c.at {
			t.Errorf("%s %s: Location = %s, want %s", c.method, c.path, got, c.at)
		}
		if got := a.Header.Get("Etag"); got != `"`+w.Rev+w.Local+`"` {
			t.Errorf("%s %s: the tag is %s, want the revision in %s", c.method, c.path, got, a.Body)
		}
	}
}

// lackingID is the answer to an item of _bulk_get that names no document.
func lackingID(rev string) string {
	return `{"id":null,"docs":[{"error":{"id":null,"rev":"` + rev + `","error":"illegal_docid","reason":"A document's id is a text of 1 to 8192 bytes. Only reserved ids begin with an underscore."}}]}`
}

func TestListingDocuments(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	for _, id := range []string{"a", "b", "c", "d"} {
		s.Put(id, `{"n":"`+id+`"}`)
	}
	gone := s.Put("gone", `{}`)
	s.Want(200, "DELETE", "/notes/gone?rev="+gone, "")
	row := func(id string) string { return `{"id":"` + id + `","key":"` + id + `","value":{"rev":"1-R"}}` }
	all := func(offset string, rows ...string) string {
		return `{"total_rows":4,"offset":` + offset + `,"rows":[` + strings.Join(rows, ",") + `]}`
	}
	for _, c := range []struct{ query, body, want string }{
		{"", "", all("0", row("a"), row("b"), row("c"), row("d"))},
		{"?limit=2&skip=1", "", all("1", row("b"), row("c"))},
		{"?limit=0", "", all("0")},
		{"?descending=true&limit=2", "", all("0", row("d"), row("c"))},
		{`?startkey="b"&endkey="c"`, "", all("null", row("b"), row("c"))},
		{`?startkey="b"&end_key="c"&inclusive_end=false`, "", all("null", row("b"))},
		{`?startkey="c"&endkey="b"&descending=true`, "", all("null", row("c"), row("b"))},
		{`?key="b"`, "", all("null", row("b"))},
		{`?key="b"&include_docs=true`, "", all("null", `{"id":"b","key":"b","value":{"rev":"1-R"},"doc":{"_id":"b","_rev":"1-R","n":"b"}}`)},
		{"?include_docs=true", `{"keys":["gone","none","a"]}`, all("null", `{"id":"gone","key":"gone","value":{"rev":"2-R","deleted":true},"doc":null}`,
			`{"key":"none","error":"not_found"}`, `{"id":"a","key":"a","value":{"rev":"1-R"},"doc":{"_id":"a","_rev":"1-R","n":"a"}}`)},
		{"", `{"keys":["b"],"include_docs":true}`, all("null", `{"id":"b","key":"b","value":{"rev":"1-R"},"doc":{"_id":"b","_rev":"1-R","n":"b"}}`)},
		{"?limit=4", `{"startkey":"b","end_key":"d","inclusive_end":false,"descending":false,"limit":1,"skip":1}`, all("null", row("c"))},
		{"", `{"key":"b"}`, all("null", row("b"))},
		{`?key="none"`, "", all("null")},
		{"?startkey=null", "", all("0", row("a"), row("b"), row("c"), row("d"))},
		{"", `{"start_key":null,"endkey":"b"}`, all("0", row("a"), row("b"))},
		{"?endkey=null", "", all("0")},
		{"?key=null", "", all("0")},
		{"?descending=true&limit=2", `{"keys":["a","b","c"]}`, all("null", row("c"), row("b"))},
		{`?key="b"&startkey="a"&endkey="c"`, "", all("null", row("b"))},
		{`?key="b"&startkey="c"`, "", all("null")},
		{`?key="b"&endkey="a"`, "", all("null")},
		{`?key="b"&endkey="b"&inclusive_end=false`, "", all("null")},
		{`?key="b"&startkey="a"&descending=true`, "", all("null")},
		{"?update_seq=true&limit=0", "", `{"total_rows":4,"update_seq":"6-E","offset":0,"rows":[]}`},
	} {
		method := "GET"
		if c.body != "" {
			method = "POST"
		}
		if a := s.Do(method, "/notes/_all_docs"+c.query, c.body); a.Status != 200 || peertest.Shape(t, a.Body) != c.want {
			t.Errorf("_all_docs%s %s = %d %s, want %s", c.query, c.body, a.Status, peertest.Shape(t, a.Body), c.want)
		}
	}
	for _, query := range []string{`?keys=["a"]&key="a"`, `?keys=["a"]&startkey="a"`, `?keys=["a"]&end_key="a"`, `?keys="a"`, "?limit=many"} {
		if a := s.Want(400, "GET", "/notes/_all_docs"+query, ""); !strings.Contains(a.Body, `"query_parse_error"`) {
			t.Errorf("_all_docs%s = %s", query, a.Body)
		}
	}
	s.Want(400, "POST", "/notes/_all_docs", `{"keys":["a"],"key":"a"}`)
	s.Want(400, "POST", "/notes/_all_docs", `{"include_docs":1}`)
}

// TestABadItemOfBulkGetKeepsNoOtherBack: whatever names no document, in a database of records as in a free one.
func TestABadItemOfBulkGetKeepsNoOtherBack(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	kvtest.Create(t, s.Store, record.Church, `{"name":"Central"}`)
	person := record.Person.DocID(record.Int(kvtest.Create(t, s.Store, record.Person, `{"full_name":"Ana Souza","church_id":1}`)))
	s.Put("a", `{}`)
	for db, good := range map[string]string{"/church-1": person, "/notes": "a"} {
		for _, bad := range []string{
			`{"id":""}`, `{"id":"_local/x"}`, `{"id":"_design/x"}`, `{"id":"_x"}`, `{"id":"\u0000"}`, `{"id":"person:zz"}`, `{"id":7}`, `{}`, `7`,
			`{"id":"` + strings.Repeat("x", 9000) + `"}`, `{"id":"` + good + `","rev":"9-x"}`, `{"id":"` + good + `","rev":""}`,
			`{"id":"` + good + `","rev":"1-` + strings.Repeat("0", 32) + `"}`, `{"id":"` + good + `","atts_since":["x"]}`,
		} {
			a := s.Want(200, "POST", db+"/_bulk_get", `{"docs":[`+bad+`,{"id":"`+good+`"}]}`)
			var got struct{ Results []struct{ Docs []any } }
			if a.Into(t, &got); len(got.Results) != 2 || len(got.Results[1].Docs) != 1 {
				t.Errorf("%s with %.60s = %.300s, want the other item answered", db, bad, a.Body)
			}
		}
	}
}

// TestEveryAnswerTellsWhatIsKept: that of the plain protocol too, to laptops.
func TestEveryAnswerTellsWhatIsKept(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	kvtest.Create(t, s.Store, record.Event, `{"name":"Sunday","start_datetime":"2030-01-01T19:00:00Z"}`)
	id := kvtest.Create(t, s.Store, record.Ticket, `{"event_id":1,"code":"theirs","holder_name":"Ana Souza"}`)
	doc := `{"_id":"` + record.Ticket.DocID(record.Int(id)) + `","_rev":"1-00000000000000000000000000000001","event_id":1}`
	for s, kept := range map[*peertest.Site]bool{s.AsLaptop("event:1", auth.Venue{}): true, s: false} { // a page is told what CouchDB would tell it
		a := s.Want(201, "POST", "/event-1/_bulk_docs", `{"new_edits":false,"docs":[`+doc+`]}`)
		if !strings.Contains(a.Body, "forbidden") || strings.Contains(a.Body, `,"kept":true}`) != kept {
			t.Errorf("_bulk_docs = %s, want kept: %t", a.Body, kept)
		}
	}
}

// TestWhoOnlyWritesIsToldSoBeforeAnAnswer: an answer that has begun could only be broken off.
func TestWhoOnlyWritesIsToldSoBeforeAnAnswer(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	kvtest.Create(t, s.Store, record.Event, `{"name":"Feast","start_datetime":"2026-11-22T19:00:00Z"}`)
	kvtest.Create(t, s.Store, record.Ticket, `{"event_id":1,"code":"K1","holder_name":"Ana"}`)
	laptop := s.AsLaptop("event:1", auth.Venue{Names: true})
	const db = "/event-1-holders"
	one, two := record.Holder.DocID(record.Int(1)), record.Holder.DocID(record.Int(2))
	for _, c := range []struct{ method, path, body string }{
		{"GET", "", ""},
		{"HEAD", "", ""},
		{"GET", "/", ""},
		{"GET", "/_changes", ""},
		{"GET", "/_changes?feed=longpoll", ""},
		{"GET", "/_changes?feed=continuous&heartbeat=1000", ""},
		{"POST", "/_changes?filter=_doc_ids", `{"doc_ids":["` + one + `"]}`},
		{"GET", "/_feed", ""},
		{"POST", "/_bulk_get", `{"docs":[{"id":"` + one + `"}]}`},
		{"GET", "/_all_docs", ""},
		{"GET", "/_all_docs?limit=0", ""},
		{"POST", "/_all_docs", `{"keys":["` + one + `"]}`},
		{"GET", "/" + one, ""},
		{"HEAD", "/" + one, ""},
		{"GET", "/" + one + "?open_revs=all", ""},
		{"GET", "/" + two, ""},
		{"GET", "/" + one + "/photo", ""},
		{"DELETE", "/" + one, ""},
	} {
		a := laptop.Want(403, c.method, db+c.path, c.body)
		if c.method != "HEAD" && !strings.Contains(a.Body, `"error":"forbidden"`) {
			t.Errorf("%s %s = %s, want a whole answer", c.method, c.path, a.Body)
		}
	}
	if a := laptop.Want(200, "GET", "/_all_dbs", ""); strings.Contains(a.Body, "holders") || !strings.Contains(a.Body, "event-1") {
		t.Errorf("_all_dbs = %s, want what the laptop reads", a.Body)
	}
	laptop.Want(201, "POST", db+"/_ensure_full_commit", "{}")
	laptop.Want(200, "POST", db+"/_revs_diff", `{"`+two+`":["1-`+strings.Repeat("0", 32)+`"]}`)
	laptop.Want(201, "PUT", db+"/_local/c", `{"seq":1}`)
	laptop.Want(200, "GET", db+"/_local/c", "")
	laptop.Want(201, "POST", db+"/_bulk_docs", `{"docs":[],"new_edits":false}`)
}

// TestADeletionThatNoKeyMayMakeAsksForNoPermission: the reason names no permission, because none would help.
func TestADeletionThatNoKeyMayMakeAsksForNoPermission(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	kvtest.Create(t, s.Store, record.Church, `{"name":"North"}`)
	kvtest.Create(t, s.Store, record.Person, `{"full_name":"Ana","church_id":1}`)
	key := s.As("denomination", "sync:*", "*:GET")
	for _, path := range []string{"/reference/" + record.Church.DocID(record.Int(1)), "/church-1/" + record.Person.DocID(record.Int(1))} {
		var doc struct {
			Rev string `json:"_rev"`
		}
		key.Want(200, "GET", path, "").Into(t, &doc)
		if a := key.Want(403, "DELETE", path+"?rev="+doc.Rev, ""); !strings.Contains(a.Body, "no key may do this to the kind") {
			t.Errorf("DELETE %s = %s", path, a.Body)
		}
	}
}

// TestAnUnseenRecordIsNoConflict: whoever may not see a record learns from no answer that its id is taken.
func TestAnUnseenRecordIsNoConflict(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	for range 2 {
		kvtest.Create(t, s.Store, record.Church, `{"name":"Church"}`)
	}
	own := kvtest.Create(t, s.Store, record.Person, `{"full_name":"Eva","church_id":1}`)
	other := kvtest.Create(t, s.Store, record.Person, `{"full_name":"Ana","church_id":2}`)
	kvtest.Create(t, s.Store, record.Event, `{"name":"Feast","start_datetime":"2026-11-22T19:00:00Z"}`)
	kvtest.Create(t, s.Store, record.Ticket, `{"event_id":1,"code":"K1","holder_name":"Ana"}`)
	church := s.As("church:1", "*:*")
	body := `{"full_name":"Bia","church_id":1}`
	stale := `{"full_name":"Bia","church_id":1,"_rev":"1-` + strings.Repeat("0", 32) + `"}`
	person := func(id int64) string { return "/church-1/" + record.Person.DocID(record.Int(id)) }
	church.Want(403, "PUT", person(other), body)
	for _, in := range []string{body, stale, `{"_deleted":true}`} {
		church.Want(409, "PUT", person(own), in)
		if a, b := church.Do("PUT", person(other), in), church.Do("PUT", person(999), in); a.Status != b.Status || a.Body != b.Body {
			t.Errorf("PUT of %s to another church's person = %d %s, to nobody %d %s", in, a.Status, a.Body, b.Status, b.Body)
		}
	}
	for _, id := range []int64{other, 999} {
		a := church.Want(201, "POST", "/church-1/_bulk_docs", fmt.Sprintf(`{"docs":[{"_id":%q,"full_name":"Bia","church_id":1}]}`, record.Person.DocID(record.Int(id))))
		if !strings.Contains(a.Body, `"error":"forbidden"`) {
			t.Errorf("_bulk_docs of person %d = %s, want it forbidden", id, a.Body)
		}
	}
	kvtest.Create(t, s.Store, record.Group, `{"name":"Youth","church_id":1}`)
	homeless := kvtest.Create(t, s.Store, record.Person, `{"full_name":"Rui"}`)
	for _, key := range []*peertest.Site{church, s.As("church:1", "sync:*", "*:GET")} {
		for _, group := range []int64{1, 999} {
			member := func(id int64) string {
				return key.Want(201, "POST", "/church-1/_bulk_docs", fmt.Sprintf(`{"docs":[{"_id":"membership:4503599627370497","person":%d,"group_id":%d}]}`, id, group)).Body
			}
			for _, id := range []int64{other, homeless} {
				if a, b := member(id), member(999); a != b || !strings.Contains(a, `"error":"forbidden"`) {
					t.Errorf("a membership of person %d is answered %s, of nobody %s", id, a, b)
				}
			}
		}
	}
	laptop := s.AsLaptop("event:1", auth.Venue{Names: true})
	for _, id := range []int64{1, 999} {
		laptop.Want(403, "PUT", "/event-1-holders/"+record.Holder.DocID(record.Int(id)), `{"event_id":1,"email":"ana@example.org"}`)
	}
}
