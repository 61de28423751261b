package admission

import (
	"bytes"
	"fmt"
	"strings"

	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// SettleFact writes what follows from a fact of another node, in the transaction that has stored it with its lookups. Facts come in any
// order: an earlier check-in after a later one, an undo before its check-in, both before their ticket.
func SettleFact(o *table.Tx, k *record.Kind, st *table.Stored) error {
	switch k {
	case record.Checkin:
		for _, key := range Keys(k, st) {
			o.Put(table.AdmissionBucket, key, nil)
		}
		return Settle(o, st.ID)
	case record.Undo:
		return Settle(o, undoneBy(st))
	}
	return nil
}

// Settle lists a check-in that is new, or that an undo now names, among the double entries or takes it off. It does the same for the
// check-ins after it.
func Settle(o *table.Tx, checkin record.ID) error {
	st, err := o.Load(record.Checkin, checkin)
	if err != nil || st == nil {
		return err
	}
	c := Of(st)
	if c.unknown {
		return nil
	}
	if err := list(o, &c); err != nil {
		return err
	}
	return listNext(o, &c)
}

// SettleTicket checks again all check-ins of a ticket. Code that makes a ticket under a known id, or changes a ticket's state,
// must call it.
func SettleTicket(o *table.Tx, ticket record.ID) error {
	merged, err := table.Merged(o.View, record.Ticket, ticket)
	if err != nil {
		return err
	}
	for _, id := range merged { // a check-in of a merged ticket is one of the ticket that stays
		if err := SettleTicket(o, id); err != nil {
			return err
		}
	}
	ids, err := OfTicket(o.View, ticket)
	if err != nil {
		return err
	}
	return o.EachLive(record.Checkin, ids, func(st *table.Stored) error { return listStored(o, st) })
}

// Forget writes what follows from a fact or a ticket that this transaction has just taken out of the file without a tombstone, its
// lookups too. What stays in the file is then as if the record had never been here.
func Forget(o *table.Tx, k *record.Kind, st *table.Stored) error {
	switch k {
	case record.Checkin:
		return forgetCheckin(o, st)
	case record.Undo:
		return Settle(o, undoneBy(st))
	case record.Ticket:
		return SettleTicket(o, st.ID)
	}
	return nil
}

// forgetCheckin deletes the rows of a check-in, and settles the check-ins after it.
func forgetCheckin(o *table.Tx, st *table.Stored) error {
	for _, key := range Keys(record.Checkin, st) {
		o.Delete(table.AdmissionBucket, key)
	}
	c := Of(st)
	if err := listAs(o, &c, ""); err != nil {
		return err
	}
	return listNext(o, &c)
}

// undoneBy is the check-in that an undo names.
func undoneBy(undo *table.Stored) record.ID {
	id, _ := record.Checkin.ParseID(value.Unquote(undo.Body.Member("checkin_id"))) // an undo has one
	return id
}

// listNext lists the check-ins after a check-in.
func listNext(o *table.Tx, c *Checkin) error {
	return c.EachNext(o.View, func(st *table.Stored) error { return listStored(o, st) })
}

// listStored is list for a stored check-in.
func listStored(o *table.Tx, st *table.Stored) error {
	c := Of(st)
	return list(o, &c)
}

// list writes or deletes a check-in's row among the double entries, as it now is one or not.
func list(o *table.Tx, c *Checkin) error {
	reason, err := doubled(o.View, c)
	if err != nil {
		return err
	}
	return listAs(o, c, reason)
}

// listAs writes a check-in's row among the double entries with a reason. Without a reason it deletes the row.
func listAs(o *table.Tx, c *Checkin, reason outcome.Outcome) error {
	key, row := c.doubleKey(), c.listing(reason)
	was, err := o.Get(table.AdmissionBucket, key)
	if err != nil || string(was) == row {
		return err
	}
	change := int64(1)
	if reason == "" {
		change = -1
		o.Delete(table.AdmissionBucket, key)
	} else {
		o.Put(table.AdmissionBucket, key, []byte(row))
	}
	if (was == nil) != (reason == "") {
		o.After(func() {
			o.Store.Lists.Doubles.Add(change)
			if c.Verdict != "" {
				o.Store.Lists.LetIn.Add(change)
			}
		})
	}
	return nil
}

// doubled returns why a check-in is a double entry: its verdict, AlreadyAdmitted, Cancelled, or "" if it is none.
func doubled(v *table.View, c *Checkin) (outcome.Outcome, error) {
	if c.unknown || c.Out {
		return "", nil
	}
	if undone, err := Undone(v, c.ID); err != nil || undone {
		return "", err
	}
	if c.Verdict != "" {
		return c.Verdict, nil
	}
	if first, err := c.Entered(v); err != nil || first != nil {
		return outcome.AlreadyAdmitted, err
	}
	ticket, err := table.Survivor(v, record.Ticket, record.Int(c.Ticket))
	if err == nil && ticket != nil && string(ticket.Body.Member("state")) == `"cancelled"` {
		return outcome.Cancelled, nil
	}
	return "", err
}

// listing is what its row among the double entries says for a reason.
func (c *Checkin) listing(reason outcome.Outcome) string {
	if reason != "" && c.Verdict != "" {
		return table.LetInMark + string(reason)
	}
	return string(reason)
}

// Listed returns why a check-in is listed among the double entries; "" if it is not.
func (c *Checkin) Listed(v *table.View) (outcome.Outcome, error) {
	row, err := v.Get(table.AdmissionBucket, c.doubleKey())
	return outcome.Outcome(strings.TrimPrefix(string(row), table.LetInMark)), err
}

// Outcome returns what a stored check-in counts as: Admitted, AlreadyAdmitted, Undone, Left, NotInside, or its verdict. It returns "" if the
// check-in does not count.
func (c *Checkin) Outcome(v *table.View) (outcome.Outcome, error) {
	if c.unknown {
		return "", nil
	}
	listed, err := c.Listed(v)
	if err != nil || listed == outcome.AlreadyAdmitted {
		return outcome.AlreadyAdmitted, err
	}
	if undone, err := Undone(v, c.ID); err != nil || undone {
		return outcome.Undone, err
	}
	if c.Verdict != "" {
		return c.Verdict, nil
	}
	if !c.Out {
		return outcome.Admitted, nil
	}
	first, err := c.Entered(v)
	if err != nil || first == nil {
		return outcome.NotInside, err
	}
	return outcome.Left, nil
}

// EachNext calls fn with the check-ins that a check-in may have turned into something else: the next ones that count after it, in and out,
// by its code and by its ticket.
func (c *Checkin) EachNext(v *table.View, fn func(*table.Stored) error) error {
	if c.unknown {
		return nil
	}
	var last record.ID
	for _, prefix := range append(c.rows(false), c.rows(true)...) {
		next, err := earliest(v, prefix, &c.Place)
		if err != nil {
			return err
		}
		if next == nil || next.ID == last {
			continue
		}
		last = next.ID
		st, err := v.Load(record.Checkin, next.ID)
		if err != nil || st == nil {
			return err
		}
		if err := fn(st); err != nil {
			return err
		}
	}
	return nil
}

// VerifyDouble checks that the check-in which a row among the double entries leads to is one.
func VerifyDouble(v *table.View, key []byte) error {
	id, ok := record.Checkin.KeyID(key[max(0, len(key)-16):])
	st, err := v.Load(record.Checkin, id)
	if err != nil || st == nil || !ok {
		return fmt.Errorf("a double entry leads to check-in %s: %w", record.Checkin.FormatID(id), table.OrNotFound(err))
	}
	if c := Of(st); !bytes.Equal(key, c.doubleKey()) {
		return fmt.Errorf("a double entry does not lead back from check-in %s", record.Checkin.FormatID(id))
	}
	return VerifyListed(v, st)
}

// VerifyListed checks that a check-in is among the double entries just if it is one.
func VerifyListed(v *table.View, st *table.Stored) error {
	c := Of(st)
	reason, err := doubled(v, &c)
	if err != nil {
		return err
	}
	if listed, err := v.Get(table.AdmissionBucket, c.doubleKey()); err != nil || string(listed) != c.listing(reason) {
		return fmt.Errorf("check-in %s is listed wrongly among the double entries", record.Checkin.FormatID(st.ID))
	}
	return nil
}
