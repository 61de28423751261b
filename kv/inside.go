package kv

import (
	"encoding/binary"
	"slices"

	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/value"
)

// An event whose list_rule is reentry lets its guests out and in again. A guest is inside according to the last check-in of the ticket
// that counts, in or out, in the order (hlc, id): the facts alone say so, as they say which check-ins are double entries. Where no
// check-in leads out, this is the first admission.

// Way is which way a door lets guests through.
type Way string

// The ways. The empty Way is In.
const (
	In      Way = "in"      // guests that are not inside
	Out     Way = "out"     // guests that are inside
	Reentry Way = "reentry" // in, but for guests alone that were inside before
)

// reentry is the list_rule of an event that lets its guests out and in again.
const reentry = "reentry"

// errNoWay is what a scan at a door that is set to a way finds wrong, where the event has no such way.
var errNoWay = fault.ByField{"direction": {"The event's list_rule is not reentry: its doors lead in."}}

// wayAllowed refuses a way that the event's rule does not know.
func wayAllowed(event *stored, way Way) error {
	if way == "" || way == In || value.Unquote(event.body.Member("list_rule")) == reentry {
		return nil
	}
	return errNoWay
}

// firstAdmission is the check-in by which the holder of a code or its ticket is in, on a list; nil where there is none.
func firstAdmission(v *sight, event int64, hash codeHash, ticket int64, list string) (*stored, error) {
	return entered(v, &stand{event: event, codeHash: hash, ticket: ticket, list: list, counts: true}, nil)
}

// entered is the check-in by which a holder is inside just before a place in the order: the first one in since the last one out. It is
// nil for a holder outside. Without a place it is about now.
func entered(v *sight, e *stand, before *admission) (*stored, error) {
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
	return v.load(record.Checkin, first.id)
}

// firstIn is the earliest check-in in between two places in the order that no undo names; nil for none.
func (e *stand) firstIn(v *sight, after, before *admission) (first *admission, err error) {
	var buf [64]byte
	look := func(prefix []byte) error {
		found, err := earliest(v, prefix, after)
		if found != nil && (first == nil || found.before(*first)) {
			first = found
		}
		return err
	}
	if e.codeHash != (codeHash{}) {
		err = look(codeRows(append(buf[:0], byCode), e.event, e.codeHash, e.list))
	}
	if err == nil && e.ticket != 0 {
		err = look(ticketRows(append(buf[:0], byTicket), e.ticket, e.event, e.list))
	}
	if err != nil || first == nil || before != nil && !first.before(*before) {
		return nil, err
	}
	return first, nil
}

// earliest is the first row under a prefix, after a place in the order, whose check-in is not undone.
func earliest(v *sight, prefix []byte, after *admission) (first *admission, err error) {
	var from []byte
	if after != nil {
		from = admissionKey(slices.Clone(prefix), after.hlc, after.id)
	}
	err = v.Scan(admissionBucket, prefix, from, func(key, _ []byte) (bool, error) {
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
func (e *stand) lastOut(v *sight, before *admission) (last *admission, err error) {
	for _, prefix := range e.rows(true) {
		var outs []admission
		err := v.Scan(admissionBucket, prefix, nil, func(key, _ []byte) (bool, error) {
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
func letOut(o *op, a *attempt, f *fact) (Decision, error) {
	first, err := firstAdmission(o.sight, f.event, f.codeHash, f.ticket, f.list)
	if err != nil {
		return Decision{}, err
	}
	if first == nil {
		return refuse(o, a, f, Decision{Outcome: NotInside})
	}
	of := codeRows([]byte{byCodeOut}, f.event, f.codeHash, f.list)
	if err := fewer(o.sight, admissionBucket, of, o.store.limits.checkins, "the code has gone in and out too often"); err != nil {
		return Decision{}, err
	}
	f.out = true
	at := enter(o, a, f, nil)
	if err := settle(o, at.id); err != nil {
		return Decision{}, err
	}
	mine, err := o.load(record.Checkin, at.id)
	if err != nil || mine == nil {
		return Decision{}, orNotFound(err)
	}
	d := leaving(o.sight, mine, first, a.Door)
	return d, describe(o.sight, &d, a.p, f.about)
}

// leaving tells of a check-in out: with its id, and when and where the guest had come in, as far as that is known.
func leaving(v *sight, mine, first *stored, here string) Decision {
	if first == nil {
		first = mine
	}
	d := decisionOf(v, Left, first, here)
	d.CheckinID = record.Checkin.FormatID(mine.id)
	return d
}

// readmit admits a guest at a door for re-entry, unless the guest was never inside.
func readmit(o *op, a *attempt, f *fact) (Decision, error) {
	e := stand{event: f.event, codeHash: f.codeHash, ticket: f.ticket, list: f.list}
	ever, err := e.firstIn(o.sight, nil, nil)
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
		return at, ErrCorrupt
	}
	return admission{binary.BigEndian.Uint64(key[len(prefix):]), id}, nil
}
