package sync

import (
	"math"
	"strings"
	"time"

	"doorward/sync/mango"
)

// readFeed reads a request of _changes.
func readFeed(c *call) (*feed, error) {
	q, err := c.asked()
	if err != nil {
		return nil, err
	}
	f := &feed{call: c, feedQuery: feedQuery{
		kind: normal, limit: q.number("limit", unlimited), descending: q.flag("descending"), docs: q.flag("include_docs"),
		show: showOf(q), timeout: longestWait,
	}}
	if kind, given := q.text("feed"); given {
		f.kind = feedKind(kind)
	}
	switch f.kind {
	case normal, longpoll, continuous:
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
	return f, f.start(q)
}

// waits reads how long a feed waits for a change.
func (f *feed) waits(q *query) {
	if ms := q.number("timeout", 0); ms > 0 {
		f.timeout = min(time.Duration(min(ms, 1<<30))*time.Millisecond, longestWait)
	}
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
	if text == "" || text == "null" || text == "0" {
		return nil
	}
	since := uint64(math.MaxUint64)
	if text != "now" {
		var err error
		if since, err = f.server.config.Store.Since(strings.Trim(text, `"`)); err != nil {
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
	case "_view":
		if q.values.Get("view") == "" {
			return errView
		}
		return errMissing
	default:
		return errMissing // functions of design documents are not run
	}
	if err == nil {
		err = q.err
	}
	return err
}
