package venue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"doorward/kv"
	"doorward/sync/dial"
	"doorward/sync/handshake"
	"doorward/sync/line"
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
	config  Config
	told    chan struct{} // somebody wants it to try at once
	metrics *metrics
	logged  string // what the log was last told of the link; "" = it holds
	client  func(dial.Reach) *http.Client
	stays   map[string]string // by database of an event that is over, why it stays here, as the log was last told; "" = it does not
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
	v.client = v.dialer
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

// visit is one contact with the centre, for as long as the link holds.
type visit struct {
	*Venue
	upstream  kv.Upstream
	site      string
	reach     dial.Reach
	client    *http.Client
	greeting  handshake.Greeting
	droppable []string                   // databases that may be dropped now
	given     map[string]*replicate.Echo // by the centre in this visit, by database
}

func (v *Venue) visit(u kv.Upstream) (*visit, error) {
	site, _, reach, err := centre(u.URL, u.Insecure)
	if err != nil {
		return nil, err
	}
	return &visit{Venue: v, upstream: u, site: site, reach: reach, client: v.metrics.count(v.client(reach))}, nil
}

// visitCentre shakes hands and exchanges all that there is until the link breaks. met tells that there was one to a centre that has more
// to say than that the laptop is revoked.
func (v *Venue) visitCentre(ctx context.Context, u kv.Upstream) (met bool, err error) {
	x, err := v.visit(u)
	if err != nil {
		return false, err
	}
	defer x.client.CloseIdleConnections()
	defer v.metrics.endVisit()
	if err := x.handshake(ctx); err != nil {
		return false, x.explainExpiry(err)
	}
	if x.greeting.Revoked {
		if err := x.saveRevoked(); err != nil {
			return false, err
		}
		return false, x.deliverFacts(ctx) // again, and less and less often
	}
	if err := x.drop(ctx); err != nil {
		return true, err
	}
	if err := x.resync(ctx); err != nil {
		return true, err
	}
	v.metrics.setWaiting(copyJob{}, false)
	v.logLink(nil)
	return true, x.exchange(ctx)
}

// explainExpiry tells where the centre refuses this laptop because its own key there has expired. The centre judges by its own clock, so either clock
// may say so.
func (x *visit) explainExpiry(err error) error {
	var r *dial.Refusal
	ends := x.upstream.Ends
	if !errors.As(err, &r) || r.Status != http.StatusUnauthorized || ends.IsZero() {
		return err
	}
	if x.config.Store.Now().Before(ends) && r.At.Before(ends) {
		return err
	}
	return fmt.Errorf("%w on %s", errExpired, ends.UTC().Format(time.DateOnly))
}

// trusted tells a centre that may order the folder wiped: nobody on the way can have given the order in its place.
func (x *visit) trusted() bool {
	return x.reach == dial.Loopback || strings.HasPrefix(x.site, "https://")
}

// linkConfig says how something below the centre's /sync is reached.
func (x *visit) linkConfig(name string) dial.Config {
	return dial.Config{URL: x.site + "/sync/" + name, Client: x.client, Key: x.upstream.Key, Secret: x.upstream.Secret, Node: x.upstream.Node}
}

// question is a small request to the centre that is about no database.
type question struct {
	method, path string
	query        url.Values
	body         any // nil: there is none
}

// ask sends a question and reads the answer.
func (x *visit) ask(ctx context.Context, q question, out any) error {
	l, err := dial.New(x.linkConfig(q.path))
	if err != nil {
		return err
	}
	address := l.At()
	if q.query != nil {
		address += "?" + q.query.Encode()
	}
	return l.Ask(ctx, q.method, address, q.body, out)
}

// database is a database at the centre, of which the handshake has told whose it is: it need not be asked.
func (x *visit) database(name string) (*replicate.Remote, error) {
	c := replicate.RemoteConfig{Config: x.linkConfig(name)}
	if x.greeting.Feed == dial.FeedVersion {
		c.Met = &line.Head{Format: line.Format, Realm: x.config.Store.Realm(), Node: x.greeting.Node, Epoch: x.greeting.Epoch, DB: name}
	}
	return replicate.NewRemote(c)
}

// saveRevoked keeps in mind that the laptop is revoked.
func (x *visit) saveRevoked() error {
	if x.upstream.Revoked {
		return nil
	}
	x.upstream.Revoked = true
	return x.config.Store.NoteUpstream(x.upstream)
}

// deliverFacts brings the facts of a laptop that is revoked. Where it is to be wiped and all of them are there, the answer is errWipe.
func (x *visit) deliverFacts(ctx context.Context) error {
	for _, e := range x.greeting.Databases {
		if !e.Push {
			continue
		}
		t, err := replicate.NewRemote(replicate.RemoteConfig{Config: x.linkConfig(e.Name), Met: &line.Head{Realm: x.config.Store.Realm(), DB: e.Name}}) // it may not ask
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
func (x *visit) copyOnce(ctx context.Context, name string, to replicate.Peer) (replicate.Outcome, error) {
	from, err := replicate.OpenLocal(x.config.Store, kv.Operator(), name)
	if err != nil {
		return replicate.Outcome{}, err
	}
	return replicate.Run(ctx, replicate.Job{Source: from, Target: to, Tries: 1})
}

// Farewell hands over what has been made until now, of a store that nobody writes to any more, and tells the centre that the folder
// is wiped next. Only then it may be: any error says that it must stay.
func (v *Venue) Farewell(ctx context.Context) error {
	u, _, err := v.config.Store.Upstream()
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
