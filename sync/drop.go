package sync

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"doorward/kv"
	"doorward/kv/scopes"
)

// A laptop takes the databases of an event out of its file when it was enrolled for another event, at once; when the event has left its
// churches; or when the event is over. The centre asks for it. Of the last two the laptop decides, because one wrong edit or one wrong
// clock must not empty a door. Until then the centre gets what the laptop makes.
//
//	not within   12 hours of the last scan
//
// and of an event that is over:
//
//	not while    this machine's clock is doubted, or differs from the centre's by more than two minutes
//	not before   it has been over for long enough by both clocks and by what both say of its end
//	not before   a day after it was announced: in the log, in the metrics, in the handshake

// quiet is how long nobody was scanned at an event before it is dropped.
const quiet = 12 * time.Hour

// departing is a database that a laptop shall drop.
type departing struct {
	Name  string    `json:"name"`
	Due   time.Time `json:"due,omitzero"`      // by the centre's clock, where its event is over; zero = at once
	After int64     `json:"after_ms,omitzero"` // how long after the end of the event that is, in milliseconds
	Left  bool      `json:"left,omitzero"`     // its event has left the laptop's churches: it goes once its doors are quiet
}

func newDeparting(x kv.Exchanged, after time.Duration) departing {
	d := departing{Name: x.Name, Due: x.Due, Left: x.Left}
	if !d.Due.IsZero() {
		d.After = after.Milliseconds()
	}
	return d
}

// stillExchanged tells whether a database is exchanged though the laptop shall drop it: its event is over or has left, and the laptop holds it.
func stillExchanged(x kv.Exchanged, now time.Time, held []int64) bool {
	scope, _ := scopes.Parse(x.Name) // it is one of an event
	return (x.Left || !x.Due.IsZero()) && (now.Before(x.Due) || slices.Contains(held, scope.ID))
}

// Why a database stays, as the log says it.
const (
	staysDoubted = "this machine's clock is doubted"
	staysApart   = "this machine's clock and the centre's differ"
	staysScanned = "somebody was scanned there in the last 12 hours"
	staysEarly   = "by this machine's clock and what is known here of its end it has not been over for long enough"
)

// weighing decides for each event whether its databases may go now.
type weighing struct {
	*visit
	now   time.Time
	drops map[int64]time.Time // as Upstream has it
}

// weigh finds out what of all that the centre wants dropped may go now: that is exchanged no longer. All else goes on.
func (x *visit) weigh() error {
	maps.DeleteFunc(x.stays, func(name, _ string) bool { return !x.greeting.drops(name) })
	x.ripe = nil
	w := weighing{x, x.config.Store.Now(), map[int64]time.Time{}}
	for event, all := range x.greeting.departing() {
		held, err := x.holds(all)
		stays := held && (all[0].Left || !all[0].Due.IsZero())
		if err == nil && stays {
			stays, err = w.stays(event, all[0])
		}
		if err != nil {
			return err
		}
		for _, d := range all {
			if !stays {
				x.ripe = append(x.ripe, d.Name)
			}
		}
	}
	slices.Sort(x.ripe)
	x.greeting.Databases = slices.DeleteFunc(x.greeting.Databases, func(e exchange) bool { return slices.Contains(x.ripe, e.Name) })
	if maps.Equal(w.drops, x.upstream.Drops) {
		return nil
	}
	x.upstream.Drops = w.drops
	return x.config.Store.NoteUpstream(x.upstream)
}

// departing are the databases that shall be dropped, by event. Names that this version does not know are left out.
func (g *greeting) departing() map[int64][]departing {
	events := map[int64][]departing{}
	for _, d := range g.Drop {
		if scope, ok := scopes.Parse(d.Name); ok && scope.Sort.OfEvent() {
			events[scope.ID] = append(events[scope.ID], d)
		}
	}
	return events
}

// holds tells whether anything of some databases is here that would go with them.
func (x *visit) holds(all []departing) (bool, error) {
	for _, d := range all {
		if upto, err := x.config.Store.Held(kv.Operator(), d.Name, x.greeting.kept(d.Name)...); err != nil || upto > 0 {
			return upto > 0, err
		}
	}
	return false, nil
}

