package kv

import (
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
	"doorward/kv/rev"
)

// adoption makes a record what its tree says after revisions have come from elsewhere.
type adoption struct {
	*arrival
	fresh map[rev.ID]*fresh // bodies that have just come or been made
	next  *stored
	was   *record.Doc  // before, if it was live
	is    *record.Doc  // nil: deleted
	found readyLookups // what is will be found by
	mixed bool         // several leaves have become one
}

// fresh is a body that is not stored yet.
type fresh struct {
	doc     *record.Doc
	body    record.Body  // of doc
	ready   readyLookups // of doc
	foreign bool
}

// receive adopts what another store has made, and makes one of what was made twice.
func receive(o *op, a *arrival) error {
	complete(o, a)
	ad, err := graft(o, a)
	if err != nil {
		return err
	}
	if err := joinTwins(o, ad); err != nil {
		return err
	}
	return followParts(o, ad)
}

// complete gives a record what replies always show. Our own servers' never lack it; other programs may speak the protocol, too.
func complete(o *op, a *arrival) {
	if a.doc == nil {
		return
	}
	made := moment(o)
	if a.node.At != 0 {
		made.Now = time.UnixMicro(a.node.At).UTC()
	}
	if a.doc.Complete(made) {
		a.remake(a.doc)
	}
}

// adopt is receive for what passed the rules of /v1, which let nobody make a thing twice.
func adopt(o *op, a *arrival) (*stored, error) {
	ad, err := graft(o, a)
	if err != nil {
		return nil, err
	}
	return ad.next, nil
}

// adoption grafts an arrival and stores what follows: the winner is the record, the losers' bodies are kept.
func graft(o *op, a *arrival) (*adoption, error) {
	ad := &adoption{arrival: a, fresh: map[rev.ID]*fresh{}}
	if err := listBrought(o, a); err != nil {
		return nil, err
	}
	if err := nameFields(o, a); err != nil {
		return nil, err
	}
	if _, err := a.tree.Graft(a.path, a.node); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	switch {
	case a.late:
		if err := unnameLate(o, ad); err != nil {
			return nil, err
		}
	case a.doc != nil:
		ad.fresh[a.path[0]] = &fresh{a.doc, a.body, a.ready, a.foreign}
	}
	if a.before != nil && !a.before.deleted {
		var err error
		if ad.was, err = a.before.decode(a.kind); err != nil {
			return nil, err
		}
	}
	if err := resolve(o, ad); err != nil {
		return nil, err
	}
	return ad, carryOut(o, ad)
}

// carryOut stores an adoption.
func carryOut(o *op, ad *adoption) error {
	o.state.use(ad.kind, ad.id)
	ad.next = &stored{id: ad.id, header: header{version: ad.kind.Version}}
	dropped := shape(ad.next, &ad.tree)
	if err := chooseBody(o, ad); err != nil {
		return err
	}
	if err := keepLosers(o, ad); err != nil {
		return err
	}
	for _, rev := range dropped {
		o.delete(bodyBucket, bodyKey(ad.kind, ad.id, rev))
	}
	if ad.kind.Fact {
		return placeFact(o, ad)
	}
	if ad.before != nil || ad.tree.Len() > 1 || ad.node.Node != (ulid.ULID{}) {
		o.put(treeBucket, treeKey(ad.kind, ad.id), ad.tree.Append(nil))
	}
	if err := chooseScopes(o, ad); err != nil {
		return err
	}
	if err := welcome(o, ad.kind, ad.before, ad.next); err != nil {
		return err
	}
	moveLookups(o, change{kind: ad.kind, id: ad.id, before: ad.before, was: ad.was, is: ad.is, ready: ad.found}, ad.next.updatedAt)
	place(o, ad.kind, ad.before, ad.next)
	if ad.next.deleted {
		noteMerged(o, ad.kind, ad.id, &ad.tree)
	}
	return follow(o, ad)
}

// chooseBody gives the record the winner's body, and stamps: a winner that stays keeps those it has.
func chooseBody(o *op, ad *adoption) error {
	next, before := ad.next, ad.before
	next.updatedAt, next.updatedBy = o.stamp, ad.tree.Winner().Key
	stays := before != nil && before.revision == next.revision
	if stays {
		next.updatedAt, next.updatedBy = before.updatedAt, before.updatedBy
	}
	if next.deleted {
		return nil
	}
	if f := ad.fresh[next.revision]; f != nil {
		ad.is, ad.found, next.foreign, next.body = f.doc, f.ready, f.foreign, f.body
		return nil
	}
	kept := before
	if !stays {
		var err error
		if kept, err = keptBody(o.sight, ad.kind, ad.id, next.revision); err != nil || kept == nil {
			return orCorrupt(err)
		}
		o.delete(bodyBucket, bodyKey(ad.kind, ad.id, next.revision))
	}
	var err error
	next.foreign, next.version, next.body = kept.foreign, kept.version, kept.body
	ad.is, err = kept.decode(ad.kind)
	return err
}

// keepLosers keeps the bodies of the revision that was the record's, and of those that have come and are not.
func keepLosers(o *op, ad *adoption) error {
	if err := keepLess(o, ad); err != nil {
		return err
	}
	if b := ad.before; b != nil && b.revision != ad.next.revision && ad.tree.Find(b.revision).Held {
		keepBody(o, ad.kind, b)
	}
	for rev, f := range ad.fresh {
		if rev == ad.next.revision || !ad.tree.Find(rev).Held {
			continue
		}
		loser := &stored{id: ad.id, header: header{version: ad.kind.Version, revision: rev, foreign: f.foreign}, body: f.body}
		keepBody(o, ad.kind, loser)
	}
	return nil
}

// chooseScopes says where the record is now. One that is deleted stays where it was.
func chooseScopes(o *op, ad *adoption) (err error) {
	winner := *ad.arrival
	winner.doc = ad.is
	ad.next.scopes, err = scopesOfArrival(o, &winner)
	return err
}

// placeFact stores a fact that has come, and what follows from it: our clock goes beyond it.
func placeFact(o *op, ad *adoption) error {
	if err := chooseScopes(o, ad); err != nil {
		return err
	}
	indexFact(o, ad.kind, ad.next)
	place(o, ad.kind, nil, ad.next)
	o.state.observe(standOf(ad.next).hlc, o.now)
	return settleFact(o, ad.kind, ad.next)
}

// follow does what else hangs on a record that has come.
func follow(o *op, ad *adoption) error {
	switch ad.kind {
	case record.Erasure:
		if ad.is != nil {
			k, known := record.ByName(ad.is.Text("kind"))
			if known {
				applyErasure(o, k, erasedHash(ad.id.ULID()), nil)
			}
		}
	case record.APIKey:
	case record.Ticket:
		return settleTicket(o, ad.id)
	case record.Person:
		if ad.before == nil || ad.before.home(record.Person) != ad.next.home(record.Person) {
			return rehome(o, ad.id)
		}
	}
	return nil
}
