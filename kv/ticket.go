package kv

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/codes"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/value"
)

// A ticket is one thing to its writer and three records in the store, under one id: what doors need, what name search
// needs, and what only the church's office sees (design.md §2). This file takes it apart and puts it together.

var ticketParts = [3]*record.Kind{record.Ticket, record.HolderName, record.Holder}

// codeHashSize is how much of the HMAC is kept.
const codeHashSize = 16

// hashCode is a code's hash under the realm's key.
func (s *tables) hashCode(code string) (h [codeHashSize]byte) {
	mac := hmac.New(sha256.New, s.identity.family.Load().codeKey)
	mac.Write([]byte(code))
	copy(h[:], mac.Sum(nil))
	return h
}

func hexText(b []byte) jsontext.Value { return jsontext.Value(`"` + hex.EncodeToString(b) + `"`) }

// input is a patch made ready outside the write transaction: a ticket's form is in its parts already.
type input struct {
	*record.Patch
	parts [3]*record.Patch // of a ticket's form, in the order of ticketParts
	made  [3]made          // what those make where there is no ticket yet
	exact codeHash         // of its code
	coded bool             // it sets one
	free  bool             // in this operation nothing was found by its external_id and its code
}

// made is a new record ready to be stored.
type made struct {
	doc      *record.Doc
	body     record.Body
	revision rev.ID
}

// prepare does what a patch needs and the writer need not do.
func prepare(s *tables, patch *record.Patch) *input {
	in := &input{Patch: patch}
	if patch.Kind == record.TicketForm {
		split(s, in)
	}
	return in
}

// prepareNew is prepare for a patch that may make a record.
func prepareNew(s *tables, p Principal, patch *record.Patch) *input {
	in := prepare(s, patch)
	if patch.Kind != record.TicketForm || len(patch.Faults) > 0 {
		return in
	}
	whole := in
	if !in.coded { // what is there keeps its code, what is new gets one
		whole = &input{Patch: patch.Project(record.TicketForm, nil)}
		whole.Set("code", value.Quote(codes.Make(draw10())))
		split(s, whole)
	}
	now := record.Moment{Now: s.clock(), Zone: s.zone}
	for i, k := range ticketParts {
		in.made[i] = compose(p, k, whole.parts[i], now)
	}
	return in
}

// compose is the record that a patch of a kind makes.
func compose(p Principal, k *record.Kind, patch *record.Patch, now record.Moment) made {
	d := k.NewDoc()
	d.Apply(patch)
	return finish(p, d, now)
}

// finish gives a new record its origin, and what follows from its fields.
func finish(p Principal, d *record.Doc, now record.Moment) made {
	if p.Key() != 0 {
		d.Set("created_by", value.Number(p.Key()))
	}
	d.Settle(nil, now)
	return made{doc: d, body: d.Encode(), revision: rev.Next(rev.ID{}, false, d.Canonical())}
}

// split takes a ticket's form apart and hashes its code.
func split(s *tables, in *input) {
	code, _ := formText(in.Patch, "code")
	if in.coded = code != ""; !in.coded {
		in.Drop("code") // null leaves it alone
	}
	ticket, name, holder := record.SplitTicket(in.Patch)
	if in.coded {
		in.exact = s.hashCode(code)
		normal := in.exact
		if form := codes.Normal(code); form != code {
			normal = s.hashCode(form)
		}
		ticket.Set("code_hash", hexText(in.exact[:]))
		ticket.Set("normal_hash", hexText(normal[:]))
	}
	in.parts = [3]*record.Patch{ticket, name, holder}
}

// formText is a text that the form sets; "" for null.
func formText(form *record.Patch, name string) (string, bool) {
	v, ok := form.Value(name)
	if !ok || v.Kind() != '"' {
		return "", ok
	}
	text, err := jsontext.AppendUnquote(nil, v)
	return string(text), err == nil
}

// createTicket makes a ticket's three records; used tells that tombstones may lie under the id.
func createTicket(o *op, p Principal, id record.ID, used bool, in *input) (*stored, error) {
	var ticket *stored
	for i, k := range ticketParts {
		n := newRecord{id: id, made: in.made[i], free: in.free}
		if used {
			var err error
			if n.tombstone, err = o.loadAny(k, id); err != nil {
				return nil, err
			}
		}
		st, err := add(o, p, k, n)
		if err != nil {
			return nil, err
		}
		if k == record.Ticket {
			ticket = st
		}
	}
	return ticket, nil
}

// updateTicket changes a ticket's records. One that was used stays at the event where it was.
func updateTicket(o *op, p Principal, ticket *stored, in *input) (*stored, error) {
	if err := holdsAllOf(o, ticket, in); err != nil {
		return nil, err
	}
	if v, ok := in.Value("event_id"); ok && intOf(v) != ticket.home(record.Ticket) {
		if err := unreferred(o, p, record.Ticket, ticket.id); err != nil {
			return nil, err
		}
	}
	for i, k := range ticketParts {
		before, err := o.load(k, ticket.id)
		if err != nil {
			return nil, err
		}
		if before == nil {
			if err := supply(o, p, k, ticket, in.parts[i]); err != nil {
				return nil, err
			}
			continue
		}
		next, err := amend(o, p, k, before, func(d *record.Doc) { d.Apply(in.parts[i]) })
		if err != nil {
			return nil, err
		}
		if k != record.Ticket {
			continue
		}
		was := ticket.body.Member("state")
		if ticket = next; !bytes.Equal(was, next.body.Member("state")) {
			if err := o.store.rules.settled(o, ticket.id); err != nil {
				return nil, err
			}
		}
	}
	return ticket, nil
}

func deleteTicket(o *op, p Principal, ticket *stored) error {
	for _, k := range ticketParts {
		before, err := o.load(k, ticket.id)
		if err != nil {
			return err
		}
		if before == nil {
			if o.store.isLeaf() {
				return errElsewhere
			}
			continue
		}
		was, err := before.decode(k)
		if err != nil {
			return err
		}
		if _, err := o.write(change{kind: k, id: ticket.id, before: before, was: was, author: p.Key()}); err != nil {
			return err
		}
	}
	return o.store.rules.settled(o, ticket.id) // tickets that were merged with it may have been used
}

// showTicket puts a ticket's parts together as the writer's form.
func showTicket(v *sight, dst []byte, ticket *stored) ([]byte, error) {
	var bodies [3]record.Body
	latest := *ticket
	for i, k := range ticketParts {
		part, err := v.load(k, ticket.id)
		if err != nil {
			return nil, err
		}
		if part == nil {
			continue
		}
		if err := unshown(v, k, part); err != nil {
			return nil, err
		}
		bodies[i] = part.body
		if part.updatedAt > latest.updatedAt {
			latest.updatedAt, latest.updatedBy = part.updatedAt, part.updatedBy
		}
	}
	latest.body = record.JoinTicket(bodies[0], bodies[1], bodies[2]).Encode()
	return showAs(v, dst, record.Admin, record.TicketForm, &latest), nil
}

// ticketRevision names the state of a ticket's parts together: a change of any makes another.
func ticketRevision(v *sight, ticket *stored) (string, error) {
	all := rev.ID{}
	h := sha256.New()
	for _, k := range ticketParts {
		part, err := v.load(k, ticket.id)
		if err != nil {
			return "", err
		}
		if part != nil {
			all.Generation += part.revision.Generation
			h.Write(part.revision.Hash[:])
		}
	}
	copy(all.Hash[:], h.Sum(nil))
	return all.String(), nil
}
