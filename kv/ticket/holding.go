package ticket

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/oklog/ulid/v2"

	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/kv/value"
)

// holder changes the present holding, or begins another one.
func (u *ticketUpdate) holder(o *table.Tx) error {
	h, err := entry.LoadHolding(o.View, entry.IDOfHolding(u.is.Value("holding")))
	if err != nil {
		return err
	}
	parts := &u.parts
	switch {
	case h.ID.IsZero() && !parts.NamesHolder():
		return nil
	case h.ID.IsZero():
		return u.begin(o, &h)
	case u.passesOn(&h):
		if err := mayPassOn(o, u.is.Int("event_id")); err != nil {
			return err
		}
		return u.begin(o, &h)
	}
	return u.edit(o, &h)
}

// passesOn tells a change that passes the ticket on: of its person to another or to none and, in an import, of both the name and the
// contact of a holding that is linked with a person.
func (u *ticketUpdate) passesOn(h *entry.HoldingParts) bool {
	if h.Holder == nil {
		return false
	}
	person := value.Int(h.Holder.Body.Member("person_id"))
	if person == 0 {
		return false
	}
	if v, given := u.parts.Holder.Value("person_id"); given || !u.in.Imported {
		return given && value.Int(v) != person
	}
	changes := func(st *table.Stored, patch *record.Patch, field string) bool {
		v, given := patch.Value(field)
		return given && st != nil && !value.Equal(v, st.Body.Member(field))
	}
	contact := changes(h.Holder, u.parts.Holder, "email") || changes(h.Holder, u.parts.Holder, "phone")
	return contact && changes(h.Name, u.parts.Name, "full_name")
}

// begin begins a holding with the form's values. The present one ends.
func (u *ticketUpdate) begin(o *table.Tx, before *entry.HoldingParts) error {
	parts := u.parts
	for _, patch := range [...]*record.Patch{parts.Name, parts.Holder} {
		patch.Set("event_id", u.is.Value("event_id"))
	}
	next := entry.NewHolding(o.Store, &parts, entry.Moment(o))
	if !before.ID.IsZero() {
		u.is.Set("ended", record.Adding(u.is.Value("ended"), record.Holder.FormatID(before.ID)))
	}
	u.is.Set("holding", next.Text())
	return entry.AddHolding(o, u.p, u.id, next)
}

// edit changes the present holding. Linking it with a person marks both records.
func (u *ticketUpdate) edit(o *table.Tx, h *entry.HoldingParts) error {
	parts, renamed := u.parts, false
	if v, given := parts.Holder.Value("person_id"); given && h.Holder != nil && value.Int(h.Holder.Body.Member("person_id")) == 0 && value.Int(v) != 0 {
		link := value.Quote(ulid.ULID(table.NewFactID(o.Now).ULID()).String())
		parts.Name.Set("link", link)
		parts.Holder.Set("link", link)
	}
	for _, part := range [...]struct {
		st    *table.Stored
		patch *record.Patch
	}{{h.Name, parts.Name}, {h.Holder, parts.Holder}} {
		if part.st == nil {
			part.patch.Set("ticket_id", value.Number(u.id.Int()))
			if err := supplyPart(o, u.p, h.ID, u.is, part.patch); err != nil {
				return err
			}
			continue
		}
		next, err := entry.Amend(o, u.p, part.patch.Kind, part.st, func(d *record.Doc) { d.Apply(part.patch) })
		if err != nil {
			return err
		}
		renamed = renamed || next != part.st
	}
	if !renamed && h.Name != nil {
		return nil
	}
	return WriteLabel(o, h.ID, u.p.Key())
}

// mayPassOn returns a *Forbidden at a laptop of an event.
func mayPassOn(o *table.Tx, event int64) error {
	if u := o.Store.Identity.Upstream(); o.Store.Identity.IsLeaf() && u.IsGuestIn(scopes.Scope{Sort: scopes.Event, ID: event}) {
		return ErrPassedOn
	}
	return nil
}

// ErrPassedOn is the refusal of a passing on at a laptop of an event.
var ErrPassedOn = table.Refused("a laptop of an event passes no ticket on to another person: that is done at the centre, or at a laptop of the church")

// supplyPart is supply for a record of a holding.
func supplyPart(o *table.Tx, p auth.Principal, id record.ID, ticket *record.Doc, patch *record.Patch) error {
	says := patch.Project(patch.Kind)
	for _, name := range [...]string{"event_id", "ticket_id", "link"} {
		says.Drop(name)
	}
	if says.Empty() {
		return nil
	}
	return supply(o, p, id, ticket, patch)
}

