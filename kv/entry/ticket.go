package entry

import (
	"crypto/sha256"

	"doorward/kv/auth"
	"doorward/kv/codes"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/kv/value"
)

// Input is a patch made ready outside the write transaction: a ticket's form is in its parts already.
type Input struct {
	*record.Patch
	Parts    record.Parts   // of a ticket's form
	Made     madeTicket     // what those make where there is no ticket yet
	Exact    table.CodeHash // of its code
	Coded    bool           // it sets one
	Free     bool           // in this operation nothing was found by its external_id and its code
	Imported bool           // it is a row of an import
}

// madeTicket is a new ticket ready to be stored.
type madeTicket struct {
	Ticket, Code table.Made
	Holding      *madeHolding // nil: the form says nothing of a holder
}

// Prepare does what a patch needs and the writer need not do.
func Prepare(s *table.Set, patch *record.Patch) *Input {
	in := &Input{Patch: patch}
	if patch.Kind == record.TicketForm {
		split(s, in)
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
		whole = &Input{Patch: patch.Project(record.TicketForm, nil)}
		whole.Set("code", value.Quote(codes.Draw()))
		split(s, whole)
	}
	now := record.Moment{Now: s.Clock.Now(), Zone: s.Clock.Zone()}
	if whole.Parts.NamesHolder() {
		in.Made.Holding = NewHolding(s, &whole.Parts, now)
		whole.Parts.Ticket.Set("holding", in.Made.Holding.Text())
	}
	in.Made.Ticket = Compose(p, record.Ticket, whole.Parts.Ticket, now)
	in.Made.Code = Compose(p, record.TicketCode, whole.Parts.Code, now)
	in.Parts.Ticket.Drop("holding") // an existing ticket keeps its own
	return in
}

// Compose is the record that a patch of a kind makes.
func Compose(p auth.Principal, k *record.Kind, patch *record.Patch, now record.Moment) table.Made {
	d := k.NewDoc()
	d.Apply(patch)
	return Finish(p, d, now)
}

// Finish gives a new record its origin, and what follows from its fields.
func Finish(p auth.Principal, d *record.Doc, now record.Moment) table.Made {
	if _, ok := d.Kind.Field("created_by"); ok && p.Key() != 0 {
		d.Set("created_by", value.Number(p.Key()))
	}
	d.Settle(nil, now)
	canonical := d.Canonical()
	return table.Made{Doc: d, Body: d.Encode(), Canonical: canonical, Revision: rev.Next(rev.ID{}, false, canonical)}
}

// split takes a ticket's form apart and hashes its code.
func split(s *table.Set, in *Input) {
	code := in.Text("code")
	if in.Coded = code != ""; !in.Coded {
		in.Drop("code") // null leaves it alone
	}
	in.Parts = record.SplitTicket(in.Patch)
	if in.Coded {
		in.Exact = s.Identity.HashCode(code)
		normal := in.Exact
		if form := codes.Normal(code); form != code {
			normal = s.Identity.HashCode(form)
		}
		in.Parts.Ticket.Set("code_hash", table.HexText(in.Exact[:]))
		in.Parts.Ticket.Set("normal_hash", table.HexText(normal[:]))
	}
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
