package door

import (
	"cmp"
	"slices"
	"time"

	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// DoorEvent is what a door gets of an event that it may serve.
type DoorEvent struct {
	ID         int64
	Name       string
	Start, End time.Time
	Open       bool // it takes check-ins: it is active and enabled
	Reentry    bool // its doors lead out, too
}

// maxDoorEvents is how many events a door chooses from, and doorEventLasts how long after its end an event is still offered.
const (
	maxDoorEvents  = 50
	doorEventLasts = 24 * time.Hour
)

// DoorEvents returns the events at which p may serve doors. The event that begins next comes first. Events that ended long ago
// are left out. It returns *Forbidden for a key that may not read at doors.
func (dk *Desk) DoorEvents(p auth.Principal) (all []DoorEvent, err error) {
	if err := p.Check(record.Checkin.Resource, "GET"); err != nil {
		return nil, err
	}
	now := dk.tables.Clock.Now()
	err = dk.tables.View(func(v *table.View) error {
		ids := v.Lists.Kind(record.Event).All
		for _, id := range ids.Page(nil, 0, ids.Len()) {
			e, ok, err := doorEvent(v, p, id)
			if err != nil {
				return err
			}
			if ok && now.Before(e.End.Add(doorEventLasts)) {
				all = append(all, e)
			}
		}
		return nil
	})
	slices.SortStableFunc(all, func(a, b DoorEvent) int { return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.ID, b.ID)) })
	return all[:min(len(all), maxDoorEvents)], err
}

// doorEvent reads an event; ok is false where p does not see it.
func doorEvent(v *table.View, p auth.Principal, id record.ID) (e DoorEvent, ok bool, err error) {
	if ok, err := entry.SeesEvent(v, p, id.Int()); err != nil || !ok {
		return e, false, err
	}
	st, err := v.Load(record.Event, id)
	if err != nil || st == nil {
		return e, false, err
	}
	e = DoorEvent{ID: id.Int(), Name: value.Unquote(st.Body.Member("name")),
		Open:    isTrue(st.Body.Member("active")) && isTrue(st.Body.Member("enabled")),
		Reentry: value.Unquote(st.Body.Member("list_rule")) == reentry}
	e.Start, _ = table.TimeOf(st.Body.Member("start_datetime"))
	e.End, _ = table.TimeOf(st.Body.Member("end_datetime"))
	return e, true, nil
}

// DoorEvent returns one event as DoorEvents does. It returns ErrNotFound if p does not see the event.
func (dk *Desk) DoorEvent(p auth.Principal, event int64) (e DoorEvent, err error) {
	if err := p.Check(record.Checkin.Resource, "GET"); err != nil {
		return e, err
	}
	err = dk.tables.View(func(v *table.View) error {
		var ok bool
		if e, ok, err = doorEvent(v, p, record.Int(event)); err == nil && !ok {
			err = table.ErrNotFound
		}
		return err
	})
	return e, err
}
