package sync_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/sync/peertest"
	"doorward/sync/replicate"

	"github.com/klauspost/compress/zstd"
)

// TestBench measures replication against the least that could do the same, and fails where a target is missed.
func TestBench(t *testing.T) {
	peertest.Bench(t, []peertest.Part{{Name: "people", Run: benchPeople}, {Name: "documents", Run: benchDocuments}, {Name: "pouch", Run: benchPouch}})
	t.Logf("rates are the best of %d rounds", peertest.BenchRounds)
}

// firstSync is what a first sync must come to, against the same bytes through zstd into bbolt.
var firstSync = peertest.Bound{Least: 60_000, Ratio: 0.5}

// congregation fills a church with people, and answers the name of its database.
func congregation(s *peertest.Site, people int) string {
	s.Helper()
	church := kvtest.Create(s, s.Store, record.Church, `{"name":"Igreja Central"}`)
	kvtest.Fill(s, s.Store, record.Person, people, func(i int) string {
		return fmt.Sprintf(`{"full_name":"João Conceição da Silva %06d","gender":"male","church_id":%d,"birthday":"1980-02-%02d","cpf":"%011d",`+
			`"church_profile":"member","baptized":true,"email":"joao.silva.%06d@example.org","phone":"+55 11 98765-4321","mobile_phone":"11 91234-5678",`+
			`"membership_number":%d,"occupation":"Engenheiro","marital_status":"married","nationality":"Brasil",`+
			`"location":{"country":"Brasil","city":"São Paulo","zip_code":"01001-000"}}`, i, church, 1+i%28, i, i, i)
	})
	return scopes.Scope{Sort: scopes.Church, ID: church}.String()
}

// benchPeople copies a church of 100,000 people to an empty store.
func benchPeople(t *testing.T) []peertest.Line {
	a := peertest.NewSite(t)
	return pullFirst(a, t, congregation(a, peertest.BenchMany), "people")
}

// benchDocuments does the same with a free database, and pushes it too.
func benchDocuments(t *testing.T) []peertest.Line {
	a := peertest.NewSite(t)
	peertest.LikePeople(a, peertest.BenchMany)
	lines := pullFirst(a, t, "notes", "free documents")
	pushed := peertest.Rate(t, "free documents pushed", peertest.BenchRounds, func() int {
		return peertest.CopyAll(t, a.Local(), peertest.NewSite(t).Remote(replicate.RemoteConfig{})).Written
	})
	changes := peertest.Rate(t, "changes", peertest.BenchRounds, func() int {
		drained(a, "GET", "/notes/_changes?include_docs=true", "")
		return peertest.BenchMany
	})
	return append(lines,
		peertest.Line{Name: "first sync of free documents, a node pushes, against the same bytes", Unit: "/s", Ours: pushed, Base: lines[0].Base, Wanted: firstSync},
		peertest.Line{Name: "_changes with documents", Unit: "/s", Ours: changes, Wanted: peertest.Bound{Least: 80_000}})
}

// pullFirst pulls a database into an empty store as a node does, and without lines, and copies the bytes of its documents alone.
func pullFirst(s *peertest.Site, t *testing.T, name, what string) []peertest.Line {
	pull := func(over replicate.RemoteConfig) func() int {
		return func() int { return peertest.CopyAll(t, s.RemoteOf(name, over), s.InRealm().LocalOf(name)).Written }
	}
	bare := peertest.Rate(t, what+" bare", peertest.BenchRounds, func() int { return bareCopy(s, t, name) })
	pulled := peertest.Rate(t, what+" pulled", peertest.BenchRounds, pull(replicate.RemoteConfig{}))
	plain := peertest.Rate(t, what+" plain", 1, pull(peertest.Plainly))
	return []peertest.Line{
		{Name: "first sync of " + what + ", a node pulls, against the same bytes through zstd into bbolt", Unit: "/s", Ours: pulled, Base: bare, Wanted: firstSync},
		{Name: "first sync of " + what + ", a node pulls, against our plain protocol", Unit: "/s", Ours: pulled, Base: plain},
	}
}

