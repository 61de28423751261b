package merge

import (
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/admission"
	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/kv/ticket"
	"doorward/kv/value"
)

// mergeInto deletes a duplicate with a tombstone that names the record which stays, and keeps its keys. A record that was merged before
// gets the lower id.
func mergeInto(o *table.Tx, k *record.Kind, id, into int64) error {
	st, d, err := o.LoadDoc(k, record.Int(id))
	if err != nil {
		return err
	}
	if st == nil {
		return lowerInto(o, k, id, into)
	}
	for _, key := range duplicateKeys(o, k, d, st.Home(k)) {
		o.Put(table.MergedBucket, k.AppendID(key, st.ID), nil)
	}
	return absorb(o, merging{Kind: k, id: id, into: into})
}

// merging says which record is merged into which.
type merging struct {
	*record.Kind
	id, into int64
	guest    ulid.ULID // of a twin: the laptop that brought it; zero: the record is no twin
}

// absorb deletes a record that is merged, lists what it said and lets what belongs to it follow.
func absorb(o *table.Tx, m merging) error {
	st, d, err := o.LoadDoc(m.Kind, record.Int(m.id))
	if err != nil || st == nil {
		return err
	}
	if err := listDuplicate(o, m.Kind, st, d, m.into); err != nil {
		return err
	}
	if err := deleteDuplicate(o, m.Kind, st, d, m.into); err != nil {
		return err
	}
	if m.Kind != record.Ticket {
		return redirectAll(o, m.Kind, st.ID)
	}
	if err := mergeCode(o, m.id, m.into); err != nil {
		return err
	}
	stays, err := survivorOf(o, m.Kind, m.into) // the record may be merged itself
	if err != nil {
		return err
	}
	by, err := writerOf(o, m.Kind, st)
	if err != nil {
		return err
	}
	settleState := tighten
	if m.guest != (ulid.ULID{}) {
		settleState = listState
	}
	if err := settleState(o, record.Int(stays), d, by); err != nil {
		return err
	}
	for _, h := range entry.HoldingsOf(d) {
		if err := mergeHolding(o, h, record.Int(stays), m.guest); err != nil {
			return err
		}
	}
	return admission.SettleTicket(o, st.ID)
}

// listDuplicate lists for staff a record that was merged: its whole body, and the record that stays.
func listDuplicate(o *table.Tx, k *record.Kind, st *table.Stored, d *record.Doc, into int64) error {
	by, err := writerOf(o, k, st)
	if err != nil {
		return err
	}
	return listConflict(o, k, st.ID, record.Clash{Winner: value.Quote(k.DocID(record.Int(into))), Other: d.Canonical()}, by)
}

// writerOf is the node that has written the last body of a record, which may be deleted by now. The zero node is this one.
func writerOf(o *table.Tx, k *record.Kind, st *table.Stored) (ulid.ULID, error) {
	t, err := table.LoadTree(o.View, k, st)
	n := t.Winner()
	for n.Deleted {
		n = t.Find(n.Parent)
	}
	return n.Node, err
}

// listDifferences lists for staff the values of a merged record that the record which stays does not have.
func listDifferences(o *table.Tx, k *record.Kind, kept, merged *table.Stored, d *record.Doc) error {
	stays, err := kept.Decode(k)
	if err != nil {
		return err
	}
	by, err := writerOf(o, k, merged)
	if err != nil {
		return err
	}
	for _, name := range d.Differs(stays) {
		f, known := k.Field(name)
		if d.IsNull(name) || known && f.Rule() != rev.Pick { // tighten lists the strict one
			continue
		}
		c := record.Clash{Field: name, Winner: stays.Value(name), Other: d.Value(name)}
		if err := listConflict(o, k, kept.ID, c, by); err != nil {
			return err
		}
	}
	return nil
}

// state is the field of a ticket that tighten looks at: the one of the strict rule.
const state = "state"

// tighten gives the ticket that stays the state of a ticket merged with it, if that one is the stricter, and lists the other state for staff. Two lists
// of one ticket may be of different days, and nothing shows which of them is the later one. by is the node that wrote the merged one.
func tighten(o *table.Tx, stays record.ID, merged *record.Doc, by ulid.ULID) error {
	st, was, err := o.LoadDoc(record.Ticket, stays)
	if err != nil || st == nil || value.Equal(was.Value(state), merged.Value(state)) {
		return err
	}
	strict, _ := rev.Sides{Winner: was.Value(state), Other: merged.Value(state)}.Strict()
	if value.Equal(strict, was.Value(state)) {
		return listConflict(o, record.Ticket, stays, record.Clash{Field: state, Winner: strict, Other: merged.Value(state)}, by)
	}
	if by, err = writerOf(o, record.Ticket, st); err != nil {
		return err
	}
	if err := listConflict(o, record.Ticket, stays, record.Clash{Field: state, Winner: strict, Other: was.Value(state)}, by); err != nil {
		return err
	}
	if _, err := entry.Amend(o, auth.Principal{}, record.Ticket, st, func(d *record.Doc) { d.Set(state, strict) }); err != nil {
		return err
	}
	return admission.SettleTicket(o, stays)
}

