package kv

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/record"
	"doorward/kv/value"
)

// extend finds what else belongs to the persons that are erased, and begins to erase it; more tells that there was any.
func (e *eraser) extend() (more bool, err error) {
	before := len(e.all[record.Ticket]) + len(e.all[record.Membership]) + len(e.past)
	var tickets, memberships []record.ID
	err = e.store.view(func(v *sight) error {
		for _, person := range e.all[record.Person] {
			held, err := v.lookup(record.Holder, "person_id", person.Int())
			if err != nil {
				return err
			}
			in, err := v.lookup(record.Membership, "person", person.Int())
			if err != nil {
				return err
			}
			tickets, memberships = append(tickets, held...), append(memberships, in...)
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	if tickets, err = e.giveToOthers(tickets); err != nil {
		return false, err
	}
	if err := e.begin(record.Ticket, tickets); err != nil {
		return false, err
	}
	kept, err := e.keptOf(record.Membership)
	if err != nil {
		return false, err
	}
	if err := e.begin(record.Membership, append(memberships, kept...)); err != nil {
		return false, err
	}
	if err := e.extendPast(); err != nil {
		return false, err
	}
	return len(e.all[record.Ticket])+len(e.all[record.Membership])+len(e.past) > before, nil
}

// giveToOthers gives the tickets away that a conflict says are somebody else's as well, and answers the rest.
func (e *eraser) giveToOthers(tickets []record.ID) (rest []record.ID, err error) {
	if e.store.isLeaf() {
		return tickets, nil
	}
	var steps []step
	for _, id := range tickets {
		steps = append(steps, step{run: func(o *op) error {
			given, err := giveToOther(o, id, e.all[record.Person])
			if err == nil && !given {
				rest = append(rest, id)
			}
			if err == nil && given {
				err = noteSince(o, id, e.all[record.Person], &leftover{none: true})
			}
			return err
		}})
	}
	return rest, e.store.doEach(steps)
}

// extendPast finds the tickets that were the person's once, also by what staff were to look at.
func (e *eraser) extendPast() error {
	past, err := e.heldOnce()
	if err != nil {
		return err
	}
	for _, listed := range []*record.Kind{record.Conflict, record.Refusal} {
		err := eachListed(e.store.tables, listed, func(_ *stored, d *record.Doc) {
			k, id, about := listedRecord(listed, d)
			if about != nil && erasedAs(k) == record.Ticket && e.isNamedBy(about) {
				past = append(past, id)
			}
		})
		if err != nil {
			return err
		}
	}
	for _, id := range past {
		if !slices.Contains(e.past, id) && !slices.Contains(e.all[record.Ticket], id) {
			e.past = append(e.past, id)
		}
	}
	return nil
}

// keptOf are the records of a kind of which a body is kept that names a person.
func (e *eraser) keptOf(k *record.Kind) (ids []record.ID, err error) {
	if len(e.all[record.Person]) == 0 {
		return nil, nil
	}
	err = e.store.eachRow(bodyBucket, []byte{k.Number}, func(_ *sight, key, row []byte) error {
		_, id, _, err := cutRecord(key)
		st := &stored{id: id}
		if err == nil {
			err = st.parseBody(k, row)
		}
		if err != nil {
			return err
		}
		d, err := st.decode(k)
		if err == nil && e.isNamedBy(d) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		return err
	})
	return ids, err
}

// eachListed calls fn with all conflicts or all refusals.
func eachListed(s *tables, listed *record.Kind, fn func(*stored, *record.Doc)) error {
	return s.eachRow(kindBucket(listed), nil, func(v *sight, key, row []byte) error {
		id, _ := listed.KeyID(key) // its length is right
		st, err := listedRow(v, listed, id, row)
		if err != nil || st == nil {
			return err
		}
		d, err := st.decode(listed)
		if err == nil {
			fn(st, d)
		}
		return err
	})
}

// listedRow reads a conflict or a refusal, and one that is settled as it was before, for the file still has that; nil where it has not.
func listedRow(v *sight, listed *record.Kind, id record.ID, row []byte) (*stored, error) {
	st := &stored{id: id}
	if err := st.read(listed, row); err != nil || !st.deleted {
		return st, err
	}
	kept, err := v.Get(bodyBucket, bodyKey(listed, id, st.before()))
	if err != nil || kept == nil {
		return nil, err
	}
	was := &stored{id: id}
	return was, was.parseBody(listed, kept)
}

// isNamedBy tells a record that refers to a person who is erased.
func (e *eraser) isNamedBy(d *record.Doc) bool {
	return slices.ContainsFunc(e.all[record.Person], func(id record.ID) bool { return record.Refers(d, record.Person, id) })
}

// is tells a record that is erased, wholly or in what it was.
func (e *eraser) is(k *record.Kind, id record.ID) bool {
	return slices.Contains(e.all[erasedAs(k)], id) || erasedAs(k) == record.Ticket && slices.Contains(e.past, id)
}

// lists tells a conflict or a refusal that is about what is erased.
func (e *eraser) lists(listed *record.Kind, d *record.Doc) bool {
	k, id, about := listedRecord(listed, d)
	return k != nil && (e.is(k, id) || about != nil && e.isNamedBy(about))
}

// listedRecord is the record that a conflict or a refusal is about, and, where it holds one, its body or the field of it that it
// holds.
func listedRecord(listed *record.Kind, d *record.Doc) (k *record.Kind, id record.ID, about *record.Doc) {
	if listed == record.Refusal {
		doc := d.Value("doc")
		body := record.Body{Shown: doc[1 : len(doc)-1]}
		k, id, ok := record.ParseDocID(value.Unquote(body.Member("_id")))
		if !ok {
			return nil, id, nil
		}
		about, _ = k.Decode(body) // one that cannot be read names nobody
		return k, id, about
	}
	k, ok := record.ByName(d.Text("kind"))
	if !ok {
		return nil, id, nil
	}
	id, _ = k.ParseID(d.Text("record_id")) // it was written by us
	about = k.NewDoc()
	other := d.Value("other")
	if d.Text("field") == "" && other.Kind() == jsontext.KindBeginObject {
		about, _ = k.Decode(record.Body{Shown: other[1 : len(other)-1]})
	} else if f, known := k.Field(d.Text("field")); known && f.Stored() {
		about.Set(f.Name, slices.Clone(other))
	}
	return k, id, about
}

// answers tells a kept answer that shows what is erased.
func (e *eraser) answers(r Reply) bool {
	for _, k := range []*record.Kind{record.Person, record.Membership} {
		if slices.Contains(e.all[k], r.ID) && k.ShowsAll(record.V1, r.JSON) {
			return true
		}
	}
	return e.is(record.Ticket, r.ID) && record.TicketForm.ShowsAll(record.Admin, r.JSON)
}

// identify finds the records that are to be erased by their hashes, and answers the hashes of those that are not here. A ticket is here
// where any part of it is: a laptop brings them in any order.
func (e *eraser) identify(pending []ledgerLine) (absent []ledgerLine, err error) {
	wanted := map[erasedHash]bool{}
	sought := map[*record.Kind]int{}
	for _, l := range pending {
		if !wanted[l.hash] {
			wanted[l.hash] = true
			sought[l.kind]++
		}
	}
	for _, k := range [...]*record.Kind{record.Person, record.Membership, record.Ticket, record.HolderName, record.Holder} {
		as := erasedAs(k)
		if sought[as] == 0 {
			continue
		}
		err := e.keys(kindBucket(k), func(key []byte) {
			id, ok := k.KeyID(key)
			if hash := e.store.hashErased(k, id); ok && wanted[hash] {
				e.all[as] = append(e.all[as], id)
				delete(wanted, hash)
				sought[as]--
			}
		})
		if err != nil {
			return nil, err
		}
	}
	for _, l := range pending {
		if wanted[l.hash] {
			absent = append(absent, l)
		}
	}
	return absent, nil
}
