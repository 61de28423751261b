package peertest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/table"
	"doorward/sync/replicate"
)

// LikePeople fills the notes with documents like people.
func LikePeople(s *Site, n int) {
	s.Helper()
	text := func(i int) []byte {
		return fmt.Appendf(nil, `{"birth_date":"19%02d-0%d-1%d","church_id":%d,"created_at":"2026-01-01T00:00:00Z","email":"person%d@example.org",`+
			`"full_name":"Pessoa %d de Souza Oliveira","gender":"F","is_active":true,"membership_number":"M%07d","phone":"+55119%08d"}`,
			i%90+10, i%9+1, i%9, i%40+1, i, i*7919%BenchMany, i, i*31337%100000000)
	}
	db := s.Open()
	done := make(chan error, 16)
	waiting := 0
	for from := 0; from < n; from += table.MaxRows {
		if waiting++; waiting > cap(done) {
			NoError(s, <-done)
			waiting--
		}
		go func() {
			writes := make([]merge.DocWrite, table.MaxRows)
			for i := range writes {
				writes[i] = merge.DocWrite{ID: fmt.Sprintf("person:%016d", from+i+1), Body: text(from + i)}
			}
			_, err := db.Write(writes)
			done <- err
		}()
	}
	for range waiting {
		NoError(s, <-done)
	}
}

