package venue

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/sync/dial"
	"doorward/sync/replicate"
)

// Config says which store follows its centre. Only Store is needed.
type Config struct {
	Store      *kv.Store
	Version    string                // of this program
	Logger     *slog.Logger          // nil = silent
	Registerer prometheus.Registerer // nil = not registered
	Wipe       func()                // called when the centre orders the folder wiped: stop all writers, then call Farewell; nil = the order is ignored
}

// Venue keeps a store in step with the centre that it has joined. The store dials: it shakes hands, pushes, pulls and goes on while the
// link holds. Then it tries again.
type Venue struct {
	config    Config
	told      chan struct{} // Wake was called
	metrics   *metrics
	logged    string // the last error of the link in the log; "" = the link holds
	newClient func(dial.Reach) *http.Client
	stays     map[string]string // by database: why it stays, as the log said last
}

// Pauses between two tries of a centre that is not reached. During an event a laptop waits less than a second.
const (
	firstPause   = time.Second / 2
	longestPause = replicate.LongestWaited
	eventPause   = 900 * time.Millisecond
)

// mostAgain is how often in a row a centre that has more for a laptop is asked at once.
const mostAgain = 3

// New makes a venue, which does nothing before Run. It fails if the registry has other metrics of the same names.
func New(c Config) (*Venue, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	v := &Venue{config: c, told: make(chan struct{}, 1), stays: map[string]string{}}
	v.newClient = v.dialer
	var err error
	v.metrics, err = newMetrics(c)
	return v, err
}

// Wake makes the venue try at once, for instance when the store has just joined.
func (v *Venue) Wake() {
	signal(v.told)
}

// Run keeps the store in step until ctx ends or the store is to be wiped. All that it has begun has ended when it returns.
func (v *Venue) Run(ctx context.Context) {
	for failed, again := 0, 0; ctx.Err() == nil; failed++ {
		u, ok, err := v.config.Store.Laptop.Upstream()
		if err == nil && !ok {
			v.wait(ctx, nil)
			failed = -1
			continue
		}
		useful := false
		if err == nil {
			useful, err = v.visitCentre(ctx, u)
		}
		if again++; !errors.Is(err, errAgain) {
			again = 0
		}
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errWipe):
			v.config.Wipe()
			return
		case again > 0 && again <= mostAgain:
			failed = -1
			continue
		case useful:
			failed = 0
		}
		v.metrics.setWaiting(copyJob{}, isDiskFull(err)) // all databases wait
		if again == 0 {
			v.logLink(err) // otherwise the link holds
		}
		t := time.NewTimer(v.nextTry(failed, err))
		v.wait(ctx, t.C)
		t.Stop()
	}
}

// nextTry returns how long to wait after some failed visits.
func (v *Venue) nextTry(failed int, err error) time.Duration {
	if isDown(err) && v.inProgress() {
		return eventPause/2 + rand.N(eventPause/2+1)
	}
	return min(dial.Pause(firstPause, failed, err), longestPause)
}

// dialer makes a client for one visit.
func (v *Venue) dialer(reach dial.Reach) *http.Client {
	if v.inProgress() {
		return dial.NewEagerClient(reach)
	}
	return dial.NewClient(reach)
}

// inProgress tells whether an event is in progress here.
func (v *Venue) inProgress() bool {
	is, err := v.config.Store.Laptop.InProgress(auth.Operator())
	return err == nil && is
}

// isDown tells whether the link or the centre is down. A centre that refuses, or asks to wait, is not.
func isDown(err error) bool {
	if r := (*dial.Refusal)(nil); errors.As(err, &r) {
		return r.Status >= 500 && !isDiskFull(err)
	}
	return errors.Is(err, dial.ErrCut) || errors.Is(err, dial.ErrNoCentre) || errors.Is(err, dial.ErrRedirect)
}

// wait waits until a time, until Wake, or until ctx ends.
func (v *Venue) wait(ctx context.Context, until <-chan time.Time) {
	select {
	case <-until:
	case <-v.told:
	case <-ctx.Done():
	}
}

// logLink logs each change of the link.
func (v *Venue) logLink(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text == v.logged {
		return
	}
	v.logged = text
	switch {
	case errors.Is(err, errEnded):
		v.config.Logger.Error("this laptop is revoked at the centre: it sells and edits nothing more; its check-ins are recorded for review")
		return
	case isDiskFull(err):
		v.config.Logger.Warn(logDiskFull, "cause", err)
		return
	case errors.Is(err, errExpired):
		v.config.Logger.Error("the centre refuses this laptop; what is made here is kept until it is enrolled there again", "cause", err)
		return
	case err != nil:
		v.config.Logger.Warn("the centre is not reached; what is made here is kept until it is", "cause", err)
		return
	}
	v.config.Logger.Info("in step with the centre")
}

var (
	errWipe    = errors.New("the centre has ordered this folder wiped")
	errAgain   = errors.New("the centre has more for this laptop")
	errEnded   = errors.New("this laptop is revoked at the centre: only its facts are taken there")
	errExpired = errors.New("this laptop's own key at the centre has expired")
	errUnasked = errors.New("the centre does not order this folder wiped")
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
		return errors.Is(err, disk.ErrFull)
	}
	if before, _ := v.metrics.setWaiting(c, true); before == 0 {
		v.config.Logger.Warn(logDiskFull, "cause", err)
	}
	return true
}

// goesOn notes that a job has copied something, so it no longer waits.
func (v *Venue) goesOn(c copyJob) {
	if before, after := v.metrics.setWaiting(c, false); before > 0 && after == 0 {
		v.config.Logger.Info(logDiskFree)
	}
}
