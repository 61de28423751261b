package sync_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/sync"
)

// firstSync is what a first sync must come to, against the same bytes through zstd into bbolt.
var firstSync = bound{least: 60_000, ratio: 0.5}

// congregation fills a church with people, and answers the name of its database.
func (s *site) congregation(people int) string {
	s.Helper()
	church := kvtest.Create(s, s.store, record.Church, `{"name":"Igreja Central"}`)
	kvtest.Fill(s, s.store, record.Person, people, func(i int) string {
		return fmt.Sprintf(`{"full_name":"João Conceição da Silva %06d","gender":"male","church_id":%d,"birthday":"1980-02-%02d","cpf":"%011d",`+
			`"church_profile":"member","baptized":true,"email":"joao.silva.%06d@example.org","phone":"+55 11 98765-4321","mobile_phone":"11 91234-5678",`+
			`"membership_number":%d,"occupation":"Engenheiro","marital_status":"married","nationality":"Brasil",`+
			`"location":{"country":"Brasil","city":"São Paulo","zip_code":"01001-000"}}`, i, church, 1+i%28, i, i, i)
	})
	return scopes.Scope{Sort: scopes.Church, ID: church}.String()
}

// benchPeople copies a church of 100,000 people to an empty store.
func benchPeople(t *testing.T) []benchLine {
	a := newSite(t)
	return a.firstSync(t, a.congregation(benchMany), "people")
}

// benchDocuments does the same with a free database, and pushes it too.
func benchDocuments(t *testing.T) []benchLine {
	a := newSite(t)
	a.likePeople(benchMany)
	lines := a.firstSync(t, "notes", "free documents")
	pushed := rate(t, "free documents pushed", benchRounds, func() int {
		return replicate(t, a.here(), newSite(t).there(sync.ThereConfig{})).Written
	})
	changes := rate(t, "changes", benchRounds, func() int {
		a.drained("GET", "/notes/_changes?include_docs=true", "")
		return benchMany
	})
	return append(lines,
		benchLine{"first sync of free documents, a node pushes, against the same bytes", "/s", pushed, lines[0].base, firstSync},
		benchLine{"_changes with documents", "/s", changes, 0, bound{least: 80_000}})
}

// firstSync pulls a database into an empty store as a node does, and without lines, and copies the bytes of its documents alone.
func (s *site) firstSync(t *testing.T, name, what string) []benchLine {
	pull := func(over sync.ThereConfig) func() int {
		return func() int { return replicate(t, s.thereIs(name, over), s.inRealm().hereIs(name)).Written }
	}
	bare := rate(t, what+" bare", benchRounds, func() int { return s.bare(t, name) })
	pulled := rate(t, what+" pulled", benchRounds, pull(sync.ThereConfig{}))
	plain := rate(t, what+" plain", 1, pull(plainly))
	return []benchLine{
		{"first sync of " + what + ", a node pulls, against the same bytes through zstd into bbolt", "/s", pulled, bare, firstSync},
		{"first sync of " + what + ", a node pulls, against our plain protocol", "/s", pulled, plain, bound{}},
	}
}

// bare copies the bytes of a database's documents over the same kind of stream into a bare file: the least that could do it.
func (s *site) bare(t testing.TB, name string) (n int) {
	db := s.openAs(name)
	raw := kvtest.OpenRaw(t)
	r, w := io.Pipe()
	go func() {
		z, _ := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
		feed := kv.Feed{Limit: kv.DocPage, Bodies: true}
		for more := true; more; {
			var page []kv.DocChange
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

// likePeople fills the notes with documents like people.
func (s *site) likePeople(n int) {
	s.Helper()
	text := func(i int) []byte {
		return fmt.Appendf(nil, `{"birth_date":"19%02d-0%d-1%d","church_id":%d,"created_at":"2026-01-01T00:00:00Z","email":"person%d@example.org",`+
			`"full_name":"Pessoa %d de Souza Oliveira","gender":"F","is_active":true,"membership_number":"M%07d","phone":"+55119%08d"}`,
			i%90+10, i%9+1, i%9, i%40+1, i, i*7919%benchMany, i, i*31337%100000000)
	}
	db := s.open()
	done := make(chan error, 16)
	waiting := 0
	for from := 0; from < n; from += kv.MaxRows {
		if waiting++; waiting > cap(done) {
			s.no(<-done)
			waiting--
		}
		go func() {
			writes := make([]kv.DocWrite, kv.MaxRows)
			for i := range writes {
				writes[i] = kv.DocWrite{ID: fmt.Sprintf("person:%016d", from+i+1), Body: text(from + i)}
			}
			_, err := db.Write(writes)
			done <- err
		}()
	}
	for range waiting {
		s.no(<-done)
	}
}

// no wants no error.
func (s *site) no(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}
