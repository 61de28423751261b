package entry

import (
	"doorward/kv/auth"
	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

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

// MayPoint tells whether a reference leads to a record that p sees and, where it decides whose the record is, owns.
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
		return auth.Desk(p, auth.Make, record.Ticket, tie), err
	}
	return Sees(o.View, p, ref.Kind, st)
}

// OwnedByChurch tells kinds whose church decides who sees them.
func OwnedByChurch(k *record.Kind) bool {
	return k.Class == record.Churches || k.Class == record.Shared
}

// GiveChurch gives a new record the church of a key that has exactly one; a key of several must name one.
func GiveChurch(o *table.Tx, p auth.Principal, k *record.Kind, patch *record.Patch) {
	if _, given := patch.Value("church_id"); given || p.IsWhole() || !OwnedByChurch(k) || patch.Faults["church_id"] != nil {
		return
	}
	if p.IsOf(auth.ChurchOf) && len(p.Level().IDs) == 1 {
		patch.Set("church_id", value.Number(p.Level().IDs[0]))
		return
	}
	patch.Faults.Add("church_id", fault.Required)
}

// Unique refuses a second record of what can be there once: an external_id within a kind or event, a person within a group,
// a code within an event.
func Unique(o *table.Tx, k *record.Kind, id record.ID, d *record.Doc) error {
	if ext := d.Text("external_id"); ext != "" {
		other, err := ByExternalID(o, k, d.Int("event_id"), ext)
		if err != nil {
			return err
		}
		if !other.IsZero() && other != id {
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
	other, err := Membership(o, d.Int("group_id"), d.Int("person"))
	if err != nil || other.IsZero() || other == id {
		return err
	}
	return &table.Conflict{Reason: "the person is in the group already", Field: "person"}
}

// Membership finds a person's membership of a group; the zero id for none.
func Membership(o *table.Tx, group, person int64) (record.ID, error) {
	ids, err := o.Lookup(record.Membership, "person", person)
	if err != nil {
		return record.ID{}, err
	}
	for _, id := range ids {
		st, err := o.Load(record.Membership, id)
		if err != nil {
			return record.ID{}, err
		}
		if st != nil && Member(st.Body, "group_id").Int() == group {
			return id, nil
		}
	}
	return record.ID{}, nil
}

// ByExternalID finds a record by its external_id, within an event for tickets; the zero id for none.
func ByExternalID(o *table.Tx, k *record.Kind, event int64, ext string) (record.ID, error) {
	ids, err := o.Lookup(k, "external_id", ext)
	if err != nil || k.Home != "event_id" {
		if len(ids) == 0 {
			return record.ID{}, err
		}
		return ids[0], err
	}
	for _, id := range ids {
		st, err := o.Load(k, id)
		if err != nil {
			return record.ID{}, err
		}
		if st != nil && st.Home(k) == event {
			return id, nil
		}
	}
	return record.ID{}, nil
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
				counts[writersName(other)] += n
			}
		}
	}
	if k == record.Event {
		for _, other := range ofEvents {
			if n := leftIn(o, other, id.Int()); n > 0 {
				counts[other.Name] = n
			}
		}
	}
	if k == record.Ticket {
		err := o.Scan(table.AdmissionBucket, table.TicketAdmissions(nil, id.Int()), nil, func(_, _ []byte) (bool, error) {
			counts[record.Checkin.Name]++
			return true, nil
		})
		if err != nil {
			return err
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
	for _, id := range ids {
		st, err := o.Load(k, id)
		if err != nil {
			return 0, err
		}
		if st == nil {
			continue
		}
		if ok, err := Sees(o.View, p, k, st); err != nil {
			return 0, err
		} else if ok {
			n++
		}
	}
	return n, nil
}

// writersName is what a kind is called by those who write it: the parts of a ticket are the ticket.
func writersName(k *record.Kind) string {
	return WrittenAs(k).Name
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

// leftIn counts an event's records of a kind, those of the group that is being formed too.
func leftIn(o *table.Tx, k *record.Kind, event int64) int {
	n := o.Lists.Kind(k).Home.Of(event).Len()
	for _, c := range o.Group.Lists {
		if c.Kind != k {
			continue
		}
		if c.Was && c.WasHome == event {
			n--
		}
		if c.Is && c.IsHome == event {
			n++
		}
	}
	return n
}
