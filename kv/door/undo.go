package door

import (
	"errors"
	"time"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/keys"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// Undoing takes an admission back.
type Undoing struct {
	Event     int64
	CheckinID string
	Reason    string
	Door      string
	Once      *desk.Once
}

// Undo writes that an admission is undone. ErrNoCheckin where there is none, or it is undone already.
func (dk *Desk) Undo(p auth.Principal, u Undoing) (d Decision, err error) {
	if err := p.Check(record.Undo.Resource, "POST"); err != nil {
		return Decision{}, err
	}
	if u.Door == "" {
		u.Door = p.Name()
	}
	id, ok := record.Checkin.ParseID(u.CheckinID)
	err = dk.tables.Do(true, func(o *table.Tx) error {
		if _, err := entry.Find(o.View, p, record.Event, record.Int(u.Event)); err != nil {
			return err
		}
		r, err := desk.OnlyOnce(o, u.Once, func() (entry.Reply, error) {
			if !ok {
				return entry.Reply{}, ErrNoCheckin
			}
			return entry.Reply{ID: id}, undo(o, p, u, id)
		})
		if err != nil {
			return err
		}
		first, err := o.Load(record.Checkin, id)
		if err != nil || first == nil {
			return keys.OrNotFound(err)
		}
		d = decisionOf(o.View, Undone, first, u.Door)
		d.Replayed = r.Replayed
		return nil
	})
	if err != nil {
		return Decision{}, err
	}
	dk.Decisions.count(d)
	return d, nil
}

func undo(o *table.Tx, p auth.Principal, u Undoing, id record.ID) error {
	if err := mayDecide(o, u.Event); err != nil {
		return err
	}
	first, err := o.Load(record.Checkin, id)
	if err != nil {
		return err
	}
	if first == nil || first.Home(record.Checkin) != u.Event {
		return ErrNoCheckin
	}
	if err := mayUndo(o, p, first); err != nil {
		return err
	}
	if gone, err := undone(o.View, id); err != nil || gone {
		if err == nil {
			err = ErrNoCheckin
		}
		return err
	}
	list := value.Unquote(first.Body.Member("list"))
	letter := byte(table.ByCode)
	if StandOf(first).out {
		letter = byCodeOut
	}
	of := codeRows([]byte{letter}, u.Event, table.HashOf(first.Body.Member("code_hash")), list)
	if err := table.Fewer(o.View, table.AdmissionBucket, of, o.Store.Limits.Undone, "the code has been checked in and undone too often"); err != nil {
		return err
	}
	f := &fact{
		event: u.Event, ticket: table.IntOf(first.Body.Member("ticket_id")), codeHash: table.HashOf(first.Body.Member("code_hash")),
		list: list, door: u.Door, at: o.Now,
	}
	putFact(o, record.Undo, p, f, func(d *record.Draft) {
		d.Text("checkin_id", record.Checkin.FormatID(id))
		if u.Reason != "" {
			d.Text("reason", u.Reason)
		}
	})
	return settle(o, id)
}

// A door has stewards and supervisors. A steward's key may GET and POST at doors; it takes back its own check-ins alone, for a minute. A
// supervisor's key may do everything at doors ("checkin:*"), which takes in DELETE: it takes back any check-in, at any time.

// undoLasts is how long a steward may take a check-in back.
const undoLasts = time.Minute

// mayUndo returns a *Forbidden for a steward that takes back a check-in of another key, or one that is too old.
func mayUndo(o *table.Tx, p auth.Principal, checkin *table.Stored) error {
	if p.IsRevoked() {
		return table.ErrRevoked
	}
	at, _ := table.TimeOf(checkin.Body.Member("at")) // facts have one
	if own := p.Key() != 0 && table.IntOf(checkin.Body.Member("key_id")) == p.Key(); p.Supervises() || own && o.Now.Sub(at) <= undoLasts {
		return nil
	}
	err := p.Check(record.Undo.Resource, "DELETE")
	if f, ok := errors.AsType[*auth.Forbidden](err); ok {
		f.Reason = "a steward takes back only the own check-ins of the last minute: ask a supervisor"
	}
	return err
}
