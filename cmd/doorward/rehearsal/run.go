package rehearsal

import (
	"context"
	crand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"doorward/api"
	"doorward/cmd/doorward/archive"
	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/table"
)

// Config is what a rehearsal is told.
type Config struct {
	control.Opening
	Event   int64
	Helpers int
	Local   *time.Location // the zone of the machine; nil = its own
}

// MaxHelpers is how many helpers there can be.
const MaxHelpers = 100

// Run rehearses an event on a copy of the store, which it removes in the end.
func Run(ctx context.Context, c Config) (r Report, err error) {
	err = archive.OnCopy(ctx, c.Opening, func(dir string) error {
		conf := kv.Config{Dir: dir, Zone: c.Zone, Built: c.Built, Logger: slog.New(slog.DiscardHandler), Aside: true}
		known, err := look(conf, c)
		if err != nil {
			return err
		}
		conf.Clock = startsAt(known.start)
		r, err = c.play(ctx, conf, known)
		return err
	})
	return r, console.Stopped(ctx, err)
}

// known is what a rehearsal knows of the event before it begins.
type known struct {
	name    string
	start   time.Time
	end     time.Time
	open    bool
	doubted bool // the clock is
	now     time.Time
}

// look reads the event and the state of the clock, at the time that it is now.
func look(conf kv.Config, c Config) (k known, err error) {
	store, err := kv.Open(conf)
	if err != nil {
		return k, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	e, err := store.Door.DoorEvent(auth.Operator(), c.Event)
	if errors.Is(err, table.ErrNotFound) {
		return k, console.Usage(fmt.Errorf("--event %d: there is no such event", c.Event))
	}
	return known{e.Name, e.Start, e.End, e.Open, store.Tables.Clock.Reading().Doubt != "", store.Tables.Clock.Now()}, err
}

// play has the helpers scan on the stage, and compares what they were answered with what the stage holds after it was opened again.
func (c Config) play(ctx context.Context, conf kv.Config, k known) (r Report, err error) {
	s, err := openStage(conf, c.Version)
	if err != nil {
		return r, err
	}
	tickets, seen, took, err := c.scanAll(ctx, s)
	if err = errors.Join(err, s.close()); err != nil {
		return r, err
	}
	if s, err = openStage(conf, c.Version); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	facts, err := list[struct{ ID string }](ctx, c, s, "checkin")
	if err != nil {
		return r, err
	}
	kept := map[string]bool{}
	for _, f := range facts {
		kept[f.ID] = true
	}
	return c.report(k, tickets, seen, took, kept), nil
}

// scanAll has all helpers scan at once. took is how long they needed.
func (c Config) scanAll(ctx context.Context, s *stage) (tickets []ticket, seen tally, took time.Duration, err error) {
	seen = newTally()
	q := url.Values{"event_id": {c.named()}, "limit": {"1"}}
	before, err := control.Ask[struct{ Count int }](ctx, s.line, control.Get("/admin/v1/checkin/", q))
	if err != nil {
		return nil, seen, 0, err
	}
	seen.before = before.Count
	if _, err := control.Ask[struct{ Now string }](ctx, s.line, control.Post("/control/clock/trust", url.Values{})); err != nil { // it stands at the event on purpose
		return nil, seen, 0, err
	}
	if tickets, err = list[ticket](ctx, c, s, "ticket"); err != nil || len(tickets) == 0 {
		return tickets, seen, 0, err
	}
	helpers := make([]*helper, c.Helpers)
	for i := range helpers {
		if helpers[i], err = newHelper(ctx, s, c.Event, i+1); err != nil {
			return tickets, seen, 0, err
		}
		defer helpers[i].leave()
	}
	plans := deal(tickets, c.Helpers)
	begun := time.Now()
	failed := make([]error, c.Helpers)
	var all sync.WaitGroup
	for i, h := range helpers {
		all.Go(func() { failed[i] = h.work(ctx, plans[i]) })
	}
	all.Wait()
	took = time.Since(begun)
	for _, h := range helpers {
		seen.add(h.seen)
	}
	return tickets, seen, took, errors.Join(failed...)
}

// again is which one of so many tickets is scanned a second time, at another door.
const again = 10

// deal gives each helper tickets to scan, in an order of chance: each ticket once, one of ten twice, and a code that is no ticket's.
func deal(tickets []ticket, helpers int) [][]ticket {
	plans := make([][]ticket, helpers)
	for i, t := range tickets {
		plans[i%helpers] = append(plans[i%helpers], t)
		if i%again == 0 {
			plans[(i+1)%helpers] = append(plans[(i+1)%helpers], t)
		}
	}
	for i := range plans {
		unknown := "no ticket " + crand.Text()
		plans[i] = append(plans[i], ticket{Code: &unknown})
		rand.Shuffle(len(plans[i]), func(a, b int) { plans[i][a], plans[i][b] = plans[i][b], plans[i][a] })
	}
	return plans
}

// command is a command of the program over the folder of the event.
func (c Config) command(args ...string) string {
	return console.Shell(append(append([]string{"doorward"}, args...), "--data", c.Dir)...)
}

// named is the event as a flag names it.
func (c Config) named() string { return strconv.FormatInt(c.Event, 10) }

// stage is a server over a copy of a store.
type stage struct {
	store  *kv.Store
	line   *control.Line // of the operator
	shut   func() error  // closes it
	server *http.Server
	at     string // its address
	ended  chan error
}

// openStage opens the copy and serves it on loopback.
func openStage(c kv.Config, version string) (*stage, error) {
	store, err := kv.Open(c)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	site, err := api.New(api.Config{Store: store, Address: l.Addr().String(), Version: version, Logger: c.Logger})
	if err != nil {
		return nil, errors.Join(err, l.Close(), store.Close())
	}
	s := &stage{store: store, server: api.HTTPServer(site.Handler()), at: "http://" + l.Addr().String(), ended: make(chan error, 1)}
	client, shut := control.Within(site.Control())
	s.line, s.shut = &control.Line{Client: client}, shut
	go func() {
		defer site.Close()
		s.ended <- s.server.Serve(l)
	}()
	return s, nil
}

// close ends the server and closes the copy.
func (s *stage) close() error {
	err := s.server.Close()
	if e := <-s.ended; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return errors.Join(err, s.shut(), s.store.Close())
}

// list reads all records of a kind that are of the event.
func list[T any](ctx context.Context, c Config, s *stage, kind string) ([]T, error) {
	return control.List[T](ctx, s.line, "/admin/v1/"+kind+"/", url.Values{"event_id": {c.named()}})
}

// ticket is a ticket of the event, as far as a helper needs it.
type ticket struct {
	ID   int64
	Code *string // nil = this machine does not know it
}

// scan is the body of a request that names the ticket: by its code as a scanner does, or as a search at the door does.
func (t ticket) scan(door, nonce string) json.RawMessage {
	body := map[string]any{"door": door, "nonce": nonce}
	if t.Code != nil {
		body["code"] = *t.Code
	} else {
		body["ticket_id"] = t.ID
	}
	b, err := json.Marshal(body)
	if err != nil {
		panic(err) // texts and a number
	}
	return b
}

// startsAt is a clock that stands at a moment when it is made, and goes on from there.
func startsAt(moment time.Time) func() time.Time {
	begun := time.Now()
	return func() time.Time { return moment.Add(time.Since(begun)) }
}
