package entry

import (
	"crypto/sha256"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/auth"
	"doorward/kv/codes"
	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/kv/value"
)

// Input is a patch made ready outside the write transaction: a ticket's form is in its parts already.
type Input struct {
	*record.Patch
	Parts [3]*record.Patch // of a ticket's form, in the order of ticketParts
	Made  [3]table.Made    // what those make where there is no ticket yet
	Exact table.CodeHash   // of its code
	Coded bool             // it sets one
	Free  bool             // in this operation nothing was found by its external_id and its code
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
		whole.Set("code", value.Quote(codes.Make(Draw10())))
		split(s, whole)
	}
	now := record.Moment{Now: s.ClockNow(), Zone: s.ZoneOf}
	for i, k := range ledger.TicketParts {
		in.Made[i] = Compose(p, k, whole.Parts[i], now)
	}
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
	if p.Key() != 0 {
		d.Set("created_by", value.Number(p.Key()))
	}
	d.Settle(nil, now)
	return table.Made{Doc: d, Body: d.Encode(), Revision: rev.Next(rev.ID{}, false, d.Canonical())}
}

// split takes a ticket's form apart and hashes its code.
func split(s *table.Set, in *Input) {
	code, _ := FormText(in.Patch, "code")
	if in.Coded = code != ""; !in.Coded {
		in.Drop("code") // null leaves it alone
	}
	ticket, name, holder := record.SplitTicket(in.Patch)
	if in.Coded {
		in.Exact = s.HashCode(code)
		normal := in.Exact
		if form := codes.Normal(code); form != code {
			normal = s.HashCode(form)
		}
		ticket.Set("code_hash", table.HexText(in.Exact[:]))
		ticket.Set("normal_hash", table.HexText(normal[:]))
	}
	in.Parts = [3]*record.Patch{ticket, name, holder}
}

// FormText is a text that the form sets; "" for null.
func FormText(form *record.Patch, name string) (string, bool) {
	v, ok := form.Value(name)
	if !ok || v.Kind() != '"' {
		return "", ok
	}
	text, err := jsontext.AppendUnquote(nil, v)
	return string(text), err == nil
}

// showTicket puts a ticket's parts together as the writer's form.
func showTicket(v *table.View, dst []byte, ticket *table.Stored) ([]byte, error) {
	var bodies [3]record.Body
	latest := *ticket
	for i, k := range ledger.TicketParts {
		part, err := v.Load(k, ticket.Id)
		if err != nil {
			return nil, err
		}
		if part == nil {
			continue
		}
		if err := table.Unshown(v, k, part); err != nil {
			return nil, err
		}
		bodies[i] = part.Body
		if part.UpdatedAt > latest.UpdatedAt {
			latest.UpdatedAt, latest.UpdatedBy = part.UpdatedAt, part.UpdatedBy
		}
	}
	latest.Body = record.JoinTicket(bodies[0], bodies[1], bodies[2]).Encode()
	return ShowAs(v, dst, record.Admin, record.TicketForm, &latest), nil
}

// ticketRevision names the state of a ticket's parts together: a change of any makes another.
func ticketRevision(v *table.View, ticket *table.Stored) (string, error) {
	all := rev.ID{}
	h := sha256.New()
	for _, k := range ledger.TicketParts {
		part, err := v.Load(k, ticket.Id)
		if err != nil {
			return "", err
		}
		if part != nil {
			all.Generation += part.Revision.Generation
			h.Write(part.Revision.Hash[:])
		}
	}
	copy(all.Hash[:], h.Sum(nil))
	return all.String(), nil
}
