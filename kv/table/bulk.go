package table

import (
	"runtime"
	"time"
)

// MaxRows is how many rows one bulk operation takes.
const MaxRows = 100

// doorsAbout is for how long after an operation of a door a long computation makes way.
const doorsAbout = time.Second

// Yield is for loops that compute for long: while doors are about it lets their goroutines onto the processor, which would else
// wait for the end of a time slice of 10 ms.
func (s *Set) Yield() {
	if s.Engine.DoorWithin(doorsAbout) {
		runtime.Gosched()
	}
}
