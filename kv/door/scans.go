package door

import (
	"slices"

	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Judged is what became of one of several attempts: a decision, or why there is none.
type Judged struct {
	Decision
	Err error
}

// CheckInAll decides attempts in the order of arrival, each by itself as CheckIn does. It writes them in operations of at most
// MaxRows that make way for doors. So a scanner that hands in its offline scans delays no door. The error is the store's own,
// or *Forbidden; what was decided before it stays.
func (dk *Desk) CheckInAll(p auth.Principal, attempts []Attempt) ([]Judged, error) {
	if err := p.Check(record.Checkin.Resource, "POST"); err != nil {
		return nil, err
	}
	judged := make([]Judged, len(attempts))
	done := judged
	for part := range slices.Chunk(attempts, table.MaxRows) {
		if err := dk.checkInSome(p, part, done); err != nil {
			return nil, err
		}
		done = done[len(part):]
	}
	return judged, nil
}

// checkInSome decides what one operation takes.
func (dk *Desk) checkInSome(p auth.Principal, attempts []Attempt, judged []Judged) error {
	steps := make([]table.Step, len(attempts))
	for i := range attempts {
		dk.tables.Yield()
		at := dk.Ready(p, attempts[i])
		steps[i].Run = func(o *table.Tx) (err error) {
			judged[i].Decision, err = checkIn(o, at)
			return err
		}
	}
	if err := dk.tables.DoAll(steps); err != nil {
		return err
	}
	for i := range steps {
		if judged[i].Err = steps[i].Err; judged[i].Err != nil {
			judged[i].Decision = Decision{}
			continue
		}
		dk.Decisions.count(judged[i].Decision)
	}
	return nil
}
