package entry

import (
	"doorward/kv/record"
	"doorward/kv/table"
)

// ref answers a referred record's body for a reply; one that the reader does not see is as if it were gone.
func ref(v *table.View, k *record.Kind, id record.ID) (record.Body, bool) {
	seen := false
	st, err := v.LoadRef(k, id)
	if st != nil {
		seen, err = Sees(v, v.Reader, k, st)
	}
	if seen && v.Writing() {
		err = table.Unshown(v, k, st)
	}
	v.Store.Damage.Note(err)
	if !seen {
		return record.Body{}, false
	}
	return st.Body, true
}

// Show appends a record's reply.
func Show(v *table.View, dst []byte, s record.Surface, k *record.Kind, st *table.Stored) ([]byte, error) {
	if k == record.Ticket && s == record.Admin {
		return showTicket(v, dst, st)
	}
	return ShowAs(v, dst, s, k, st), nil
}

func ShowAs(v *table.View, dst []byte, s record.Surface, k *record.Kind, st *table.Stored) []byte {
	rv := &v.Shown
	if rv.Ref == nil {
		*rv = record.View{Now: v.Now, Zone: v.Store.Clock.Zone(), Ref: func(k *record.Kind, id record.ID) (record.Body, bool) { return ref(v, k, id) }, Page: v.Page}
	}
	rv.ID, rv.Body, rv.UpdatedAt, rv.UpdatedBy = st.ID, st.Body, st.Updated(), st.UpdatedBy
	if k == record.Event {
		rv.Count = func(string) int { return table.Listed(v, record.Ticket).Issued.Of(st.ID.Int()).Len() }
	}
	return k.Show(dst, s, rv)
}

// MakeReply is a record as a surface shows it, on memory of its own.
func MakeReply(v *table.View, s record.Surface, k *record.Kind, st *table.Stored) (Reply, error) {
	revision, err := RevisionOf(v, s, k, st)
	if err != nil {
		return Reply{}, err
	}
	shown := *st
	if err := table.Unshown(v, k, &shown); err != nil {
		return Reply{}, err
	}
	json, err := Show(v, nil, s, k, &shown)
	return Reply{ID: st.ID, JSON: json, Revision: revision}, err
}

// RevisionOf names the state of what a surface shows as one record.
func RevisionOf(v *table.View, s record.Surface, k *record.Kind, st *table.Stored) (string, error) {
	if k == record.Ticket && s == record.Admin {
		return ticketRevision(v, st)
	}
	return st.Revision.String(), nil
}
