package kv

import (
	"slices"

	"doorward/kv/record"
)

// concealed is who and what shall be erased and is here still, for erasing has not come to its end: the disk is full, say. Nobody is
// shown it meanwhile. Records that are of use without what is personal in them stay to be seen without it, as tickets do.
type concealed struct {
	persons map[record.ID]bool
	tickets map[record.ID]bool // nil: it is not known which
	past    map[record.ID]bool // tickets that another holder has now; nil: it is not known which
}

// conceal hides from now on what an eraser is at; of a ticket that was passed on, what it was before. Where damage keeps it from
// telling which tickets these are, it hides whose all tickets are.
func (s *Store) conceal(e *eraser) {
	persons, tickets := e.all[record.Person], slices.Clip(e.all[record.Ticket])
	if len(persons)+len(tickets) == 0 {
		return
	}
	c := &concealed{persons: setOf(persons)}
	if past, err := e.heldOnce(); err == nil { // what is damaged is counted where it is read
		c.past = setOf(past)
	}
	err := s.view(func(v *sight) error {
		for _, id := range persons {
			held, err := v.lookup(record.Holder, "person_id", id.Int())
			if err != nil {
				return err
			}
			tickets = append(tickets, held...)
		}
		return nil
	})
	if err == nil { // as above
		c.tickets = setOf(tickets)
	}
	s.recalls.concealed.Store(c)
}

func setOf(ids []record.ID) map[record.ID]bool {
	set := map[record.ID]bool{}
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// holds tells a ticket that is hidden.
func (c *concealed) holds(ticket record.ID) bool { return c.tickets == nil || c.tickets[ticket] }

// unshown empties a record that was read of what nobody is shown.
func unshown(v *sight, k *record.Kind, st *stored) error {
	c := v.store.recalls.concealed.Load()
	if c == nil || v.bare || st.deleted || !mayHide(k) {
		return nil
	}
	return emptyConcealed(v, c, k, st, false)
}

// unshownPast is unshown for a kept body.
func unshownPast(v *sight, k *record.Kind, st *stored) error {
	c := v.store.recalls.concealed.Load()
	if c == nil || v.bare || !mayHide(k) {
		return nil
	}
	return emptyConcealed(v, c, k, st, erasedAs(k) == record.Ticket && (c.past == nil || c.past[st.id]))
}

func emptyConcealed(v *sight, c *concealed, k *record.Kind, st *stored, whole bool) error {
	d, err := st.decode(k)
	if err != nil || !whole && !c.hides(k, st.id, d) {
		return err
	}
	if stays, err := stays(v, k, st); err != nil || stays {
		return err
	}
	st.body = blank(k, d).Encode()
	st.version = k.Version
	return nil
}

// stays tells a part of a ticket that erasing leaves as it is, for it was made since, or the laptop does not know what was: who read it
// without its names meanwhile, as an index or a replication may, would never read it again.
func stays(v *sight, k *record.Kind, st *stored) (bool, error) {
	if erasedAs(k) != record.Ticket {
		return false, nil
	}
	e, err := findErased(v, k, st.id)
	if err != nil || e == nil {
		return false, err
	}
	if of, err := holderErased(v, st.id); err != nil || of {
		return false, err // whatever of the ticket was made since
	}
	if v.store.isLeaf() && len(e.first) == 0 {
		return true, nil
	}
	return standsOn(v, e, k, st)
}

// mayHide tells the kinds whose records tell of a person.
func mayHide(k *record.Kind) bool {
	return k == record.Person || erasedAs(k) == record.Ticket || k == record.Conflict || k == record.Refusal
}

func (c *concealed) hides(k *record.Kind, id record.ID, d *record.Doc) bool {
	if k == record.Conflict || k == record.Refusal {
		of, id, about := listedRecord(k, d)
		return of != nil && (c.persons[id] && of == record.Person || erasedAs(of) == record.Ticket && c.holds(id) || about != nil && c.named(about))
	}
	return k == record.Person && c.persons[id] || k != record.Person && c.holds(id) || c.named(d)
}

// named tells whether a record refers to a person who is hidden.
func (c *concealed) named(d *record.Doc) bool {
	for id := range c.persons {
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

// ErasuresUnfinished is how many records shall be erased and could not be. It is tried again by itself, and nobody is shown what is
// personal in them.
func (s *Store) ErasuresUnfinished() int { return int(s.erasures.unfinished.Load()) }
