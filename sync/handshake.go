package sync

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"doorward/kv"
	"doorward/kv/record"
	"doorward/kv/rev"
)

// warnOffset is how far the two clocks may be apart before the log says so.
const warnOffset = 2 * time.Minute

// handshake meets the centre: clocks are compared, a copy of this store is noticed, ids and keys are taken.
func (x *visit) handshake(ctx context.Context) error {
	for range 3 { // one that is told of its copy asks again, as another
		offset, err := x.hello(ctx, false)
		if err != nil {
			return err
		}
		if err := x.compare(offset); err != nil {
			return err
		}
		if !x.greeting.Clone {
			if err := x.weigh(); err != nil {
				return err
			}
			return x.take(ctx)
		}
		if err := x.config.Store.BeginEpoch("the centre has met another copy of this folder"); err != nil {
			return err
		}
	}
	return errCut
}

// hello sends one handshake. offset is how far the centre's clock is ahead: its reading against the middle of the exchange.
func (x *visit) hello(ctx context.Context, wiped bool) (offset time.Duration, err error) {
	in, err := x.tell()
	if err != nil {
		return 0, err
	}
	in.Wiped = wiped
	t, err := x.database("_hello")
	if err != nil {
		return 0, err
	}
	began := time.Now()
	at := x.config.Store.Now()
	x.greeting = greeting{}
	if err := t.ask(ctx, http.MethodPost, t.at(), in, &x.greeting); err != nil {
		return 0, err
	}
	if !x.greeting.isOf(x.upstream.Node) {
		return 0, errNoCentre
	}
	if err := x.config.Store.SessionMet(in.Session); err != nil {
		return 0, err
	}
	x.metrics.meet(at, x.greeting.Behind)
	return x.greeting.Now.Sub(at.Add(time.Since(began) / 2)), nil
}

// isOf tells the greeting of the centre that was joined from what somebody else answers in its place. A centre that was restored, or that
// has moved, keeps its node, and says that its epoch is another.
func (g *greeting) isOf(node string) bool {
	return g.Node == node && g.Epoch != "" && !g.Now.IsZero()
}

// tell is what this store says of itself.
func (x *visit) tell() (in hello, err error) {
	s := x.config.Store
	in = hello{Version: x.config.Version, Realm: s.Realm(), Node: s.Node(), Epoch: s.Epoch(), Wants: []string{}}
	session, before, err := s.Session()
	if err != nil {
		return in, err
	}
	in.Session, in.Predecessor, in.Before = session, before[0], before[1:]
	in.Epoch, in.Erased = s.Epoch(), x.upstream.Erased
	if c := s.Clock(); !c.Measured.IsZero() {
		ms := c.Offset.Milliseconds()
		in.Offset = &ms
	}
	kinds, err := s.LeasesWanted(kv.Operator())
	for _, k := range kinds {
		in.Wants = append(in.Wants, k.Name)
	}
	if err != nil {
		return in, err
	}
	if in.Events, err = s.HeldEvents(kv.Operator()); err != nil {
		return in, err
	}
	o := outlook{x.config.Store, x.upstream}
	if in.Backlog, in.Oldest, err = o.backlog(); err != nil {
		return in, err
	}
	in.Since, err = o.places()
	return in, err
}

// compare notes how far the centre's clock is from ours.
func (x *visit) compare(offset time.Duration) error {
	if offset.Abs() > warnOffset {
		x.config.Logger.Warn("this machine's clock and the centre's differ", "by", offset.Round(time.Second))
	}
	return x.config.Store.MeasureClock(x.greeting.Node, offset, x.config.Store.Now())
}

// take takes what the centre has given: what is erased, ids, and the keys that work here too.
func (x *visit) take(ctx context.Context) error {
	if err := x.takeErasures(); err != nil {
		return err
	}
	for _, l := range x.greeting.Leases {
		k, ok := record.ByName(l.Kind)
		if !ok {
			continue
		}
		err := x.config.Store.TakeLease(kv.Operator(), kv.Lease{Kind: k, From: l.From, To: l.To})
		if err != nil && !errors.Is(err, kv.ErrConflict) && !errors.Is(err, kv.ErrNotFound) {
			return err
		}
	}
	if len(x.greeting.Keys) == 0 {
		return nil
	}
	return x.takeKeys(ctx)
}

// takeKeys stores the keys that are not here, or not as they are now.
func (x *visit) takeKeys(ctx context.Context) error {
	own, err := OpenHere(x.config.Store, kv.Operator(), "records")
	if err != nil {
		return err
	}
	var keys []*replica
	var offers []kv.Revs
	for _, text := range x.greeting.Keys {
		l, err := readLine(newDecoder(bytes.NewReader(text)))
		if err != nil {
			return errCut
		}
		if r := l.replica; r != nil && strings.HasPrefix(r.id, record.APIKey.Name+":") {
			keys = append(keys, r)
			offers = append(offers, kv.Revs{ID: r.id, Revisions: []rev.ID{r.rev()}})
		}
	}
	missing, err := own.missing(ctx, offers)
	if err != nil || len(missing) == 0 {
		return err
	}
	if _, err = own.write(ctx, keys); err == nil {
		x.config.Logger.Info("keys have come from the centre, and work here too", "keys", len(missing))
	}
	return err
}

// refill exchanges everything anew with a centre that is not what it was when it was last met: one that was restored from a backup
// may lack what it had acknowledged, and may have again what had left a database or was erased since.
func (x *visit) refill(ctx context.Context) error {
	if x.upstream.Epoch == x.greeting.Epoch {
		return x.learn()
	}
	if x.upstream.Epoch != "" {
		brought, err := x.tellErased(ctx)
		if err != nil {
			return err
		}
		if err := x.copyAnew(ctx, true); err != nil {
			return err
		}
		if brought != nil {
			if err := brought(); err != nil {
				return err
			}
		}
		if err := x.copyAnew(ctx, false); err != nil {
			return err
		}
	}
	x.upstream.Epoch = x.greeting.Epoch
	return x.learn()
}

// copyAnew copies all databases one way from their beginnings.
func (x *visit) copyAnew(ctx context.Context, push bool) error {
	for _, e := range x.greeting.Databases {
		if push && !e.Push || !push && !e.Pull {
			continue
		}
		t, err := x.met(e.Name)
		if err != nil {
			return err
		}
		own, err := OpenHere(x.config.Store, kv.Operator(), e.Name)
		if err != nil {
			return err
		}
		j := Job{Source: own, Target: anew{t}, Tries: 1, Refused: x.giveWay(own, t)}
		if !push {
			j.Source, j.Target, j.Refused, j.notes = anew{t}, own, nil, x.received(e.Name)
		}
		if _, err := Replicate(ctx, j); err != nil {
			return err
		}
	}
	return nil
}

// learn keeps what the centre has said, for when it is not reached.
func (x *visit) learn() error {
	x.upstream.Pushes, x.upstream.Pulls, x.upstream.Guest = nil, x.greeting.pulls(), nil
	x.upstream.Over, x.upstream.Chosen, x.upstream.Revoked = x.ripe, x.greeting.Chosen, false
	for _, e := range x.greeting.Databases {
		if e.Push {
			x.upstream.Pushes = append(x.upstream.Pushes, e.Name)
		}
		if e.Guest {
			x.upstream.Guest = append(x.upstream.Guest, e.Name)
		}
	}
	return x.config.Store.NoteUpstream(x.upstream)
}

// anew is an end of which nobody remembers how far it has come.
type anew struct{ *There }

func (a anew) identity(ctx context.Context) (string, error) { return "", a.open(ctx) }
