package venue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/table"
	"doorward/sync/dial"
	"doorward/sync/handshake"
	"doorward/sync/line"
	"doorward/sync/replicate"

	"github.com/prometheus/client_golang/prometheus"
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
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
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
	return dial.NewProxiedClient(reach)
}

// inProgress tells whether an event is in progress here.
func (v *Venue) inProgress() bool {
	is, err := v.config.Store.Laptop.InProgress(auth.Operator())
	return err == nil && is
}

// isDown tells whether the link or the centre is down. A centre that refuses, or asks to wait, is not.
func isDown(err error) bool {
	if r, is := errors.AsType[*dial.Refusal](err); is {
		return r.Status >= 500 && !isDiskFull(err)
	}
	if _, is := errors.AsType[*dial.ProxyError](err); is {
		return true
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

// visit is one contact with the centre, while the link holds.
type visit struct {
	*Venue
	contact
	upstream  table.Upstream
	greeting  handshake.Greeting
	droppable []string                   // databases that may be dropped now
	given     map[string]*replicate.Echo // what the centre has given, by database
	moved     atomic.Bool                // something was copied
}

func (v *Venue) visit(u table.Upstream) (*visit, error) {
	site, _, reach, err := centre(u.URL, u.Insecure)
	if err != nil {
		return nil, err
	}
	at := contact{site: site, reach: reach, client: v.metrics.count(v.newClient(reach)), node: u.Node, key: u.Key, secret: u.Secret}
	return &visit{Venue: v, contact: at, upstream: u}, nil
}

// visitCentre shakes hands and copies until the link breaks. useful tells whether the visit has copied something, or the link held for as long as the longest
// pause: a visit that fails soon after each handshake is no reason to come back soon.
func (v *Venue) visitCentre(ctx context.Context, u table.Upstream) (useful bool, err error) {
	x, err := v.visit(u)
	if err != nil {
		return false, err
	}
	defer x.client.CloseIdleConnections()
	defer v.metrics.endVisit()
	if err := x.handshake(ctx); err != nil {
		return false, explainExpiry(err, x.upstream.Ends, x.config.Store.Tables.Clock.Now())
	}
	if x.greeting.Revoked {
		if err := x.saveRevoked(); err != nil {
			return false, err
		}
		return false, x.deliverFacts(ctx) // and again, after longer and longer pauses
	}
	began := time.Now()
	err = exchange(ctx, x)
	return x.moved.Load() || time.Since(began) >= longestPause, err
}

// exchange copies until the link breaks, after the handshake.
func exchange(ctx context.Context, x *visit) error {
	if err := newDropper(x).drop(ctx); err != nil {
		return err
	}
	if err := x.resync(ctx); err != nil {
		return err
	}
	x.metrics.setWaiting(copyJob{}, false)
	x.logLink(nil)
	return newCopies(x).run(ctx)
}

// noteMoved notes what a replication of the visit has copied.
func (x *visit) noteMoved(out replicate.Outcome) {
	if out.History[0].Written > 0 {
		x.moved.Store(true)
	}
}

// explainExpiry returns errExpired if the centre refuses this laptop because its key has expired. The centre judges by its own clock, so
// either clock may say so. The zero time is no end.
func explainExpiry(err error, ends, now time.Time) error {
	r, is := errors.AsType[*dial.Refusal](err)
	if !is || r.Status != http.StatusUnauthorized || ends.IsZero() || now.Before(ends) && r.At.Before(ends) {
		return err
	}
	return fmt.Errorf("%w on %s", errExpired, ends.UTC().Format(time.DateOnly))
}

// database opens a database at the centre. The handshake has said what it is, so it is not asked.
func (x *visit) database(name string) (*replicate.Remote, error) {
	c := replicate.RemoteConfig{Config: x.address(name)}
	if x.greeting.Feed == dial.FeedVersion {
		c.Met = &line.Head{Format: line.Format, Realm: x.config.Store.Tables.Identity.Realm(), Node: x.greeting.Node, Epoch: x.greeting.Epoch, DB: name}
	}
	return replicate.NewRemote(c)
}

// saveRevoked saves that the laptop is revoked.
func (x *visit) saveRevoked() error {
	if x.upstream.Revoked {
		return nil
	}
	x.upstream.Revoked = true
	return x.config.Store.Laptop.NoteUpstream(x.upstream)
}

// deliverFacts pushes the facts of a revoked laptop. It returns errWipe if the folder is to be wiped and the centre has all of them.
func (x *visit) deliverFacts(ctx context.Context) error {
	for _, e := range x.greeting.Databases {
		if !e.Push {
			continue
		}
		t, err := replicate.NewRemote(replicate.RemoteConfig{Config: x.address(e.Name), Met: &line.Head{Realm: x.config.Store.Tables.Identity.Realm(), DB: e.Name}}) // a revoked laptop may not ask
		if err != nil {
			return err
		}
		out, err := x.copyOnce(ctx, e.Name, t)
		if err != nil {
			return err
		}
		if out.RefusedFacts > 0 {
			return errEnded
		}
	}
	if x.greeting.Wipe && x.trusted() && x.config.Wipe != nil {
		return errWipe
	}
	return errEnded
}

// copyOnce copies a database of this store to the centre.
func (x *Venue) copyOnce(ctx context.Context, name string, to replicate.Peer) (replicate.Outcome, error) {
	from, err := replicate.OpenLocal(x.config.Store, auth.Operator(), name)
	if err != nil {
		return replicate.Outcome{}, err
	}
	return replicate.Run(ctx, replicate.Job{Source: from, Target: to, Tries: 1})
}

// Farewell pushes what was made until now and tells the centre that the folder is wiped next. No one may write to the store any more. A centre
// that is not reached is tried again while ctx lasts. The folder may be wiped only if there is no error.
func (v *Venue) Farewell(ctx context.Context) error {
	for failed := 0; ; failed++ {
		err := v.farewell(ctx)
		if !isDown(err) || dial.Rest(ctx, dial.Pause(firstPause, failed, err)) != nil {
			return err
		}
	}
}

func (v *Venue) farewell(ctx context.Context) error {
	u, _, err := v.config.Store.Laptop.Upstream()
	if err != nil {
		return err
	}
	x, err := v.visit(u)
	if err != nil {
		return err
	}
	defer x.client.CloseIdleConnections()
	if err := x.handshake(ctx); err != nil {
		return err
	}
	if !x.greeting.Wipe {
		return errUnasked
	}
	if err := x.deliverFacts(ctx); !errors.Is(err, errWipe) {
		return err
	}
	_, err = x.hello(ctx, true)
	return err
}
