package door

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"doorward/kv/engine"
	"doorward/kv/keys"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

func eventDoubles(dst []byte, event int64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, table.ByDouble), uint64(event))
}

// stand is a check-in with all that decides whether it counts.
type stand struct {
	admission
	event, ticket int64
	codeHash      table.CodeHash
	list          string
	counts        bool // its list and direction are known
	out           bool
}

// StandOf reads it out of a stored check-in.
func StandOf(st *table.Stored) stand {
	b := st.Body
	e := stand{admission: admission{id: st.ID}, event: table.IntOf(b.Member("event_id")), ticket: table.IntOf(b.Member("ticket_id")),
		codeHash: table.HashOf(b.Member("code_hash")), list: value.Unquote(b.Member("list"))}
	var hlc [8]byte
	if text := value.Unquote(b.Member("hlc")); len(text) == 2*len(hlc) {
		_, _ = hex.Decode(hlc[:], []byte(text)) // another text is no clock's reading: zero
	}
	e.Hlc = binary.BigEndian.Uint64(hlc[:])
	direction := value.Unquote(b.Member("direction"))
	e.counts, e.out = counts(e.list, direction), direction == string(table.Out)
	return e
}

// groups are the prefixes of the rows that a check-in stands among: its code's and its ticket's, as far as it names them.
func (e *stand) groups() [][]byte {
	if !e.counts {
		return nil
	}
	return e.rows(e.out)
}

// rows are the prefixes of the rows of a code and of a ticket that lead in, or out.
func (e *stand) rows(out bool) (rows [][]byte) {
	code, ticket := byte(table.ByCode), byte(table.ByTicket)
	if out {
		code, ticket = byCodeOut, byTicketOut
	}
	if e.codeHash != (table.CodeHash{}) {
		rows = append(rows, codeRows([]byte{code}, e.event, e.codeHash, e.list))
	}
	if e.ticket != 0 {
		rows = append(rows, ticketRows([]byte{ticket}, e.ticket, e.event, e.list))
	}
	return rows
}

// doubleKey is its row among the double entries.
func (e *stand) doubleKey() []byte { return admissionKey(eventDoubles(nil, e.event), e.Hlc, e.id) }

// SettleFact writes what follows from a fact that has come from elsewhere, in the operation that has stored it with its lookups.
// It may come at any time: an earlier check-in after a later one, an undo before its check-in, both before their ticket.
func SettleFact(o *table.Tx, k *record.Kind, st *table.Stored) error {
	switch k {
	case record.Checkin:
		for _, key := range AdmissionKeys(k, st) {
			o.Put(table.AdmissionBucket, key, nil)
		}
		return settle(o, st.ID)
	case record.Undo:
		id, _ := record.Checkin.ParseID(value.Unquote(st.Body.Member("checkin_id"))) // an undo has one
		return settle(o, id)
	}
	return nil
}

// settle looks again at a check-in that is new, or that an undo names since, and at those that it may have stood before.
func settle(o *table.Tx, checkin record.ID) error {
	st, err := o.Load(record.Checkin, checkin)
	if err != nil || st == nil {
		return err
	}
	e := StandOf(st)
	if !e.counts {
		return nil
	}
	if err := list(o, &e); err != nil {
		return err
	}
	return afterwards(o.View, &e, func(st *table.Stored) error {
		next := StandOf(st)
		return list(o, &next)
	})
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
	var ids []record.ID
	err = o.Scan(table.AdmissionBucket, table.TicketAdmissions(nil, ticket.Int()), nil, func(key, _ []byte) (bool, error) {
		id, ok := record.Checkin.KeyID(key[len(key)-16:])
		if !ok {
			return false, engine.ErrCorrupt
		}
		ids = append(ids, id)
		return true, nil
	})
	for i := 0; err == nil && i < len(ids); i++ {
		var st *table.Stored
		if st, err = o.Load(record.Checkin, ids[i]); err == nil && st != nil {
			e := StandOf(st)
			err = list(o, &e)
		}
	}
	return err
}