// stays tells whether an event that is held stays for now.
func (w *weighing) stays(event int64, d departing) (bool, error) {
	t, err := w.config.Store.EventTimes(kv.Operator(), event)
	if err != nil {
		return false, err
	}
	if d.Left { // no clock decides that
		return busy(t, w.now) && w.staysFor(d.Name, staysScanned), nil
	}
	if at, told := w.upstream.Drops[event]; told {
		w.drops[event] = at
	}
	if why := w.why(t); why != "" {
		return w.staysFor(d.Name, why), nil
	}
	at, due := w.announce(d, event), !w.greeting.Now.Before(d.Due)
	if due && w.now.Before(t.End.Add(d.after())) {
		return w.staysFor(d.Name, staysEarly), nil
	}
	return !due || w.now.Before(at), nil
}

// why is why nothing of an event may go now; "" where it may.
func (w *weighing) why(t kv.EventTimes) string {
	c := w.config.Store.Clock()
	switch {
	case c.Doubt != "":
		return staysDoubted
	case c.Offset.Abs() > warnOffset:
		return staysApart
	case busy(t, w.now):
		return staysScanned
	}
	return ""
}

// busy tells an event with a scan in the last 12 hours.
func busy(t kv.EventTimes, now time.Time) bool { return now.Sub(t.Scanned).Abs() < quiet }

func (d departing) after() time.Duration { return time.Duration(d.After) * time.Millisecond }

// announce answers from when on an event that is over may be dropped here. It is said in the log, once.
func (w *weighing) announce(d departing, event int64) time.Time {
	at, told := w.upstream.Drops[event]
	if !told {
		at = w.now.Add(min(kv.DropNotice, d.after())).UTC().Truncate(time.Second)
		w.config.Logger.Warn("an event that is over will be dropped here; the centre keeps it", "event", event, "at", at)
	}
	w.drops[event] = at
	return at
}

// drop takes what may go out of the file.
func (x *visit) drop(ctx context.Context) error {
	var dropped []string
	for _, name := range slices.Backward(x.ripe) { // the event itself last: without it nobody knows when it ended
		held, err := x.dropOne(ctx, name, x.greeting.kept(name))
		if err != nil {
			return err
		}
		if held {
			dropped = append(dropped, name)
		}
	}
	if len(dropped) > 0 {
		x.config.Logger.Info("events that are over, or another's now, were dropped: the centre has all of them", "databases", dropped)
	}
	return nil
}

// kept are those of the databases that a laptop is given whose records stay when an event goes: a church has its events too. A laptop
// of event level is given no events but its own.
func kept(pulls []string) []string {
	if !slices.Contains(pulls, "reference-finance") {
		return nil
	}
	return pulls
}

// kept are the databases whose records stay when one is dropped. An event that has left its church takes its own record along.
func (g *greeting) kept(name string) []string {
	if slices.ContainsFunc(g.Drop, func(d departing) bool { return d.Name == name && d.Left }) {
		return nil
	}
	return kept(slices.DeleteFunc(g.pulls(), g.drops))
}

// drops tells whether a database shall be dropped.
func (g *greeting) drops(name string) bool {
	return slices.ContainsFunc(g.Drop, func(d departing) bool { return d.Name == name })
}

// dropOne takes a database out of the file, unless the centre lacks something of it, and has it pulled from its beginning if it ever
// comes back; held tells whether there was anything. What was refused here goes even where there was not: the private halves go before.
func (x *visit) dropOne(ctx context.Context, name string, kept []string) (held bool, err error) {
	store := x.config.Store
	upto, err := store.Held(kv.Operator(), name, kept...)
	if errors.Is(err, kv.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if upto > 0 {
		if why, err := x.lacks(ctx, name); err != nil || x.staysFor(name, why) {
			return false, err
		}
		if err := (outlook{store, x.upstream}).forget(ctx, name); err != nil { // first: of what is gone already nobody would
			return false, err
		}
		if err := store.Release(kv.Operator(), name, upto, kept...); err != nil {
			return false, err
		}
	}
	return upto > 0, store.ReleaseRefusals(kv.Operator(), name, kept...)
}

// staysFor tells whether there is a cause for a database to stay, and the log what it is, once for each change.
func (x *visit) staysFor(name, cause string) bool {
	if cause != "" && cause != x.stays[name] {
		x.config.Logger.Warn("an event that the centre wants dropped stays here", "database", name, "cause", cause)
	}
	x.stays[name] = cause
	return cause != ""
}