// bareCopy copies the bytes of a database's documents over the same kind of stream into a bare file: the least that could do it.
func bareCopy(s *peertest.Site, t testing.TB, name string) (n int) {
	db := s.OpenAs(name)
	raw := kvtest.OpenRaw(t)
	r, w := io.Pipe()
	go func() {
		z, _ := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
		feed := docs.Feed{Limit: docs.DocPage, Bodies: true}
		for more := true; more; {
			var page []docs.DocChange
			page, more, _ = db.Changes(feed)
			for _, c := range page {
				feed.Since = c.Seq
				_, _ = z.Write(append(append(append([]byte(c.ID), ' '), c.Winner.Body...), '\n'))
			}
		}
		_ = w.CloseWithError(z.Close())
	}()
	z, _ := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	defer z.Close()
	var lines bytes.Buffer
	if _, err := lines.ReadFrom(z); err != nil {
		t.Fatal(err)
	}
	for some := range slices.Chunk(slices.Collect(bytes.Lines(lines.Bytes())), 1000) {
		pairs := make([][2][]byte, len(some))
		for i, line := range some {
			pairs[i][0], pairs[i][1], _ = bytes.Cut(line, []byte(" "))
		}
		if err := raw.Put(pairs); err != nil {
			t.Fatal(err)
		}
		n += len(some)
	}
	return n
}

const (
	benchFew    = 10_000 // is enough for PouchDB, which is slow
	benchFewest = 2_000  // is enough for kivik, which asks for each by itself
)

// benchPouch has real PouchDB pull 10,000 documents, at its default batch of 100, from here and from a pouchdb-server that has the same;
// then 100,000 people onto its disk, against a node of ours, which keeps them too; and kivik copy some people to a second store.
func benchPouch(t *testing.T) []peertest.Line {
	a := peertest.NewSite(t)
	peertest.LikePeople(a, benchFew)
	server := pouchServer(t) + "/notes"
	if run := peertest.CopyAll(t, a.Local(), elsewhere(t, server)); run.Failures > 0 || run.Written != benchFew {
		t.Fatalf("pouchdb-server took %+v", run)
	}
	church := congregation(a, peertest.BenchMany)
	anybody := *a // a pouchdb-server in its first state lets everybody in, and nobody who logs in
	anybody.Auth = [2]string{}
	var ours, theirs float64
	for range 2 { // in turns, as the machine's mood changes
		ours, theirs = max(ours, pullRate(a, a.URL+"/notes", "memory")), max(theirs, pullRate(&anybody, server, "memory"))
	}
	people := pullRate(a, a.URL+"/"+church, "kept")
	node := peertest.Rate(t, "people pulled", peertest.BenchRounds, func() int {
		return peertest.CopyAll(t, a.RemoteOf(church, replicate.RemoteConfig{}), a.InRealm().LocalOf(church)).Written
	})
	return []peertest.Line{
		{Name: "first sync of people, a node pulls 100,000, against kivik copying 2,000 to a second store", Unit: "/s", Ours: node, Base: kivikCopies(t), Wanted: peertest.Bound{Ratio: 20}},
		{Name: "PouchDB pulls 10,000 documents, 100 at a time, against from pouchdb-server", Unit: "/s", Ours: ours, Base: theirs, Wanted: peertest.Bound{Ratio: 1}},
		{Name: "first sync of 100,000 people, a node pulls, against PouchDB", Unit: "/s", Ours: node, Base: people},
	}
}

// kivikCopies has kivik copy people from one store of ours to another, with the key of a laptop there, and answers how many a second.
func kivikCopies(t *testing.T) float64 {
	to := peertest.NewSite(t)
	from := to.InRealm()
	church := congregation(from, benchFewest)
	peertest.CopyAll(t, from.RemoteOf("reference", replicate.RemoteConfig{}), to.LocalOf("reference"))
	scope, _ := scopes.Parse(church)
	_, code, _, err := to.Store.Venues.Enrol(auth.Operator(), office.Enrolment{Name: "copy", Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{scope.ID}}})
	peertest.NoError(to, err)
	const secret = "of the laptop"
	c, err := to.Store.Venues.Exchange(code, office.Joiner{Node: from.Store.Tables.Identity.Node(), Secret: keys.HashSecret(secret)})
	peertest.NoError(to, err)
	to.Auth = [2]string{c.Key, secret}
	return peertest.Rate(t, "people copied by kivik", 1, func() int { return kivikCopy(from, to, church) })
}

