package sync_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"doorward/kv/docs"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/sync/peertest"
	"doorward/sync/replicate"
)

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
