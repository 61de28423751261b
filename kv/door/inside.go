package door

import (
	"encoding/binary"
	"slices"

	"doorward/kv/engine"
	"doorward/kv/fault"
	"doorward/kv/keys"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// reentry is the list_rule of an event that lets its guests out and in again.
const reentry = "reentry"

// errNoWay is what a scan at a door that is set to a way finds wrong, where the event has no such way.
var errNoWay = fault.ByField{"direction": {"The event's list_rule is not reentry: its doors lead in."}}

// wayAllowed refuses a way that the event's rule does not know.
func wayAllowed(event *table.Stored, way table.Way) error {
	if way == "" || way == table.In || value.Unquote(event.Body.Member("list_rule")) == reentry {
		return nil
	}
	return errNoWay
}

// firstAdmission is the check-in by which the holder of a code or its ticket is in, on a list; nil where there is none.
func firstAdmission(v *table.View, event int64, hash table.CodeHash, ticket int64, list string) (*table.Stored, error) {
	return entered(v, &stand{event: event, codeHash: hash, ticket: ticket, list: list, counts: true}, nil)
}

// entered is the check-in by which a holder is inside just before a place in the order: the first one in since the last one out. It is
// nil for a holder outside. Without a place it is about now.
func entered(v *table.View, e *stand, before *admission) (*table.Stored, error) {
	first, err := e.firstIn(v, nil, before)
	if err != nil || first == nil {
		return nil, err
	}
	out, err := e.lastOut(v, before)
	if err != nil {
		return nil, err
	}
	if out != nil {
		if first, err = e.firstIn(v, out, before); err != nil || first == nil {
			return nil, err
		}
	}
	return v.Load(record.Checkin, first.id)
}

// firstIn is the earliest check-in in between two places in the order that no undo names; nil for none.
func (e *stand) firstIn(v *table.View, after, before *admission) (first *admission, err error) {
	var buf [64]byte
	look := func(prefix []byte) error {
		found, err := earliest(v, prefix, after)
		if found != nil && (first == nil || found.before(*first)) {
			first = found
		}
		return err
	}
	if e.codeHash != (table.CodeHash{}) {
		err = look(codeRows(append(buf[:0], table.ByCode), e.event, e.codeHash, e.list))
	}
	if err == nil && e.ticket != 0 {
		err = look(ticketRows(append(buf[:0], table.ByTicket), e.ticket, e.event, e.list))
	}
	if err != nil || first == nil || before != nil && !first.before(*before) {
		return nil, err
	}
	return first, nil
}

// earliest is the first row under a prefix, after a place in the order, whose check-in is not undone.
func earliest(v *table.View, prefix []byte, after *admission) (first *admission, err error) {
	var from []byte
	if after != nil {
		from = admissionKey(slices.Clone(prefix), after.Hlc, after.id)
	}
	err = v.Scan(table.AdmissionBucket, prefix, from, func(key, _ []byte) (bool, error) {
		at, err := admissionOf(prefix, key)
		if err != nil {
			return false, err
		}
		gone, err := undone(v, at.id)
		if err != nil || gone {
			return true, err
		}
		first = &at
		return false, nil
	})
	return first, err
}

// lastOut is the last check-in out before a place in the order that no undo names; nil for none.
func (e *stand) lastOut(v *table.View, before *admission) (last *admission, err error) {
	for _, prefix := range e.rows(true) {
		var outs []admission
		err := v.Scan(table.AdmissionBucket, prefix, nil, func(key, _ []byte) (bool, error) {
			at, err := admissionOf(prefix, key)
			if err != nil || before != nil && !at.before(*before) {
				return false, err
			}
			outs = append(outs, at)
			return true, nil
		})
		if err != nil {
			return nil, err
		}
		for _, at := range slices.Backward(outs) {
			gone, err := undone(v, at.id)
			if err != nil {
				return nil, err
			}
			if gone {
				continue
			}
			if last == nil || last.before(at) {
				last = &at
			}
			break
		}
	}
	return last, nil
}

// letOut lets a guest out. The state of the ticket and of the event does not matter: no guest is kept inside.
func letOut(o *table.Tx, a *attempt, f *fact) (Decision, error) {
	first, err := firstAdmission(o.View, f.event, f.codeHash, f.ticket, f.list)
	if err != nil {
		return Decision{}, err
	}
	if first == nil {
		return refuse(o, a, f, Decision{Outcome: NotInside})
	}
	of := codeRows([]byte{byCodeOut}, f.event, f.codeHash, f.list)
	if err := table.Fewer(o.View, table.AdmissionBucket, of, o.Store.Limits.Checkins, "the code has gone in and out too often"); err != nil {
		return Decision{}, err
	}
	f.out = true
	at := enter(o, a, f, nil)
	if err := settle(o, at.id); err != nil {
		return Decision{}, err
	}
	mine, err := o.Load(record.Checkin, at.id)
	if err != nil || mine == nil {
		return Decision{}, keys.OrNotFound(err)
	}
	d := leaving(o.View, mine, first, a.Door)
	return d, describe(o.View, &d, a.p, f.about)
}

// leaving tells of a check-in out: with its id, and when and where the guest had come in, as far as that is known.
func leaving(v *table.View, mine, first *table.Stored, here string) Decision {
	if first == nil {
		first = mine
	}
	d := decisionOf(v, Left, first, here)
	d.CheckinID = record.Checkin.FormatID(mine.ID)
	return d
}

// readmit admits a guest at a door for re-entry, unless the guest was never inside.
func readmit(o *table.Tx, a *attempt, f *fact) (Decision, error) {
	e := stand{event: f.event, codeHash: f.codeHash, ticket: f.ticket, list: f.list}
	ever, err := e.firstIn(o.View, nil, nil)
	if err != nil {
		return Decision{}, err
	}
	if ever == nil {
		return refuse(o, a, f, Decision{Outcome: NotInside})
	}
	return admit(o, a, f)
}

// admissionOf is the place in the order that a row under a prefix names.
func admissionOf(prefix, key []byte) (at admission, err error) {
	id, ok := record.Checkin.KeyID(key[max(0, len(key)-16):])
	if !ok || len(key) != len(prefix)+24 {
		return at, engine.ErrCorrupt
	}
	return admission{binary.BigEndian.Uint64(key[len(prefix):]), id}, nil
}
