package inbox

import (
	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/disk"
	"doorward/kv/entry"
	"doorward/kv/keys"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Choice says what becomes of a conflict: one of the two values, or another value of the field.
type Choice struct {
	Other bool           // what the merge did not take, rather than what stands
	Value jsontext.Value // instead of either; nil = none
}

// ResolveConflict writes a choice as p's own edit, and takes the conflict off the list. Of a record that was deleted while somebody
// changed it the other is the change: the record is restored with it. ErrNotFound, *Forbidden, *Conflict, fault.ByField.
func (bx *Box) ResolveConflict(p auth.Principal, id record.ID, c Choice) error {
	return bx.resolveMatter(p, record.Conflict, id, func(o *table.Tx, d *record.Doc) error {
		k, of, _ := table.ListedRecord(record.Conflict, d)
		switch {
		case k == nil:
			return onlyUnless(c, &table.Conflict{Reason: "this version does not know the kind of the record"})
		case c.Value == nil && !c.Other:
			return maySettle(o, p, k, of)
		case d.Text("field") != "":
			return chooseField(o, p, k, of, d, c)
		case c.Value != nil:
			return desk.FaultOf("value", "The whole record is in conflict: keep one of the two.")
		}
		return restoreEdit(o, p, k, of, d)
	})
}

// onlyUnless is an error, unless what stands is to be kept.
func onlyUnless(c Choice, err error) error {
	if c.Value == nil && !c.Other {
		return nil
	}
	return err
}

// ResolveRefusal applies what was refused as p's own edit, or dismisses it, and takes it off the list. ErrNotFound, *Forbidden,
// *Conflict, fault.ByField.
func (bx *Box) ResolveRefusal(p auth.Principal, id record.ID, apply bool) error {
	return bx.resolveMatter(p, record.Refusal, id, func(o *table.Tx, d *record.Doc) error {
		if !apply {
			return nil
		}
		return applyRefused(o, p, d)
	})
}

// resolveMatter does something about a conflict or a refusal and takes it off the list, both or neither.
func (bx *Box) resolveMatter(p auth.Principal, k *record.Kind, id record.ID, fn func(*table.Tx, *record.Doc) error) error {
	if err := p.CheckKind(record.Admin, k, "POST"); err != nil {
		return err
	}
	if err := bx.tables.Room(disk.Creates); err != nil {
		return err
	}
	return bx.tables.Do(false, func(o *table.Tx) error {
		o.Reader = p
		st, d, err := matter(o.View, p, k, id)
		if err != nil || st == nil {
			return keys.OrNotFound(err)
		}
		if err := fn(o, d); err != nil {
			return err
		}
		_, err = o.Write(table.Edit{Kind: k, ID: id, Before: st, Was: d, Author: p.Key()})
		return err
	})
}

// maySettle answers nil where p may decide about a record.
func maySettle(o *table.Tx, p auth.Principal, k *record.Kind, id record.ID) error {
	if p.IsWhole() {
		return nil
	}
	st, err := o.LoadAny(k, id)
	if err != nil || st == nil {
		return keys.OrNotFound(err)
	}
	return entry.MayChange(o.View, p, k, st)
}

// chooseField gives a field what was chosen.
func chooseField(o *table.Tx, p auth.Principal, k *record.Kind, id record.ID, d *record.Doc, c Choice) error {
	f, known := k.Field(d.Text("field"))
	if !known || !f.Stored() {
		return &table.Conflict{Reason: "this version does not know the field"}
	}
	st, err := o.Load(k, id)
	if err != nil {
		return err
	}
	if st == nil {
		return &table.Conflict{Reason: "the record was deleted meanwhile"}
	}
	value := c.Value
	if value == nil {
		value = d.Value("other").Clone()
	}
	name := record.FormName(k, f.Name)
	if g, ok := staffForm(k).Field(name); ok && g.Settable(record.Admin) && !f.Flags.Has(record.Frozen) {
		return editPart(o, p, k, st, table.AppendMember([]byte{'{'}, name, value))
	}
	if c.Value != nil {
		return desk.FaultOf("value", "The field is not one that staff set: keep one of the two.")
	}
	if err := maySettle(o, p, k, id); err != nil {
		return err
	}
	if k == record.Ticket && f.Name == "holding" {
		return entry.TakeHolding(o, p, st, entry.IdOfHolding(value))
	}
	_, err = entry.Amend(o, p, k, st, func(is *record.Doc) { is.Set(f.Name, value) })
	return err
}

// staffForm is what staff write a kind's records as: a ticket's parts are one form.
func staffForm(k *record.Kind) *record.Kind {
	if entry.WrittenAs(k) == record.Ticket {
		return record.TicketForm
	}
	return k
}

// editPart changes a record as p's request about what it is written as would; of a holding that is over the holding alone.
func editPart(o *table.Tx, p auth.Principal, k *record.Kind, st *table.Stored, members []byte) error {
	id := entry.TicketOfPart(k, st.ID, st.Body)
	if !k.OfHolding() {
		return editAs(o, p, entry.WrittenAs(k), id, staffForm(k), members)
	}
	ticket, err := o.Load(record.Ticket, id)
	if err != nil {
		return err
	}
	if ticket != nil && entry.PresentOf(ticket.Body) == st.ID {
		return editAs(o, p, record.Ticket, id, record.TicketForm, members)
	}
	if err := p.CheckKind(record.Admin, record.Ticket, "PATCH"); err != nil {
		return err
	}
	if err := entry.MayChange(o.View, p, k, st); err != nil {
		return err
	}
	patch, err := record.TicketForm.Parse(append(members, '}'), record.ParseOptions{Surface: record.Admin, Zone: o.Store.ZoneOf})
	if err != nil {
		return err
	}
	in := entry.Prepare(o.Store, patch)
	if err := entry.CheckPatch(o, p, record.Ticket, in.Patch); err != nil {
		return err
	}
	for _, part := range [...]*record.Patch{in.Parts.Name, in.Parts.Holder} {
		if part.Kind == k {
			_, err = entry.Amend(o, p, k, st, func(d *record.Doc) { d.Apply(part) })
		}
	}
	return err
}

// editAs changes a record as p's request to /admin/v1 would. members is an object without its last brace.
func editAs(o *table.Tx, p auth.Principal, k *record.Kind, id record.ID, form *record.Kind, members []byte) error {
	if err := p.CheckKind(record.Admin, k, "PATCH"); err != nil {
		return err
	}
	before, err := desk.FindForChange(o, p, desk.Target{Surface: record.Admin, Kind: k, ID: id})
	if err != nil {
		return err
	}
	patch, err := form.Parse(append(members, '}'), record.ParseOptions{Surface: record.Admin, Zone: o.Store.ZoneOf})
	if err != nil {
		return err
	}
	_, err = desk.Update(o, p, k, before, entry.Prepare(o.Store, patch))
	return err
}