// moveEnded moves the ended holdings of a ticket to its new event.
func moveEnded(o *table.Tx, p auth.Principal, ticket *record.Doc) error {
	for v := range value.Elements(ticket.Value("ended")) {
		for _, k := range entry.HoldingKinds {
			st, err := o.Load(k, entry.IDOfHolding(v))
			if err != nil {
				return err
			}
			if st == nil {
				continue
			}
			if _, err := entry.Amend(o, p, k, st, func(d *record.Doc) { d.Set("event_id", ticket.Value("event_id")) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// SortOfName is the sort of database of a holding's name: the doors' while the holding is present, the holders' after it has ended. A name
// that comes before its ticket stays in the database that it came through.
func SortOfName(v *table.View, id, ticket record.ID, via scopes.Sort) (scopes.Sort, error) {
	st, err := v.Load(record.Ticket, ticket)
	switch {
	case err != nil:
		return 0, err
	case st == nil:
	case entry.PresentOf(st.Body) == id:
		return scopes.EventNames, nil
	case bytes.Contains(st.Body.Member("ended"), value.Quote(record.Holder.FormatID(id))):
		return scopes.EventHolders, nil
	}
	if via == scopes.EventHolders {
		return via, nil
	}
	return scopes.EventNames, nil
}

// PlaceHoldings moves the names of a ticket's holdings to their databases. At the root it keeps a label for the present holding alone.
// was is nil if the ticket is new here.
func PlaceHoldings(o *table.Tx, was, is *record.Doc) error {
	if was != nil && value.Equal(was.Value("holding"), is.Value("holding")) && value.Equal(was.Value("ended"), is.Value("ended")) {
		return nil
	}
	present := entry.IDOfHolding(is.Value("holding"))
	for _, id := range entry.HoldingsOf(is) {
		if err := PlaceHolding(o, id, id == present); err != nil {
			return err
		}
	}
	return nil
}

// PlaceHolding does this for one holding.
func PlaceHolding(o *table.Tx, id record.ID, present bool) error {
	sort := scopes.EventHolders
	if present {
		sort = scopes.EventNames
	}
	before, err := o.Load(record.HolderName, id)
	if err != nil {
		return err
	}
	if before != nil && before.Scopes[0].Sort != sort {
		next := *before
		next.Scopes[0].Sort = sort
		if err := table.Welcome(o, record.HolderName, before, &next); err != nil {
			return err
		}
		table.Place(o, record.HolderName, before, &next)
	}
	switch {
	case o.Store.Identity.IsLeaf():
		return nil
	case present:
		return WriteLabel(o, id, 0)
	}
	return deletePart(o, record.HolderLabel, id, 0)
}

// TakeHolding makes an ended holding the present one, as staff have chosen.
func TakeHolding(o *table.Tx, p auth.Principal, ticket *table.Stored, id record.ID) error {
	was, err := ticket.Decode(record.Ticket)
	if err != nil {
		return err
	}
	h, err := entry.LoadHolding(o.View, id)
	if err != nil {
		return err
	}
	if h.Name == nil && h.Holder == nil {
		return &table.Conflict{Reason: "the holding is not there any more"}
	}
	is := was.Clone()
	ended := record.Without(is.Value("ended"), record.Holder.FormatID(id))
	if before := is.Text("holding"); before != "" {
		ended = record.Adding(ended, before)
	}
	is.Set("ended", ended)
	is.Set("holding", value.Quote(record.Holder.FormatID(id)))
	if _, err := o.Write(table.Edit{Kind: record.Ticket, ID: ticket.ID, Before: ticket, Was: was, Is: is, Author: p.Key()}); err != nil {
		return err
	}
	return PlaceHoldings(o, was, is)
}

// WriteLabel derives a present holding's label from its name, at the root.
func WriteLabel(o *table.Tx, id record.ID, author int64) error {
	if o.Store.Identity.IsLeaf() {
		return nil
	}
	name, err := o.Load(record.HolderName, id)
	if err != nil || name == nil {
		return err
	}
	before, err := o.LoadAny(record.HolderLabel, id)
	if err != nil {
		return err
	}
	c := table.Edit{Kind: record.HolderLabel, ID: id, Before: before, Is: record.HolderLabel.NewDoc(), Author: author}
	for field, v := range map[string]jsontext.Value{"event_id": name.Body.Member("event_id"), "ticket_id": name.Body.Member("ticket_id"),
		"label": record.LabelOf(name.Body.Member("full_name"))} {
		c.Is.Set(field, v.Clone())
	}
	if before != nil && !before.Deleted {
		if entry.SameBody(c.Is.Encode(), before.Body) {
			return nil
		}
		if c.Was, err = before.Decode(record.HolderLabel); err != nil {
			return err
		}
	}
	_, err = o.Write(c)
	return err
}

// WriteTail gives a holding's name the last digits of its phone, at the root.
func WriteTail(o *table.Tx, h *entry.HoldingParts) error {
	if h.Name == nil || h.Holder == nil {
		return nil
	}
	holder, err := h.Holder.Decode(record.Holder)
	if err == nil {
		_, err = entry.Amend(o, auth.Principal{}, record.HolderName, h.Name, func(d *record.Doc) { record.SetTail(d, holder) })
	}
	return err
}
