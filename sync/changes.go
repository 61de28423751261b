package sync

import (
	"context"
	"errors"
	"strings"
	"time"

	"doorward/kv"
	"doorward/kv/rev"
)

// feed is a request of _changes while it is answered.
type feed struct {
	*call
	out        *stream
	kind       feedKind
	since      uint64 // what has been looked at
	limit      int
	all        bool // all leaves, not the winner alone
	descending bool
	docs       bool
	show       show
	ids        []string // nil: all documents
	selector   selector // nil: all documents
	heartbeat  time.Duration
	timeout    time.Duration
	epoch      string // behind a sequence: "-" and the epoch
	rows       int
}

// feedKind is how a feed ends.
type feedKind string

const (
	normal     feedKind = "normal"     // with the log
	longpoll   feedKind = "longpoll"   // after the first changes
	continuous feedKind = "continuous" // when nothing has happened for a while
)

// How long feeds wait. A change of records that comes while a client waits is followed by others for a moment; a free database tells
// of it at once, as CouchDB does.
const (
	longestWait   = time.Minute
	shortestBeat  = 100 * time.Millisecond
	usualBeat     = time.Minute
	settle        = 20 * time.Millisecond
	pageOfChanges = kv.DocPage
)

func changes(c *call) error {
	f, err := c.readFeed()
	if err != nil {
		return err
	}
	c.server.metrics.feeds.Inc()
	defer c.server.metrics.feeds.Dec()
	if f.kind == continuous {
		return f.stream()
	}
	packing := packed
	if f.kind == longpoll {
		packing = unpacked
	}
	f.out = c.begin(packing)
	f.out.text("{\"results\":[\n")
	if f.kind == longpoll {
		f.out.flush() // a client learns that it has been heard before anything happens
	}
	pending, err := f.read()
	for err == nil && f.kind == longpoll && f.rows == 0 && f.limit > 0 {
		var over bool
		if over, err = f.wait(); over || err != nil {
			break
		}
		pending, err = f.read()
	}
	if err != nil && !(f.kind == longpoll && hasEnded(err)) {
		return err
	}
	f.out.text("\n],\"last_seq\":")
	f.sequence(f.since)
	f.out.text(",\"pending\":")
	f.out.number(int64(pending))
	f.out.text("}\n")
	return f.out.end()
}

// hasEnded tells that a feed has nothing more to say: the next request learns why.
func hasEnded(err error) bool {
	return errors.Is(err, kv.ErrNotFound) || errors.Is(err, kv.ErrBadLogin) || errors.Is(err, kv.ErrForbidden)
}

// stream answers a continuous feed: a line for each change, for as long as changes come.
func (f *feed) stream() error {
	f.out = f.begin(unpacked)
	f.out.flush()
	for {
		before := f.rows
		pending, err := f.read()
		if err != nil && !hasEnded(err) {
			return err
		}
		over := err != nil || f.limit == 0
		if f.rows != before {
			f.out.flush()
		}
		if !over {
			over, err = f.wait()
			if err != nil && !hasEnded(err) {
				return err
			}
		}
		if over || err != nil || f.out.err != nil {
			f.out.text(`{"last_seq":`)
			f.sequence(f.since)
			f.out.text(`,"pending":`)
			f.out.number(int64(pending))
			f.out.text("}\n")
			return f.out.end()
		}
	}
}

// read writes the changes that there are, up to the limit, and answers how many are left.
func (f *feed) read() (pending int, err error) {
	info, err := f.db.Info()
	if err != nil {
		return 0, err
	}
	f.epoch = strings.TrimPrefix(f.server.config.Store.SeqText(0), "0")
	ask := kv.Feed{Since: f.since, Descending: f.descending, IDs: f.ids, Bodies: f.docs || f.selector != nil}
	if f.descending {
		ask.Since = f.since
	}
	for f.limit > 0 {
		ask.Limit = min(pageOfChanges, f.limit)
		page, more, err := f.db.Changes(ask)
		if err != nil {
			return 0, err
		}
		for i := range page {
			if err := f.change(&page[i]); err != nil {
				return 0, err
			}
			f.since = page[i].Seq
		}
		if f.descending && len(page) > 0 {
			ask.Before = f.since
		} else {
			ask.Since = f.since
		}
		if !more || len(page) == 0 {
			if !f.descending {
				f.since = max(f.since, info.Seq) // what a filter has passed over is not looked at again
			}
			return 0, f.out.err
		}
		if f.out.err != nil {
			return 0, f.out.err
		}
	}
	if f.descending {
		return 0, nil
	}
	return f.db.Pending(f.since)
}

