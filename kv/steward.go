package kv

import (
	"encoding/binary"
	"errors"
	"strconv"
	"time"

	"doorward/kv/record"
)

// A door has stewards and supervisors. A steward's key may GET and POST at doors; it takes back its own check-ins alone, for a minute. A
// supervisor's key may do everything at doors ("checkin:*"), which takes in DELETE: it takes back any check-in, at any time.

// undoLasts is how long a steward may take a check-in back.
const undoLasts = time.Minute

// mayUndo returns a *Forbidden for a steward that takes back a check-in of another key, or one that is too old.
func mayUndo(o *op, p Principal, checkin *stored) error {
	if p.IsRevoked() {
		return ErrRevoked
	}
	at, _ := timeOf(checkin.body.Member("at")) // facts have one
	if own := p.Key() != 0 && intOf(checkin.body.Member("key_id")) == p.Key(); p.Supervises() || own && o.now.Sub(at) <= undoLasts {
		return nil
	}
	err := p.Check(record.Undo.Resource, "DELETE")
	if f, ok := errors.AsType[*Forbidden](err); ok {
		f.Reason = "a steward takes back only the own check-ins of the last minute: ask a supervisor"
	}
	return err
}

// The phone of a revoked key hands in what it has kept once more, within a window that its first request opens, so that an answer that
// is lost can be asked for again. Its facts are flagged for review.
const handInLasts = 10 * time.Minute

func handedIn(key int64) []byte { return []byte("handed_in/" + strconv.FormatInt(key, 10)) }

// RevokedDoor returns the principal of a phone for which Login returned ErrRevoked. It may hand in scans of guests that it has let in, and
// is told nothing of them. It returns ErrRevoked for a key that is not a door's, and when the phone has handed in before.
func (s *Store) RevokedDoor(key string) (p Principal, err error) {
	l := (*s.logins.Load())[key]
	p = l.principal
	if !l.revoked || p.IsLaptop() || !p.IsOf(EventOf) || p.Check(record.Checkin.Resource, "POST") != nil {
		return Principal{}, ErrRevoked
	}
	p = p.Revoked()
	return p, s.do(true, func(o *op) error {
		row, err := o.Get(metaBucket, handedIn(p.Key()))
		if err != nil {
			return err
		}
		if len(row) == 8 {
			if age := o.now.Sub(time.UnixMicro(int64(binary.BigEndian.Uint64(row)))); age > handInLasts || age < -handInLasts {
				return ErrRevoked
			}
			return nil
		}
		o.put(metaBucket, handedIn(p.Key()), binary.BigEndian.AppendUint64(nil, uint64(o.now.UnixMicro())))
		return nil
	})
}
