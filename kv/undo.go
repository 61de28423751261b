package kv

import (
	"doorward/kv/record"
	"doorward/kv/value"
)

// Undoing takes an admission back.
type Undoing struct {
	Event     int64
	CheckinID string
	Reason    string
	Door      string
	Once      *Once
}

// Undo writes that an admission is undone. ErrNoCheckin where there is none, or it is undone already.
func (s *Store) Undo(p Principal, u Undoing) (d Decision, err error) {
	if err := p.Check(record.Undo.Resource, "POST"); err != nil {
		return Decision{}, err
	}
	if u.Door == "" {
		u.Door = p.Name()
	}
	id, ok := record.Checkin.ParseID(u.CheckinID)
	err = s.do(true, func(o *op) error {
		if _, err := find(o.sight, p, record.Event, record.Int(u.Event)); err != nil {
			return err
		}
		r, err := once(o, u.Once, func() (Reply, error) {
			if !ok {
				return Reply{}, ErrNoCheckin
			}
			return Reply{ID: id}, undo(o, p, u, id)
		})
		if err != nil {
			return err
		}
		first, err := o.load(record.Checkin, id)
		if err != nil || first == nil {
			return orNotFound(err)
		}
		d = decisionOf(o.sight, Undone, first, u.Door)
		d.Replayed = r.Replayed
		return nil
	})
	if err != nil {
		return Decision{}, err
	}
	s.decisions.count(d)
	return d, nil
}

func undo(o *op, p Principal, u Undoing, id record.ID) error {
	if err := mayDecide(o, u.Event); err != nil {
		return err
	}
	first, err := o.load(record.Checkin, id)
	if err != nil {
		return err
	}
	if first == nil || first.home(record.Checkin) != u.Event {
		return ErrNoCheckin
	}
	if err := mayUndo(o, p, first); err != nil {
		return err
	}
	if gone, err := undone(o.sight, id); err != nil || gone {
		if err == nil {
			err = ErrNoCheckin
		}
		return err
	}
	list := value.Unquote(first.body.Member("list"))
	letter := byte(byCode)
	if standOf(first).out {
		letter = byCodeOut
	}
	of := codeRows([]byte{letter}, u.Event, hashOf(first.body.Member("code_hash")), list)
	if err := fewer(o.sight, admissionBucket, of, o.store.limits.undone, "the code has been checked in and undone too often"); err != nil {
		return err
	}
	f := &fact{
		event: u.Event, ticket: intOf(first.body.Member("ticket_id")), codeHash: hashOf(first.body.Member("code_hash")),
		list: list, door: u.Door, at: o.now,
	}
	putFact(o, record.Undo, p, f, func(d *record.Draft) {
		d.Text("checkin_id", record.Checkin.FormatID(id))
		if u.Reason != "" {
			d.Text("reason", u.Reason)
		}
	})
	return settle(o, id)
}
