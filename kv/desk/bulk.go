package desk

import (
	"errors"
	"slices"

	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/entry"
	"doorward/kv/names"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// Fate is what became of a row.
type Fate string

// The fates.
const (
	Created   Fate = "created"
	Updated   Fate = "updated"
	Unchanged Fate = "unchanged"
	Rejected  Fate = "rejected"
	Kept      Fate = "kept" // by Mirror alone: the record was changed or deleted here, and stays so
)

// RowResult is one row's fate; Err says why it was rejected (fault.ByField, *Conflict, …).
type RowResult struct {
	Fate     Fate
	ID       record.ID
	Err      error
	Readmits bool // the row makes a ticket valid that was blocked, refunded or cancelled
	Stood    bool // the row's ticket was there, valid or unpaid
}

var errDryRun = errors.New("dry run")

// Upsert writes up to MaxRows rows, each on its own: a bad one is rejected and blocks none. A row finds its record by
// external_id within its church or event, else by id, else, a ticket, by event and code, a person by CPF; a record that has no external_id yet
// takes a row's. A row of another person, by name and data, than its external_id or CPF leads to is a *Conflict. A row that does not reinstate
// lets no ticket in that is blocked, refunded or cancelled: that is a *Conflict about its state.
// dryRun decides all and writes nothing; its rows do not see each other. The error is the store's own, not a row's.
func (dk *Desk) Upsert(p auth.Principal, rows []entry.Row, dryRun bool) ([]RowResult, error) {
	if err := p.Check("admin", "POST"); err != nil {
		return nil, err
	}
	author := p.Unsigned() // imports have no author (contract.md §9)
	results, err := EachAlone(dk.tables, rows, dryRun, func(row entry.Row) func(*table.Tx) (RowResult, error) {
		in := entry.PrepareNew(dk.tables, author, row.Patch)
		in.Imported = true
		return func(o *table.Tx) (RowResult, error) {
			if _, err := dk.standing(o.View, p); err != nil {
				return RowResult{}, err
			}
			return upsert(o, author, row, in)
		}
	})
	for i := range results {
		if errors.Is(results[i].Err, table.ErrBadLogin) {
			return nil, results[i].Err // the key has ended in between: that is no row's fault
		}
	}
	return results, err
}

// EachAlone writes up to MaxRows rows in one operation, each on its own. prepare does what a row needs and the writer need not do.
func EachAlone(s *table.Set, rows []entry.Row, dryRun bool, prepare func(entry.Row) func(*table.Tx) (RowResult, error)) ([]RowResult, error) {
	if len(rows) > table.MaxRows {
		return nil, errors.New("too many rows for one operation")
	}
	if err := s.Folder.Room.Check(disk.Imports); err != nil && !dryRun {
		return nil, err
	}
	results := make([]RowResult, len(rows))
	runs := make([]func(*table.Tx) error, len(rows))
	for i := range rows {
		s.Yield()
		write := prepare(rows[i])
		runs[i] = func(o *table.Tx) (err error) {
			results[i], err = write(o)
			if err == nil && dryRun {
				err = errDryRun
			}
			return err
		}
	}
	errs, err := s.DoAll(runs)
	if err != nil {
		return nil, err
	}
	for i, err := range errs {
		if err != nil && !errors.Is(err, errDryRun) {
			results[i] = RowResult{Fate: Rejected, ID: rows[i].ID, Err: err}
		}
	}
	return results, nil
}

// upsert makes or changes the record of one row.
func upsert(o *table.Tx, p auth.Principal, row entry.Row, in *entry.Input) (RowResult, error) {
	k := row.Kind
	if k.Fact || k.System {
		return RowResult{}, table.ErrNotFound
	}
	if err := entry.MayCreate(p, k); err != nil {
		return RowResult{}, err
	}
	before, err := existing(o, p, row, in)
	if err != nil {
		return RowResult{}, err
	}
	if before == nil {
		st, err := Create(o, p, k, row.ID, in)
		if err != nil {
			return RowResult{}, err
		}
		return RowResult{Fate: Created, ID: st.ID}, nil
	}
	if err := p.Check("admin", "PATCH"); err != nil {
		return RowResult{}, err
	}
	seq, kept := o.State.Seq, isOut(k, before)
	if says := row.Patch.Text("state"); kept && !row.Reinstates && (says == "valid" || says == "unpaid") {
		return RowResult{}, &table.Conflict{Reason: "the ticket is " + stateOf(before) + " here and " + says + " in the file", Field: "state"}
	}
	st, err := Update(o, p, k, before, in)
	if err != nil {
		return RowResult{}, err
	}
	stood := k == record.Ticket && !kept
	if o.State.Seq == seq {
		return RowResult{Fate: Unchanged, ID: st.ID, Stood: stood}, nil
	}
	return RowResult{Fate: Updated, ID: st.ID, Readmits: kept && stateOf(st) == "valid", Stood: stood}, nil
}

// isOut tells a ticket that is kept out for good, also by a state that this program does not know. An unpaid one is paid some day, as any order.
func isOut(k *record.Kind, st *table.Stored) bool {
	return k == record.Ticket && !table.Issued(k, st.Body)
}

func stateOf(st *table.Stored) string { return value.Unquote(st.Body.Member("state")) }

// existing finds the record that a row means; nil for a new one. One that p does not see counts as none: creating it fails. A row of an event or
// a group that p does not see fails with the same words, whether its record is there or not.
func existing(o *table.Tx, p auth.Principal, row entry.Row, in *entry.Input) (*table.Stored, error) {
	id, err := existingID(o, p, row, in)
	if err != nil || id.IsZero() {
		return nil, err
	}
	st, err := o.Load(row.Kind, id)
	if err != nil || st == nil {
		return nil, err
	}
	if ok, err := entry.Sees(o.View, p, row.Kind, st); err != nil || !ok {
		return nil, err
	}
	if err := entry.MayChange(o.View, p, row.Kind, st); err != nil {
		return nil, err
	}
	return st, anotherPerson(st, row)
}

func existingID(o *table.Tx, p auth.Principal, row entry.Row, in *entry.Input) (record.ID, error) {
	event := int64(0)
	if v, ok := row.Patch.Value("event_id"); ok {
		event = value.Int(v)
	}
	ext := row.Patch.Text("external_id")
	if ext == "" {
		return otherKey(o, p, row, in, event)
	}
	if id, err := named(o, p, row, ext); err != nil || !id.IsZero() {
		return id, err
	}
	id, err := otherKey(o, p, row, in, event)
	if err != nil || id.IsZero() {
		return id, err
	}
	st, err := o.Load(row.Kind, id)
	if err != nil || st == nil || (row.Kind != record.Person || !row.ID.IsZero()) && value.Unquote(st.Body.Member("external_id")) != "" {
		return record.ID{}, err // another one's: creating it will say what collides
	}
	return id, nil // it was imported before it had an external_id, or is the person of this CPF
}

// named finds the record with a row's external_id, in the church, the event or the group that the row belongs to.
func named(o *table.Tx, p auth.Principal, row entry.Row, ext string) (record.ID, error) {
	for _, in := range homesOf(o, p, row) {
		if id, err := entry.First(entry.ByExternalID(o, row.Kind, in, ext)); err != nil || !id.IsZero() {
			return id, err
		}
	}
	return record.ID{}, nil
}

// homesOf are the churches that a row may mean, the first one first: the one that it names or, if it names none, the one of p's key. The
// row of another key belongs to no church or, if the store has only one, to that one. Of a ticket it is the event, of a membership the group.
func homesOf(o *table.Tx, p auth.Principal, row entry.Row) []int64 {
	v, given := row.Patch.Value(entry.NumberedIn(row.Kind))
	switch {
	case given || !entry.OwnedByChurch(row.Kind):
		return []int64{value.Int(v)}
	case p.IsOf(auth.ChurchOf) && len(p.Level().IDs) == 1:
		return p.Level().IDs
	}
	if churches := table.IDsOf(o.View, record.Church); len(churches) == 1 {
		return []int64{0, churches[0].Int()}
	}
	return []int64{0}
}

// otherKey finds the record that a row means by what else it may be known by.
func otherKey(o *table.Tx, p auth.Principal, row entry.Row, in *entry.Input, event int64) (record.ID, error) {
	switch {
	case !row.ID.IsZero():
		return row.ID, nil
	case row.Kind == record.Membership:
		group, _ := row.Patch.Value("group_id")
		person, _ := row.Patch.Value("person")
		return entry.First(entry.Memberships(o, value.Int(group), value.Int(person)))
	case row.Kind == record.Ticket && in.Coded:
		ids, err := table.TicketsOf(o.View, table.ExactForm, in.Exact[:], event)
		if err != nil || len(ids) == 0 {
			in.Free = err == nil // an external_id was looked for before
			return record.ID{}, errors.Join(err, in.OtherForm(o, event))
		}
		return ids[0], nil
	case row.Kind == record.Person:
		return personOf(o, p, row)
	}
	return record.ID{}, nil
}

// personOf finds the one person with a valid CPF, in the church that the row belongs to. It does not choose between two people with one CPF.
func personOf(o *table.Tx, p auth.Principal, row entry.Row) (found record.ID, err error) {
	cpf := row.Patch.Text("cpf")
	if !names.IsCPF(cpf) {
		return found, nil
	}
	ids, err := o.Lookup(record.Person, "cpf", cpf)
	if err != nil {
		return found, err
	}
	homes := homesOf(o, p, row)
	err = o.EachLive(record.Person, ids, func(st *table.Stored) error {
		ok, err := entry.Sees(o.View, p, record.Person, st)
		if err != nil || !ok || !slices.Contains(homes, st.Home(record.Person)) {
			return err
		}
		if !found.IsZero() {
			return &table.Conflict{Reason: "two people have this CPF: the row's id says which is meant", Field: "cpf"}
		}
		found = st.ID
		return nil
	})
	return found, err
}

// Vacant tells a store that holds no records but keys.
func (dk *Desk) Vacant() (vacant bool, err error) {
	vacant = true
	err = dk.tables.View(func(v *table.View) error {
		for _, k := range record.Kinds() {
			vacant = vacant && (k == record.APIKey || v.Lists.Kind(k).All.Len() == 0)
		}
		return nil
	})
	return vacant && err == nil, err
}
