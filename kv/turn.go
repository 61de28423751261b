package kv

import "time"

// turnPatience is how long a copy waits for its turn: a commit that has it may itself wait for the copy's View, to map a larger file.
const turnPatience = time.Second

// turn is whose the disk is: a commit's, or a piece of a copy's. Who asked first has it first, so that a commit waits for one piece.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// during does something when its turn has come.
func (t turn) during(do func() error) error {
	t.take()
	defer t.give()
	return do()
}

func (t turn) take() { t <- struct{}{} }

func (t turn) give() { <-t }

// takeWithin takes the turn, or tells that it has not come within so long.
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