// listState lists for staff the state of a twin, if it is not that of the ticket that stays. by is the node that wrote the twin.
func listState(o *table.Tx, stays record.ID, twin *record.Doc, by ulid.ULID) error {
	st, err := o.Load(record.Ticket, stays)
	if err != nil || st == nil || value.Equal(st.Body.Member(state), twin.Value(state)) {
		return err
	}
	return listConflict(o, record.Ticket, stays, record.Clash{Field: state, Winner: st.Body.Member(state), Other: twin.Value(state)}, by)
}

// tightenByEdit is tighten for an edit of a ticket that was merged before the edit arrived, if the edit changes the state: a refund at a laptop
// that had not heard of the merge. The edit of a guest is only listed.
func tightenByEdit(o *table.Tx, ad *Adoption) error {
	if ad.Doc == nil || ad.is != nil || o.Store.Identity.IsLeaf() {
		return nil // it is no edit, or the ticket is there
	}
	stays, err := survivorOf(o, record.Ticket, ad.ID.Int())
	if err != nil || stays == ad.ID.Int() {
		return err
	}
	var was *record.Doc // nil: no body is held of what the edit changed
	for i := 1; was == nil && i < len(ad.Path); i++ {
		if was, err = table.KeptDoc(o.View, record.Ticket, ad.ID, ad.Path[i]); err != nil {
			return err
		}
	}
	if was != nil && value.Equal(was.Value(state), ad.Doc.Value(state)) {
		return nil
	}
	if ad.Guest != (ulid.ULID{}) {
		return listState(o, record.Int(stays), ad.Doc, ad.Node.Node)
	}
	return tighten(o, record.Int(stays), ad.Doc, ad.Node.Node)
}

// lowerInto writes a lower id into the tombstone of a merged record.
func lowerInto(o *table.Tx, k *record.Kind, id, into int64) error {
	kinds := []*record.Kind{k}
	if k == record.Ticket {
		kinds = append(kinds, record.TicketCode)
	}
	for _, k := range kinds {
		was, err := intoOf(o.View, k, record.Int(id))
		if err != nil {
			return err
		}
		if was <= into {
			continue // 0: the record is not here, or was deleted by hand
		}
		st, err := o.LoadAny(k, record.Int(id))
		if err != nil {
			return err
		}
		if _, err := o.Write(table.Edit{Kind: k, ID: st.ID, Before: st, Into: into}); err != nil {
			return err
		}
	}
	return nil
}

// deleteDuplicate lists the differences between a record and the one that stays, and deletes the record.
func deleteDuplicate(o *table.Tx, k *record.Kind, st *table.Stored, d *record.Doc, into int64) error {
	kept, err := o.Load(k, record.Int(into))
	if err != nil {
		return err
	}
	if kept != nil {
		if err := listDifferences(o, k, kept, st, d); err != nil {
			return err
		}
	}
	_, err = o.Write(table.Edit{Kind: k, ID: st.ID, Before: st, Was: d, Into: into})
	return err
}

// mergeCode merges the code record of a ticket, if it is here.
func mergeCode(o *table.Tx, id, into int64) error {
	st, d, err := o.LoadDoc(record.TicketCode, record.Int(id))
	if err != nil || st == nil {
		return err
	}
	return deleteDuplicate(o, record.TicketCode, st, d, into)
}

// mergeHolding moves a holding of a merged ticket to the ticket that stays. There it is an ended holding, unless that ticket
// has no holding and no guest brought the merged one.
func mergeHolding(o *table.Tx, id, into record.ID, guest ulid.ULID) error {
	for _, k := range [...]*record.Kind{record.HolderName, record.Holder} {
		st, err := o.Load(k, id)
		if err != nil {
			return err
		}
		if st == nil {
			continue // redirect does it on arrival
		}
		st, err = entry.Amend(o, auth.Principal{}, k, st, func(d *record.Doc) { d.Set("ticket_id", value.Number(into.Int())) })
		if err == nil {
			err = listHolding(o, k, st, into)
		}
		if err != nil {
			return err
		}
	}
	return addHolding(o, id, into, guest)
}

// addHolding adds a holding of a merged ticket to the ticket that stays. The holding of a guest's twin never becomes the present one: if
// the ticket has none, the guest's is listed, and staff may take it.
func addHolding(o *table.Tx, id, into record.ID, guest ulid.ULID) error {
	st, was, err := o.LoadDoc(record.Ticket, into)
	if err != nil || st == nil {
		return err
	}
	if slices.Contains(entry.HoldingsOf(was), id) {
		return ticket.PlaceHolding(o, id, entry.PresentOf(st.Body) == id)
	}
	is, text := was.Clone(), record.Holder.FormatID(id)
	switch vacant := is.IsNull("holding"); {
	case vacant && guest == (ulid.ULID{}):
		is.Set("holding", value.Quote(text))
	case vacant:
		c := record.Clash{Field: "holding", Winner: is.Value("holding"), Other: value.Quote(text)}
		if err := listConflict(o, record.Ticket, into, c, guest); err != nil {
			return err
		}
		fallthrough
	default:
		is.Set("ended", record.Adding(is.Value("ended"), text))
	}
	if _, err := o.Write(table.Edit{Kind: record.Ticket, ID: into, Before: st, Was: was, Is: is}); err != nil {
		return err
	}
	return ticket.PlaceHoldings(o, was, is)
}

