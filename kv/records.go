package kv

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"doorward/kv/auth"
	"doorward/kv/record"
)

// Target names what an operation is about.
type Target struct {
	Surface record.Surface // V1 or Admin: decides the permission that is needed and the shape of the reply
	Kind    *record.Kind   // record.Ticket on Admin takes and shows the form of record.TicketForm
	ID      record.ID      // zero for Create and List
	IfMatch []string       // revisions, one of which the record must have; nil = whatever is there
	Once    *Once          // nil = no Idempotency-Key
}

// Reply is one record as the surface shows it.
type Reply struct {
	ID       record.ID
	JSON     []byte
	Revision string
	Replayed bool // the kept answer of an earlier request
}

// Retrieve reads one record. ErrNotFound, *Forbidden, ErrCorrupt.
func (s *Store) Retrieve(p Principal, t Target) (r Reply, err error) {
	if err := p.CheckKind(t.Surface, t.Kind, "GET"); err != nil {
		return Reply{}, err
	}
	err = s.view(func(v *sight) error {
		v.reader = p
		st, err := find(v, p, t.Kind, t.ID)
		if err != nil {
			return err
		}
		s.noteReads(p, t.Kind, 1)
		r, err = reply(v, t.Surface, t.Kind, st)
		return err
	})
	return r, err
}

// Sees answers nil where the principal's scope holds a record, whatever it may do with it; otherwise ErrNotFound.
func (s *Store) Sees(p Principal, k *record.Kind, id record.ID) error {
	return visible(s.tables, p, k, id)
}

// visible answers nil where p sees a record, otherwise ErrNotFound.
func visible(s *tables, p Principal, k *record.Kind, id record.ID) error {
	return s.view(func(v *sight) error {
		_, err := find(v, p, k, id)
		return err
	})
}

// Permits answers whether the principal's level allows a change of a record or, where the target names none, a create, whatever
// the body says: nil, ErrNotFound or *Forbidden.
func (s *Store) Permits(p Principal, t Target) error {
	if t.ID.IsZero() {
		return mayCreate(p, t.Kind)
	}
	return s.view(func(v *sight) error {
		st, err := find(v, p, t.Kind, t.ID)
		if err != nil {
			return err
		}
		return mayChange(v, p, t.Kind, st)
	})
}

// Create makes a record. The patch's faults, with those that only the store can see added, come back as fault.ByField.
func (s *Store) Create(p Principal, t Target, patch *record.Patch) (r Reply, err error) {
	if err := p.CheckKind(t.Surface, t.Kind, "POST"); err != nil {
		return Reply{}, err
	}
	if err := mayCreate(p, t.Kind); err != nil {
		return Reply{}, err
	}
	in := prepareNew(s.tables, p, patch)
	err = s.do(false, func(o *op) error {
		o.reader = p
		r, err = once(o, t.Once, func() (Reply, error) {
			st, err := create(o, p, t.Kind, record.ID{}, in)
			if err == nil {
				err = s.Room(Creates) // what is wrong with it, or was answered before, needs no room
			}
			if err != nil {
				return Reply{}, err
			}
			return reply(o.sight, t.Surface, t.Kind, st)
		})
		if err == nil && r.Replayed && len(r.JSON) == 0 {
			r, err = replyAgain(o, p, t, r.ID)
		}
		return err
	})
	return r, err
}

// replyAgain answers a create whose kept answer showed what the file no longer holds, with what it holds: ErrNotFound for nothing.
func replyAgain(o *op, p Principal, t Target, id record.ID) (Reply, error) {
	st, err := find(o.sight, p, t.Kind, id)
	if err != nil {
		return Reply{}, err
	}
	r, err := reply(o.sight, t.Surface, t.Kind, st)
	r.Replayed = true
	return r, err
}

// Update changes a record. A patch that changes nothing makes no revision.
func (s *Store) Update(p Principal, t Target, patch *record.Patch) (r Reply, err error) {
	if err := p.CheckKind(t.Surface, t.Kind, "PATCH"); err != nil {
		return Reply{}, err
	}
	in := prepare(s.tables, patch)
	err = s.do(false, func(o *op) error {
		o.reader = p
		before, err := findForChange(o, p, t)
		if err != nil {
			return err
		}
		st, err := update(o, p, t.Kind, before, in)
		if err == nil && len(o.changed) > 0 {
			err = s.Room(Creates) // as above
		}
		if err != nil {
			return err
		}
		r, err = reply(o.sight, t.Surface, t.Kind, st)
		return err
	})
	if err == nil {
		s.noteReads(p, t.Kind, 1)
	}
	return r, err
}

// Delete leaves a tombstone. *Conflict where other records refer to this one.
func (s *Store) Delete(p Principal, t Target) error {
	if err := p.CheckKind(t.Surface, t.Kind, "DELETE"); err != nil {
		return err
	}
	return s.do(false, func(o *op) error {
		before, err := findForChange(o, p, t)
		if err != nil {
			return err
		}
		if err := unreferred(o, p, t.Kind, t.ID); err != nil {
			return err
		}
		if t.Kind == record.Ticket {
			return deleteTicket(o, p, before)
		}
		was, err := before.decode(t.Kind)
		if err != nil {
			return err
		}
		_, err = o.write(change{kind: t.Kind, id: t.ID, before: before, was: was, author: p.Key()})
		return err
	})
}

