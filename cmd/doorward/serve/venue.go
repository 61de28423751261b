package serve

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"

	"doorward/sync/venue"
)

// venueLoop exchanges changes between a served store and its centre, and takes the order to wipe the folder.
type venueLoop struct {
	venue   *venue.Venue
	drain   context.CancelFunc // ends the server
	ended   chan struct{}
	ordered atomic.Bool // the centre has ordered to wipe the folder
}

// startVenue starts the loop. The context that it returns ends with ctx, or when the folder is to be wiped.
func startVenue(ctx context.Context, c venue.Config) (*venueLoop, context.Context, error) {
	l := &venueLoop{ended: make(chan struct{})}
	served, drain := context.WithCancel(ctx)
	l.drain = drain
	c.Wipe = func() {
		l.ordered.Store(true)
		drain()
	}
	var err error
	if l.venue, err = venue.New(c); err != nil {
		drain()
		return nil, nil, err
	}
	if u, joined, err := c.Store.Laptop.Upstream(); err == nil && joined && u.Insecure && strings.HasPrefix(u.URL, "http://") {
		c.Logger.Warn("the centre is spoken to over http://: everybody on the way can read all", "centre", u.URL)
	}
	go func() {
		defer close(l.ended)
		l.venue.Run(served)
	}()
	return l, served, nil
}

// end ends the loop. It reports whether the folder is to be wiped and the centre has all that was in it. No request writes to the store
// any more.
func (l *venueLoop) end(log *slog.Logger) (wiped bool) {
	l.drain()
	<-l.ended
	if !l.ordered.Load() {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), DefaultDrain)
	defer cancel()
	if err := l.venue.Farewell(ctx); err != nil {
		log.Error("the folder is not wiped as the centre has ordered: it was not reached in the end", "cause", err)
		return false
	}
	return true
}
