package door

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// An event is current from a day before its start until a day after its end, and for 12 hours after its last scan.
const (
	eventMargin = 24 * time.Hour
	ScanMargin  = 12 * time.Hour
)

// CurrentEvent is an event that doors or staff are busy with now.
type CurrentEvent struct {
	ID         int64
	Name       string
	Start, End time.Time
	Scanned    time.Time // when this store last took a fact of it, by its own clock; zero = never
	Reentry    bool      // its doors lead out, too
}

// CurrentEvents are the events that are current, in the order of their starts; where there is none, the one that starts next. *Forbidden. Where
// one is damaged ErrCorrupt comes beside the others.
func (dk *Desk) CurrentEvents(p auth.Principal) (all []CurrentEvent, err error) {
	if err := p.CheckWhole(); err != nil {
		return nil, err
	}
	now, next := dk.tables.Clock.Now(), CurrentEvent{}
	var damage error
	err = dk.tables.View(func(v *table.View) error {
		for _, id := range table.IDsOf(v, record.Event) {
			e, err := currentEvent(v, id)
			switch {
			case errors.Is(err, engine.ErrCorrupt):
				damage = err
			case err != nil:
				return err
			case e.isCurrent(now):
				all = append(all, e)
			case e.Start.After(now) && (next.ID == 0 || e.Start.Before(next.Start)):
				next = e
			}
		}
		return nil
	})
	dk.tables.Damage.Note(damage)
	if len(all) == 0 && next.ID != 0 {
		all = append(all, next)
	}
	slices.SortFunc(all, func(a, b CurrentEvent) int { return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.ID, b.ID)) })
	if err == nil {
		err = damage
	}
	return all, err
}

// CurrentEvent is one event, be it current or not: *Forbidden, ErrNotFound.
func (dk *Desk) CurrentEvent(p auth.Principal, id int64) (e CurrentEvent, err error) {
	if err := p.CheckWhole(); err != nil {
		return e, err
	}
	err = dk.tables.View(func(v *table.View) error {
		e, err = currentEvent(v, record.Int(id))
		return err
	})
	return e, err
}

func currentEvent(v *table.View, id record.ID) (e CurrentEvent, err error) {
	st, err := v.Load(record.Event, id)
	if err != nil || st == nil {
		return e, table.OrNotFound(err)
	}
	e = CurrentEvent{ID: st.ID.Int(), Name: value.Unquote(st.Body.Member("name")), Reentry: isReentry(st)}
	e.Start, e.End = entry.SpanOf(st)
	e.Scanned, err = table.ScannedAt(v, e.ID)
	return e, err
}

func (e *CurrentEvent) isCurrent(now time.Time) bool {
	near := now.After(e.Start.Add(-eventMargin)) && now.Before(e.End.Add(eventMargin))
	return near || !e.Scanned.IsZero() && now.Sub(e.Scanned).Abs() < ScanMargin
}

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
		Reentry: isReentry(st)}
	e.Start, e.End = entry.SpanOf(st)
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
