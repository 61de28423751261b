package entry

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/auth"
	"doorward/kv/names"
	"doorward/kv/record"
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

// IDOfHolding reads a member that names a holding; zero for null.
func IDOfHolding(v jsontext.Value) record.ID {
	id, ok := record.Holder.ParseID(value.Unquote(v))
	if !ok {
		return record.ID{}
	}
	return id
}

// PresentOf is the present holding of a ticket's body; zero: it has none.
func PresentOf(ticket record.Body) record.ID { return IDOfHolding(ticket.Member("holding")) }

// HoldingsOf are the holdings of a ticket, the present one first.
func HoldingsOf(ticket *record.Doc) (all []record.ID) {
	all = append(all, IDOfHolding(ticket.Value("holding")))
	for v := range value.Elements(ticket.Value("ended")) {
		all = append(all, IDOfHolding(v))
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
	if !s.Identity.IsLeaf() {
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
		if _, err := write(o, table.Edit{Kind: m.Doc.Kind, ID: h.id, Is: m.Doc, Author: p.Key(), Made: m}); err != nil {
			return err
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
