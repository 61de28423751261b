package sync

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/erase"
	"doorward/kv/keys"
	"doorward/kv/laptop"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/sync/dial"
	"doorward/sync/handshake"
	"doorward/sync/input"
	"doorward/sync/line"
	"doorward/sync/replicate"
	"doorward/sync/transit"
)

// errNode says that a handshake comes with a key of another laptop.
var errNode = errors.New("the key is not that laptop's")

// enrol exchanges a code for a key of class node. Guessing codes is slowed down like guessing secrets.
func enrol(c *call) error {
	var in handshake.EnrolRequest
	if err := c.readSmall(&in); err != nil {
		return err
	}
	hash, good := keys.ParseHash(in.Secret)
	if !good {
		return input.ErrShape
	}
	if in.Realm != c.store().Tables.Identity.Realm() && !in.Vacant {
		return laptop.ErrOtherRealm
	}
	cred, err := c.store().Venues.Exchange(in.Code, office.Joiner{Node: in.Node, Secret: hash, Proof: in.Proof, Holds: in.Holds})
	if errors.Is(err, office.ErrCode) {
		var slow interface{ RetryAfter() time.Duration }
		if _, e := c.server.config.Gate.Login(c.request, "enrolment", ""); errors.As(e, &slow) {
			return e
		}
	}
	if err != nil {
		return err
	}
	c.server.config.Logger.Info("a laptop has joined", "id", cred.ID)
	var g handshake.Greeting
	if err := tellDatabases(c, cred.Laptop, nil, &g); err != nil {
		return err
	}
	return c.reply(http.StatusOK, handshake.EnrolAnswer{
		ID: cred.ID, Name: cred.Name, Key: cred.Key, Realm: cred.Realm, Node: cred.Centre, CodeKey: hex.EncodeToString(cred.CodeKey), Ends: cred.Ends,
		Databases: g.Databases, Chosen: g.Chosen,
	})
}

// answerHello answers a handshake.
func answerHello(c *call) error {
	var in handshake.Hello
	if err := c.readSmall(&in); err != nil {
		return err
	}
	switch {
	case c.caller.Node() == "" || in.Node != c.caller.Node():
		return errNode
	case in.Realm != c.store().Tables.Identity.Realm():
		return replicate.ErrRealm
	}
	g := handshake.Greeting{Version: c.server.config.Version, Node: c.store().Tables.Identity.Node(), Epoch: c.store().Tables.Epochs.Present(), Feed: dial.FeedVersion, Zone: c.store().Tables.Clock.Zone().String()}
	var err error
	if g.Clone, err = c.store().Keys.SeenSession(in.Node, in.Session, append([]string{in.Predecessor}, in.Before...)); err != nil {
		return err
	}
	contact := office.Contact{At: c.store().Tables.Clock.Now(), Backlog: max(0, in.Backlog), Oldest: in.Oldest, Offset: in.Offset, Version: shortVersion(in.Version), Wiped: in.Wiped, Events: in.Events}
	if err := c.store().Venues.NoteContact(c.caller, contact); err != nil {
		return err
	}
	if err := fillGreeting(c, &in, &g); err != nil {
		return err
	}
	g.Now = c.store().Tables.Clock.Now()
	return c.reply(http.StatusOK, g)
}

// shortVersion cuts a version to what is kept.
func shortVersion(version string) string { return version[:min(len(version), 64)] }

// tellDatabases says which databases a laptop exchanges, and which it drops. held are the events that it holds.
func tellDatabases(c *call, laptop auth.Principal, held []int64, g *handshake.Greeting) error {
	e, err := c.store().Venues.Venue(laptop)
	if err != nil {
		return err
	}
	g.Revoked, g.Wipe, g.Chosen = !e.Revoked.IsZero(), !e.Wipe.IsZero(), !e.TakesAll()
	all, err := c.store().Venues.Exchanged(laptop, c.server.config.OverAfter)
	if err != nil {
		return err
	}
	left, err := c.store().Venues.LeftEvents(laptop, held)
	if err != nil {
		return err
	}
	terms := handshake.Terms{Now: c.store().Tables.Clock.Now(), After: c.server.config.OverAfter, Held: held}
	for _, x := range append(all, left...) {
		g.Tell(x, terms)
	}
	return nil
}

// fillGreeting says what the laptop may exchange, and gives it ids and keys.
func fillGreeting(c *call, in *handshake.Hello, g *handshake.Greeting) error {
	if err := tellDatabases(c, c.caller, in.Events, g); err != nil {
		return err
	}
	if g.Clone {
		return nil // it asks again with another epoch
	}
	if err := tellErasures(c, g, in.Erased); err != nil || g.Revoked {
		return err
	}
	var err error
	if g.Behind, err = countBehind(c, in.Since); err != nil {
		return err
	}
	if err := giveLeases(c, in, g); err != nil {
		return err
	}
	if g.KeyMark, err = c.store().Keys.KeyMark(c.caller); err != nil { // before the keys: what changes in between is told again
		return err
	}
	g.Keys, err = keyLines(c)
	return err
}