// list writes or deletes a check-in's row among the double entries, as it now is one or not.
func list(o *table.Tx, e *stand) error {
	reason, err := doubled(o.View, e)
	if err != nil {
		return err
	}
	key := e.doubleKey()
	was, err := o.Get(table.AdmissionBucket, key)
	if err != nil || string(was) == string(reason) {
		return err
	}
	change := int64(1)
	if reason == "" {
		change = -1
		o.Delete(table.AdmissionBucket, key)
	} else {
		o.Put(table.AdmissionBucket, key, []byte(reason))
	}
	if (was == nil) != (reason == "") {
		o.After(func() { o.Store.Doubles.Add(change) })
	}
	return nil
}

// doubled tells why a check-in is a double entry: AlreadyAdmitted, Cancelled, or "" where it is none.
func doubled(v *table.View, e *stand) (table.Outcome, error) {
	if !e.counts || e.out {
		return "", nil
	}
	if undone, err := undone(v, e.id); err != nil || undone {
		return "", err
	}
	if first, err := entered(v, e, &e.admission); err != nil || first != nil {
		return AlreadyAdmitted, err
	}
	ticket, err := table.Survivor(v, record.Ticket, record.Int(e.ticket))
	if err == nil && ticket != nil && string(ticket.Body.Member("state")) == `"cancelled"` {
		return Cancelled, nil
	}
	return "", err
}

// afterwards calls fn with the next check-ins that count after one, in and out, by its code and by its ticket.
func afterwards(v *table.View, e *stand, fn func(*table.Stored) error) error {
	if !e.counts {
		return nil
	}
	var last record.ID
	for _, group := range append(e.rows(false), e.rows(true)...) {
		id, err := followingCheckin(v, group, e.admission)
		if err != nil {
			return err
		}
		if id.IsZero() || id == last {
			continue
		}
		last = id
		st, err := v.Load(record.Checkin, id)
		if err != nil || st == nil {
			return err
		}
		if err := fn(st); err != nil {
			return err
		}
	}
	return nil
}

// following is the first check-in under a prefix that stands after another and is not undone; the zero id for none.
func followingCheckin(v *table.View, prefix []byte, after admission) (next record.ID, err error) {
	from := admissionKey(bytes.Clone(prefix), after.Hlc, after.id)
	err = v.Scan(table.AdmissionBucket, prefix, from, func(key, _ []byte) (bool, error) {
		id, ok := record.Checkin.KeyID(key[len(key)-16:])
		if !ok {
			return false, engine.ErrCorrupt
		}
		undone, err := undone(v, id)
		if err != nil || undone || id == after.id {
			return true, err
		}
		next = id
		return false, nil
	})
	return next, err
}

// VerifyDouble checks that the check-in which a row among the double entries leads to is one.
func VerifyDouble(v *table.View, key []byte) error {
	id, ok := record.Checkin.KeyID(key[max(0, len(key)-16):])
	st, err := v.Load(record.Checkin, id)
	if err != nil || st == nil || !ok {
		return fmt.Errorf("a double entry leads to check-in %s: %w", record.Checkin.FormatID(id), keys.OrNotFound(err))
	}
	if e := StandOf(st); !bytes.Equal(key, e.doubleKey()) {
		return fmt.Errorf("a double entry does not lead back from check-in %s", record.Checkin.FormatID(id))
	}
	return VerifyListed(v, st)
}

// VerifyListed checks that a check-in is among the double entries just where it is one.
func VerifyListed(v *table.View, st *table.Stored) error {
	e := StandOf(st)
	reason, err := doubled(v, &e)
	if err != nil {
		return err
	}
	if listed, err := v.Get(table.AdmissionBucket, e.doubleKey()); err != nil || string(listed) != string(reason) {
		return fmt.Errorf("check-in %s is listed wrongly among the double entries", record.Checkin.FormatID(st.ID))
	}
	return nil
}
