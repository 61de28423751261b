package desk

import (
	"doorward/kv/idempotency"
	"errors"
	"slices"

	"doorward/kv/access"
	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/ticket"
)

// Desk serves the records of the congregation to a principal.
type Desk struct {
	tables   *table.Set
	standing table.Standing
	Search   *Searching
}

// New makes the desk over a store's tables.
func New(t *table.Set, s *Searching, standing table.Standing) *Desk {
	return &Desk{tables: t, standing: standing, Search: s}
}

// Target names what an operation is about.
type Target struct {
	Surface record.Surface       // V1 or Admin: decides the permission that is needed and the shape of the reply
	Kind    *record.Kind         // record.Ticket on Admin takes and shows the form of record.TicketForm
	ID      record.ID            // zero for Create and List
	IfMatch []string             // revisions, one of which the record must have; nil = whatever is there
	Once    *idempotency.Request // nil = no Idempotency-Key
}

// Retrieve reads one record. ErrNotFound, *Forbidden, ErrCorrupt.
func (dk *Desk) Retrieve(p auth.Principal, t Target) (r entry.Reply, err error) {
	err = dk.look(p, t, func(v *table.View, st *table.Stored) error {
		r, err = entry.MakeReply(v, t.Surface, t.Kind, st)
		return err
	})
	return r, err
}

// look calls fn with one record, and notes that p has read it. ErrNotFound, *Forbidden.
func (dk *Desk) look(p auth.Principal, t Target, fn func(*table.View, *table.Stored) error) error {
	if err := p.CheckKind(t.Surface, t.Kind, "GET"); err != nil {
		return err
	}
	return dk.tables.View(func(v *table.View) error {
		v.Reader = p
		st, err := entry.Find(v, p, t.Kind, t.ID)
		if err != nil {
			return err
		}
		dk.tables.Reads.Note(p, t.Kind, 1)
		return fn(v, st)
	})
}

// Sees returns nil if the principal's scope holds a record, and ErrNotFound if not.
func (dk *Desk) Sees(p auth.Principal, k *record.Kind, id record.ID) error {
	return entry.Visible(dk.tables, p, k, id)
}

// Permits reports whether the principal's level allows a change of the target or, if the target names no record, a create. It looks at no
// body. It returns nil, ErrNotFound or a *Forbidden.
func (dk *Desk) Permits(p auth.Principal, t Target) error {
	if t.ID.IsZero() {
		return entry.MayCreate(p, t.Kind)
	}
	return dk.tables.View(func(v *table.View) error {
		st, err := entry.Find(v, p, t.Kind, t.ID)
		if err != nil {
			return err
		}
		return entry.MayChange(v, p, t.Kind, st)
	})
}

// Create makes a record. The patch's faults, with those that only the store can see added, come back as fault.ByField.
func (dk *Desk) Create(p auth.Principal, t Target, patch *record.Patch) (r entry.Reply, err error) {
	if err := p.CheckKind(t.Surface, t.Kind, "POST"); err != nil {
		return entry.Reply{}, err
	}
	if err := entry.MayCreate(p, t.Kind); err != nil {
		return entry.Reply{}, err
	}
	in := entry.PrepareNew(dk.tables, p, patch)
	err = dk.tables.Do(dk.standing.By(p, func(o *table.Tx) error {
		o.Reader = p
		r, err = idempotency.Once(o, t.Once, func() (entry.Reply, error) {
			st, err := Create(o, p, t.Kind, record.ID{}, in)
			if err == nil {
				err = dk.tables.Folder.Room.Check(disk.Creates) // what is wrong with it, or was answered before, needs no room
			}
			if err != nil {
				return entry.Reply{}, err
			}
			return entry.MakeReply(o.View, t.Surface, t.Kind, st)
		})
		if err == nil && r.Replayed && len(r.JSON) == 0 {
			r, err = replyAgain(o, p, t, r.ID)
		}
		return err
	}))
	return r, err
}

// replyAgain answers a repeated create after its kept answer was redacted: it shows the record as it is now, or ErrNotFound.
func replyAgain(o *table.Tx, p auth.Principal, t Target, id record.ID) (entry.Reply, error) {
	st, err := entry.Find(o.View, p, t.Kind, id)
	if err != nil {
		return entry.Reply{}, err
	}
	r, err := entry.MakeReply(o.View, t.Surface, t.Kind, st)
	r.Replayed = true
	return r, err
}

