package venue

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/sync/dial"
	"doorward/sync/handshake"
	"doorward/sync/replicate"
)

const (
	helloEvery = 30 * time.Second // while the link holds
	helloSoon  = time.Second      // after the last copy, so that both sides know soon that nothing is left
)

// copyJob is one database one way.
type copyJob struct {
	name string
	push bool
}

// copies are the jobs of all databases, both ways, while the link holds.
type copies struct {
	*visit
	copied  chan struct{} // something was copied since the last handshake
	rekeyed chan struct{} // the centre has other keys
}

func newCopies(x *visit) *copies {
	return &copies{x, make(chan struct{}, 1), make(chan struct{}, 1)}
}

// signal fills a channel of one, if it is empty.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is full
	}
}

// run copies until the link breaks or the centre changes what is exchanged.
func (x *copies) run(ctx context.Context) error {
	running, fail := context.WithCancelCause(ctx)
	var jobs sync.WaitGroup
	defer func() {
		fail(nil)
		jobs.Wait()
	}()
	for _, e := range x.greeting.Databases {
		for _, push := range []bool{true, false} {
			if push && !e.Push || !push && !e.Pull {
				continue
			}
			c := copyJob{e.Name, push}
			job, err := x.job(c)
			if err != nil {
				return err
			}
			jobs.Go(func() { x.follow(running, job, c, fail) })
		}
	}
	mark := x.greeting.KeyMark
	jobs.Go(func() { x.listen(running, mark) })
	return x.attend(running)
}

// job makes the job of one database one way. The next visit repeats what failed. A full disk fails nothing: this job waits, and the others
// go on. Each push is signalled, and each pull while the centre says that it has more: the next handshake then tells that nothing is
// missing.
func (x *copies) job(c copyJob) (replicate.Job, error) {
	own, err := replicate.OpenLocal(x.config.Store, auth.Operator(), c.name)
	if err != nil {
		return replicate.Job{}, err
	}
	theirs, err := x.database(c.name)
	if err != nil {
		return replicate.Job{}, err
	}
	j := replicate.Job{Source: theirs, Target: own, Live: true, Tries: 1}
	j.On.Waits = func(err error) bool { return x.waits(c, err) }
	count := x.metrics.progress(pulled)
	if c.push {
		count = x.metrics.progress(pushed)
		j.Source, j.Target = own, theirs
		j.On.Refused, j.On.Skip = x.takeBack(x.greeting.Database(c.name), own, theirs), x.received(c.name)
	} else {
		j.On.Gave = x.received(c.name)
		if j.Since, err = (lag{x.config.Store, x.upstream}).checkpointOf(c.name, false); err != nil { // the centre knows none of a new key
			return replicate.Job{}, err
		}
		among, behind := x.greeting.Among(c.name), lag{x.config.Store, x.upstream} // a handshake writes into x.greeting and x.upstream while jobs run
		j.On.Left = func(ctx context.Context, ids []string) error { return x.left(ctx, behind, among, ids) }
	}
	j.On.Progress = func(out replicate.Outcome) {
		count(out)
		x.noteMoved(out)
		x.goesOn(c)
		if !c.push && !x.metrics.lags() {
			return
		}
		signal(x.copied)
	}
	return j, nil
}

// received returns what the centre has given of a database that is pushed too. It is nil for any other database, of which nothing comes
// back.
func (x *visit) received(name string) *replicate.Echo {
	if e := x.greeting.Database(name); !e.Push || !e.Pull {
		return nil
	}
	if x.given == nil {
		x.given = map[string]*replicate.Echo{}
	}
	if x.given[name] == nil {
		x.given[name] = &replicate.Echo{}
	}
	return x.given[name]
}

// follow runs a job. A database that does not exist at the centre stops none of the others.
func (x *copies) follow(ctx context.Context, j replicate.Job, c copyJob, fail context.CancelCauseFunc) {
	_, err := replicate.Run(ctx, j)
	x.metrics.setWaiting(c, false) // the next try tells
	switch {
	case ctx.Err() != nil:
	case dial.Is(err, http.StatusNotFound), errors.Is(err, table.ErrNotFound):
		x.config.Logger.Warn("a database is not there at the centre", "database", c.name)
	case err != nil:
		fail(err)
	default:
		fail(dial.ErrCut)
	}
}

