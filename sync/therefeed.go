package sync

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"doorward/kv"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	feedRows = 500   // changes of one request
	beat     = 10000 // milliseconds between the signs of life of a peer that has nothing to say
)

// feed reads the peer's changes, a batch a request; live, a request waits for what comes.
func (t *There) feed(ctx context.Context, w wish, fn func(*batch) error) error {
	if err := t.open(ctx); err != nil {
		return err
	}
	if t.fast && w.ids == nil && w.selector == nil {
		return t.fastFeed(ctx, w, fn)
	}
	for {
		w.waits = false
		b, rows, err := t.changes(ctx, w, feedRows)
		if err == nil && rows == 0 && w.live {
			w.waits = true
			b, rows, err = t.changes(ctx, w, feedRows)
		}
		if err != nil {
			return err
		}
		if b.upto != nil && string(b.upto) != string(w.since) {
			w.since = b.upto
			if err := fn(b); err != nil {
				return err
			}
		}
		if rows < feedRows && !w.live {
			return nil
		}
	}
}

// changes reads one batch of so many rows at most.
func (t *There) changes(ctx context.Context, w wish, limit int) (b *batch, rows int, err error) {
	q := url.Values{"style": {"all_docs"}, "limit": {strconv.Itoa(limit)}}
	if text := sinceText(w.since); text != "" {
		q.Set("since", text)
	}
	if w.waits {
		q.Set("feed", "longpoll")
		q.Set("heartbeat", strconv.Itoa(beat))
	}
	method, p := http.MethodGet, (*payload)(nil)
	switch {
	case w.ids != nil:
		q.Set("filter", "_doc_ids")
		method, p = http.MethodPost, jsonOf(map[string]any{"doc_ids": w.ids})
	case w.selector != nil:
		q.Set("filter", "_selector")
		method, p = http.MethodPost, jsonOf(map[string]any{"selector": w.selector})
	}
	b = &batch{}
	err = t.link.stream(ctx, method, t.link.at("_changes")+"?"+q.Encode(), p, func(dec *jsontext.Decoder) error {
		return eachMember(dec, func(name string) error {
			switch name {
			case "results":
				return eachItem(dec, func() error {
					rows++
					return b.readChange(dec)
				})
			case "last_seq":
				v, err := dec.ReadValue()
				b.upto = sequence(v.Clone())
				return badBody(err)
			}
			return badBody(dec.SkipValue())
		})
	})
	if err == nil && b.upto == nil {
		err = errCut // it is no feed that does not say how far it goes
	}
	return b, rows, err
}

// sinceText is a sequence as a parameter: a text as it is, anything else as JSON.
func sinceText(s sequence) (text string) {
	if len(s) == 0 || string(s) == "null" || json.Unmarshal(s, &text) == nil {
		return text
	}
	return string(s)
}

// readChange reads a row of a feed.
func (b *batch) readChange(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return badBody(err)
	}
	var row struct {
		ID      string
		Removed bool
		Changes []struct{ Rev string }
	}
	if json.Unmarshal(v, &row) != nil {
		return errJSON
	}
	if row.Removed {
		b.left = append(b.left, row.ID)
		return nil // it is nothing to copy
	}
	revs := make([]string, len(row.Changes))
	for i, c := range row.Changes {
		revs[i] = c.Rev
	}
	b.offer(row.ID, revs)
	return nil
}

func (t *There) missing(ctx context.Context, offers []kv.Revs) (missing []kv.MissingRevs, err error) {
	if err := t.open(ctx); err != nil || len(offers) == 0 {
		return nil, err
	}
	body := []byte{'{'}
	for i, o := range offers {
		if i > 0 {
			body = append(body, ',')
		}
		body, _ = jsontext.AppendQuote(body, o.ID) // what is no UTF-8 becomes what is
		body = append(body, ":["...)
		for i, rev := range o.Revisions {
			if i > 0 {
				body = append(body, ',')
			}
			body = appendRevision(body, rev)
		}
		body = append(body, ']')
	}
	body = append(body, '}')
	err = t.link.stream(ctx, http.MethodPost, t.link.at("_revs_diff"), bytesOf(body), func(dec *jsontext.Decoder) error {
		return eachMember(dec, func(id string) error {
			m := kv.MissingRevs{ID: id}
			err := eachMember(dec, func(name string) (err error) {
				var list []string
				switch name {
				case "missing":
					list, err = texts(dec)
					m.Missing = parseRevisions(list)
				case "possible_ancestors":
					list, err = texts(dec)
					m.PossibleAncestors = parseRevisions(list)
				default:
					err = badBody(dec.SkipValue())
				}
				return err
			})
			if len(m.Missing) > 0 {
				missing = append(missing, m)
			}
			return err
		})
	})
	return missing, err
}
