package entry

import (
	"crypto/sha256"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/auth"
	"doorward/kv/codes"
	"doorward/kv/names"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/kv/value"
)

// Input is a patch made ready outside the write transaction.
type Input struct {
	*record.Patch
	Made     madeTicket     // what a ticket's form makes where there is no ticket yet
	Exact    table.CodeHash // of its code
	Normal   table.CodeHash // of the code's normal form
	Coded    bool           // it sets one
	Free     bool           // in this operation nothing was found by its external_id and its code
	Imported bool           // it is a row of an import
}

// madeTicket is a new ticket ready to be stored.
type madeTicket struct {
	Ticket, Code *table.Made
	Holding      *madeHolding // nil: the form says nothing of a holder
}

// Prepare does what a patch needs and the writer need not do.
func Prepare(s *table.Set, patch *record.Patch) *Input {
	in := &Input{Patch: patch}
	if patch.Kind == record.TicketForm {
		in.hashCode(s)
	}
	return in
}

// PrepareNew is prepare for a patch that may make a record.
func PrepareNew(s *table.Set, p auth.Principal, patch *record.Patch) *Input {
	in := Prepare(s, patch)
	if patch.Kind != record.TicketForm || len(patch.Faults) > 0 {
		return in
	}
	whole := in
	if !in.Coded { // what is there keeps its code, what is new gets one
		whole = &Input{Patch: patch.Project(record.TicketForm)}
		whole.Set("code", value.Quote(codes.Draw()))
		whole.hashCode(s)
	}
	parts := whole.Split()
	now := record.Moment{Now: s.Clock.Now(), Zone: s.Clock.Zone()}
	if parts.NamesHolder() {
		in.Made.Holding = NewHolding(s, &parts, now)
		parts.Ticket.Set("holding", in.Made.Holding.Text())
	}
	in.Made.Ticket = Finish(p, parts.Ticket.NewDoc(), now)
	in.Made.Code = Finish(p, parts.Code.NewDoc(), now)
	return in
}

// Compose is the record that a patch of a kind makes.
func Compose(p auth.Principal, k *record.Kind, patch *record.Patch, now record.Moment) *table.Made {
	d := k.NewDoc()
	d.Apply(patch)
	return Finish(p, d, now)
}

// Finish gives a new record its origin, and what follows from its fields.
func Finish(p auth.Principal, d *record.Doc, now record.Moment) *table.Made {
	if _, ok := d.Kind.Field("created_by"); ok && p.Key() != 0 {
		d.Set("created_by", value.Number(p.Key()))
	}
	d.Settle(nil, now)
	return &table.Made{Doc: d, Body: d.Encode(), Revision: d.Revision(rev.ID{})}
}

// hashCode hashes the code of a ticket's form.
func (in *Input) hashCode(s *table.Set) {
	code := in.Text("code")
	if in.Coded = code != ""; !in.Coded {
		in.Drop("code") // null leaves it alone
		return
	}
	in.Exact = s.Identity.HashCode(code)
	in.Normal = in.Exact
	if form := codes.Normal(code); form != code {
		in.Normal = s.Identity.HashCode(form)
	}
}

// OtherForm returns a *table.Conflict if a ticket of the event has the code with other zeros in front, or in other capitals, spaces or hyphens. A
// list that writes it so means that ticket, unless the code is short: then capitals may be chance.
func (in *Input) OtherForm(o *table.Tx, event int64) error {
	for _, other := range codes.OtherZeros(in.Text("code")) {
		hash := o.Store.Identity.HashCode(other)
		ids, err := table.TicketsOf(o.View, table.ExactForm, hash[:], event)
		if err != nil {
			return err
		}
		if len(ids) > 0 {
			return &table.Conflict{Reason: "a ticket of the event has this code with more or fewer zeros in front, which a spreadsheet cuts off: write it as it is there", Field: "code"}
		}
	}
	if !codes.IsStrong(in.Text("code")) {
		return nil
	}
	for _, form := range table.CodeForms {
		ids, err := table.TicketsOf(o.View, form, in.Normal[:], event)
		if err != nil {
			return err
		}
		if len(ids) > 0 {
			return &table.Conflict{Reason: "a ticket of the event has this code in other capitals, spaces or hyphens: write it as it is there", Field: "code"}
		}
	}
	return nil
}

