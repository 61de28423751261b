package door

import (
	"encoding/binary"
	"errors"
	"strconv"
	"time"

	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/table"
)

// A supervisor can close a door for which nothing is wrong: it is not reported as silent until it scans again. A closed door is a row in
// meta of this store, where its scans come in. The row stays when the door scans again, and counts no longer.

// closedDoors is the prefix of the rows of an event's closed doors; the name follows.
func closedDoors(event int64) []byte {
	return append(strconv.AppendInt([]byte("door_closed/"), event, 10), '/')
}

// CloseDoor closes a door until it scans again, and returns since when. It returns after the commit. A door that has not scanned is known if
// open says that a page is open there. It returns ErrNotFound for an unknown door or an event that is not the principal's, and a *Forbidden for
// a steward.
func (dk *Desk) CloseDoor(p auth.Principal, event int64, name string, open bool) (at time.Time, err error) {
	if err := p.Check(record.Checkin.Resource, "POST"); err != nil {
		return at, err
	}
	st, err := dk.Status(p, event)
	if err != nil {
		return at, err
	}
	if !p.Supervises() {
		return at, notSupervising(p, "a steward closes no door: ask a supervisor")
	}
	if st.Scanned[name].IsZero() && !open {
		return at, table.ErrNotFound
	}
	err = dk.tables.DoAtDoor(dk.standing.By(p, func(o *table.Tx) error {
		if _, err := entry.Find(o.View, p, record.Event, record.Int(event)); err != nil {
			return err
		}
		at = o.Now.UTC().Truncate(time.Microsecond)
		o.Put(table.MetaBucket, append(closedDoors(event), name...), binary.BigEndian.AppendUint64(nil, uint64(at.UnixMicro())))
		return nil
	}))
	return at, err
}

// notSupervising is the *Forbidden of a steward that does what a supervisor may, with the reason.
func notSupervising(p auth.Principal, reason string) error {
	err := p.Check(record.Undo.Resource, "DELETE")
	if f, ok := errors.AsType[*auth.Forbidden](err); ok {
		f.Reason = reason
	}
	return err
}

// closed reads which of an event's doors are closed, and since when. scanned is when each scanned last.
func closed(v *table.View, event int64, scanned map[string]time.Time) (map[string]time.Time, error) {
	doors, prefix := map[string]time.Time{}, closedDoors(event)
	err := v.Scan(table.MetaBucket, prefix, nil, func(key, row []byte) (bool, error) {
		c := table.Cutter{Rest: row}
		name, at := string(key[len(prefix):]), time.UnixMicro(int64(c.Uint64())).UTC()
		if !c.Short && !scanned[name].After(at) {
			doors[name] = at
		}
		return true, nil
	})
	return doors, err
}
