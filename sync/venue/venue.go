package venue

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"doorward/kv"
	"doorward/sync/dial"
	"doorward/sync/replicate"

	"github.com/prometheus/client_golang/prometheus"
)

// Config says whose store is kept in step with its centre. Only Store is needed.
type Config struct {
	Store      *kv.Store
	Version    string                // of this program
	Logger     *slog.Logger          // nil = silent
	Registerer prometheus.Registerer // nil = not registered
	Wipe       func()                // the centre has ordered the folder wiped: nobody shall write any more, then Farewell; nil = nobody can
}

// Venue keeps a store in step with the centre that it has joined. The store dials: it shakes hands, pushes what it has made, pulls
// what the centre has, and goes on as long as the link holds; then it tries again.
type Venue struct {
	config    Config
	told      chan struct{} // somebody wants it to try at once
	metrics   *metrics
	logged    string // what the log was last told of the link; "" = it holds
	newClient func(dial.Reach) *http.Client
	stays     map[string]string // by database of an event that is over, why it stays here, as the log was last told; "" = it does not
}

// Between two tries of a centre that is not reached. With an event in progress a laptop waits less than a second, and never as long as the
// others.
const (
	firstPause   = time.Second / 2
	longestPause = replicate.LongestWaited
	eventPause   = 900 * time.Millisecond
)

// New makes a venue, which does nothing before Run. It fails where the registry holds other metrics of the same names.
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

// Wake has it try at once, as when the store has just joined or the link is known to be back.
func (v *Venue) Wake() {
	select {
	case v.told <- struct{}{}:
	default: // it is told already
	}
}

// Run keeps the store in step until ctx ends, or the store is to be wiped. Everything that it has begun has ended when it returns.
func (v *Venue) Run(ctx context.Context) {
	for failed := 0; ctx.Err() == nil; failed++ {
		u, ok, err := v.config.Store.Upstream()
		if err == nil && !ok {
			v.wait(ctx, nil)
			failed = -1
			continue
		}
		met := false
		if err == nil {
			met, err = v.visitCentre(ctx, u)
		}
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errWipe):
			v.config.Wipe()
			return
		case errors.Is(err, errAgain):
			failed = -1
			continue
		case met:
			failed = 0
		}
		v.metrics.setWaiting(copyJob{}, isDiskFull(err)) // for the visit as a whole
		v.logLink(err)
		t := time.NewTimer(v.nextTry(failed, err))
		v.wait(ctx, t.C)
		t.Stop()
	}
}

// nextTry is how long to wait after so many visits in a row that failed, before the next.
func (v *Venue) nextTry(failed int, err error) time.Duration {
	if isDown(err) && v.inProgress() {
		return eventPause/2 + rand.N(eventPause/2+1)
	}
	return min(dial.Pause(firstPause, failed, err), longestPause)
}

// dialer is a client for one visit.
func (v *Venue) dialer(reach dial.Reach) *http.Client {
	if v.inProgress() {
		return dial.NewEagerClient(reach)
	}
	return dial.NewClient(reach)
}

// inProgress tells whether an event is in progress here, as far as that can be read.
func (v *Venue) inProgress() bool {
	is, err := v.config.Store.InProgress(kv.Operator())
	return err == nil && is
}

// isDown tells a link that is down, or a centre that does not run, from a centre that refuses, or asks to be left alone for a while.
func isDown(err error) bool {
	if r := (*dial.Refusal)(nil); errors.As(err, &r) {
		return r.Status >= 500 && !isDiskFull(err)
	}
	return errors.Is(err, dial.ErrCut) || errors.Is(err, dial.ErrNoCentre) || errors.Is(err, dial.ErrRedirect)
}

// wait waits for a moment, until it is told to try, or until ctx ends.
func (v *Venue) wait(ctx context.Context, until <-chan time.Time) {
	select {
	case <-until:
	case <-v.told:
	case <-ctx.Done():
	}
}

// logLink tells the log how the link is, once for each change.
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