// NoError fails the test with an error.
func NoError(s *Site, err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// AwaitDoc waits until a site has a document.
func AwaitDoc(t testing.TB, s *Site, id string) {
	t.Helper()
	db := s.Open()
	for seq := uint64(0); ; {
		if _, err := db.Read(id, docs.Ask{}); err == nil {
			return
		}
		info, err := db.Info()
		if err == nil {
			seq = info.Seq
			if _, e := db.Read(id, docs.Ask{}); e == nil {
				return
			}
			err = db.Await(t.Context(), seq)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// InRealm is a site of another's congregation.
func (s *Site) InRealm() *Site {
	s.Helper()
	b := NewSite(s)
	if err := b.Store.Laptop.Join(auth.Operator(), table.Upstream{Node: s.Store.Tables.Identity.Node()}, office.Credential{Realm: s.Store.Tables.Identity.Realm()}); err != nil {
		s.Fatal(err)
	}
	return b
}

// Local is the site's database of notes, as its own process has it.
func (s *Site) Local() *replicate.Local {
	s.Helper()
	return s.LocalOf("notes")
}

// LocalOf is a database of the site, as its own process has it.
func (s *Site) LocalOf(name string) *replicate.Local {
	s.Helper()
	h, err := replicate.OpenLocal(s.Store, auth.Operator(), name)
	if err != nil {
		s.Fatal(err)
	}
	return h
}

// Remote is the site's database of notes as a peer has it.
func (s *Site) Remote(c replicate.RemoteConfig) *replicate.Remote {
	s.Helper()
	return s.RemoteOf("notes", c)
}

// RemoteOf is a database of the site, as a peer has it.
func (s *Site) RemoteOf(name string, c replicate.RemoteConfig) *replicate.Remote {
	s.Helper()
	c.URL, c.Key, c.Secret = s.URL+"/"+name, s.Auth[0], s.Auth[1]
	t, err := replicate.NewRemote(c)
	if err != nil {
		s.Fatal(err)
	}
	return t
}

// Plainly is a peer that is spoken to as any server is.
var Plainly = replicate.RemoteConfig{Plain: true}

// CopyAll carries out a job that must succeed.
func CopyAll(t testing.TB, source replicate.Peer, target replicate.Peer) replicate.HistoryEntry {
	t.Helper()
	out, err := replicate.Run(t.Context(), replicate.Job{Source: source, Target: target, Pause: time.Millisecond})
	if err != nil || !out.OK {
		t.Fatalf("Replicate = %+v, %v", out, err)
	}
	return out.History[0]
}

// Fill writes some documents: plain ones, one with branches, one deleted, one with attachments small and large.
func (s *Site) Fill(n int) {
	s.Helper()
	var writes []merge.DocWrite
	for i := range n {
		writes = append(writes, merge.DocWrite{ID: fmt.Sprintf("doc%05d", i), Body: fmt.Appendf(nil, `{"n":%d}`, i)})
	}
	db := s.Open()
	for some := range slices.Chunk(writes, table.MaxRows) {
		if _, err := db.Write(some); err != nil {
			s.Fatal(err)
		}
	}
	rev := s.Put("twice", `{"v":1}`)
	s.Put("twice", `{"v":2,"_rev":"`+rev+`"}`)
	s.Want(201, "POST", "/notes/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"twice","other":true,"_rev":"2-`+strings.Repeat("0", 32)+`",
		"_revisions":{"start":2,"ids":["`+strings.Repeat("0", 32)+`","`+rev[2:]+`"]}}]}`)
	rev = s.Put("gone", `{}`)
	s.Want(200, "DELETE", "/notes/gone?rev="+rev, "")
	rev = s.Put("with%2Fslash", `{"_attachments":{"small ä.txt":{"content_type":"text/plain","data":"aGVsbG8="}}}`)
	s.Want(201, "PUT", "/notes/with%2Fslash/large?rev="+rev, strings.Repeat("large ", 50_000), "Content-Type", "text/x-large")
	s.Put("_design/views", `{"language":"javascript"}`)
}

// Open opens the database of notes.
func (s *Site) Open() *docs.Database {
	s.Helper()
	return s.OpenAs("notes")
}

// OpenAs opens a database.
func (s *Site) OpenAs(name string) *docs.Database {
	s.Helper()
	db, err := s.Store.Docs.Database(auth.Operator(), name)
	if err != nil {
		s.Fatal(err)
	}
	return db
}

// Content is all that a database holds: every leaf with its path, body and attachments' bytes.
func (s *Site) Content() map[string]string {
	s.Helper()
	db := s.Open()
	all := map[string]string{}
	feed := docs.Feed{Limit: docs.DocPage}
	for more := true; more; {
		page, m, err := db.Changes(feed)
		if err != nil {
			s.Fatal(err)
		}
		for _, c := range page {
			feed.Since = c.Seq
			doc, err := db.Read(c.ID, docs.Ask{Leaves: true})
			if err != nil {
				s.Fatal(err)
			}
			var text strings.Builder
			for _, r := range doc.Revisions {
				fmt.Fprintf(&text, "%v %v %s\n", doc.Tree.Path(r.Revision), r.Deleted, r.Body)
				for _, a := range r.Attachments {
					fmt.Fprintf(&text, "%s %s %d %s\n", a.Name, a.Type, a.RevPos, a.Digest())
					if err := db.Blob(a.SHA256, &text); err != nil {
						s.Error(err)
					}
				}
			}
			all[c.ID] = text.String()
		}
		more = m
	}
	return all
}

// Revpos is the generation that brought an attachment. PouchDB gives it the one that it came with.
var Revpos = regexp.MustCompile(` [0-9]+ md5-`)

// WantSame wants two sites to hold the same, but for what matches.
func WantSame(t testing.TB, a, b *Site, but ...*regexp.Regexp) {
	t.Helper()
	x, y := a.Content(), b.Content()
	for id := range x {
		for _, m := range but {
			x[id], y[id] = m.ReplaceAllString(x[id], " "), m.ReplaceAllString(y[id], " ")
		}
		if x[id] != y[id] {
			at := 0
			for at < min(len(x[id]), len(y[id])) && x[id][at] == y[id][at] {
				at++
			}
			from := max(0, at-100)
			t.Errorf("%s has at %d\n%.200q\nwant\n%.200q", id, at, y[id][min(from, len(y[id])):], x[id][min(from, len(x[id])):])
		}
	}
	if len(x) != len(y) {
		t.Errorf("%d documents, want %d", len(y), len(x))
	}
}
