package table

import "doorward/kv/record"

// Concealed is who and what shall be erased and is here still, for erasing has not come to its end: the disk is full, say. Nobody is
// shown it meanwhile. Records that are of use without what is personal in them stay to be seen without it, as tickets do.
type Concealed struct {
	Persons map[record.ID]bool
	Tickets map[record.ID]bool // nil: it is not known which
	Past    map[record.ID]bool // tickets that another holder has now; nil: it is not known which
}

// holds tells a ticket that is hidden.
func (c *Concealed) holds(ticket record.ID) bool { return c.Tickets == nil || c.Tickets[ticket] }

// Unshown empties a record that was read of what nobody is shown.
func Unshown(v *View, k *record.Kind, st *Stored) error {
	c := v.Store.Recalls.Concealed.Load()
	if c == nil || v.Bare || st.Deleted || !mayHide(k) {
		return nil
	}
	return emptyConcealed(v, c, k, st, false)
}

// unshownPast is unshown for a kept body.
func unshownPast(v *View, k *record.Kind, st *Stored) error {
	c := v.Store.Recalls.Concealed.Load()
	if c == nil || v.Bare || !mayHide(k) {
		return nil
	}
	return emptyConcealed(v, c, k, st, ErasedAs(k) == record.Ticket && (c.Past == nil || c.Past[st.Id]))
}

func emptyConcealed(v *View, c *Concealed, k *record.Kind, st *Stored, whole bool) error {
	d, err := st.Decode(k)
	if err != nil || !whole && !c.hides(k, st.Id, d) {
		return err
	}
	if stays, err := stays(v, k, st); err != nil || stays {
		return err
	}
	st.Body = blank(k, d).Encode()
	st.Version = k.Version
	return nil
}

// stays tells a part of a ticket that erasing leaves as it is, for it was made since, or the laptop does not know what was: who read it
// without its names meanwhile, as an index or a replication may, would never read it again.
func stays(v *View, k *record.Kind, st *Stored) (bool, error) {
	if ErasedAs(k) != record.Ticket {
		return false, nil
	}
	e, err := FindErased(v, k, st.Id)
	if err != nil || e == nil {
		return false, err
	}
	if of, err := HolderErased(v, st.Id); err != nil || of {
		return false, err // whatever of the ticket was made since
	}
	if v.Store.IsLeaf() && len(e.First) == 0 {
		return true, nil
	}
	return StandsOn(v, e, k, st)
}

// mayHide tells the kinds whose records tell of a person.
func mayHide(k *record.Kind) bool {
	return k == record.Person || ErasedAs(k) == record.Ticket || k == record.Conflict || k == record.Refusal
}

func (c *Concealed) hides(k *record.Kind, id record.ID, d *record.Doc) bool {
	if k == record.Conflict || k == record.Refusal {
		of, id, about := ListedRecord(k, d)
		return of != nil && (c.Persons[id] && of == record.Person || ErasedAs(of) == record.Ticket && c.holds(id) || about != nil && c.named(about))
	}
	return k == record.Person && c.Persons[id] || k != record.Person && c.holds(id) || c.named(d)
}

// named tells whether a record refers to a person who is hidden.
func (c *Concealed) named(d *record.Doc) bool {
	for id := range c.Persons {
		if record.Refers(d, record.Person, id) {
			return true
		}
	}
	return false
}

// blank is what is shown instead of a record.
func blank(k *record.Kind, d *record.Doc) *record.Doc {
	switch k {
	case record.Person:
		empty := k.NewDoc()
		empty.Set(k.Home, d.Value(k.Home))
		return empty
	case record.Conflict:
		d = d.Clone()
		d.Set("winner", []byte("null"))
		d.Set("other", []byte("null"))
		return d
	case record.Refusal:
		d = d.Clone()
		d.Set("doc", []byte("{}"))
		return d
	}
	return d.Erased()
}
