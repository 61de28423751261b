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

// DoorEvent is what a door gets of an event that it may serve.
type DoorEvent struct {
	ID         int64
	Name       string
	Start, End time.Time
	Open       bool // it takes check-ins
	Reentry    bool // its doors lead out, too
	Daily      bool // it admits once a day
}

func doorEventOf(st *table.Stored) DoorEvent {
	e := DoorEvent{ID: st.ID.Int(), Name: value.Unquote(st.Body.Member("name")), Open: isOpen(st), Reentry: isReentry(st), Daily: isDaily(st)}
	e.Start, e.End = entry.SpanOf(st)
	return e
}

// byStart orders events by their starts, and those that start together by their ids.
func byStart(a, b DoorEvent) int { return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.ID, b.ID)) }

// CurrentEvent is an event that doors or staff are busy with now.
type CurrentEvent struct {
	DoorEvent
	Scanned time.Time // when this store last took a fact of it, by its own clock; zero = never
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
	slices.SortFunc(all, func(a, b CurrentEvent) int { return byStart(a.DoorEvent, b.DoorEvent) })
	return all, cmp.Or(err, damage)
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
	e.DoorEvent = doorEventOf(st)
	e.Scanned, err = table.ScannedAt(v, e.ID)
	return e, err
}

func (e *CurrentEvent) isCurrent(now time.Time) bool {
	near := now.After(e.Start.Add(-eventMargin)) && now.Before(e.End.Add(eventMargin))
	return near || !e.Scanned.IsZero() && now.Sub(e.Scanned).Abs() < ScanMargin
}

// maxDoorEvents is how many events a door chooses from.
const maxDoorEvents = 50

// DoorEvents returns the events at which p may serve doors. The event that begins next comes first. Events that ended more than a day ago
// are left out. It returns *Forbidden for a key that may not read at doors.
func (dk *Desk) DoorEvents(p auth.Principal) (all []DoorEvent, err error) {
	if err := p.Check(record.Checkin.Resource, "GET"); err != nil {
		return nil, err
	}
	now := dk.tables.Clock.Now()
	err = dk.tables.View(func(v *table.View) error {
		for _, id := range table.IDsOf(v, record.Event) {
			st, err := entry.Find(v, p, record.Event, id)
			if errors.Is(err, table.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if e := doorEventOf(st); now.Before(e.End.Add(eventMargin)) {
				all = append(all, e)
			}
		}
		return nil
	})
	slices.SortFunc(all, byStart)
	return all[:min(len(all), maxDoorEvents)], err
}

// DoorEvent returns one event as DoorEvents does. It returns ErrNotFound if p does not see the event.
func (dk *Desk) DoorEvent(p auth.Principal, event int64) (e DoorEvent, err error) {
	if err := p.Check(record.Checkin.Resource, "GET"); err != nil {
		return e, err
	}
	err = dk.tables.View(func(v *table.View) error {
		st, err := entry.Find(v, p, record.Event, record.Int(event))
		if err == nil {
			e = doorEventOf(st)
		}
		return err
	})
	return e, err
}
