package admission

import (
	"bytes"
	"encoding/binary"
	"slices"

	"doorward/kv/record"
	"doorward/kv/table"
)

// First returns the check-in by which the holder of a code or its ticket is inside now, on a list; nil for a holder outside. Of an event
// without check-ins out it is the first admission.
func First(v *table.View, c *Checkin) (*table.Stored, error) { return inside(v, c, nil) }

// Entered returns the check-in by which the holder was inside just before a check-in; nil if the holder was outside.
func (c *Checkin) Entered(v *table.View) (*table.Stored, error) { return inside(v, c, &c.Place) }

// inside is the check-in by which a holder is inside just before a place in the order: the first one in since the last one out. Without
// a place it is about now.
func inside(v *table.View, c *Checkin, before *Place) (*table.Stored, error) {
	first, err := c.firstIn(v, nil, before)
	if err != nil || first == nil {
		return nil, err
	}
	out, err := c.lastOut(v, before)
	if err != nil {
		return nil, err
	}
	if out != nil {
		if first, err = c.firstIn(v, out, before); err != nil || first == nil {
			return nil, err
		}
	}
	return v.Load(record.Checkin, first.ID)
}

// Came returns the first check-in by which the holder of a code or its ticket has ever come in, on a list; nil for a holder that never has.
func Came(v *table.View, c *Checkin) (*table.Stored, error) {
	first, err := c.firstIn(v, nil, nil)
	if err != nil || first == nil {
		return nil, err
	}
	return v.Load(record.Checkin, first.ID)
}

// firstIn is the earliest check-in in between two places in the order that no undo names; nil for none.
func (c *Checkin) firstIn(v *table.View, after, before *Place) (first *Place, err error) {
	var buf [64]byte
	look := func(prefix []byte) error {
		found, err := earliest(v, prefix, after)
		if found != nil && (first == nil || found.before(*first)) {
			first = found
		}
		return err
	}
	if c.CodeHash != (table.CodeHash{}) {
		err = look(codeRows(append(buf[:0], byCode), c.Event, c.CodeHash, c.List))
	}
	if err == nil && c.Ticket != 0 {
		err = look(ticketRows(append(buf[:0], byTicket), c.Ticket, c.Event, c.List))
	}
	if err != nil || first == nil || before != nil && !first.before(*before) {
		return nil, err
	}
	return first, nil
}

// earliest is the first row under a prefix, after a place in the order, whose check-in is not undone; nil for none.
func earliest(v *table.View, prefix []byte, after *Place) (first *Place, err error) {
	var from []byte
	if after != nil {
		from = after.appendTo(slices.Clone(prefix))
	}
	err = v.Scan(table.AdmissionBucket, prefix, from, func(key, _ []byte) (bool, error) {
		at, err := placeIn(prefix, key)
		if err != nil {
			return false, err
		}
		undone, err := Undone(v, at.ID)
		if err != nil || undone || after != nil && at.ID == after.ID {
			return true, err
		}
		first = &at
		return false, nil
	})
	return first, err
}

// lastOut is the last check-in out before a place in the order that no undo names; nil for none.
func (c *Checkin) lastOut(v *table.View, before *Place) (last *Place, err error) {
	for _, prefix := range c.rows(true) {
		var outs []Place
		err := v.Scan(table.AdmissionBucket, prefix, nil, func(key, _ []byte) (bool, error) {
			at, err := placeIn(prefix, key)
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
			undone, err := Undone(v, at.ID)
			if err != nil {
				return nil, err
			}
			if undone {
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

// Next is the stamp after all check-ins of a code and its ticket, on a list, that lie ahead of a store's clock; 0 for none. A stamp too far
// ahead does not move that clock, but the next check-in must come after it in the order. Otherwise a guest with a way out in 2035 stays
// outside after each admission.
func (c *Checkin) Next(v *table.View, clock uint64) (hlc uint64, err error) {
	for _, prefix := range slices.Concat(c.rows(false), c.rows(true)) {
		err := v.Scan(table.AdmissionBucket, prefix, binary.BigEndian.AppendUint64(slices.Clone(prefix), clock+1), func(key, _ []byte) (bool, error) {
			at, err := placeIn(prefix, key)
			hlc = max(hlc, at.Hlc+1) // after the last stamp there is none: 0
			return err == nil, err
		})
		if err != nil {
			return 0, err
		}
	}
	if c.Out && hlc == lastStamp {
		hlc-- // it would not count
	}
	return hlc, nil
}

// Undone reports whether an undo of its own event names a check-in.
func Undone(v *table.View, checkin record.ID) (bool, error) {
	undo, err := UndoOf(v, checkin)
	return undo != nil, err
}

// UndoOf returns the undo of its own event that names a check-in, the one with the lowest id; nil for none.
func UndoOf(v *table.View, checkin record.ID) (*table.Stored, error) {
	undos, err := v.Lookup(record.Undo, "checkin_id", record.Checkin.FormatID(checkin))
	if err != nil || len(undos) == 0 {
		return nil, err
	}
	st, err := v.Load(record.Checkin, checkin)
	if err != nil || st == nil {
		return nil, err
	}
	for _, id := range undos {
		undo, err := v.Load(record.Undo, id)
		if err != nil {
			return nil, err
		}
		if undo != nil && bytes.Equal(undo.Body.Member("event_id"), st.Body.Member("event_id")) {
			return undo, nil
		}
	}
	return nil, nil
}
