package sync_test

import (
	"encoding/json"
	"testing"

	"doorward/sync"
)

// benchFew is enough for PouchDB, which is slow.
const benchFew = 10_000

// benchPouch has real PouchDB pull 10,000 documents, at its default batch of 100, from here and from a pouchdb-server that has the same;
// then 100,000 people onto its disk, against a node of ours, which keeps them too.
func benchPouch(t *testing.T) []benchLine {
	a := newSite(t)
	a.likePeople(benchFew)
	server := pouchServer(t) + "/notes"
	if run := replicate(t, a.here(), elsewhere(t, server)); run.Failures > 0 || run.Written != benchFew {
		t.Fatalf("pouchdb-server took %+v", run)
	}
	church := a.congregation(benchMany)
	anybody := *a // a pouchdb-server in its first state lets everybody in, and nobody who logs in
	anybody.auth = [2]string{}
	var ours, theirs float64
	for range 2 { // in turns, as the machine's mood changes
		ours, theirs = max(ours, a.pulls(a.url+"/notes", "memory")), max(theirs, anybody.pulls(server, "memory"))
	}
	people := a.pulls(a.url+"/"+church, "kept")
	node := rate(t, "people pulled", benchRounds, func() int {
		return replicate(t, a.thereIs(church, sync.ThereConfig{}), a.inRealm().hereIs(church)).Written
	})
	return []benchLine{
		{"PouchDB pulls 10,000 documents, 100 at a time, against from pouchdb-server", "/s", ours, theirs, bound{ratio: 1}},
		{"first sync of 100,000 people, a node pulls, against PouchDB", "/s", node, people, bound{ratio: 20}},
	}
}

// pulls runs PouchDB pulling a database into memory or onto the disk ("kept"), and answers how many documents a second it took.
func (s *site) pulls(address, into string) float64 {
	s.Helper()
	out, err := s.pouch(s.TempDir(), "pull.mjs", address, into)
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
