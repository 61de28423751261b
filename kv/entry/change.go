package entry

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"doorward/kv/access"
	"doorward/kv/admission"
	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// Reply is one record as the surface shows it.
type Reply struct {
	ID       record.ID
	JSON     []byte
	Revision string
	Replayed bool // the kept answer of an earlier request
}

// Visible returns ErrNotFound unless p sees a record.
func Visible(s *table.Set, p auth.Principal, k *record.Kind, id record.ID) error {
	return s.View(func(v *table.View) error {
		_, err := Find(v, p, k, id)
		return err
	})
}

// NewRecord is a record about to be stored; tombstone is what lies under its id, or nil.
type NewRecord struct {
	*table.Made
	ID        record.ID
	Tombstone *table.Stored
	Free      bool // no other record has its unique fields: this operation has checked
}

// Add checks the unique fields of a new record and writes it.
func Add(o *table.Tx, p auth.Principal, k *record.Kind, n NewRecord) (*table.Stored, error) {
	if !n.Free {
		if err := Unique(o, k, n.ID, n.Doc); err != nil {
			return nil, err
		}
	}
	return write(o, table.Edit{Kind: k, ID: n.ID, Before: n.Tombstone, Is: n.Doc, Author: p.Key(), Made: n.Made})
}

// Amend changes one record by a function. If the function changes nothing, or nothing that the kind's rules do not set back, the record
// stays as it is.
func Amend(o *table.Tx, p auth.Principal, k *record.Kind, before *table.Stored, fn func(*record.Doc)) (*table.Stored, error) {
	was, err := before.Decode(k)
	if err != nil {
		return nil, err
	}
	is := was.Clone()
	fn(is)
	if SameBody(is.Encode(), before.Body) {
		return before, nil
	}
	is.Settle(was, Moment(o))
	if SameBody(is.Encode(), before.Body) {
		return before, nil
	}
	if k == record.Event {
		if err := keepsDays(o, before.ID, was, is); err != nil {
			return nil, err
		}
	}
	if !SameKeys(was, is) { // what was made twice stays so until the root merges it
		if err := Unique(o, k, before.ID, is); err != nil {
			return nil, err
		}
	}
	next, err := write(o, table.Edit{Kind: k, ID: before.ID, Before: before, Was: was, Is: is, Author: p.Key()})
	if err == nil && k == record.Person && next.Home(k) != before.Home(k) {
		err = table.Rehome(o, before.ID)
	}
	return next, err
}

// keepsDays returns a *Conflict if an event with check-ins would begin its days at another time: a check-in says for which day it counts.
func keepsDays(o *table.Tx, event record.ID, was, is *record.Doc) error {
	if was.Text("day_begins") == is.Text("day_begins") || table.Listed(o.View, record.Checkin).Home.Of(event.Int()).Len() == 0 {
		return nil
	}
	return &table.Conflict{Reason: "the event has check-ins, so its day_begins stays as it is", Field: "day_begins"}
}

// Moment is the transaction's time and the congregation's timezone.
func Moment(o *table.Tx) record.Moment { return record.Moment{Now: o.Now, Zone: o.Store.Clock.Zone()} }

