package sync_test

import (
	"encoding/json"
	"testing"

	"doorward/kv"
	"doorward/kv/scopes"
	"doorward/sync"
)

const (
	benchFew    = 10_000 // is enough for PouchDB, which is slow
	benchFewest = 2_000  // is enough for kivik, which asks for each by itself
)

// benchPouch has real PouchDB pull 10,000 documents, at its default batch of 100, from here and from a pouchdb-server that has the same;
// then 100,000 people onto its disk, against a node of ours, which keeps them too; and kivik copy some people to a second store.
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
		{"first sync of people, a node pulls 100,000, against kivik copying 2,000 to a second store", "/s", node, kivikCopies(t), bound{ratio: 20}},
		{"PouchDB pulls 10,000 documents, 100 at a time, against from pouchdb-server", "/s", ours, theirs, bound{ratio: 1}},
		{"first sync of 100,000 people, a node pulls, against PouchDB", "/s", node, people, bound{}},
	}
}

// kivikCopies has kivik copy people from one store of ours to another, with the key of a laptop there, and answers how many a second.
func kivikCopies(t *testing.T) float64 {
	to := newSite(t)
	from := to.inRealm()
	church := from.congregation(benchFewest)
	replicate(t, from.thereIs("reference", sync.ThereConfig{}), to.hereIs("reference"))
	scope, _ := scopes.Parse(church)
	_, code, _, err := to.store.Enrol(kv.Operator(), kv.Enrolment{Name: "copy", Level: kv.Level{Name: kv.ChurchOf, IDs: []int64{scope.ID}}})
	to.no(err)
	const secret = "of the laptop"
	c, err := to.store.Exchange(code, kv.Joiner{Node: from.store.Node(), Secret: kv.HashSecret(secret)})
	to.no(err)
	to.auth = [2]string{c.Key, secret}
	return rate(t, "people copied by kivik", 1, func() int { return from.copied(to, church) })
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