// listHolding lists for staff the values of a merged ticket's holding that the present holding of the ticket which stays does
// not have.
func listHolding(o *table.Tx, k *record.Kind, merged *table.Stored, into record.ID) error {
	ticket, err := o.Load(record.Ticket, into)
	if err != nil || ticket == nil || entry.PresentOf(ticket.Body) == merged.ID {
		return err
	}
	kept, err := o.Load(k, entry.PresentOf(ticket.Body))
	if err != nil || kept == nil {
		return err
	}
	d, err := merged.Decode(k)
	if err != nil {
		return err
	}
	return listDifferences(o, k, kept, merged, d)
}

// joinPart merges an arrived record of a ticket that was merged, or that other tickets were merged into.
func joinPart(o *table.Tx, ad *Adoption) error {
	if !anyMerged(o) {
		return nil
	}
	st, d, err := redirect(o, ad.Kind, ad.next, ad.is)
	if err != nil {
		return err
	}
	if ad.Kind.OfHolding() {
		return joinHolding(o, ad, st, record.Int(d.Int("ticket_id")))
	}
	into, err := intoOf(o.View, record.Ticket, ad.ID)
	switch {
	case err != nil:
		return err
	case into != 0:
		return mergeCode(o, ad.ID.Int(), into)
	case ad.Before != nil:
		return nil // it was compared when it first arrived
	}
	return eachMerged(o, ad.ID, func(t *table.Stored) error { return compareMergedCode(o, ad, t.ID) })
}

// joinHolding is joinPart for a record of a holding.
func joinHolding(o *table.Tx, ad *Adoption, st *table.Stored, ticket record.ID) error {
	if !value.Equal(ad.is.Value("ticket_id"), value.Number(ticket.Int())) { // its ticket was merged
		if err := listHolding(o, ad.Kind, st, ticket); err != nil {
			return err
		}
		return addHolding(o, ad.ID, ticket, ad.Guest)
	}
	if ad.Before != nil {
		return nil // it was compared when it first arrived
	}
	return eachMerged(o, ticket, func(t *table.Stored) error {
		d, err := lastBody(o, record.Ticket, t)
		if err != nil || d == nil {
			return err
		}
		other, err := o.Load(ad.Kind, entry.IDOfHolding(d.Value("holding")))
		if err != nil || other == nil || other.ID == ad.ID {
			return err
		}
		return listHolding(o, ad.Kind, other, ticket)
	})
}

// eachMerged calls fn with the tickets that were merged into one.
func eachMerged(o *table.Tx, ticket record.ID, fn func(*table.Stored) error) error {
	merged, err := table.Merged(o.View, record.Ticket, ticket)
	for i := 0; err == nil && i < len(merged); i++ {
		var st *table.Stored
		if st, err = o.LoadAny(record.Ticket, merged[i]); err == nil && st != nil {
			err = fn(st)
		}
	}
	return err
}

// compareMergedCode lists for staff how the code of a merged ticket differed from the code that stays.
func compareMergedCode(o *table.Tx, ad *Adoption, id record.ID) error {
	st, err := o.LoadAny(ad.Kind, id)
	if err != nil || st == nil || !st.Deleted {
		return err
	}
	d, err := lastBody(o, ad.Kind, st)
	if err != nil || d == nil {
		return err
	}
	kept, err := o.Load(ad.Kind, ad.ID)
	if err != nil || kept == nil {
		return err
	}
	return listDifferences(o, ad.Kind, kept, st, d)
}

// lastBody is the last body of a deleted record, if it is held.
func lastBody(o *table.Tx, k *record.Kind, st *table.Stored) (*record.Doc, error) {
	t, err := table.LoadTree(o.View, k, st)
	if err != nil {
		return nil, err
	}
	for _, rev := range t.Path(st.Revision) {
		if !t.Find(rev).Deleted {
			return table.KeptDoc(o.View, k, st.ID, rev)
		}
	}
	return nil, nil
}

// intoOf is the id of the record that a record was merged into; 0 = it was not merged.
func intoOf(v *table.View, k *record.Kind, id record.ID) (int64, error) {
	st, err := v.LoadAny(k, id)
	if err != nil || st == nil || !st.Deleted {
		return 0, err
	}
	t, err := table.LoadTree(v, k, st)
	return table.MergedIn(&t), err
}
