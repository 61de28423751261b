package engine

import "time"

// turnPatience is how long a copy waits for its turn: a commit that has it may itself wait for the copy's View, to map a larger file.
const turnPatience = time.Second

// turn orders a commit and the pieces of a copy at the disk: the first to ask has it first, so a commit waits for one piece at most.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// during calls do when its turn has come.
func (t turn) during(do func() error) error {
	t.take()
	defer t.give()
	return do()
}

func (t turn) take() { t <- struct{}{} }

func (t turn) give() { <-t }

// takeWithin takes the turn, or tells that it did not come within the given time.
func (t turn) takeWithin(d time.Duration) bool {
	select {
	case t <- struct{}{}:
		return true
	default:
	}
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case t <- struct{}{}:
		return true
	case <-late.C:
		return false
	}
}
