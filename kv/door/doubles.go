package door

import (
	"bytes"
	"slices"
	"time"

	"doorward/kv/admission"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// DoubleEntry is a check-in that counts and should not have been made: the guest was inside already, or the ticket is cancelled. It stays
// as it is and is listed for staff.
type DoubleEntry struct {
	CheckinID string
	Event     int64
	Ticket    int64
	Label     string // door-safe, as what follows
	Type      string
	Order     string
	List      string
	Door      string
	At        time.Time
	Basis     string          // "offline" if a scanner let the guest in before it could ask
	Reason    outcome.Outcome // AlreadyAdmitted or Cancelled
	First     *Decision       // the admission that counts; nil if this is it

	Node   string // the node that wrote it
	Key    int64  // api key; 0 = none
	Holder string // full name, if the principal may see it
}

// DoubleEntries reads a part of the double entries, in the order of events and within an event in that of its check-ins. With an event they
// are those of its doors; with 0 they are staff's, of all events that the principal sees, with conditions on event_id. It returns a
// *Forbidden, ErrNotFound if the event is not the principal's, and a fault.ByField if a condition names an event that is not.
func (dk *Desk) DoubleEntries(p auth.Principal, event int64, q desk.Part) (page desk.PageOf[DoubleEntry], err error) {
	surface := record.V1
	if event == 0 {
		surface = record.Admin
	}
	if err := p.CheckKind(surface, record.Checkin, "GET"); err != nil {
		return page, err
	}
	err = dk.tables.View(func(v *table.View) error {
		prefixes, err := doublesOf(v, p, event, q.Where)
		if err != nil {
			return err
		}
		var ids []record.ID
		for _, prefix := range prefixes {
			if ids, err = doubleIDs(v, ids, prefix, q, &page.Count); err != nil {
				return err
			}
		}
		for _, id := range ids {
			e, err := doubleEntry(v, p, id)
			if err != nil {
				return err
			}
			page.Items = append(page.Items, e)
		}
		return nil
	})
	return page, err
}

// doublesOf are the prefixes of the rows of an event, or of those that fulfil some conditions.
func doublesOf(v *table.View, p auth.Principal, event int64, where []desk.Where) (prefixes [][]byte, err error) {
	if event != 0 {
		_, err := entry.Find(v, p, record.Event, record.Int(event))
		return [][]byte{admission.Doubles(event)}, err
	}
	kinds := desk.Query{Kind: record.Checkin, Where: where}
	if err := desk.CheckChoices(v, p, kinds); err != nil {
		return nil, err
	}
	h, err := desk.ScopeOf(v, p, kinds)
	if h.All {
		return [][]byte{admission.AllDoubles()}, err
	}
	for _, event := range h.Homes {
		prefixes = append(prefixes, admission.Doubles(event))
	}
	slices.SortFunc(prefixes, bytes.Compare)
	return prefixes, err
}

// doubleIDs appends the page's part of the rows under a prefix, and counts them all.
func doubleIDs(v *table.View, ids []record.ID, prefix []byte, q desk.Part, count *int) ([]record.ID, error) {
	err := v.Scan(table.AdmissionBucket, prefix, nil, func(key, _ []byte) (bool, error) {
		if *count >= q.Offset && len(ids) < q.Limit {
			id, _ := record.Checkin.KeyID(key[len(key)-16:]) // its length is right
			ids = append(ids, id)
		}
		*count++
		return true, nil
	})
	return ids, err
}

// doubleEntry reads one double entry and describes its ticket.
func doubleEntry(v *table.View, p auth.Principal, id record.ID) (d DoubleEntry, err error) {
	st, err := v.Load(record.Checkin, id)
	if err != nil || st == nil {
		return d, table.OrNotFound(err)
	}
	c := admission.Of(st)
	reason, err := c.Listed(v)
	if err != nil {
		return d, err
	}
	at, _ := table.TimeOf(st.Body.Member("at")) // facts have one
	d = DoubleEntry{
		CheckinID: record.Checkin.FormatID(id), Event: c.Event, Ticket: c.Ticket, List: c.List, At: at, Reason: reason,
		Door: value.Unquote(st.Body.Member("door")), Basis: value.Unquote(st.Body.Member("basis")),
		Node: value.Unquote(st.Body.Member("node")), Key: value.Int(st.Body.Member("key_id")),
	}
	first, err := c.Entered(v)
	if err != nil {
		return d, err
	}
	if first != nil {
		of := decisionOf(v, outcome.AlreadyAdmitted, first, "")
		d.First = &of
	}
	return d, describeDouble(v, p, &d, entry.IDOfHolding(st.Body.Member("holding")))
}

func describeDouble(v *table.View, p auth.Principal, d *DoubleEntry, holding record.ID) error {
	ticket, err := v.Load(record.Ticket, record.Int(d.Ticket))
	if err != nil || ticket == nil {
		return err
	}
	of := Decision{holding: holding}
	if err := describe(v, &of, p, ticket); err != nil {
		return err
	}
	d.Label, d.Type, d.Order = of.Label, of.Type, of.Order
	if of.Holder != nil {
		d.Holder = *of.Holder
	}
	return nil
}
