package sync_test

import (
	"encoding/json"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/keys"
	"doorward/kv/office"
	"doorward/kv/scopes"
	"doorward/sync/peertest"
	"doorward/sync/replicate"
)

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