// attend repeats the handshake: regularly, soon after something was copied, and when the centre has other keys.
func (x *copies) attend(ctx context.Context) error {
	regular := time.NewTicker(helloEvery)
	defer regular.Stop()
	var soon <-chan time.Time
	for {
		measures := true
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-x.copied:
			soon = time.After(helloSoon)
			continue
		case <-soon:
			soon, measures = nil, false
		case <-x.rekeyed:
			measures = false
		case <-x.told:
		case <-regular.C:
		}
		if err := x.renew(ctx, measures); err != nil {
			return err
		}
	}
}

// renew repeats the handshake while databases are copied. It returns errAgain if the centre exchanges other databases now.
func (x *copies) renew(ctx context.Context, measures bool) error {
	before, ripe := x.greeting, x.droppable
	if measures {
		if err := x.handshake(ctx); err != nil {
			return err
		}
	} else if _, err := x.hello(ctx, false); err != nil {
		return err
	} else if err := newDropper(x.visit).decide(); err != nil {
		return err
	}
	if x.greeting.Revoked || x.greeting.Clone || x.greeting.Epoch != before.Epoch || !slices.Equal(before.Databases, x.greeting.Databases) ||
		!slices.Equal(ripe, x.droppable) {
		return errAgain
	}
	if err := x.applyGreeting(ctx); err != nil {
		return err
	}
	if err := newDropper(x.visit).drop(ctx); err != nil {
		return err
	}
	return x.release(ctx)
}

// left removes documents from the file that have left a database of the centre and are in none of the others there. In this file a document
// may be in another database, because it was moved here too. left waits until all changes that were made here are pushed: the centre takes them,
// or keeps them for staff.
func (x *copies) left(ctx context.Context, behind lag, among []handshake.Database, ids []string) error {
	ids, err := x.goingNow(ids)
	if err != nil || len(ids) == 0 { // no ids would ask for all documents
		return err
	}
	for pause := helloSoon / 10; ; pause = min(2*pause, longestPause) {
		upto := map[string]uint64{}
		for _, e := range among {
			if upto[e.Name], err = behind.pushed(e); err != nil {
				return err
			}
		}
		gone, err := x.missing(ctx, among, ids)
		if err != nil {
			return err
		}
		held, err := x.config.Store.Laptop.Leave(auth.Operator(), gone, upto)
		if err != nil || !held {
			return err
		}
		if err := dial.Rest(ctx, pause); err != nil {
			return err
		}
	}
}

// missing returns those of some documents that the centre has in none of the databases.
func (x *copies) missing(ctx context.Context, all []handshake.Database, ids []string) ([]string, error) {
	there := map[string]bool{}
	for _, e := range all {
		theirs, err := x.database(e.Name)
		if err != nil {
			return nil, err
		}
		err = theirs.Feed(ctx, replicate.Wish{IDs: ids}, func(b *replicate.Batch) error {
			for _, o := range b.Offers {
				there[o.ID] = true
			}
			return nil
		})
		if err != nil && !dial.Is(err, http.StatusNotFound) { // a database that is not there has none of them
			return nil, err
		}
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return there[id] }), nil
}

// goingNow returns the documents that go now. An event stays while tickets are scanned there: dropper takes it out later, with its tickets.
func (x *copies) goingNow(ids []string) (going []string, err error) {
	now := x.config.Store.Tables.Clock.Now()
	for _, id := range ids {
		if k, event, ok := record.ParseDocID(id); ok && k == record.Event {
			t, err := x.config.Store.Venues.EventTimes(auth.Operator(), event.Int())
			if err != nil {
				return nil, err
			}
			if busy(t, now) {
				continue
			}
		}
		going = append(going, id)
	}
	return going, nil
}

// listen asks the centre to say when it has other keys than those of a mark, while the link holds. A centre that does not know the
// question tells its keys at the next handshake.
func (x *copies) listen(ctx context.Context, mark string) {
	var err error
	for mark != "" && err == nil {
		var told handshake.KeyMark
		asked := x.ask(ctx, "_hello?keys="+url.QueryEscape(mark), nil, &told)
		switch {
		case dial.Refused(asked):
			if dial.Is(asked, http.StatusUnauthorized, http.StatusForbidden) {
				signal(x.rekeyed) // the handshake tells why
			}
			return
		case asked != nil:
			err = dial.Rest(ctx, longestPause)
			continue
		case told.Keys != mark:
			mark = told.Keys
			signal(x.rekeyed)
		}
		err = dial.Rest(ctx, helloSoon/10) // a centre that answers at once is not asked without end
	}
}
