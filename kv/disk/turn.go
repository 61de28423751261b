package disk

import "time"

// turnPatience is how long a copy waits for its turn: a commit that has it may itself wait for the copy's View, to map a larger file.
const turnPatience = time.Second

// Turn orders a commit and the pieces of a copy at the disk: the first to ask has it first, so a commit waits for one piece at most.
type Turn chan struct{}

// NewTurn makes a turn that is free.
func NewTurn() Turn { return make(Turn, 1) }

// During calls do when its turn has come.
func (t Turn) During(do func() error) error {
	t.take()
	defer t.give()
	return do()
}

func (t Turn) take() { t <- struct{}{} }

func (t Turn) give() { <-t }

// takeWithin takes the turn, or tells that it did not come within the given time.
func (t Turn) takeWithin(d time.Duration) bool {
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
