package venue

import (
	"errors"
	"net/http"

	"doorward/kv"
	"doorward/sync/dial"
)

// isDiskFull tells whether the centre's disk is nearly full. It takes later what it refuses now.
func isDiskFull(err error) bool { return dial.Is(err, http.StatusInsufficientStorage) }

// What the log says of a full disk.
const (
	logDiskFull = "the centre's disk is nearly full; what is made here is kept until it has room"
	logDiskFree = "the centre has room again"
)

// waits tells whether a job waits: for room on the centre's disk or on its own.
func (v *Venue) waits(c copyJob, err error) bool {
	if !isDiskFull(err) {
		return errors.Is(err, kv.ErrDiskFull)
	}
	if before, _ := v.metrics.setWaiting(c, true); before == 0 {
		v.config.Logger.Warn(logDiskFull, "cause", err)
	}
	return true
}

// goesOn is called when a job has copied something.
func (v *Venue) goesOn(c copyJob) {
	if before, after := v.metrics.setWaiting(c, false); before > 0 && after == 0 {
		v.config.Logger.Info(logDiskFree)
	}
}
