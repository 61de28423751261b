package kv

import (
	"encoding/binary"
	"slices"

	"doorward/kv/record"
)

// Whose a ticket was says its private half alone, and forgets it sooner than the other parts, which change less often, forget the names
// that stood beside it. So a row is kept of whoever held it once, and since when no more, until that person is erased.

// formerKey names such a row: ticket 8, person 8.
func formerKey(ticket record.ID, person int64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(ticket.Int())), uint64(person))
}

func cutFormer(key []byte) (ticket, person record.ID, err error) {
	if len(key) != 16 {
		return ticket, person, ErrCorrupt
	}
	return record.Int(int64(binary.BigEndian.Uint64(key))), record.Int(int64(binary.BigEndian.Uint64(key[8:]))), nil
}

// noteFormer notes whom a ticket has been taken from.
func noteFormer(o *op, k *record.Kind, before, next *stored) {
	if k != record.Holder || before.deleted {
		return
	}
	was := intOf(before.body.Member("person_id"))
	if was != 0 && (next.deleted || intOf(next.body.Member("person_id")) != was) {
		t, err := loadTree(o.sight, k, next)
		o.store.noteCorrupt(err)
		o.put(formerBucket, formerKey(next.id, was), binary.BigEndian.AppendUint64(nil, uint64(t.Find(next.revision).At)))
	}
}

// noteSince notes which revisions of a ticket's parts were the first of the next holder's time. What does not stand on them was made when
// the ticket was a person's who is erased, and may name that person whenever it comes. What the ticket itself says still of that person
// is emptied by a new revision. A laptop lets its centre judge that.
func noteSince(o *op, ticket record.ID, persons []record.ID, l *leftover) error {
	since := uint64(0)
	for _, person := range persons {
		row, err := o.Get(formerBucket, formerKey(ticket, person.Int()))
		if err != nil {
			return err
		}
		if len(row) == 8 {
			since = max(since, binary.BigEndian.Uint64(row))
			o.put(formerBucket, formerKey(ticket, person.Int()), nil) // what comes from now on may have been written later, and in the old time
		}
	}
	if since == 0 || o.store.isLeaf() {
		return nil
	}
	e, err := findErased(o.sight, record.Ticket, ticket)
	if err != nil {
		return err
	}
	if e == nil {
		e = newErased(record.Ticket)
		e.done, e.kept = o.now.UnixMicro(), true
	}
	l.e, l.since = e, int64(since)
	for _, k := range slices.Backward(ticketParts[:]) { // a name follows from the private half, a label from the name
		st, err := o.loadAny(k, ticket)
		if err == nil && st != nil {
			err = emptyLeftover(o, l, k, st)
		}
		if err != nil {
			return err
		}
	}
	hash := o.store.hashErased(record.Ticket, ticket)
	o.put(erasedBucket, hash[:], e.encode())
	return nil
}

// forgetFormer forgets who held a ticket once.
func forgetFormer(o *op, ticket record.ID) error {
	keys, err := firstKeys(o.sight.View, formerBucket, formerKey(ticket, 0)[:8], maxKept)
	for _, key := range keys {
		o.delete(formerBucket, key)
	}
	return err
}

// former are the rows of the persons that are erased.
func (e *eraser) former() (keys [][]byte, err error) {
	err = e.store.eachRow(formerBucket, nil, func(_ *sight, key, _ []byte) error {
		_, person, err := cutFormer(key)
		if err == nil && slices.Contains(e.all[record.Person], person) {
			keys = append(keys, slices.Clone(key))
		}
		return err
	})
	return keys, err
}

// heldOnce are the tickets that the persons held once: by the rows, and by the bodies that are kept, of losing branches too.
func (e *eraser) heldOnce() ([]record.ID, error) {
	tickets, err := e.keptOf(record.Holder)
	if err != nil {
		return nil, err
	}
	keys, err := e.former()
	for _, key := range keys {
		ticket, _, _ := cutFormer(key) // it was read before
		tickets = append(tickets, ticket)
	}
	return tickets, err
}

// forgetHeld takes the persons' rows away.
func (e *eraser) forgetHeld() error {
	keys, err := e.former()
	var steps []step
	for _, key := range keys {
		steps = append(steps, step{run: func(o *op) error {
			o.delete(formerBucket, key)
			return nil
		}})
	}
	return errorsOr(err, func() error { return e.store.doEach(steps) })
}