// findForChange finds a record that p may change, at the revision that it asks for.
func findForChange(o *op, p Principal, t Target) (*stored, error) {
	if !auth.OnDesk(t.Kind) {
		return nil, ErrNotFound
	}
	st, err := find(o.sight, p, t.Kind, t.ID)
	if err != nil {
		return nil, err
	}
	if err := mayChange(o.sight, p, t.Kind, st); err != nil {
		return nil, err
	}
	if t.IfMatch == nil {
		return st, nil
	}
	revision, err := revisionOf(o.sight, t.Surface, t.Kind, st)
	if err == nil && !slices.Contains(t.IfMatch, revision) {
		err = ErrStale
	}
	return st, err
}

// create makes one record, or a ticket's three, under a given id or the next free one.
func create(o *op, p Principal, k *record.Kind, id record.ID, in *input) (*stored, error) {
	giveChurch(o, p, k, in.Patch)
	require(in.Patch)
	if err := checkPatch(o, p, k, in.Patch); err != nil {
		return nil, err
	}
	id, before, err := vacant(o, k, id)
	if err != nil {
		return nil, err
	}
	if k == record.Ticket {
		return createTicket(o, p, id, before != nil, in)
	}
	return add(o, p, k, newRecord{id: id, tombstone: before, made: compose(p, k, in.Patch, moment(o))})
}

// newRecord is a record about to be stored; tombstone is what lies under its id, or nil.
type newRecord struct {
	made
	id        record.ID
	tombstone *stored
	free      bool // nothing else has what it is known by: it was looked for in this operation
}

// add checks that a new record is the only one of its sort, and writes it.
func add(o *op, p Principal, k *record.Kind, n newRecord) (*stored, error) {
	if !n.free {
		if err := unique(o, k, n.id, n.doc); err != nil {
			return nil, err
		}
	}
	return fitting(o.write(change{kind: k, id: n.id, before: n.tombstone, is: n.doc, author: p.Key(), made: &n.made}))
}

// update lays a patch over one record, or over a ticket's three.
func update(o *op, p Principal, k *record.Kind, before *stored, in *input) (*stored, error) {
	if err := checkPatch(o, p, k, in.Patch); err != nil {
		return nil, err
	}
	if k == record.Ticket {
		return updateTicket(o, p, before, in)
	}
	return amend(o, p, k, before, func(d *record.Doc) { d.Apply(in.Patch) })
}

// amend changes one record by a function; where that changes nothing the record stays as it is.
func amend(o *op, p Principal, k *record.Kind, before *stored, fn func(*record.Doc)) (*stored, error) {
	was, err := before.decode(k)
	if err != nil {
		return nil, err
	}
	is := was.Clone()
	fn(is)
	if sameBody(is.Encode(), before.body) {
		return before, nil
	}
	is.Settle(was, moment(o))
	if !sameKeys(was, is) { // what was made twice stays so until the root merges it
		if err := unique(o, k, before.id, is); err != nil {
			return nil, err
		}
	}
	next, err := fitting(o.write(change{kind: k, id: before.id, before: before, was: was, is: is, author: p.Key()}))
	if err == nil && k == record.Person && next.home(k) != before.home(k) {
		err = rehome(o, before.id)
	}
	return next, err
}

func moment(o *op) record.Moment { return record.Moment{Now: o.now, Zone: o.store.zone} }

// vacant answers an id that no live record has: the given one, or the next free one. A tombstone under it comes along.
func vacant(o *op, k *record.Kind, id record.ID) (record.ID, *stored, error) {
	if !id.IsZero() {
		st, err := o.loadAny(k, id)
		if err == nil && st != nil && !st.deleted {
			err = &Conflict{Reason: "the id is in use", Field: "id"}
		}
		if err == nil {
			err = mayGive(o, k, id)
		}
		if gone, failed := isErased(o.sight, k, id); err == nil && (gone || failed != nil) {
			err = orErr(failed, &Conflict{Reason: "the record with this id was erased", Field: "id"})
		}
		o.state.use(k, id)
		return id, st, err
	}
	for {
		id, err := mintID(o, k)
		if err != nil {
			return id, nil, fmt.Errorf("mint: %w", err)
		}
		used, err := isUsed(o, k, id)
		if err != nil {
			return id, nil, fmt.Errorf("mint: %w", err)
		}
		if !used {
			return id, nil, nil
		}
	}
}

// isUsed tells whether a record has or had an id that was minted now. The mark and the leases by which ids are minted are checked when they
// are read, and no id is minted twice by them: damage beside the place of the id is no reason to mint none. Damage in that place is.
func isUsed(o *op, k *record.Kind, id record.ID) (bool, error) {
	key := k.AppendID(nil, id)
	st, err := o.loadAny(k, id)
	if errors.Is(err, ErrCorrupt) {
		o.store.noteCorrupt(err)
		return hasRow(o.sight.View, kindBucket(k), key), nil
	}
	if err != nil || st != nil {
		return true, err
	}
	gone, err := isErased(o.sight, k, id)
	if errors.Is(err, ErrCorrupt) {
		o.store.noteCorrupt(err)
		hash := o.store.hashErased(k, id)
		return hasRow(o.sight.View, erasedBucket, hash[:]), nil
	}
	return gone, err
}

func sameBody(a, b record.Body) bool {
	return bytes.Equal(a.Shown, b.Shown) && bytes.Equal(a.Hidden, b.Hidden)
}
