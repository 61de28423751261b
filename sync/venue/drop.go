package venue

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"doorward/kv/auth"
	"doorward/kv/office"
	"doorward/kv/table"
	"doorward/sync/handshake"
)

// quietFor is how long no ticket was scanned at an event before it is dropped.
const quietFor = 12 * time.Hour

// The causes for a database to stay, as the log has them.
const (
	staysDoubted = "this machine's clock is doubted"
	staysApart   = "this machine's clock and the centre's differ"
	staysScanned = "somebody was scanned there in the last 12 hours"
	staysEarly   = "by this machine's clock and what is known here of its end it has not been over for long enough"
)

// dropper decides for each event whether its databases may go now.
type dropper struct {
	*visit
	now   time.Time
	drops map[int64]time.Time // when events may be dropped, for table.Upstream
}

func newDropper(x *visit) *dropper {
	return &dropper{x, x.config.Store.Tables.Clock.Now(), map[int64]time.Time{}}
}

// decide finds which of the databases that the centre wants dropped may go now. These are exchanged no longer; all others go on.
func (x *dropper) decide() error {
	maps.DeleteFunc(x.stays, func(name, _ string) bool { return !x.greeting.IsDropped(name) })
	x.droppable = nil
	for event, all := range x.greeting.DropsByEvent() {
		held, err := x.holds(all)
		stays := held && (all[0].Left || !all[0].Due.IsZero())
		if err == nil && stays {
			stays, err = x.mustStay(event, all[0])
		}
		if err != nil {
			return err
		}
		for _, d := range all {
			if !stays {
				x.droppable = append(x.droppable, d.Name)
			}
		}
	}
	slices.Sort(x.droppable)
	x.greeting.Databases = slices.DeleteFunc(x.greeting.Databases, func(e handshake.Database) bool { return slices.Contains(x.droppable, e.Name) })
	if maps.Equal(x.drops, x.upstream.Drops) {
		return nil
	}
	x.upstream.Drops = x.drops
	return x.config.Store.Laptop.NoteUpstream(x.upstream)
}

// holds tells whether this store has records that go with some databases.
func (x *dropper) holds(all []handshake.Drop) (bool, error) {
	for _, d := range all {
		if upto, err := x.config.Store.Laptop.Held(auth.Operator(), d.Name, x.greeting.Kept(d.Name)...); err != nil || upto > 0 {
			return upto > 0, err
		}
	}
	return false, nil
}

// mustStay tells whether an event stays for now.
func (x *dropper) mustStay(event int64, d handshake.Drop) (bool, error) {
	t, err := x.config.Store.Venues.EventTimes(auth.Operator(), event)
	if err != nil {
		return false, err
	}
	if d.Left { // clocks do not matter
		return busy(t, x.now) && x.logStay(d.Name, staysScanned), nil
	}
	if at, told := x.upstream.Drops[event]; told {
		x.drops[event] = at
	}
	if why := x.why(t); why != "" {
		return x.logStay(d.Name, why), nil
	}
	at, due := x.announce(d, event), !x.greeting.Now.Before(d.Due)
	if due && x.now.Before(t.End.Add(d.Delay())) {
		return x.logStay(d.Name, staysEarly), nil
	}
	return !due || x.now.Before(at), nil
}

// why returns the cause for an event to stay; "" = it may go.
func (x *dropper) why(t office.EventTimes) string {
	c := x.config.Store.Tables.Clock.Reading()
	switch {
	case c.Doubt != "":
		return staysDoubted
	case c.Offset.Abs() > warnOffset:
		return staysApart
	case busy(t, x.now):
		return staysScanned
	}
	return ""
}

// busy tells whether a ticket was scanned at an event in the last 12 hours.
func busy(t office.EventTimes, now time.Time) bool { return now.Sub(t.Scanned).Abs() < quietFor }

// announce returns when an event that is over may be dropped. The log says it once.
func (x *dropper) announce(d handshake.Drop, event int64) time.Time {
	at, told := x.upstream.Drops[event]
	if !told {
		at = x.now.Add(min(office.DropNotice, d.Delay())).UTC().Truncate(time.Second)
		x.config.Logger.Warn("an event that is over will be dropped here; the centre keeps it", "event", event, "at", at)
	}
	x.drops[event] = at
	return at
}

// drop removes databases from the file.
func (x *dropper) drop(ctx context.Context) error {
	var dropped []string
	for _, name := range slices.Backward(x.droppable) { // the event itself last: it says when it ended
		held, err := x.dropOne(ctx, name, x.greeting.Kept(name))
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

// dropOne removes a database from the file, unless the centre lacks something of it. If the database ever comes back, the next pull begins at
// its beginning. held tells whether it had any records. Its refused documents go in any case.
func (x *dropper) dropOne(ctx context.Context, name string, kept []string) (held bool, err error) {
	store := x.config.Store
	upto, err := store.Laptop.Held(auth.Operator(), name, kept...)
	if errors.Is(err, table.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if upto > 0 {
		if why, err := x.missingAtCentre(ctx, name); err != nil || x.logStay(name, why) {
			return false, err
		}
		if err := (lag{store, x.upstream}).forget(ctx, name); err != nil { // before the records go, so that a cut in between is harmless
			return false, err
		}
		if err := store.Laptop.Release(auth.Operator(), name, upto, kept...); err != nil {
			return false, err
		}
	}
	return upto > 0, store.Laptop.ReleaseRefusals(auth.Operator(), name, kept...)
}

// logStay tells whether there is a cause for a database to stay, and logs each new cause.
func (x *Venue) logStay(name, cause string) bool {
	if cause != "" && cause != x.stays[name] {
		x.config.Logger.Warn("an event that the centre wants dropped stays here", "database", name, "cause", cause)
	}
	x.stays[name] = cause
	return cause != ""
}

// release removes records from the file that only the centre keeps, once the centre has them. Records that the centre has refused and does not
// keep stay. An event that leaves its church is whole until it is dropped: it may come back before.
func (x *visit) release(ctx context.Context) error {
	store := x.config.Store
	for _, e := range x.greeting.Databases {
		if !e.Push || e.Pull || x.greeting.Leaves(e.Name) || !strings.HasSuffix(e.Name, "-holders") && !strings.HasSuffix(e.Name, "-names") {
			continue
		}
		upto, err := lag{store, x.upstream}.acknowledged(e.Name)
		if err != nil {
			return err
		}
		held, err := store.Laptop.Held(auth.Operator(), e.Name)
		if err != nil {
			return err
		}
		if held == 0 {
			continue
		}
		why, err := x.missingAtCentre(ctx, e.Name)
		if err == nil && why == "" {
			err = store.Laptop.Release(auth.Operator(), e.Name, upto)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
