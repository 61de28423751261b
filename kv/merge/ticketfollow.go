package merge

import (
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// A ticket's three records are merged each by itself, so the label could be that of one side's name beside the name of the other. The
// root sees to it that they agree (record.Doc.FollowPart): its own revision, made of what there is alone, goes to all others.

// following is a part of a ticket that has something which follows from another part.
type following struct{ part, of *record.Kind }

var partsFollowing = [...]following{{record.Ticket, record.HolderName}, {record.HolderName, record.Holder}}

// followParts settles what follows from a part of a ticket that has come, where no other revision will bring it.
func followParts(o *table.Tx, ad *Adoption) error {
	if o.Store.IsLeaf() {
		return nil
	}
	if ad.Kind == record.Holder || ad.Kind == record.HolderName && ad.mixed {
		if err := agreeOnHolder(o, ad.Id); err != nil {
			return err
		}
	}
	for _, f := range partsFollowing {
		if ad.Kind != f.part && ad.Kind != f.of {
			continue
		}
		due, err := isDue(o, ad, f)
		if err == nil && due {
			err = followPart(o, f, ad.Id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isDue tells whether the part that follows is to agree at once with what has come. With a name it is: what its writer made of the label
// was merged before, or comes as the same revision. A label waits for its name, which mostly comes next, unless that was here and has
// lost. A guest brings either itself, as long as it may. A store that was restored waits for nothing: what has come may be made upon
// what it has lost, and nobody have the rest of that.
func isDue(o *table.Tx, ad *Adoption, f following) (bool, error) {
	switch {
	case ad.mixed:
		return true, nil
	case ad.Guest != ulid.ULID{}:
		return isPartly(o, ad, f)
	case ad.Kind == f.of:
		return true, nil
	}
	if recovers, err := table.Recovers(o); err != nil || recovers {
		return recovers, err
	}
	return isPast(o, f, ad.Id)
}

// isPartly tells that others than the guest have made something of one of two parts: that one is refused to the guest.
func isPartly(o *table.Tx, ad *Adoption, f following) (bool, error) {
	for _, k := range [...]*record.Kind{f.part, f.of} {
		st, err := o.Load(k, ad.Id)
		if err != nil || st == nil {
			return false, err
		}
		t, err := table.LoadTree(o.View, k, st)
		if err != nil {
			return false, err
		}
		if !table.IsOnlyOf(&t, ad.Guest) {
			return true, nil
		}
	}
	return false, nil
}

// isPast tells that a part says what follows from the other as that was, or as somebody had it who has lost: nothing will come any more
// that agrees with it.
func isPast(o *table.Tx, f following, id record.ID) (bool, error) {
	p, err := loadParts(o, f, id)
	if err != nil || p == nil || p.agrees(p.of) {
		return false, err
	}
	t, err := table.LoadTree(o.View, f.of, p.other)
	if err != nil {
		return false, err
	}
	for _, n := range t.Nodes() {
		if !n.Held || n.Revision == p.other.Revision {
			continue
		}
		was, err := table.KeptDoc(o.View, f.of, id, n.Revision)
		if err != nil {
			return false, err
		}
		if was != nil && p.agrees(was) {
			return true, nil
		}
	}
	return false, nil
}

// FollowAllOf gives all parts that a node has changed what follows from the others. What is damaged hinders none of the rest.
func FollowAllOf(s *table.Set, node ulid.ULID) error {
	if s.IsLeaf() {
		return nil
	}
	var steps []table.Step
	for _, f := range partsFollowing {
		err := s.EachRow(table.TreeBucket, []byte{f.part.Number}, func(v *table.View, key, _ []byte) error {
			_, id, _, err := table.CutRecord(key)
			if err != nil {
				return s.UnlessCorrupt(err)
			}
			t, err := table.LoadTree(v, f.part, &table.Stored{Id: id})
			if slices.ContainsFunc(t.Nodes(), func(n rev.Node) bool { return n.Node == node }) {
				steps = append(steps, table.Step{Run: func(o *table.Tx) error { return s.UnlessCorrupt(followPart(o, f, id)) }})
			}
			return s.UnlessCorrupt(err)
		})
		if err != nil {
			return err
		}
	}
	return s.DoEach(steps)
}

// FollowAll gives a ticket's parts what follows from the others.
func FollowAll(o *table.Tx, ticket record.ID) error {
	for _, f := range partsFollowing {
		if err := followPart(o, f, ticket); err != nil {
			return err
		}
	}
	return nil
}

// followPart gives a part what follows from another, if both are here.
func followPart(o *table.Tx, f following, id record.ID) error {
	p, err := loadParts(o, f, id)
	if err != nil || p == nil || p.agrees(p.of) {
		return err
	}
	_, err = o.Write(table.Edit{Kind: f.part, Id: id, Before: p.before, Was: p.was, Is: p.follow(p.of)})
	return err
}

// twoParts are a part of a ticket and the one that it follows from.
type twoParts struct {
	before, other *table.Stored
	was, of       *record.Doc // of them
}

// loadParts answers nil where not both parts are here.
func loadParts(o *table.Tx, f following, id record.ID) (*twoParts, error) {
	p := &twoParts{}
	var err error
	if p.before, err = o.Load(f.part, id); err != nil || p.before == nil {
		return nil, err
	}
	if p.other, err = o.Load(f.of, id); err != nil || p.other == nil {
		return nil, err
	}
	if p.was, err = p.before.Decode(f.part); err != nil {
		return nil, err
	}
	p.of, err = p.other.Decode(f.of)
	return p, err
}

// follow is the part as it follows from what the other is, or was.
func (p *twoParts) follow(of *record.Doc) *record.Doc {
	is := p.was.Clone()
	is.FollowPart(of)
	return is
}

// agrees tells that the part says what follows from what the other is, or was.
func (p *twoParts) agrees(of *record.Doc) bool { return len(p.follow(of).Differs(p.was)) == 0 }
