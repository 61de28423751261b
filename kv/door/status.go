package door

import (
	"time"

	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Status is an event according to its facts. Each check-in counts once: as already admitted if it is a double entry of a holder
// that was in, as undone, or else as admitted. It does not count if its list or direction is unknown. Refusals count as they
// are written: equal ones of a minute once.
type Status struct {
	Issued   int                   // tickets in state valid or unpaid
	Admitted int                   // check-ins in that count
	Inside   int                   // of them, those of guests that have not left
	Doubles  int                   // what DoubleEntries lists
	Outcomes map[table.Outcome]int // of check-ins and refusals
	Types    map[string]TypeCount
	Doors    map[string]int       // admitted
	Scanned  map[string]time.Time // by door, the last check-in or refusal that was made there, by this machine's clock
	Minutes  []MinuteCount        // the latest of them, oldest first
	Recent   []Moment             // the last check-ins and refusals, the latest first
}

// TypeCount is what there is of a ticket's type.
type TypeCount struct{ Issued, Admitted int }

// MinuteCount counts the check-ins and refusals of one minute, by the wall clock of the node that recorded them.
type MinuteCount struct {
	Minute            time.Time
	Admitted, Refused int
}

// maxMinutes is how many minutes a Status has.
const maxMinutes = 240

// Status counts an event. It returns *Forbidden, or ErrNotFound if the event is not the principal's.
func (dk *Desk) Status(p auth.Principal, event int64) (Status, error) {
	if err := p.Check(record.Checkin.Resource, "GET"); err != nil {
		return Status{}, err
	}
	if err := entry.Visible(dk.tables, p, record.Event, record.Int(event)); err != nil {
		return Status{}, err
	}
	b := dk.boards.of(event)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.follow(dk.tables); err != nil {
		return Status{}, err
	}
	return b.status(dk.tables.ClockNow()), nil
}