// Update changes a record. A patch that changes nothing makes no revision.
func (dk *Desk) Update(p auth.Principal, t Target, patch *record.Patch) (r entry.Reply, err error) {
	if err := p.CheckKind(t.Surface, t.Kind, "PATCH"); err != nil {
		return entry.Reply{}, err
	}
	in := entry.Prepare(dk.tables, patch)
	err = dk.tables.Do(dk.standing.By(p, func(o *table.Tx) error {
		o.Reader = p
		before, err := FindForChange(o, p, t)
		if err != nil {
			return err
		}
		st, err := Update(o, p, t.Kind, before, in)
		if err == nil && len(o.Changed) > 0 {
			err = dk.tables.Folder.Room.Check(disk.Creates) // as above
		}
		if err != nil {
			return err
		}
		r, err = entry.MakeReply(o.View, t.Surface, t.Kind, st)
		return err
	}))
	if err == nil {
		dk.tables.Reads.Note(p, t.Kind, 1)
	}
	return r, err
}

// Delete leaves a tombstone. *Conflict where other records refer to this one.
func (dk *Desk) Delete(p auth.Principal, t Target) error {
	if err := p.CheckKind(t.Surface, t.Kind, "DELETE"); err != nil {
		return err
	}
	return dk.tables.Do(dk.standing.By(p, func(o *table.Tx) error {
		before, err := FindForChange(o, p, t)
		if err != nil {
			return err
		}
		return Remove(o, p, t.Kind, before)
	}))
}

// Remove deletes a record that p may change. It returns a *Conflict if other records refer to it.
func Remove(o *table.Tx, p auth.Principal, k *record.Kind, before *table.Stored) error {
	if err := entry.Unreferred(o, p, k, before.ID); err != nil {
		return err
	}
	if k == record.Ticket {
		return ticket.DeleteTicket(o, p, before)
	}
	was, err := before.Decode(k)
	if err != nil {
		return err
	}
	_, err = o.Write(table.Edit{Kind: k, ID: before.ID, Before: before, Was: was, Author: p.Key()})
	return err
}

// FindForChange finds a record that p may change, at the revision that it asks for.
func FindForChange(o *table.Tx, p auth.Principal, t Target) (*table.Stored, error) {
	if !access.DeskWrites(t.Kind) {
		return nil, table.ErrNotFound
	}
	st, err := entry.Find(o.View, p, t.Kind, t.ID)
	if err != nil {
		return nil, err
	}
	if err := entry.MayChange(o.View, p, t.Kind, st); err != nil {
		return nil, err
	}
	if t.IfMatch == nil {
		return st, nil
	}
	revision, err := entry.RevisionOf(o.View, t.Surface, t.Kind, st)
	if err == nil && !slices.Contains(t.IfMatch, revision) {
		err = ErrStale
	}
	return st, err
}

// Create makes one record, or a ticket's three, under a given id or the next free one. Below denomination level a given id is refused with the
// same words whether or not a record out of p's sight has it.
func Create(o *table.Tx, p auth.Principal, k *record.Kind, id record.ID, in *entry.Input) (*table.Stored, error) {
	if !id.IsZero() && !p.IsWhole() {
		return nil, &table.Conflict{Reason: "the key sees no record with this id, and a key of level denomination alone gives a new record an id: leave the id out", Field: "id"}
	}
	entry.GiveChurch(p, k, in.Patch)
	entry.Require(in.Patch)
	if err := entry.CheckPatch(o, p, k, in.Patch); err != nil {
		return nil, err
	}
	id, before, err := entry.Vacant(o, k, id)
	if err != nil {
		return nil, err
	}
	if k == record.Ticket {
		return ticket.CreateTicket(o, p, id, before != nil, in)
	}
	return entry.Add(o, p, k, entry.NewRecord{ID: id, Tombstone: before, Made: entry.Compose(p, k, in.Patch, entry.Moment(o))})
}

// Update lays a patch over one record, or over a ticket's three.
func Update(o *table.Tx, p auth.Principal, k *record.Kind, before *table.Stored, in *entry.Input) (*table.Stored, error) {
	if err := entry.CheckPatch(o, p, k, in.Patch); err != nil {
		return nil, err
	}
	if k == record.Ticket {
		return ticket.UpdateTicket(o, p, before, in)
	}
	return entry.Amend(o, p, k, before, func(d *record.Doc) { d.Apply(in.Patch) })
}

// ErrStale is the error of a change that asks for another revision than the record has.
var ErrStale = errors.New("the record has changed since")

// churches are p's own churches; only for regional and church level.
func churches(v *table.View, p auth.Principal) ([]int64, error) {
	if !p.IsOf(auth.RegionalOf) {
		return p.Level().IDs, nil
	}
	var ids []int64
	for _, regional := range p.Level().IDs {
		found, err := v.Lookup(record.Church, "regional_id", regional)
		if err != nil {
			return nil, err
		}
		for _, id := range found {
			ids = append(ids, id.Int())
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
