package kv

import (
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
	"doorward/kv/rev"
)

// A ticket's three records are merged each by itself, so the label could be that of one side's name beside the name of the other. The
// root sees to it that they agree (record.Doc.FollowPart): its own revision, made of what there is alone, goes to all others.

// following is a part of a ticket that has something which follows from another part.
type following struct{ part, of *record.Kind }

var partsFollowing = [...]following{{record.Ticket, record.HolderName}, {record.HolderName, record.Holder}}

// followParts settles what follows from a part of a ticket that has come, where no other revision will bring it.
func followParts(o *op, ad *adoption) error {
	if o.store.isLeaf() {
		return nil
	}
	if ad.kind == record.Holder || ad.kind == record.HolderName && ad.mixed {
		if err := agreeOnHolder(o, ad.id); err != nil {
			return err
		}
	}
	for _, f := range partsFollowing {
		if ad.kind != f.part && ad.kind != f.of {
			continue
		}
		due, err := isDue(o, ad, f)
		if err == nil && due {
			err = followPart(o, f, ad.id)
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
func isDue(o *op, ad *adoption, f following) (bool, error) {
	switch {
	case ad.mixed:
		return true, nil
	case ad.guest != ulid.ULID{}:
		return isPartly(o, ad, f)
	case ad.kind == f.of:
		return true, nil
	}
	if recovers, err := recovers(o); err != nil || recovers {
		return recovers, err
	}
	return isPast(o, f, ad.id)
}

// isPartly tells that others than the guest have made something of one of two parts: that one is refused to the guest.
func isPartly(o *op, ad *adoption, f following) (bool, error) {
	for _, k := range [...]*record.Kind{f.part, f.of} {
		st, err := o.load(k, ad.id)
		if err != nil || st == nil {
			return false, err
		}
		t, err := loadTree(o.sight, k, st)
		if err != nil {
			return false, err
		}
		if !isOnlyOf(&t, ad.guest) {
			return true, nil
		}
	}
	return false, nil
}

// isPast tells that a part says what follows from the other as that was, or as somebody had it who has lost: nothing will come any more
// that agrees with it.
func isPast(o *op, f following, id record.ID) (bool, error) {
	p, err := loadParts(o, f, id)
	if err != nil || p == nil || p.agrees(p.of) {
		return false, err
	}
	t, err := loadTree(o.sight, f.of, p.other)
	if err != nil {
		return false, err
	}
	for _, n := range t.Nodes() {
		if !n.Held || n.Revision == p.other.revision {
			continue
		}
		was, err := keptDoc(o.sight, f.of, id, n.Revision)
		if err != nil {
			return false, err
		}
		if was != nil && p.agrees(was) {
			return true, nil
		}
	}
	return false, nil
}

// followAllOf gives all parts that a node has changed what follows from the others. What is damaged hinders none of the rest.
func followAllOf(s *tables, node ulid.ULID) error {
	if s.isLeaf() {
		return nil
	}
	var steps []step
	for _, f := range partsFollowing {
		err := s.eachRow(treeBucket, []byte{f.part.Number}, func(v *sight, key, _ []byte) error {
			_, id, _, err := cutRecord(key)
			if err != nil {
				return s.unlessCorrupt(err)
			}
			t, err := loadTree(v, f.part, &stored{id: id})
			if slices.ContainsFunc(t.Nodes(), func(n rev.Node) bool { return n.Node == node }) {
				steps = append(steps, step{run: func(o *op) error { return s.unlessCorrupt(followPart(o, f, id)) }})
			}
			return s.unlessCorrupt(err)
		})
		if err != nil {
			return err
		}
	}
	return s.doEach(steps)
}

// followAll gives a ticket's parts what follows from the others.
func followAll(o *op, ticket record.ID) error {
	for _, f := range partsFollowing {
		if err := followPart(o, f, ticket); err != nil {
			return err
		}
	}
	return nil
}

// followPart gives a part what follows from another, if both are here.
func followPart(o *op, f following, id record.ID) error {
	p, err := loadParts(o, f, id)
	if err != nil || p == nil || p.agrees(p.of) {
		return err
	}
	_, err = o.write(change{kind: f.part, id: id, before: p.before, was: p.was, is: p.follow(p.of)})
	return err
}

// twoParts are a part of a ticket and the one that it follows from.
type twoParts struct {
	before, other *stored
	was, of       *record.Doc // of them
}

// loadParts answers nil where not both parts are here.
func loadParts(o *op, f following, id record.ID) (*twoParts, error) {
	p := &twoParts{}
	var err error
	if p.before, err = o.load(f.part, id); err != nil || p.before == nil {
		return nil, err
	}
	if p.other, err = o.load(f.of, id); err != nil || p.other == nil {
		return nil, err
	}
	if p.was, err = p.before.decode(f.part); err != nil {
		return nil, err
	}
	p.of, err = p.other.decode(f.of)
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