// Split takes a ticket's form apart.
func (in *Input) Split() record.Parts {
	parts := record.SplitTicket(in.Patch)
	if in.Coded {
		parts.Ticket.Set("code_hash", table.HexText(in.Exact[:]))
		parts.Ticket.Set("normal_hash", table.HexText(in.Normal[:]))
	}
	return parts
}

// eachPart calls fn with the records that a ticket is shown as, as far as they are here.
func eachPart(v *table.View, ticket *table.Stored, fn func(*record.Kind, *table.Stored)) error {
	fn(record.Ticket, ticket)
	code, err := v.Load(record.TicketCode, ticket.ID)
	if err != nil {
		return err
	}
	h, err := LoadHolding(v, PresentOf(ticket.Body))
	if err != nil {
		return err
	}
	for i, st := range [...]*table.Stored{code, h.Name, h.Holder} {
		if k := [...]*record.Kind{record.TicketCode, record.HolderName, record.Holder}[i]; st != nil {
			if err := table.Unshown(v, k, st); err != nil {
				return err
			}
			fn(k, st)
		}
	}
	return nil
}

// showTicket puts a ticket's parts together as the writer's form.
func showTicket(v *table.View, dst []byte, ticket *table.Stored) ([]byte, error) {
	var bodies []record.Body
	latest := *ticket
	err := eachPart(v, ticket, func(_ *record.Kind, part *table.Stored) {
		bodies = append(bodies, part.Body)
		if part.UpdatedAt > latest.UpdatedAt {
			latest.UpdatedAt, latest.UpdatedBy = part.UpdatedAt, part.UpdatedBy
		}
	})
	if err != nil {
		return nil, err
	}
	form := record.JoinTicket(bodies...)
	label, err := LabelOf(v, PresentOf(ticket.Body))
	if err != nil {
		return nil, err
	}
	form.Set("label", value.Quote(label))
	latest.Body = form.Encode()
	return ShowAs(v, dst, record.Admin, record.TicketForm, &latest), nil
}

// ticketRevision names the state of a ticket's parts together: a change of any makes another.
func ticketRevision(v *table.View, ticket *table.Stored) (string, error) {
	all := rev.ID{}
	h := sha256.New()
	err := eachPart(v, ticket, func(_ *record.Kind, part *table.Stored) {
		all.Generation += part.Revision.Generation
		h.Write(part.Revision.Hash[:])
	})
	if err != nil {
		return "", err
	}
	copy(all.Hash[:], h.Sum(nil))
	return all.String(), nil
}

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
		return record.Int(value.Int(b.Member("ticket_id")))
	}
	return id
}

// madeHolding is a new holding ready to be stored, but for the ticket's id.
type madeHolding struct {
	id                  record.ID
	name, holder, label *record.Doc // the root alone makes a label
}

func (h *madeHolding) Text() jsontext.Value { return value.Quote(record.Holder.FormatID(h.id)) }

// NewHolding makes a holding of what a form says of a holder. It takes the two patches over.
func NewHolding(s *table.Set, parts *record.Parts, now record.Moment) *madeHolding {
	h := &madeHolding{id: table.NewFactID(now.Now)}
	h.name, h.holder = composePart(parts.Name), composePart(parts.Holder)
	if !s.Identity.IsLeaf() {
		label := record.HolderLabel.NewDoc()
		label.Set("event_id", h.name.Value("event_id"))
		label.Set("label", record.LabelOf(h.name.Value("full_name")))
		h.label = label
	}
	return h
}

func composePart(patch *record.Patch) *record.Doc {
	d := patch.NewDoc()
	d.Settle(nil, record.Moment{})
	return d
}

// AddHolding writes a new holding.
func AddHolding(o *table.Tx, p auth.Principal, ticket record.ID, h *madeHolding) error {
	for _, d := range [...]*record.Doc{h.name, h.holder, h.label} {
		if d == nil {
			continue
		}
		d.Set("ticket_id", value.Number(ticket.Int()))
		if _, err := write(o, table.Edit{Kind: d.Kind, ID: h.id, Is: d, Author: p.Key()}); err != nil {
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

// Row is one record of a bulk import. The patch may carry "external_id"; ID is zero where the source gives none.
type Row struct {
	Kind       *record.Kind
	ID         record.ID
	Patch      *record.Patch
	Reinstates bool // it may let a ticket in that is blocked, refunded or cancelled here
}