// Vacant returns an id that no live record has: the given one, or the next free one. It returns the tombstone under the id too.
func Vacant(o *table.Tx, k *record.Kind, id record.ID) (record.ID, *table.Stored, error) {
	if !id.IsZero() {
		st, err := o.LoadAny(k, id)
		if err == nil && st != nil && !st.Deleted {
			err = &table.Conflict{Reason: "the id is in use", Field: "id"}
		}
		if err == nil {
			err = mayGive(o, k, id)
		}
		if gone, failed := table.IsErased(o.View, k, id); err == nil && (gone || failed != nil) {
			err = cmp.Or[error](failed, &table.Conflict{Reason: "the record with this id was erased", Field: "id"})
		}
		o.State.Use(k, id)
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
func isUsed(o *table.Tx, k *record.Kind, id record.ID) (bool, error) {
	key := k.AppendID(nil, id)
	st, err := o.LoadAny(k, id)
	if errors.Is(err, engine.ErrCorrupt) {
		o.Store.Damage.Note(err)
		return table.HasRow(o.View.View, table.KindBucket(k), key), nil
	}
	if err != nil || st != nil {
		return true, err
	}
	gone, err := table.IsErased(o.View, k, id)
	if errors.Is(err, engine.ErrCorrupt) {
		o.Store.Damage.Note(err)
		hash := o.Store.Identity.HashErased(k, id)
		return table.HasRow(o.View.View, table.ErasedBucket, hash[:]), nil
	}
	return gone, err
}

// SameBody tells whether two bodies are equal.
func SameBody(a, b record.Body) bool {
	return bytes.Equal(a.Shown, b.Shown) && bytes.Equal(a.Hidden, b.Hidden)
}

// MaxRecordDoc is how many bytes a record's document may have.
const MaxRecordDoc = 1 << 20

// write writes a record. It returns ErrTooLarge for one that no other store would take.
func write(o *table.Tx, e table.Edit) (*table.Stored, error) {
	if e.Is.Size() > MaxRecordDoc {
		return nil, ErrTooLarge
	}
	return o.Write(e)
}

// ErrTooLarge is a document beyond MaxRecordDoc.
var ErrTooLarge = errors.New("the document is too large")

// SameKeys reports whether two bodies of a record have the same unique fields.
func SameKeys(a, b *record.Doc) bool {
	return !slices.ContainsFunc([]string{"external_id", "church_id", "event_id", "code_hash", "group_id", "person"}, func(field string) bool {
		return string(a.Value(field)) != string(b.Value(field))
	})
}

// AsRefusal turns the error that /v1 would return for a request into a refusal of the document: a client of the protocol must
// never get a conflict. Only fields are named.
func AsRefusal(err error) error {
	var faults fault.ByField
	var conflict *table.Conflict
	switch {
	case err == nil:
		return nil
	case errors.As(err, &faults):
		names := make([]string, 0, len(faults))
		for name := range faults {
			names = append(names, name)
		}
		slices.Sort(names)
		return table.Refused("not valid: " + strings.Join(names, ", "))
	case errors.As(err, &conflict):
		return table.Refused(conflict.Reason)
	case errors.Is(err, table.ErrNotFound):
		return table.Refused("the key may not write this kind")
	}
	return err
}

// CheckPatch adds to a patch's faults what only the store can see: references that lead nowhere, or out of p's sight, and
// records that would leave it. What is wrong comes back as fault.ByField, all of it.
func CheckPatch(o *table.Tx, p auth.Principal, k *record.Kind, patch *record.Patch) error {
	for _, ref := range patch.Pointers() {
		ok, err := MayPoint(o, p, k, ref)
		if err != nil {
			return err
		}
		if !ok {
			patch.Faults.Add(ref.Field, fault.InvalidID(ref.ID.Int()))
		}
	}
	if v, ok := patch.Value("church_id"); ok && v.Kind() == 'n' && !p.IsWhole() && OwnedByChurch(k) {
		patch.Faults.Add("church_id", fault.Null)
	}
	if len(patch.Faults) > 0 {
		return patch.Faults
	}
	return nil
}

// MayPoint tells whether a reference leads to a record that p sees. A reference to a record's church or event must lead to one of p's own.
func MayPoint(o *table.Tx, p auth.Principal, k *record.Kind, ref record.Pointer) (bool, error) {
	st, err := o.Load(ref.Kind, ref.ID)
	if err != nil || st == nil {
		return false, err
	}
	switch {
	case ref.Kind == record.Church && OwnedByChurch(k):
		return HoldsChurch(o.View, p, ref.ID.Int())
	case ref.Kind == record.Event && k.Class == record.Events:
		tie, err := tieToEvent(o.View, p, ref.ID.Int())
		return access.MayAtDesk(p, access.Make, record.Ticket, tie), err
	}
	return Sees(o.View, p, ref.Kind, st)
}

// OwnedByChurch tells whether a record's church decides which keys see it.
func OwnedByChurch(k *record.Kind) bool {
	return k.Class == record.Churches || k.Class == record.Shared
}

// GiveChurch gives a new record the church of a key that has exactly one; a key of several must name one.
func GiveChurch(p auth.Principal, k *record.Kind, patch *record.Patch) {
	if _, given := patch.Value("church_id"); given || p.IsWhole() || !OwnedByChurch(k) || patch.Faults["church_id"] != nil {
		return
	}
	if p.IsOf(auth.ChurchOf) && len(p.Level().IDs) == 1 {
		patch.Set("church_id", value.Number(p.Level().IDs[0]))
		return
	}
	patch.Faults.Add("church_id", fault.Required)
}

// Unique returns a *Conflict for a second record of what can be there once: an external_id within the church, the event or the group that
// the record belongs to, a person within a group, a code within an event. So it says nothing of records that the writer does not see.
func Unique(o *table.Tx, k *record.Kind, id record.ID, d *record.Doc) error {
	if ext := d.Text("external_id"); ext != "" {
		ids, err := ByExternalID(o, k, d.Int(NumberedIn(k)), ext)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(ids, func(other record.ID) bool { return other != id }) {
			return &table.Conflict{Reason: "another record has this external_id", Field: "external_id"}
		}
	}
	switch k {
	case record.Membership:
		return uniqueMembership(o, id, d)
	case record.Ticket:
		return table.UniqueCode(o, id, d)
	}
	return nil
}

func uniqueMembership(o *table.Tx, id record.ID, d *record.Doc) error {
	other, err := First(Memberships(o, d.Int("group_id"), d.Int("person")))
	if err != nil || other.IsZero() || other == id {
		return err
	}
	return &table.Conflict{Reason: "the person is in the group already", Field: "person"}
}

// Memberships are a person's memberships of a group.
func Memberships(o *table.Tx, group, person int64) ([]record.ID, error) {
	ids, err := o.Lookup(record.Membership, "person", person)
	return liveOf(o, record.Membership, ids, err, func(st *table.Stored) bool { return Member(st.Body, "group_id").Int() == group })
}

// NumberedIn is the field that names what an external_id is unique in: the church or the event of a record, the group of a membership. A
// membership is seen where its group is, too. It is "" for a kind whose external_ids are unique in the store.
func NumberedIn(k *record.Kind) string {
	if k == record.Membership {
		return "group_id"
	}
	return k.Home
}

// ByExternalID finds records by their external_id, within the church, the event or the group that NumberedIn says; 0 finds those that
// name none.
func ByExternalID(o *table.Tx, k *record.Kind, in int64, ext string) ([]record.ID, error) {
	ids, err := o.Lookup(k, "external_id", ext)
	field := NumberedIn(k)
	if field == "" {
		return ids, err
	}
	return liveOf(o, k, ids, err, func(st *table.Stored) bool { return value.Int(st.Body.Member(field)) == in })
}

// liveOf keeps the records that are live and for which is returns true, unless looking them up has failed.
func liveOf(o *table.Tx, k *record.Kind, ids []record.ID, err error, is func(*table.Stored) bool) (kept []record.ID, _ error) {
	if err != nil {
		return nil, err
	}
	err = o.EachLive(k, ids, func(st *table.Stored) error {
		if is(st) {
			kept = append(kept, st.ID)
		}
		return nil
	})
	return kept, err
}

// First is the first of some ids; the zero id for none.
func First(ids []record.ID, err error) (record.ID, error) {
	if err != nil || len(ids) == 0 {
		return record.ID{}, err
	}
	return ids[0], nil
}

// Unreferred answers a *Conflict where records refer to one; it counts those that p sees.
func Unreferred(o *table.Tx, p auth.Principal, k *record.Kind, id record.ID) error {
	counts := map[string]int{}
	referred := false
	for _, other := range record.Kinds() {
		for i := range other.Fields {
			f := &other.Fields[i]
			if table.RefersTo(f) != k.Name || !f.Flags.Has(record.Indexed) {
				continue
			}
			ids, err := o.Lookup(other, f.Name, id.Int())
			if err != nil {
				return err
			}
			referred = referred || len(ids) > 0
			n, err := countSeen(o, p, other, ids)
			if err != nil {
				return err
			}
			if n > 0 {
				counts[WrittenAs(other).Name] += n
			}
		}
	}
	if k == record.Event {
		for _, other := range ofEvents {
			if n := table.Listed(o.View, other).Home.Of(id.Int()).Len(); n > 0 {
				counts[other.Name] = n
			}
		}
	}
	if k == record.Ticket {
		checkins, err := admission.OfTicket(o.View, id)
		if err != nil {
			return err
		}
		if len(checkins) > 0 {
			counts[record.Checkin.Name] += len(checkins)
		}
	}
	if len(counts) == 0 && !referred {
		return nil
	}
	return &table.Conflict{Reason: "other records refer to this one", Counts: counts}
}

// countSeen counts the records that p sees.
func countSeen(o *table.Tx, p auth.Principal, k *record.Kind, ids []record.ID) (n int, err error) {
	if p.IsWhole() {
		return len(ids), nil
	}
	err = o.EachLive(k, ids, func(st *table.Stored) error {
		ok, err := Sees(o.View, p, k, st)
		if ok {
			n++
		}
		return err
	})
	return n, err
}

// WrittenAs is the kind that a kind's records are written as: a ticket's records are the ticket.
func WrittenAs(k *record.Kind) *record.Kind {
	if k.OfTicket() || k.OfHolding() {
		return record.Ticket
	}
	return k
}

// Require adds a fault for each required field that a create does not give.
func Require(patch *record.Patch) {
	for i := range patch.Kind.Fields {
		f := &patch.Kind.Fields[i]
		if _, given := patch.Value(f.Name); f.Flags.Has(record.Required) && !given && patch.Faults[f.Name] == nil {
			patch.Faults.Add(f.Name, fault.Required)
		}
	}
}

// ofEvents are the kinds that keep an event: its tickets, and what happened at its doors.
var ofEvents = []*record.Kind{record.Ticket, record.Checkin, record.Scan, record.Undo}

// ref answers a referred record's body for a reply; one that the reader does not see is as if it were gone.
func ref(v *table.View, k *record.Kind, id record.ID) (record.Body, bool) {
	seen := false
	st, err := v.LoadRef(k, id)
	if st != nil {
		seen, err = Sees(v, v.Reader, k, st)
	}
	if seen && v.Writing() {
		err = table.Unshown(v, k, st)
	}
	v.Store.Damage.Note(err)
	if !seen {
		return record.Body{}, false
	}
	return st.Body, true
}

// Show appends a record's reply.
func Show(v *table.View, dst []byte, s record.Surface, k *record.Kind, st *table.Stored) ([]byte, error) {
	if k == record.Ticket && s == record.Admin {
		return showTicket(v, dst, st)
	}
	return ShowAs(v, dst, s, k, st), nil
}

func ShowAs(v *table.View, dst []byte, s record.Surface, k *record.Kind, st *table.Stored) []byte {
	rv := &v.Shown
	if rv.Ref == nil {
		*rv = record.View{Now: v.Now, Zone: v.Store.Clock.Zone(), Ref: func(k *record.Kind, id record.ID) (record.Body, bool) { return ref(v, k, id) }, Page: v.Page}
	}
	rv.ID, rv.Body, rv.UpdatedAt, rv.UpdatedBy = st.ID, st.Body, st.Updated(), st.UpdatedBy
	if k == record.Event {
		rv.Count = func() int { return table.Listed(v, record.Ticket).Issued.Of(st.ID.Int()).Len() }
	}
	return k.Show(dst, s, rv)
}

// MakeReply is a record as a surface shows it, on memory of its own.
func MakeReply(v *table.View, s record.Surface, k *record.Kind, st *table.Stored) (Reply, error) {
	revision, err := RevisionOf(v, s, k, st)
	if err != nil {
		return Reply{}, err
	}
	shown := *st
	if err := table.Unshown(v, k, &shown); err != nil {
		return Reply{}, err
	}
	json, err := Show(v, nil, s, k, &shown)
	return Reply{ID: st.ID, JSON: json, Revision: revision}, err
}

// RevisionOf names the state of what a surface shows as one record.
func RevisionOf(v *table.View, s record.Surface, k *record.Kind, st *table.Stored) (string, error) {
	if k == record.Ticket && s == record.Admin {
		return ticketRevision(v, st)
	}
	return st.Revision.String(), nil
}
