package kv

import (
	"errors"
	"runtime"
	"time"

	"doorward/kv/fault"
	"doorward/kv/names"
	"doorward/kv/record"
	"doorward/kv/value"
)

// MaxRows is how many rows one bulk operation takes.
const MaxRows = 100

// MaxGivenID is the largest id that an import may give.
const MaxGivenID = 1<<31 - 1

// Row is one record of a bulk import. The patch may carry "external_id"; ID is zero where the source gives none.
type Row struct {
	Kind  *record.Kind
	ID    record.ID
	Patch *record.Patch
}

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
	Fate Fate
	ID   record.ID
	Err  error
}

var errDryRun = errors.New("dry run")

// Upsert writes up to MaxRows rows, each on its own: a bad one is rejected and blocks none. A row finds its record by
// external_id within its event or kind, else by id, else, a ticket, by event and code, a person by CPF; a record that has no external_id yet
// takes a row's. dryRun decides all and writes nothing; its rows do not see each other. The error is the store's own, not a row's.
func (s *Store) Upsert(p Principal, rows []Row, dryRun bool) ([]RowResult, error) {
	if err := p.Check("admin", "POST"); err != nil {
		return nil, err
	}
	author := p.Unsigned() // imports have no author (contract.md §9)
	return eachAlone(s.tables, rows, dryRun, func(row Row) func(*op) (RowResult, error) {
		in := prepareNew(s.tables, author, row.Patch)
		return func(o *op) (RowResult, error) { return upsert(o, author, row, in) }
	})
}

// eachAlone writes up to MaxRows rows in one operation, each on its own. prepare does what a row needs and the writer need not do.
func eachAlone(s *tables, rows []Row, dryRun bool, prepare func(Row) func(*op) (RowResult, error)) ([]RowResult, error) {
	if len(rows) > MaxRows {
		return nil, errors.New("too many rows for one operation")
	}
	if err := s.Room(Imports); err != nil && !dryRun {
		return nil, err
	}
	results := make([]RowResult, len(rows))
	steps := make([]step, len(rows))
	for i := range rows {
		s.Yield()
		write := prepare(rows[i])
		steps[i].run = func(o *op) (err error) {
			results[i], err = write(o)
			if err == nil && dryRun {
				err = errDryRun
			}
			return err
		}
	}
	if err := s.doAll(steps); err != nil {
		return nil, err
	}
	for i := range steps {
		if err := steps[i].err; err != nil && !errors.Is(err, errDryRun) {
			results[i] = RowResult{Fate: Rejected, ID: rows[i].ID, Err: err}
		}
	}
	return results, nil
}

// doorsAbout is for how long after an operation of a door a long computation makes way.
const doorsAbout = time.Second

// Yield is for loops that compute for long: while doors are about it lets their goroutines onto the processor, which would else
// wait for the end of a time slice of 10 ms.
func (s *tables) Yield() {
	if s.engine.DoorWithin(doorsAbout) {
		runtime.Gosched()
	}
}

// upsert makes or changes the record of one row.
func upsert(o *op, p Principal, row Row, in *input) (RowResult, error) {
	k := row.Kind
	if k.Fact || k.System {
		return RowResult{}, ErrNotFound
	}
	if err := mayCreate(p, k); err != nil {
		return RowResult{}, err
	}
	if id := row.ID; !id.IsZero() && id.Int() > MaxGivenID {
		return RowResult{}, faultOf("id", fault.AtMost(MaxGivenID))
	}
	before, err := existing(o, p, row, in)
	if err != nil {
		return RowResult{}, err
	}
	if before == nil {
		st, err := create(o, p, k, row.ID, in)
		if err != nil {
			return RowResult{}, err
		}
		return RowResult{Fate: Created, ID: st.id}, nil
	}
	if err := p.Check("admin", "PATCH"); err != nil {
		return RowResult{}, err
	}
	seq := o.state.seq
	st, err := update(o, p, k, before, in)
	if err != nil {
		return RowResult{}, err
	}
	if o.state.seq == seq {
		return RowResult{Fate: Unchanged, ID: st.id}, nil
	}
	return RowResult{Fate: Updated, ID: st.id}, nil
}

