package table

import "doorward/kv/record"

// Concealed is who and what shall be erased and is here still, for erasing has not come to its end: the disk is full, say. Nobody is
// shown it until then.
type Concealed struct {
	Persons  map[record.ID]bool
	Holdings map[record.ID]bool // nil: it is not known which
}

// holds tells a holding that is hidden.
func (c *Concealed) holds(id record.ID) bool { return c.Holdings == nil || c.Holdings[id] }

// Unshown empties a record that was read, or a kept body, of what is hidden.
func Unshown(v *View, k *record.Kind, st *Stored) error {
	c := v.Store.Recalls.Concealed.Load()
	if c == nil || v.Bare || st.Deleted || !mayHide(k) {
		return nil
	}
	d, err := st.Decode(k)
	if err != nil || !c.hides(k, st.ID, d) {
		return err
	}
	st.Body = blank(k, d).Encode()
	st.Version = k.Version
	return nil
}

// mayHide tells the kinds whose records tell of a person.
func mayHide(k *record.Kind) bool {
	return k == record.Person || k.OfHolding() || k == record.Conflict || k == record.Refusal
}

func (c *Concealed) hides(k *record.Kind, id record.ID, d *record.Doc) bool {
	if k == record.Conflict || k == record.Refusal {
		of, id, about := ListedRecord(k, d)
		return of != nil && (c.Persons[id] && of == record.Person || of.OfHolding() && c.holds(id) || about != nil && c.named(about))
	}
	return k == record.Person && c.Persons[id] || k.OfHolding() && c.holds(id) || c.named(d)
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
	empty := k.NewDoc()
	empty.Set(k.Home, d.Value(k.Home))
	if k.OfHolding() {
		empty.Set("ticket_id", d.Value("ticket_id"))
	}
	return empty
}
