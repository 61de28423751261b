package merge

import (
	"bytes"
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Closes tells a tombstone that only ends a branch which a merge took in: the record stays.
func (a *Arrival) Closes() bool {
	return a.Node.Ended && !slices.Contains(a.Path, a.Before.Revision)
}

// AnyNew is one of a document's fields that the record has not as it is; "" where it has them all.
func (a *Arrival) AnyNew(d *record.Doc, names []string) string {
	for _, name := range names {
		if a.Before == nil || !bytes.Equal(a.Before.Body.Member(name), d.Value(name)) {
			return name
		}
	}
	return ""
}

// isOnlyOf tells that one node alone has made all revisions of a record.
func (a *Arrival) isOnlyOf(node string) bool {
	own, err := ulid.ParseStrict(node)
	return err == nil && a.Node.Node == own && table.IsOnlyOf(&a.Tree, own)
}

// IsWhollyOf is isOnlyOf for all of a ticket. The ticket itself says so where others have changed another of its records.
func (a *Arrival) IsWhollyOf(o *table.Tx, node string) (bool, error) {
	if !a.Kind.OfTicket() || !a.isOnlyOf(node) {
		return a.isOnlyOf(node), nil
	}
	var b record.Body
	if a.Before != nil {
		b = a.Before.Body
	}
	if a.Doc != nil {
		b = a.body
	}
	ticket, err := o.LoadAny(record.Ticket, entry.TicketOfPart(a.Kind, a.ID, b))
	if err != nil || ticket == nil {
		return err == nil, err
	}
	t, err := table.LoadTree(o.View, record.Ticket, ticket)
	own, _ := ulid.ParseStrict(node) // isOnlyOf has read it
	return err == nil && table.IsOnlyOf(&t, own), err
}

// PassesNothingOn answers a *Forbidden for a ticket of an event's laptop that has gone to another holding.
func (a *Arrival) PassesNothingOn() error {
	if a.Kind != record.Ticket || a.Doc == nil || a.Before == nil || a.Before.Deleted {
		return nil
	}
	if h := entry.PresentOf(a.Before.Body); h.IsZero() || h == entry.IdOfHolding(a.Doc.Value("holding")) {
		return nil
	}
	return entry.ErrPassedOn
}
