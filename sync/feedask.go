package sync

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// readFeed reads what a request of _changes asks for.
func (c *call) readFeed() (*feed, error) {
	q := queryOf(c.query)
	f := &feed{
		call: c, kind: normal, limit: q.number("limit", unlimited), descending: q.flag("descending"), docs: q.flag("include_docs"),
		show: showOf(q), timeout: longestWait,
	}
	if kind, given := q.text("feed"); given {
		f.kind = feedKind(kind)
	}
	switch f.kind {
	case normal, longpoll, continuous:
	default:
		return nil, errQuery
	}
	if f.descending {
		f.kind = normal // what comes later comes first: there is nothing to wait for
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

// start reads where a feed begins: after the sequence that a client knows, in any of the forms that JSON gives it.
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
	f.since = min(since, info.Seq) // one of another database may lie beyond
	return err
}

// filter reads which documents a feed is about.
func (f *feed) filter(q *query) error {
	name, _ := q.text("filter")
	ids := q.list("doc_ids")
	if q.err != nil {
		return q.err
	}
	var body filterBody
	if f.request.Method == http.MethodPost {
		var err error
		if body, err = f.readFilter(); err != nil {
			return err
		}
	}
	switch name {
	case "":
	case "_doc_ids":
		if f.ids = body.ids; f.ids == nil {
			f.ids = ids
		}
		if f.ids == nil {
			return errQuery
		}
	case "_selector":
		var err error
		if f.selector, err = parseSelector(body.selector); err != nil {
			return err
		}
	default:
		return errMissing // a function of a design document, which are kept and not run
	}
	return nil
}

// filterBody is what the body of a POST says.
type filterBody struct {
	ids      []string
	selector any
}

func (c *call) readFilter() (b filterBody, err error) {
	if c.request.ContentLength == 0 {
		return b, nil
	}
	dec, err := c.decoder()
	if err != nil || dec.PeekKind() == 0 {
		return b, err // an empty body
	}
	return b, eachMember(dec, func(name string) (err error) {
		switch name {
		case "doc_ids":
			b.ids, err = texts(dec)
		case "selector":
			var v jsontext.Value
			if v, err = dec.ReadValue(); err == nil && json.Unmarshal(v, &b.selector) != nil {
				err = errJSON
			}
			err = badBody(err)
		default:
			err = badBody(dec.SkipValue())
		}
		return err
	})
}
