package venue

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"doorward/kv/auth"
	"doorward/kv/table"
	"doorward/sync/dial"
	"doorward/sync/handshake"
	"doorward/sync/line"
	"doorward/sync/replicate"
)

// visit is one contact with the centre, while the link holds.
type visit struct {
	*Venue
	contact
	upstream  table.Upstream
	greeting  handshake.Greeting
	droppable []string                   // databases that may be dropped now
	given     map[string]*replicate.Echo // what the centre has given, by database
	moved     moved
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
		return false, x.explainExpiry(err)
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

// moved tells whether a visit has copied something.
type moved struct{ atomic.Bool }

// note notes what a replication has copied.
func (m *moved) note(out replicate.Outcome) {
	if out.History[0].Written > 0 {
		m.Store(true)
	}
}

// explainExpiry returns errExpired if the centre refuses this laptop because its key has expired. The centre judges by its own clock, so
// either clock may say so.
func (x *visit) explainExpiry(err error) error {
	var r *dial.Refusal
	ends := x.upstream.Ends
	if !errors.As(err, &r) || r.Status != http.StatusUnauthorized || ends.IsZero() {
		return err
	}
	if x.config.Store.Tables.Clock.Now().Before(ends) && r.At.Before(ends) {
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

// Farewell pushes what was made until now and tells the centre that the folder is wiped next. No one may write to the store any more. The
// folder may be wiped only if there is no error.
func (v *Venue) Farewell(ctx context.Context) error {
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
