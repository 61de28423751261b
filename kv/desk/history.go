package desk

import (
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// Past is a revision of a record, or of a part of a ticket, as far as it is known.
type Past struct {
	Kind     *record.Kind // a ticket's parts have kinds of their own
	ID       string       // of the record: the ULID of a holding, for its parts
	Revision string
	At       time.Time // zero: not known
	Key      int64     // api key of the author; 0 = none, or not known
	Node     string    // where it was made; "" = not known
	Fields   []string  // that changed; never nil
	Deleted  bool
	Winner   bool   // what the record is
	Held     bool   // its body is in the store
	Body     []byte // as /admin/v1 shows it; nil where it is not asked for or not held
}

// History tells the revisions of a record that p sees, newest first, with the bodies that are held if they are asked for. ErrNotFound,
// *Forbidden.
func (dk *Desk) History(p auth.Principal, t Target, bodies bool) (all []Past, err error) {
	t.Surface = record.Admin
	err = dk.look(p, t, func(v *table.View, st *table.Stored) (err error) {
		add := func(k *record.Kind, st *table.Stored) error {
			past, err := history(v, k, st, bodies)
			all = append(all, past...)
			return err
		}
		if err := add(t.Kind, st); err != nil || t.Kind != record.Ticket {
			return err
		}
		return eachPart(v, p, st, add)
	})
	return all, err
}

// eachPart calls fn with a ticket's other records that this node has: its code, and its holdings with the present one first. Those that are
// over are shown at church level and above.
func eachPart(v *table.View, p auth.Principal, ticket *table.Stored, fn func(*record.Kind, *table.Stored) error) error {
	d, err := ticket.Decode(record.Ticket)
	if err != nil {
		return err
	}
	show := func(k *record.Kind, id record.ID) {
		var st *table.Stored
		if err == nil {
			st, err = v.LoadAny(k, id)
		}
		if err == nil && st != nil {
			err = fn(k, st)
		}
	}
	show(record.TicketCode, ticket.ID)
	for _, id := range entry.HoldingsOf(d) {
		if !p.IsOf(auth.EventOf) || id == entry.PresentOf(ticket.Body) {
			show(record.HolderName, id)
			show(record.Holder, id)
		}
	}
	return err
}

func history(v *table.View, k *record.Kind, st *table.Stored, bodies bool) (all []Past, err error) {
	t, err := table.LoadTree(v, k, st)
	if err != nil {
		return nil, err
	}
	for _, n := range slices.Backward(t.Nodes()) {
		past := Past{Kind: k, ID: k.FormatID(st.ID), Revision: n.Revision.String(), Key: n.Key, Fields: append([]string{}, n.Fields...), Deleted: n.Deleted,
			Winner: n.Revision == st.Revision, Held: n.Held && !n.Deleted}
		if n.At != 0 {
			past.At, past.Node = time.UnixMicro(n.At).UTC(), v.Store.Identity.Node()
		}
		if n.Node != (ulid.ULID{}) {
			past.Node = n.Node.String()
		}
		if bodies && past.Held {
			if past.Body, err = bodyThen(v, k, st, n); err != nil {
				return nil, err
			}
		}
		all = append(all, past)
	}
	return all, nil
}

// bodyThen shows a record as it was.
func bodyThen(v *table.View, k *record.Kind, st *table.Stored, n rev.Node) ([]byte, error) {
	d, err := table.DocOf(v, k, st, n.Revision)
	if err != nil || d == nil {
		return nil, table.OrCorrupt(err)
	}
	then := *st
	then.Body = d.Encode()
	then.UpdatedAt, then.UpdatedBy = n.At, n.Key
	return entry.ShowAs(v, nil, record.Admin, k, &then), nil
}
