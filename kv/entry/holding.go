package entry

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/auth"
	"doorward/kv/names"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/kv/value"
)

// A holding is one person's time with one ticket: a name, a private half and, derived by the root, a label, all under one ULID. The
// ticket says which holding is present and which are over. One that is over leaves the doors' databases and stays in the ticket's
// history, until one of its persons is erased.

// HoldingKinds are the kinds of a holding's records.
var HoldingKinds = [...]*record.Kind{record.HolderName, record.Holder, record.HolderLabel}

// HoldingParts are the records of a holding that its writer writes, as far as they are here.
type HoldingParts struct {
	ID           record.ID     // zero: none
	Name, Holder *table.Stored // nil: not here
}

// LoadHolding loads a holding; the zero one where there is none, or where it was erased or deleted.
func LoadHolding(v *table.View, id record.ID) (h HoldingParts, err error) {
	if gone, err := table.IsErased(v, record.Holder, id); err != nil || gone || id.IsZero() {
		return h, err
	}
	if h.Name, err = v.LoadAny(record.HolderName, id); err == nil {
		h.Holder, err = v.LoadAny(record.Holder, id)
	}
	deleted := false
	for _, st := range [...]**table.Stored{&h.Name, &h.Holder} {
		if *st != nil && (*st).Deleted {
			*st, deleted = nil, true
		}
	}
	if h.Name != nil || h.Holder != nil || !deleted {
		h.ID = id
	}
	return h, err
}

// IdOfHolding reads a member that names a holding; zero for null.
func IdOfHolding(v jsontext.Value) record.ID {
	id, ok := record.Holder.ParseID(value.Unquote(v))
	if !ok {
		return record.ID{}
	}
	return id
}

// PresentOf is the present holding of a ticket's body; zero: it has none.
func PresentOf(ticket record.Body) record.ID { return IdOfHolding(ticket.Member("holding")) }

// HoldingsOf are the holdings of a ticket, the present one first.
func HoldingsOf(ticket *record.Doc) (all []record.ID) {
	all = append(all, IdOfHolding(ticket.Value("holding")))
	for v := range value.Elements(ticket.Value("ended")) {
		all = append(all, IdOfHolding(v))
	}
	return slices.DeleteFunc(all, record.ID.IsZero)
}

// TicketOfPart is the ticket of a record that is written with one; zero where that is not known.
func TicketOfPart(k *record.Kind, id record.ID, b record.Body) record.ID {
	if k.OfHolding() {
		return record.Int(table.IntOf(b.Member("ticket_id")))
	}
	return id
}

// madeHolding is a new holding ready to be stored, but for the ticket's id.
type madeHolding struct {
	id                  record.ID
	name, holder, label table.Made
}

func (h *madeHolding) Text() jsontext.Value { return value.Quote(record.Holder.FormatID(h.id)) }

// NewHolding makes a holding of what a form says of a holder.
func NewHolding(s *table.Set, parts *record.Parts, now record.Moment) *madeHolding {
	h := &madeHolding{id: table.NewFactID(now.Now)}
	h.name, h.holder = composePart(parts.Name), composePart(parts.Holder)
	if !s.IsLeaf() {
		label := record.HolderLabel.NewDoc()
		label.Set("event_id", h.name.Doc.Value("event_id"))
		label.Set("label", record.LabelOf(h.name.Body))
		label.Set("ticket_id", table.NoTicket)
		h.label = encodePart(label)
	}
	return h
}

func composePart(patch *record.Patch) table.Made {
	d := patch.Kind.NewDoc()
	d.Apply(patch)
	d.Settle(nil, record.Moment{})
	d.Set("ticket_id", table.NoTicket)
	return encodePart(d)
}

func encodePart(d *record.Doc) table.Made {
	return table.Made{Doc: d, Body: d.Encode(), Canonical: d.Canonical()}
}

// AddHolding writes a new holding.
func AddHolding(o *table.Tx, p auth.Principal, ticket record.ID, h *madeHolding) error {
	for _, m := range [...]*table.Made{&h.name, &h.holder, &h.label} {
		if m.Doc == nil {
			continue
		}
		m.Place(ticket)
		if _, err := fitting(o.Write(table.Edit{Kind: m.Doc.Kind, ID: h.id, Is: m.Doc, Author: p.Key(), Made: m})); err != nil {
			return err
		}
	}
	return nil
}

// MayPassOn answers a *Forbidden at a laptop of an event.
func MayPassOn(o *table.Tx, event int64) error {
	if u := o.Store.Joined.Load(); o.Store.IsLeaf() && u.IsGuestIn(scopes.Scope{Sort: scopes.Event, ID: event}) {
		return ErrPassedOn
	}
	return nil
}