// change writes one change, unless the filter does not want it.
func (f *feed) change(c *kv.DocChange) error {
	if f.selector != nil && !c.Removed && !f.selector.matches(c) { // what has left can be nothing that a client has
		return nil
	}
	if f.rows > 0 && f.kind != continuous {
		f.out.text(",\n")
	}
	f.rows++
	if f.limit != unlimited {
		f.limit--
	}
	f.out.text(`{"seq":`)
	f.sequence(c.Seq)
	f.out.text(`,"id":`)
	f.out.quoted(c.ID)
	f.out.text(`,"changes":[`)
	for i, leaf := range c.Leaves {
		if i > 0 {
			if !f.all {
				break
			}
			f.out.text(",")
		}
		f.out.text(`{"rev":`)
		f.out.revision(leaf.Revision)
		f.out.text("}")
	}
	f.out.text("]")
	if c.Deleted {
		f.out.text(`,"deleted":true`)
	}
	if c.Removed {
		f.out.text(`,"removed":true`)
	}
	if err := f.document(c); err != nil {
		return err
	}
	f.out.text("}")
	if f.kind == continuous {
		f.out.text("\n")
	}
	return f.out.err
}

// document writes the winner with its change.
func (f *feed) document(c *kv.DocChange) error {
	if !f.docs || c.Removed {
		return nil
	}
	doc := kv.Doc{ID: c.ID, Seq: c.Seq, Deleted: c.Deleted}
	revision := c.Winner
	if f.show.needsTree() {
		var err error
		ask := kv.Ask{Revisions: []rev.ID{c.Leaves[0].Revision}}
		if doc, err = f.db.Read(c.ID, ask); err != nil && !errors.Is(err, kv.ErrNotFound) {
			return err
		}
	}
	f.out.text(`,"doc":`)
	if revision.Body == nil {
		f.out.text("null")
		return nil
	}
	f.out.document(&doc, &revision, f.show)
	return f.out.err
}

// needsTree tells whether more is shown than a revision itself has.
func (w show) needsTree() bool {
	return w.revs || w.revsInfo || w.conflicts || w.deletedConflicts || len(w.since) > 0
}

// sequence writes a sequence as it leaves the server.
func (f *feed) sequence(n uint64) {
	f.out.text(`"`)
	f.out.number(int64(n))
	f.out.text(f.epoch)
	f.out.text(`"`)
}

// wait waits for a change, with heartbeats. over tells that the feed's time is over.
func (f *feed) wait() (over bool, err error) {
	ctx, stop := context.WithCancel(f.request.Context())
	defer stop()
	changed := make(chan error, 1)
	go func() { changed <- f.db.Await(ctx, f.since) }()
	every := f.heartbeat
	if every == 0 {
		every = f.timeout
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case err := <-changed:
			if err != nil {
				return true, err
			}
			return f.rest(), nil
		case <-f.server.closing.ended:
			return true, nil
		case <-tick.C:
			if f.heartbeat == 0 {
				return true, nil
			}
			f.out.text("\n")
			if f.out.flush(); f.out.err != nil {
				return true, f.out.err
			}
			if _, err := f.db.Info(); err != nil { // the key may have been revoked
				return true, err
			}
		}
	}
}

// rest lets a moment pass, so that changes of records that come together go out together.
func (f *feed) rest() (over bool) {
	if f.db.Free() {
		return false
	}
	t := time.NewTimer(settle)
	defer t.Stop()
	select {
	case <-t.C:
		return false
	case <-f.request.Context().Done():
		return true
	case <-f.server.closing.ended:
		return true
	}
}