func faultOf(field, text string) (f fault.ByField) {
	f.Add(field, text)
	return f
}

// existing finds the record that a row means; nil for a new one. One that p may not change counts as a conflict, so that its
// key cannot be taken twice.
func existing(o *op, p Principal, row Row, in *input) (*stored, error) {
	id, err := existingID(o, p, row, in)
	if err != nil || id.IsZero() {
		return nil, err
	}
	st, err := o.load(row.Kind, id)
	if err != nil || st == nil {
		return nil, err
	}
	if ok, err := sees(o.sight, p, row.Kind, st); err != nil || !ok {
		if err == nil {
			err = &Conflict{Reason: "another record has this key", Field: in.keyField(row)}
		}
		return nil, err
	}
	return st, mayChange(o.sight, p, row.Kind, st)
}

func existingID(o *op, p Principal, row Row, in *input) (record.ID, error) {
	event := int64(0)
	if v, ok := row.Patch.Value("event_id"); ok {
		event = intOf(v)
	}
	ext, _ := formText(row.Patch, "external_id")
	if ext == "" {
		return otherKey(o, p, row, in, event)
	}
	if id, err := byExternalID(o, row.Kind, event, ext); err != nil || !id.IsZero() {
		return id, err
	}
	id, err := otherKey(o, p, row, in, event)
	if err != nil || id.IsZero() {
		return id, err
	}
	st, err := o.load(row.Kind, id)
	if err != nil || st == nil || (row.Kind != record.Person || !row.ID.IsZero()) && value.Unquote(st.body.Member("external_id")) != "" {
		return record.ID{}, err // another one's: creating it will say what collides
	}
	return id, nil // it was imported before it had an external_id, or is the person of this CPF
}

// otherKey finds the record that a row means by what else it may be known by.
func otherKey(o *op, p Principal, row Row, in *input, event int64) (record.ID, error) {
	switch {
	case !row.ID.IsZero():
		return row.ID, nil
	case row.Kind == record.Membership:
		group, _ := row.Patch.Value("group_id")
		person, _ := row.Patch.Value("person")
		return membership(o, intOf(group), intOf(person))
	case row.Kind == record.Ticket && in.coded:
		ids, err := ticketsOf(o.sight, exactForm, in.exact[:], event)
		if err != nil || len(ids) == 0 {
			in.free = err == nil // an external_id was looked for before
			return record.ID{}, err
		}
		return ids[0], nil
	case row.Kind == record.Person:
		return personOf(o, p, row)
	}
	return record.ID{}, nil
}

// personOf finds the one person whom a valid CPF means, among those whom the principal sees. Two of one CPF are told apart by nobody here.
func personOf(o *op, p Principal, row Row) (found record.ID, err error) {
	cpf, _ := formText(row.Patch, "cpf")
	if !names.IsCPF(cpf) {
		return found, nil
	}
	ids, err := o.lookup(record.Person, "cpf", cpf)
	if err != nil {
		return found, err
	}
	for _, id := range ids {
		st, err := o.load(record.Person, id)
		if err != nil {
			return found, err
		}
		if st == nil {
			continue
		}
		switch ok, err := sees(o.sight, p, record.Person, st); {
		case err != nil:
			return found, err
		case !ok:
		case !found.IsZero():
			return found, &Conflict{Reason: "two people have this CPF: the row's id says which is meant", Field: "cpf"}
		default:
			found = id
		}
	}
	return found, nil
}

// keyField is the field that a row's record is known by.
func (in *input) keyField(row Row) string {
	ext, _ := formText(in.Patch, "external_id")
	switch {
	case ext != "":
		return "external_id"
	case !row.ID.IsZero():
		return "id"
	case in.coded:
		return "code"
	}
	return "person"
}

// Vacant tells a store that holds no records but keys.
func (s *Store) Vacant() (vacant bool, err error) {
	vacant = true
	l := s.current()
	for _, k := range record.Kinds() {
		vacant = vacant && (k == record.APIKey || l.kind(k).all.len() == 0)
	}
	return vacant, nil
}
