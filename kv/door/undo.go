package door

import (
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
		holding: first.Body.Member("holding"), list: list, door: u.Door, at: o.Now,
	}
	putFact(o, record.Undo, p, f, func(d *record.Draft) {
		d.Text("checkin_id", record.Checkin.FormatID(id))
		if u.Reason != "" {
			d.Text("reason", u.Reason)
		}
	})
	return settle(o, id)
}