// readSmall reads a small JSON body.
func (c *call) readSmall(v any) error {
	dec := json.NewDecoder(http.MaxBytesReader(c.ResponseWriter, c.request.Body, maxSmall))
	err := dec.Decode(v)
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*http.MaxBytesError)):
		return input.ErrTooLarge
	case errors.As(err, new(*json.SyntaxError)), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return input.ErrJSON
	case errors.As(err, new(*json.UnmarshalTypeError)), errors.As(err, new(*time.ParseError)):
		return input.ErrShape
	}
	return input.ErrBroken
}

// tellErasures tells the erasures after a place, also to a revoked laptop, which must erase too.
func tellErasures(c *call, g *handshake.Greeting, after string) error {
	since, err := c.store().Tables.Epochs.Since(cmp.Or(after, "0"))
	if err != nil {
		return err
	}
	all, upto, err := c.store().Erasures.Recall.List(c.caller, since)
	if err != nil {
		return err
	}
	for _, e := range all {
		g.Erasures = append(g.Erasures, handshake.NewErasure(e))
	}
	if g.Erased = after; upto != since {
		g.Erased = c.store().Tables.Epochs.SeqText(upto)
	}
	return nil
}

// recallErasures takes the erasures that a laptop knows, and erases those records again.
func recallErasures(c *call) error {
	if c.caller.Node() == "" {
		return errNode
	}
	var in handshake.ErasureReport
	if err := c.readSmall(&in); err != nil {
		return err
	}
	var all []erase.Erasure
	for i := range in.Erasures {
		e, ok := in.Erasures[i].Parse()
		if !ok {
			return input.ErrShape
		}
		all = append(all, e)
	}
	if err := c.store().Erasures.Recall.Restore(c.caller, all, in.Brought); err != nil {
		return err
	}
	return c.reply(http.StatusOK, ok)
}

// countBehind counts changes after some places. A database that the laptop may not read counts 0: its event may have been deleted.
func countBehind(c *call, since map[string]string) (n int, err error) {
	for name, text := range since {
		pending, err := countPending(c, name, text)
		if errors.Is(err, table.ErrNotFound) || errors.Is(err, auth.ErrForbidden) || errors.Is(err, docs.ErrDatabaseName) {
			continue
		}
		if err != nil {
			return 0, err
		}
		n += pending
	}
	return n, nil
}

// countPending counts changes of a database after a place.
func countPending(c *call, name, text string) (int, error) {
	db, err := c.store().Docs.Database(c.caller, name)
	if err != nil {
		return 0, err
	}
	from, err := c.store().Tables.Epochs.Since(text)
	if err != nil {
		return 0, nil // an unreadable place counts as none
	}
	return db.Pending(from)
}

// giveLeases gives ids of the kinds that the laptop wants. It leaves out kinds that the laptop does not make: it draws its own ids.
func giveLeases(c *call, in *handshake.Hello, g *handshake.Greeting) error {
	for _, name := range in.Wants[:min(len(in.Wants), len(record.Kinds()))] {
		k, ok := record.ByName(name)
		if !ok || table.LeaseSize(k) == 0 {
			continue
		}
		l, err := c.store().Venues.Lease(c.caller, k, table.LeaseSize(k), in.Epoch)
		if errors.Is(err, auth.ErrForbidden) || errors.Is(err, table.ErrConflict) {
			continue
		}
		if err != nil {
			return err
		}
		g.Leases = append(g.Leases, handshake.Lease{Kind: k.Name, From: l.From, To: l.To})
	}
	return nil
}

// keyLines returns the keys that are valid at the laptop too, as lines.
func keyLines(c *call) (lines []json.RawMessage, err error) {
	ids, err := c.store().Venues.KeysFor(c.caller)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	own, err := replicate.OpenLocal(c.store(), auth.Operator(), "records")
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		err := own.Leaves(record.APIKey.DocID(record.Int(id)), func(x *transit.Revision) error {
			lines = append(lines, line.AppendLine(nil, x))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// keysHeld is how long a question for other keys waits. Networks may cut a link that is quiet for longer.
const keysHeld = 20 * time.Second

// awaitKeys answers once the keys that are valid at the laptop have changed since a mark. The laptop then shakes hands, so a key that is
// revoked at the centre is refused at the door at once.
func awaitKeys(c *call) error {
	if c.caller.Node() == "" {
		return errNode
	}
	ctx, stop := context.WithTimeout(c.request.Context(), keysHeld)
	defer stop()
	defer context.AfterFunc(c.server.ended, stop)()
	mark, err := c.store().Keys.AwaitKeys(ctx, c.caller, c.query.Get("keys"))
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, handshake.KeyMark{Keys: mark})
}

// lease answers POST /sync/_lease {"kind":"person","count":100} with a range of ids that is used nowhere else.
func lease(c *call) error {
	var in struct {
		Kind  string `json:"kind"`
		Count int64  `json:"count"`
	}
	if err := c.readSmall(&in); err != nil {
		return err
	}
	k, ok := record.ByName(in.Kind)
	if !ok || in.Count < 1 || in.Count > table.LeaseSize(k) {
		return input.ErrShape
	}
	l, err := c.store().Venues.Lease(c.caller, k, in.Count, "")
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, handshake.Lease{From: l.From, To: l.To})
}
