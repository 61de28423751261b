package merge

import (
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv/door"
	"doorward/kv/entry"
	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// Adoption makes a record what its tree says after revisions have come from elsewhere.
type Adoption struct {
	*Arrival
	fresh map[rev.ID]*fresh // bodies that have just come or been made
	next  *table.Stored
	Was   *record.Doc        // before, if it was live
	is    *record.Doc        // nil: deleted
	found table.ReadyLookups // what is will be found by
	mixed bool               // several leaves have become one
}

// fresh is a body that is not stored yet.
type fresh struct {
	doc     *record.Doc
	body    record.Body        // of doc
	ready   table.ReadyLookups // of doc
	foreign bool
}

// Receive adopts what another store has made, and makes one of what was made twice.
func Receive(o *table.Tx, a *Arrival) error {
	complete(o, a)
	ad, err := graft(o, a)
	if err != nil {
		return err
	}
	if err := joinTwins(o, ad); err != nil {
		return err
	}
	return settleParts(o, ad)
}

// complete gives a record what replies always show. Our own servers' never lack it; other programs may speak the protocol, too.
func complete(o *table.Tx, a *Arrival) {
	if a.Doc == nil {
		return
	}
	made := entry.Moment(o)
	if a.Node.At != 0 {
		made.Now = time.UnixMicro(a.Node.At).UTC()
	}
	if a.Doc.Complete(made) {
		a.remake(a.Doc)
	}
}

// Adopt is receive for what passed the rules of /v1, which let nobody make a thing twice.
func Adopt(o *table.Tx, a *Arrival) (*table.Stored, error) {
	ad, err := graft(o, a)
	if err != nil {
		return nil, err
	}
	return ad.next, nil
}

// adoption grafts an arrival and stores what follows: the winner is the record, the losers' bodies are kept.
func graft(o *table.Tx, a *Arrival) (*Adoption, error) {
	ad := &Adoption{Arrival: a, fresh: map[rev.ID]*fresh{}}
	if err := listBrought(o, a); err != nil {
		return nil, err
	}
	if err := nameFields(o, a); err != nil {
		return nil, err
	}
	if _, err := a.Tree.Graft(a.Path, a.Node); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	if a.Doc != nil {
		ad.fresh[a.Path[0]] = &fresh{a.Doc, a.body, a.ready, a.foreign}
	}
	if a.Before != nil && !a.Before.Deleted {
		var err error
		if ad.Was, err = a.Before.Decode(a.Kind); err != nil {
			return nil, err
		}
	}
	if err := resolve(o, ad); err != nil {
		return nil, err
	}
	return ad, CarryOut(o, ad)
}

// CarryOut stores an adoption.
func CarryOut(o *table.Tx, ad *Adoption) error {
	o.State.Use(ad.Kind, ad.ID)
	ad.next = &table.Stored{ID: ad.ID, Header: table.Header{Version: ad.Kind.Version}}
	dropped := table.Shape(ad.next, &ad.Tree)
	if err := chooseBody(o, ad); err != nil {
		return err
	}
	if err := keepLosers(o, ad); err != nil {
		return err
	}
	for _, rev := range dropped {
		o.Delete(table.BodyBucket, table.BodyKey(ad.Kind, ad.ID, rev))
	}
	if ad.Kind.Fact {
		return placeFact(o, ad)
	}
	if ad.Before != nil || ad.Tree.Len() > 1 || ad.Node.Node != (ulid.ULID{}) {
		o.Put(table.TreeBucket, table.TreeKey(ad.Kind, ad.ID), ad.Tree.Append(nil))
	}
	if err := chooseScopes(o, ad); err != nil {
		return err
	}
	if err := table.Welcome(o, ad.Kind, ad.Before, ad.next); err != nil {
		return err
	}
	table.MoveLookups(o, table.Edit{Kind: ad.Kind, ID: ad.ID, Before: ad.Before, Was: ad.Was, Is: ad.is, Ready: ad.found}, ad.next.UpdatedAt)
	table.Place(o, ad.Kind, ad.Before, ad.next)
	if ad.next.Deleted {
		table.NoteMerged(o, ad.Kind, ad.ID, &ad.Tree)
	}
	return follow(o, ad)
}

// chooseBody gives the record the winner's body, and stamps: a winner that stays keeps those it has.
func chooseBody(o *table.Tx, ad *Adoption) error {
	next, before := ad.next, ad.Before
	next.UpdatedAt, next.UpdatedBy = o.Stamp, ad.Tree.Winner().Key
	stays := before != nil && before.Revision == next.Revision
	if stays {
		next.UpdatedAt, next.UpdatedBy = before.UpdatedAt, before.UpdatedBy
	}
	if next.Deleted {
		return nil
	}
	if f := ad.fresh[next.Revision]; f != nil {
		ad.is, ad.found, next.Foreign, next.Body = f.doc, f.ready, f.foreign, f.body
		return nil
	}
	kept := before
	if !stays {
		var err error
		if kept, err = table.KeptBody(o.View, ad.Kind, ad.ID, next.Revision); err != nil || kept == nil {
			return table.OrCorrupt(err)
		}
		o.Delete(table.BodyBucket, table.BodyKey(ad.Kind, ad.ID, next.Revision))
	}
	var err error
	next.Foreign, next.Version, next.Body = kept.Foreign, kept.Version, kept.Body
	ad.is, err = kept.Decode(ad.Kind)
	return err
}

// keepLosers keeps the bodies of the revision that was the record's, and of those that have come and are not.
func keepLosers(o *table.Tx, ad *Adoption) error {
	if err := keepLess(o, ad); err != nil {
		return err
	}
	if b := ad.Before; b != nil && b.Revision != ad.next.Revision && ad.Tree.Find(b.Revision).Held {
		table.KeepBody(o, ad.Kind, b)
	}
	for rev, f := range ad.fresh {
		if rev == ad.next.Revision || !ad.Tree.Find(rev).Held {
			continue
		}
		loser := &table.Stored{ID: ad.ID, Header: table.Header{Version: ad.Kind.Version, Revision: rev, Foreign: f.foreign}, Body: f.body}
		table.KeepBody(o, ad.Kind, loser)
	}
	return nil
}

// chooseScopes says where the record is now. One that is deleted stays where it was.
func chooseScopes(o *table.Tx, ad *Adoption) (err error) {
	winner := *ad.Arrival
	winner.Doc = ad.is
	ad.next.Scopes, err = ScopesOfArrival(o, &winner)
	return err
}

// placeFact stores a fact that has come, and what follows from it: our clock goes beyond it.
func placeFact(o *table.Tx, ad *Adoption) error {
	if err := chooseScopes(o, ad); err != nil {
		return err
	}
	door.IndexFact(o, ad.Kind, ad.next)
	table.Place(o, ad.Kind, nil, ad.next)
	o.State.Observe(door.StandOf(ad.next).Hlc, o.Now)
	return door.SettleFact(o, ad.Kind, ad.next)
}

// follow does what else hangs on a record that has come.
func follow(o *table.Tx, ad *Adoption) error {
	switch ad.Kind {
	case record.Erasure:
		if ad.is != nil {
			k, known := record.ByName(ad.is.Text("kind"))
			if known {
				ApplyErasure(o, k, ledger.ErasedHash(ad.ID.ULID()))
			}
		}
	case record.APIKey:
	case record.Ticket:
		return door.SettleTicket(o, ad.ID)
	case record.Person:
		if ad.Before == nil || ad.Before.Home(record.Person) != ad.next.Home(record.Person) {
			return table.Rehome(o, ad.ID)
		}
	}
	return nil
}
