package kv

import (
	"slices"

	"doorward/kv/record"
)

// Judged is what became of one of several attempts: a decision, or why there is none.
type Judged struct {
	Decision
	Err error
}

// CheckInAll decides attempts in the order of arrival, each by itself as CheckIn does. It writes them in operations of at most
// MaxRows that make way for doors. So a scanner that hands in its offline scans delays no door. The error is the store's own,
// or *Forbidden; what was decided before it stays.
func (s *Store) CheckInAll(p Principal, attempts []Attempt) ([]Judged, error) {
	if err := p.Check(record.Checkin.Resource, "POST"); err != nil {
		return nil, err
	}
	judged := make([]Judged, len(attempts))
	done := judged
	for part := range slices.Chunk(attempts, MaxRows) {
		if err := s.checkInSome(p, part, done); err != nil {
			return nil, err
		}
		done = done[len(part):]
	}
	return judged, nil
}

// checkInSome decides what one operation takes.
func (s *Store) checkInSome(p Principal, attempts []Attempt, judged []Judged) error {
	steps := make([]step, len(attempts))
	for i := range attempts {
		s.Yield()
		at := s.ready(p, attempts[i])
		steps[i].run = func(o *op) (err error) {
			judged[i].Decision, err = checkIn(o, at)
			return err
		}
	}
	if err := s.doAll(steps); err != nil {
		return err
	}
	for i := range steps {
		if judged[i].Err = steps[i].err; judged[i].Err != nil {
			judged[i].Decision = Decision{}
			continue
		}
		s.decisions.count(judged[i].Decision)
	}
	return nil
}
