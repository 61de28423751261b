package replicate_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/sync/dial"
	"doorward/sync/peertest"
	"doorward/sync/replicate"
)

func TestRecordsAreCopiedWithinOneRealm(t *testing.T) {
	t.Parallel()
	for _, plain := range []bool{true, false} {
		t.Run(fmt.Sprintf("plain %v", plain), func(t *testing.T) {
			t.Parallel()
			a := peertest.NewSite(t)
			church := kvtest.Create(t, a.Store, record.Church, `{"name":"Central"}`)
			for i := range 250 {
				kvtest.Create(t, a.Store, record.Person, fmt.Sprintf(`{"full_name":"Ana Souza %d","church_id":%d}`, i, church))
			}
			b := a.InRealm()
			for _, name := range []string{"reference", fmt.Sprintf("church-%d", church)} {
				from, err := replicate.NewRemote(replicate.RemoteConfig{Config: dial.Config{URL: a.URL + "/" + name, Key: a.Auth[0], Secret: a.Auth[1]}, Plain: plain})
				if err != nil {
					t.Fatal(err)
				}
				to, err := replicate.OpenLocal(b.Store, auth.Operator(), name)
				if err != nil {
					t.Fatal(err)
				}
				run := peertest.CopyAll(t, from, to)
				if run.Failures > 0 || run.Written == 0 {
					t.Errorf("%s = %+v", name, run)
				}
				wantSameFeed(t, a, b, name, !plain)
			}
			other := peertest.NewSite(t)
			to, err := replicate.OpenLocal(other.Store, auth.Operator(), "reference")
			if err != nil {
				t.Fatal(err)
			}
			from, err := replicate.OpenLocal(a.Store, auth.Operator(), "reference")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := replicate.Run(t.Context(), replicate.Job{Source: from, Target: to}); !errors.Is(err, replicate.ErrRealm) {
				t.Errorf("to another congregation: %v", err)
			}
		})
	}
}

// wantSameFeed wants a database of two sites to hold the same winners, and to know when they were made: lines tell it, the plain
// protocol does not.
func wantSameFeed(t testing.TB, a, b *peertest.Site, name string, told bool) {
	t.Helper()
	var both [2]map[string]string
	for i, s := range []*peertest.Site{a, b} {
		db, err := s.Store.Docs.Database(auth.Operator(), name)
		if err != nil {
			t.Fatal(err)
		}
		page, _, err := db.Changes(docs.Feed{Limit: docs.DocPage, Bodies: true})
		if err != nil {
			t.Fatal(err)
		}
		both[i] = map[string]string{}
		for _, c := range page {
			both[i][c.ID] = fmt.Sprintf("%v %s", c.Winner.Revision, c.Winner.Body)
			if told {
				both[i][c.ID] += fmt.Sprint(c.Leaves[0].At)
			}
		}
	}
	if len(both[0]) == 0 || len(both[0]) != len(both[1]) {
		t.Errorf("%s: %d records, want %d", name, len(both[1]), len(both[0]))
	}
	for id, want := range both[0] {
		if both[1][id] != want {
			t.Errorf("%s is %.200s, want %.200s", id, both[1][id], want)
		}
	}
}

// TestAFilterTellsOfWhatHasLeft: whatever it asks for, a client that holds the document must learn.
func TestAFilterTellsOfWhatHasLeft(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	for range 2 {
		kvtest.Create(t, s.Store, record.Church, `{"name":"Church"}`)
	}
	id := kvtest.Create(t, s.Store, record.Person, `{"full_name":"Ana","church_id":1}`)
	var before struct {
		Seq string `json:"update_seq"`
	}
	s.Want(200, "GET", "/church-1", "").Into(t, &before)
	at := desk.Target{Surface: record.Admin, Kind: record.Person, ID: record.Int(id)}
	if _, err := s.Store.Desk.Update(auth.Operator(), at, kvtest.Parse(t, record.Person, `{"church_id":2}`, false)); err != nil {
		t.Fatal(err)
	}
	got := s.Want(200, "POST", "/church-1/_changes?filter=_selector&since="+before.Seq, `{"selector":{"full_name":"Ana"}}`)
	if !strings.Contains(got.Body, `"removed":true`) {
		t.Errorf("changes = %s, want what has left", got.Body)
	}
}