var ErrPassedOn = table.Refused("a laptop of an event passes no ticket on to another person: that is done at the centre, or at a laptop of the church")

// SupplyPart is supply for a part of a holding.
func SupplyPart(o *table.Tx, p auth.Principal, id record.ID, ticket *record.Doc, patch *record.Patch) error {
	says := patch.Project(patch.Kind, nil)
	for _, name := range [...]string{"event_id", "ticket_id", "link"} {
		says.Drop(name)
	}
	if says.Empty() {
		return nil
	}
	return Supply(o, p, id, ticket, patch)
}

// MoveEnded has the holdings that are over go to another event with their ticket.
func MoveEnded(o *table.Tx, p auth.Principal, ticket *record.Doc) error {
	for v := range value.Elements(ticket.Value("ended")) {
		for _, k := range HoldingKinds {
			st, err := o.Load(k, IdOfHolding(v))
			if err != nil {
				return err
			}
			if st == nil {
				continue
			}
			if _, err := Amend(o, p, k, st, func(d *record.Doc) { d.Set("event_id", ticket.Value("event_id")) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// LabelOf is what a door may show of a holding: made of its name or, where that is not here, as the root has made it; "" where neither is.
func LabelOf(v *table.View, id record.ID) (string, error) {
	if id.IsZero() {
		return "", nil
	}
	name, err := v.Load(record.HolderName, id)
	if err != nil {
		return "", err
	}
	if name != nil {
		if err := table.Unshown(v, record.HolderName, name); err != nil {
			return "", err
		}
		return names.Label(value.Unquote(name.Body.Member("full_name"))), nil
	}
	label, err := v.Load(record.HolderLabel, id)
	if err != nil || label == nil {
		return "", err
	}
	err = table.Unshown(v, record.HolderLabel, label)
	return value.Unquote(label.Body.Member("label")), err
}

// WriteLabel derives a present holding's label from its name, at the root.
func WriteLabel(o *table.Tx, id record.ID, author int64) error {
	if o.Store.IsLeaf() {
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
		"label": record.LabelOf(name.Body)} {
		c.Is.Set(field, v.Clone())
	}
	if before != nil && !before.Deleted {
		if SameBody(c.Is.Encode(), before.Body) {
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
func WriteTail(o *table.Tx, h *HoldingParts) error {
	if h.Name == nil || h.Holder == nil {
		return nil
	}
	holder, err := h.Holder.Decode(record.Holder)
	if err == nil {
		_, err = Amend(o, auth.Principal{}, record.HolderName, h.Name, func(d *record.Doc) { record.SetTail(d, holder) })
	}
	return err
}

// SortOf is the sort of database that a holding's name is in: that of the doors while the holding is present. Where the ticket does not
// say, it waits where it has come.
func SortOf(v *table.View, id, ticket record.ID, via scopes.Sort) (scopes.Sort, error) {
	st, err := v.Load(record.Ticket, ticket)
	switch {
	case err != nil:
		return 0, err
	case st == nil:
	case PresentOf(st.Body) == id:
		return scopes.EventNames, nil
	case bytes.Contains(st.Body.Member("ended"), value.Quote(record.Holder.FormatID(id))):
		return scopes.EventHolders, nil
	}
	if via == scopes.EventHolders {
		return via, nil
	}
	return scopes.EventNames, nil
}

// SettleHoldings has the names of a ticket's holdings in the databases where they belong and, at the root, a label for the present
// holding alone. was is nil where the ticket is new here.
func SettleHoldings(o *table.Tx, was, is *record.Doc) error {
	if was != nil && value.Equal(was.Value("holding"), is.Value("holding")) && value.Equal(was.Value("ended"), is.Value("ended")) {
		return nil
	}
	present := IdOfHolding(is.Value("holding"))
	for _, id := range HoldingsOf(is) {
		if err := SettleHolding(o, id, id == present); err != nil {
			return err
		}
	}
	return nil
}

func SettleHolding(o *table.Tx, id record.ID, present bool) error {
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
	case o.Store.IsLeaf():
		return nil
	case present:
		return WriteLabel(o, id, 0)
	}
	return DeletePart(o, record.HolderLabel, id, 0)
}

// TakeHolding has a ticket go to a holding that is over, as staff have chosen.
func TakeHolding(o *table.Tx, p auth.Principal, ticket *table.Stored, id record.ID) error {
	was, err := ticket.Decode(record.Ticket)
	if err != nil {
		return err
	}
	h, err := LoadHolding(o.View, id)
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
	return SettleHoldings(o, was, is)
}
