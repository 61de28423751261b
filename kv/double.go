package kv

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"doorward/kv/record"
	"doorward/kv/value"
)

// The facts and tickets of a store alone decide which holders are in and which check-ins are double entries, in the order (hlc,
// id). Two stores with the same facts and tickets return the same result, in whatever order they arrived (sync.md §3).
//
// A check-in counts unless an undo names it or its list or direction is unknown. One in that counts is a double entry if an
// earlier one of its code or of its ticket, on its list, counts too and none between them leads out, or if its ticket is cancelled now. Each double entry has a
// row among the admissions, by event and in order; the row's value says why. A new fact can make or unmake only its own row and
// that of the next check-in that counts after it, by code and by ticket: settle checks these again.
const byDouble = 'd'

func eventDoubles(dst []byte, event int64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, byDouble), uint64(event))
}

// stand is a check-in with all that decides whether it counts.
type stand struct {
	admission
	event, ticket int64
	codeHash      codeHash
	list          string
	counts        bool // its list and direction are known
	out           bool
}

// standOf reads it out of a stored check-in.
func standOf(st *stored) stand {
	b := st.body
	e := stand{admission: admission{id: st.id}, event: intOf(b.Member("event_id")), ticket: intOf(b.Member("ticket_id")),
		codeHash: hashOf(b.Member("code_hash")), list: value.Unquote(b.Member("list"))}
	var hlc [8]byte
	if text := value.Unquote(b.Member("hlc")); len(text) == 2*len(hlc) {
		_, _ = hex.Decode(hlc[:], []byte(text)) // another text is no clock's reading: zero
	}
	e.hlc = binary.BigEndian.Uint64(hlc[:])
	direction := value.Unquote(b.Member("direction"))
	e.counts, e.out = counts(e.list, direction), direction == string(Out)
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
	code, ticket := byte(byCode), byte(byTicket)
	if out {
		code, ticket = byCodeOut, byTicketOut
	}
	if e.codeHash != (codeHash{}) {
		rows = append(rows, codeRows([]byte{code}, e.event, e.codeHash, e.list))
	}
	if e.ticket != 0 {
		rows = append(rows, ticketRows([]byte{ticket}, e.ticket, e.event, e.list))
	}
	return rows
}

// doubleKey is its row among the double entries.
func (e *stand) doubleKey() []byte { return admissionKey(eventDoubles(nil, e.event), e.hlc, e.id) }

// settleFact writes what follows from a fact that has come from elsewhere, in the operation that has stored it with its lookups.
// It may come at any time: an earlier check-in after a later one, an undo before its check-in, both before their ticket.
func settleFact(o *op, k *record.Kind, st *stored) error {
	switch k {
	case record.Checkin:
		for _, key := range admissionKeys(k, st) {
			o.put(admissionBucket, key, nil)
		}
		return settle(o, st.id)
	case record.Undo:
		id, _ := record.Checkin.ParseID(value.Unquote(st.body.Member("checkin_id"))) // an undo has one
		return settle(o, id)
	}
	return nil
}

// settle looks again at a check-in that is new, or that an undo names since, and at those that it may have stood before.
func settle(o *op, checkin record.ID) error {
	st, err := o.load(record.Checkin, checkin)
	if err != nil || st == nil {
		return err
	}
	e := standOf(st)
	if !e.counts {
		return nil
	}
	if err := list(o, &e); err != nil {
		return err
	}
	return afterwards(o.sight, &e, func(st *stored) error {
		next := standOf(st)
		return list(o, &next)
	})
}

// settleTicket checks again all check-ins of a ticket. Code that makes a ticket under a known id, or changes a ticket's state,
// must call it.
func settleTicket(o *op, ticket record.ID) error {
	merged, err := merged(o.sight, record.Ticket, ticket)
	if err != nil {
		return err
	}
	for _, id := range merged { // a check-in of a merged ticket is one of the ticket that stays
		if err := settleTicket(o, id); err != nil {
			return err
		}
	}
	var ids []record.ID
	err = o.Scan(admissionBucket, ticketAdmissions(nil, ticket.Int()), nil, func(key, _ []byte) (bool, error) {
		id, ok := record.Checkin.KeyID(key[len(key)-16:])
		if !ok {
			return false, ErrCorrupt
		}
		ids = append(ids, id)
		return true, nil
	})
	for i := 0; err == nil && i < len(ids); i++ {
		var st *stored
		if st, err = o.load(record.Checkin, ids[i]); err == nil && st != nil {
			e := standOf(st)
			err = list(o, &e)
		}
	}
	return err
}

// list writes or deletes a check-in's row among the double entries, as it now is one or not.
func list(o *op, e *stand) error {
	reason, err := doubled(o.sight, e)
	if err != nil {
		return err
	}
	key := e.doubleKey()
	was, err := o.Get(admissionBucket, key)
	if err != nil || string(was) == string(reason) {
		return err
	}
	change := int64(1)
	if reason == "" {
		change = -1
		o.delete(admissionBucket, key)
	} else {
		o.put(admissionBucket, key, []byte(reason))
	}
	if (was == nil) != (reason == "") {
		o.after(func() { o.store.doubles.Add(change) })
	}
	return nil
}

// doubled tells why a check-in is a double entry: AlreadyAdmitted, Cancelled, or "" where it is none.
func doubled(v *sight, e *stand) (Outcome, error) {
	if !e.counts || e.out {
		return "", nil
	}
	if undone, err := undone(v, e.id); err != nil || undone {
		return "", err
	}
	if first, err := entered(v, e, &e.admission); err != nil || first != nil {
		return AlreadyAdmitted, err
	}
	ticket, err := survivor(v, record.Ticket, record.Int(e.ticket))
	if err == nil && ticket != nil && string(ticket.body.Member("state")) == `"cancelled"` {
		return Cancelled, nil
	}
	return "", err
}

// afterwards calls fn with the next check-ins that count after one, in and out, by its code and by its ticket.
func afterwards(v *sight, e *stand, fn func(*stored) error) error {
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
		st, err := v.load(record.Checkin, id)
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
func followingCheckin(v *sight, prefix []byte, after admission) (next record.ID, err error) {
	from := admissionKey(bytes.Clone(prefix), after.hlc, after.id)
	err = v.Scan(admissionBucket, prefix, from, func(key, _ []byte) (bool, error) {
		id, ok := record.Checkin.KeyID(key[len(key)-16:])
		if !ok {
			return false, ErrCorrupt
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

// verifyDouble checks that the check-in which a row among the double entries leads to is one.
func verifyDouble(v *sight, key []byte) error {
	id, ok := record.Checkin.KeyID(key[max(0, len(key)-16):])
	st, err := v.load(record.Checkin, id)
	if err != nil || st == nil || !ok {
		return fmt.Errorf("a double entry leads to check-in %s: %w", record.Checkin.FormatID(id), orNotFound(err))
	}
	if e := standOf(st); !bytes.Equal(key, e.doubleKey()) {
		return fmt.Errorf("a double entry does not lead back from check-in %s", record.Checkin.FormatID(id))
	}
	return verifyListed(v, st)
}

// verifyListed checks that a check-in is among the double entries just where it is one.
func verifyListed(v *sight, st *stored) error {
	e := standOf(st)
	reason, err := doubled(v, &e)
	if err != nil {
		return err
	}
	if listed, err := v.Get(admissionBucket, e.doubleKey()); err != nil || string(listed) != string(reason) {
		return fmt.Errorf("check-in %s is listed wrongly among the double entries", record.Checkin.FormatID(st.id))
	}
	return nil
}
