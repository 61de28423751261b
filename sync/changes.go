package sync

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"strings"
	"time"

	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/sync/input"
	"doorward/sync/mango"
)

// feed is a request of _changes and its answer.
type feed struct {
	*call
	feedQuery
	out   *stream
	epoch string // behind a sequence: "-" and the epoch
	rows  int
}

// feedQuery is what a request of _changes asks for.
type feedQuery struct {
	kind       feedKind
	since      uint64 // up to here the log is read
	limit      int
	all        bool // all leaves, not only the winner
	descending bool
	docs       bool
	show       show
	ids        []string       // nil: all documents
	selector   mango.Selector // nil: all documents
	heartbeat  time.Duration
	timeout    time.Duration
}

// feedKind says when a feed ends.
type feedKind string

const (
	normal      feedKind = "normal"      // at the log's end
	longpoll    feedKind = "longpoll"    // after the first changes
	continuous  feedKind = "continuous"  // after a time without changes
	live        feedKind = "live"        // is continuous
	eventsource feedKind = "eventsource" // as continuous: server-sent events, after which a browser asks again
)

// How long feeds wait. Changes of records often come together, so a feed collects for a moment. A free database tells each change at once,
// as CouchDB does.
const (
	longestWait   = time.Minute
	shortestBeat  = 100 * time.Millisecond
	usualBeat     = time.Minute
	coalesceFor   = 20 * time.Millisecond
	pageOfChanges = docs.DocPage
)

func changes(c *call) error {
	f, err := readFeed(c)
	if err != nil {
		return err
	}
	c.server.metrics.feeds.Inc()
	defer c.server.metrics.feeds.Dec()
	waits := f.kind != normal
	media := "application/json"
	if f.kind == eventsource {
		media = "text/event-stream"
	}
	f.out = c.beginAs(media, http.StatusOK, compression(!waits))
	lead := "{"
	if f.isList() {
		f.out.text("{\"results\":[\n")
		lead = "\n],"
	}
	if waits {
		f.out.flush() // clients expect the beginning at once
	}
	pending, err := f.follow()
	if err != nil && !(waits && isFeedEnd(err)) {
		return err
	}
	if f.kind != eventsource {
		f.sequence(lead+`"last_seq":`, f.since)
		f.out.number(`,"pending":`, int64(pending))
		f.out.text("}\n")
	}
	return f.out.end()
}

// isList tells whether the answer is one JSON object with a list of changes.
func (f *feed) isList() bool { return f.kind == normal || f.kind == longpoll }

// isFeedEnd tells whether a feed ends without an error: the next request learns why.
func isFeedEnd(err error) bool {
	return errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrBadLogin) || errors.Is(err, auth.ErrForbidden)
}

// follow writes changes until the feed ends, and returns how many are left.
func (f *feed) follow() (pending int, err error) {
	every := cmp.Or(f.heartbeat, f.timeout, longestWait)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for over := false; !over; {
		before := f.rows
		if pending, err = f.read(); err != nil || f.isDone() {
			return pending, err
		}
		if f.rows != before {
			f.out.flush()
			tick.Reset(every) // changes that the filter leaves out do not count: the client hears nothing of them
		}
		if over, err = f.wait(tick.C); err != nil {
			return pending, err
		}
	}
	return pending, nil
}

// isDone tells whether a feed ends with what was read.
func (f *feed) isDone() bool {
	return f.kind == normal || f.limit == 0 || f.kind == longpoll && f.rows > 0 || f.timeout == 0 && f.heartbeat == 0
}

