package merge

import (
	"encoding/binary"
	"slices"

	"doorward/kv/engine"
	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Whose a ticket was says its private half alone, and forgets it sooner than the other parts, which change less often, forget the names
// that stood beside it. So a row is kept of whoever held it once, and since when no more, until that person is erased.

// formerKey names such a row: ticket 8, person 8.
func formerKey(ticket record.ID, person int64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(ticket.Int())), uint64(person))
}

func CutFormer(key []byte) (ticket, person record.ID, err error) {
	if len(key) != 16 {
		return ticket, person, engine.ErrCorrupt
	}
	return record.Int(int64(binary.BigEndian.Uint64(key))), record.Int(int64(binary.BigEndian.Uint64(key[8:]))), nil
}

// NoteFormer notes whom a ticket has been taken from.
func NoteFormer(o *table.Tx, k *record.Kind, before, next *table.Stored) {
	if k != record.Holder || before.Deleted {
		return
	}
	was := table.IntOf(before.Body.Member("person_id"))
	if was != 0 && (next.Deleted || table.IntOf(next.Body.Member("person_id")) != was) {
		t, err := table.LoadTree(o.View, k, next)
		o.Store.NoteCorrupt(err)
		o.Put(table.FormerBucket, formerKey(next.Id, was), binary.BigEndian.AppendUint64(nil, uint64(t.Find(next.Revision).At)))
	}
}

// NoteSince notes which revisions of a ticket's parts were the first of the next holder's time. What does not stand on them was made when
// the ticket was a person's who is erased, and may name that person whenever it comes. What the ticket itself says still of that person
// is emptied by a new revision. A laptop lets its centre judge that.
func NoteSince(o *table.Tx, ticket record.ID, persons []record.ID, l *Leftover) error {
	since := uint64(0)
	for _, person := range persons {
		row, err := o.Get(table.FormerBucket, formerKey(ticket, person.Int()))
		if err != nil {
			return err
		}
		if len(row) == 8 {
			since = max(since, binary.BigEndian.Uint64(row))
			o.Put(table.FormerBucket, formerKey(ticket, person.Int()), nil) // what comes from now on may have been written later, and in the old time
		}
	}
	if since == 0 || o.Store.IsLeaf() {
		return nil
	}
	e, err := table.FindErased(o.View, record.Ticket, ticket)
	if err != nil {
		return err
	}
	if e == nil {
		e = table.NewErased(record.Ticket)
		e.Done, e.Kept = o.Now.UnixMicro(), true
	}
	l.e, l.since = e, int64(since)
	for _, k := range slices.Backward(ledger.TicketParts[:]) { // a name follows from the private half, a label from the name
		st, err := o.LoadAny(k, ticket)
		if err == nil && st != nil {
			err = emptyLeftover(o, l, k, st)
		}
		if err != nil {
			return err
		}
	}
	hash := o.Store.HashErased(record.Ticket, ticket)
	o.Put(table.ErasedBucket, hash[:], e.Encode())
	return nil
}

// forgetFormer forgets who held a ticket once.
func forgetFormer(o *table.Tx, ticket record.ID) error {
	keys, err := table.FirstKeys(o.View.View, table.FormerBucket, formerKey(ticket, 0)[:8], table.MaxKept)
	for _, key := range keys {
		o.Delete(table.FormerBucket, key)
	}
	return err
}
