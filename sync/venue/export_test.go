package venue

import (
	"context"
	"net/http"

	"doorward/sync/dial"
	"doorward/sync/handshake"
	"doorward/sync/replicate"
)

// VisitOnce is one visit of a laptop to its centre over a client: the handshake, then each database once each way, one after the
// other. What is to be replayed from its seed cannot have them side by side, as Run has them; greeted is called after the handshake.
// It answers what was refused.
func VisitOnce(ctx context.Context, c Config, client *http.Client, greeted func()) (denied []replicate.Denial, err error) {
	x, err := meet(ctx, c, client)
	if err != nil {
		return nil, err
	}
	greeted()
	if err := newDropper(x).drop(ctx); err != nil {
		return nil, err
	}
	if err := x.resync(ctx); err != nil {
		return nil, err
	}
	for _, e := range x.greeting.Databases {
		d, err := copyWays(ctx, newCopies(x), e, true, true, false) // what is taken back once it was refused is a change, which the centre has to know of
		if denied = append(denied, d...); err != nil {
			return denied, err
		}
	}
	return denied, x.release(ctx)
}

// PullOnce pulls some databases once, one after the other.
func PullOnce(ctx context.Context, c Config, names ...string) error {
	x, err := meet(ctx, c, http.DefaultClient)
	for _, name := range names {
		if err == nil {
			_, err = copyWays(ctx, newCopies(x), x.greeting.Database(name), false)
		}
	}
	return err
}

// meet shakes hands with the centre over a client.
func meet(ctx context.Context, c Config, client *http.Client) (*visit, error) {
	v, err := New(c)
	if err != nil {
		return nil, err
	}
	u, _, err := c.Store.Laptop.Upstream()
	if err != nil {
		return nil, err
	}
	x, err := v.visit(u)
	if err != nil {
		return nil, err
	}
	x.client = client
	return x, x.handshake(ctx)
}

// copyWays copies a database once in each of some directions, as far as it is exchanged that way.
func copyWays(ctx context.Context, x *copies, e handshake.Database, pushes ...bool) (denied []replicate.Denial, err error) {
	for _, push := range pushes {
		if push && !e.Push || !push && !e.Pull {
			continue
		}
		j, err := x.job(copyJob{e.Name, push})
		if err != nil {
			return denied, err
		}
		j.Live = false
		out, err := replicate.Run(ctx, j)
		if denied = append(denied, out.Denied...); err != nil {
			return denied, err
		}
	}
	return denied, nil
}

// RunOver is Venue.Run over a client.
func RunOver(ctx context.Context, c Config, client *http.Client) error {
	v, err := New(c)
	if err != nil {
		return err
	}
	v.newClient = func(dial.Reach) *http.Client { return client }
	v.Run(ctx)
	return nil
}