// pullRate runs PouchDB pulling a database into memory or onto the disk ("kept"), and answers how many documents a second it took.
func pullRate(s *peertest.Site, address, into string) float64 {
	s.Helper()
	out, err := runPouch(s, s.TempDir(), "pull.mjs", address, into)
	if err != nil {
		s.Fatalf("%v\n%s", err, out)
	}
	var took struct {
		Documents int
		Seconds   float64
	}
	if err := json.Unmarshal(out, &took); err != nil || took.Documents == 0 {
		s.Fatalf("%v\n%s", err, out)
	}
	return float64(took.Documents) / took.Seconds
}

// filled is a site whose notes are n documents of about 250 bytes.
func filled(b *testing.B, n int) *peertest.Site {
	b.Helper()
	s := peertest.NewSite(b)
	db, err := s.Store.Docs.Database(auth.Operator(), "notes")
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("a note ", 25)
	for from := 0; from < n; from += table.MaxRows {
		writes := make([]merge.DocWrite, table.MaxRows)
		for i := range writes {
			writes[i] = merge.DocWrite{ID: fmt.Sprintf("doc%06d", from+i), Body: fmt.Appendf(nil, `{"full_name":"Ana Souza %d","n":%d,"text":%q}`, i, from+i, text)}
		}
		if _, err := db.Write(writes); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// drained reads an answer to its end.
func drained(s *peertest.Site, method, path, body string) {
	r := s.Request(method, path, body)
	r.Header.Set("Accept-Encoding", "identity")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode >= 400 {
		s.Fatalf("%s = %d, %v", path, resp.StatusCode, err)
	}
}

const benchDocs = 20_000

// BenchmarkChanges reads a feed of all documents, without and with their bodies.
func BenchmarkChanges(b *testing.B) {
	s := filled(b, benchDocs)
	for name, path := range map[string]string{"bare": "/notes/_changes", "docs": "/notes/_changes?include_docs=true", "all_docs": "/notes/_all_docs?include_docs=true"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				drained(s, "GET", path, "")
			}
			b.ReportMetric(float64(b.N*benchDocs)/b.Elapsed().Seconds(), "docs/s")
		})
	}
}

// BenchmarkPull asks as PouchDB does, 100 documents at a time.
func BenchmarkPull(b *testing.B) {
	s := filled(b, benchDocs)
	docs := make([]string, 100)
	for i := range docs {
		docs[i] = fmt.Sprintf(`{"id":"doc%06d"}`, i)
	}
	body := `{"docs":[` + strings.Join(docs, ",") + `]}`
	for b.Loop() {
		drained(s, "GET", "/notes/_changes?style=all_docs&limit=100&since=0", "")
		drained(s, "POST", "/notes/_bulk_get?revs=true&latest=true", body)
	}
	b.ReportMetric(float64(b.N*100)/b.Elapsed().Seconds(), "docs/s")
}

// BenchmarkPush sends as PouchDB does, 100 documents at a time.
func BenchmarkPush(b *testing.B) {
	s := peertest.NewSite(b)
	for n := 0; b.Loop(); n++ {
		docs, diff := make([]string, 100), make([]string, 100)
		for i := range docs {
			hash := fmt.Sprintf("%032x", n*100+i+1)
			docs[i] = fmt.Sprintf(`{"_id":"doc%d-%d","_rev":"1-%s","_revisions":{"start":1,"ids":[%q]},"text":"a note"}`, n, i, hash, hash)
			diff[i] = fmt.Sprintf(`"doc%d-%d":["1-%s"]`, n, i, hash)
		}
		drained(s, "POST", "/notes/_revs_diff", "{"+strings.Join(diff, ",")+"}")
		drained(s, "POST", "/notes/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`],"new_edits":false}`)
	}
	b.ReportMetric(float64(b.N*100)/b.Elapsed().Seconds(), "docs/s")
}