// read writes changes up to the limit, and returns how many are left.
func (f *feed) read() (pending int, err error) {
	info, err := f.db.Info()
	if err != nil {
		return 0, err
	}
	f.readEpoch() // another one may have begun since
	ask := docs.Feed{Since: f.since, Descending: f.descending, IDs: f.ids, Bodies: f.docs || f.selector != nil}
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
				f.since = max(f.since, info.Seq) // what the filter left out is not read again
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

// change writes one change, if it passes the filter.
func (f *feed) change(c *docs.DocChange) error {
	if f.selector != nil && !c.Removed && !f.selector.Matches(c) { // a client must learn of a document that has left
		return nil
	}
	switch {
	case f.kind == eventsource:
		f.out.text("data: ")
	case f.isList() && f.rows > 0:
		f.out.text(",\n")
	}
	f.rows++
	if f.limit != unlimited {
		f.limit--
	}
	f.sequence(`{"seq":`, c.Seq)
	f.out.quoted(`,"id":`, c.ID)
	f.out.text(`,"changes":[`)
	leaves := c.Leaves
	if !f.all {
		leaves = leaves[:min(len(leaves), 1)]
	}
	for i, leaf := range leaves {
		f.out.comma(i)
		f.out.revision(`{"rev":`, leaf.Revision)
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
	switch f.kind {
	case continuous:
		f.out.text("\n")
	case eventsource:
		f.sequence("\nid: ", c.Seq)
		f.out.text("\n\n")
	}
	return f.out.err
}

// document writes the winner with its change.
func (f *feed) document(c *docs.DocChange) error {
	if !f.docs || c.Removed {
		return nil
	}
	doc := docs.Doc{ID: c.ID, Seq: c.Seq, Deleted: c.Deleted}
	revision := c.Winner
	if f.show.needsTree() {
		var err error
		ask := docs.Ask{Revisions: []rev.ID{c.Leaves[0].Revision}}
		if doc, err = f.db.Read(c.ID, ask); err != nil && !errors.Is(err, table.ErrNotFound) {
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

// needsTree tells whether the revision tree is needed.
func (w show) needsTree() bool {
	return w.revs || w.revsInfo || w.conflicts || w.deletedConflicts || len(w.since) > 0
}

// sequence writes lead as it is, then a sequence as clients get it.
func (f *feed) sequence(lead string, n uint64) {
	f.out.text(lead)
	f.out.number(`"`, int64(n))
	f.out.text(f.epoch)
	f.out.text(`"`)
}

// wait waits for a change and sends a heartbeat at each tick. over tells that the feed has waited long enough.
func (f *feed) wait(tick <-chan time.Time) (over bool, err error) {
	ctx, stop := context.WithCancel(f.request.Context())
	defer stop()
	changed := make(chan error, 1)
	go func() { changed <- f.db.Await(ctx, f.since) }()
	for {
		select {
		case err := <-changed:
			if err != nil {
				return true, err
			}
			return f.coalesce(), nil
		case <-f.server.ended.Done():
			return true, nil
		case <-tick:
			if f.heartbeat == 0 {
				return true, nil
			}
			if f.kind == eventsource {
				f.out.text("event: heartbeat\ndata: \n")
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

// coalesce waits a moment, so that changes of records that come together go out together.
func (f *feed) coalesce() (over bool) {
	if f.db.Free() {
		return false
	}
	t := time.NewTimer(coalesceFor)
	defer t.Stop()
	select {
	case <-t.C:
		return false
	case <-f.request.Context().Done():
		return true
	case <-f.server.ended.Done():
		return true
	}
}

// readFeed reads a request of _changes.
func readFeed(c *call) (*feed, error) {
	q, err := c.asked()
	if err != nil {
		return nil, err
	}
	f := &feed{call: c, feedQuery: feedQuery{
		kind: normal, limit: q.number("limit", unlimited), descending: q.flag("descending"), docs: q.flag("include_docs"),
		show: showOf(q),
	}}
	if kind, given := q.text("feed"); given {
		f.kind = feedKind(kind)
	}
	switch f.kind {
	case normal, longpoll, continuous, eventsource:
	case live:
		f.kind = continuous
	default:
		return nil, errQuery
	}
	if f.descending {
		f.kind = normal // a descending feed never waits
	}
	style, _ := q.text("style")
	f.all = style == "all_docs"
	f.waits(q)
	if q.err != nil {
		return nil, q.err
	}
	if err := f.filter(q); err != nil {
		return nil, err
	}
	f.readEpoch()
	return f, f.start(q)
}

// readEpoch reads the epoch of the sequences that follow.
func (f *feed) readEpoch() { f.epoch = "-" + f.store().Tables.Epochs.Present() }

// waits reads how long a feed waits for a change.
func (f *feed) waits(q *query) {
	f.timeout = min(time.Duration(min(q.number("timeout", 1<<30), 1<<30))*time.Millisecond, longestWait)
	switch text, given := q.text("heartbeat"); {
	case !given || text == "false":
	case text == "true":
		f.heartbeat = usualBeat
	default:
		if ms := q.number("heartbeat", 0); ms > 0 {
			f.heartbeat = max(time.Duration(min(ms, 1<<30))*time.Millisecond, shortestBeat)
		}
	}
}

// start reads where a feed begins: after a sequence, in any of its JSON forms.
func (f *feed) start(q *query) error {
	text, _ := q.text("since", "last-event-id")
	if f.kind == eventsource { // a browser that asks again names the last change that it got
		text = cmp.Or(f.request.Header.Get("Last-Event-ID"), text)
	}
	if text == "" || text == "null" || text == "0" {
		return nil
	}
	since := uint64(math.MaxUint64)
	if text != "now" {
		var err error
		if since, err = f.store().Tables.Epochs.Since(strings.Trim(text, `"`)); err != nil {
			return err
		}
	}
	info, err := f.db.Info()
	f.since = min(since, info.Seq) // a sequence of another database may be larger
	return err
}

// filter reads which documents a feed has.
func (f *feed) filter(q *query) (err error) {
	name, _ := q.text("filter")
	switch name {
	case "":
	case "_doc_ids":
		if f.ids = q.list("doc_ids"); f.ids == nil {
			q.fail()
		}
	case "_selector":
		f.selector, err = mango.New(q.value("selector"))
	case "_design":
		f.selector, err = mango.New(map[string]any{"_id": map[string]any{"$gt": "_design/", "$lt": "_design0"}}) // 0 follows the slash
	case "_view":
		if q.values.Get("view") == "" {
			return errView
		}
		return errMissing
	default:
		return errMissing // functions of design documents are not run
	}
	if err == nil || errors.Is(q.err, input.ErrItems) {
		err = q.err
	}
	return err
}
