package replicate

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"doorward/kv"
	"doorward/sync/dial"
	"doorward/sync/input"
	"doorward/sync/line"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	feedRows = 500   // changes of one request
	beat     = 10000 // milliseconds between the signs of life of a peer that has nothing to say
)

// feed reads the peer's changes, a batch a request. A live feed then waits in a request for the next.
func (t *httpTransport) feed(ctx context.Context, w Wish, fn func(*Batch) error) error {
	for {
		b, rows, err := t.changes(ctx, w, page{rows: feedRows})
		if err == nil && rows == 0 && w.Live {
			b, rows, err = t.changes(ctx, w, page{feedRows, waiting})
		}
		if err != nil {
			return err
		}
		if b.Upto != nil && string(b.Upto) != string(w.Since) {
			w.Since = b.Upto
			if err := fn(b); err != nil {
				return err
			}
		}
		if rows < feedRows && !w.Live {
			return nil
		}
	}
}

// page is one request for changes.
type page struct {
	rows int // at most
	wait wait
}

// wait says whether a request for changes waits until there are some.
type wait bool

const waiting wait = true

// changes reads one batch.
func (t *httpTransport) changes(ctx context.Context, w Wish, p page) (b *Batch, rows int, err error) {
	q := url.Values{"style": {"all_docs"}, "limit": {strconv.Itoa(p.rows)}}
	if text := line.SequenceText(w.Since); text != "" {
		q.Set("since", text)
	}
	if p.wait {
		q.Set("feed", "longpoll")
		q.Set("heartbeat", strconv.Itoa(beat))
	}
	method, payload := http.MethodGet, (*dial.Payload)(nil)
	switch {
	case w.IDs != nil:
		q.Set("filter", "_doc_ids")
		method, payload = http.MethodPost, dial.JSON(map[string]any{"doc_ids": w.IDs})
	case w.Selector != nil:
		q.Set("filter", "_selector")
		method, payload = http.MethodPost, dial.JSON(map[string]any{"selector": w.Selector})
	}
	b = &Batch{}
	err = t.link.Stream(ctx, method, t.link.At("_changes")+"?"+q.Encode(), payload, func(dec *jsontext.Decoder) error {
		return input.EachMember(dec, func(name string) error {
			switch name {
			case "results":
				return input.EachItem(dec, func() error {
					rows++
					return b.readChange(dec)
				})
			case "last_seq":
				v, err := dec.ReadValue()
				b.Upto = line.Sequence(v.Clone())
				return input.Wrap(err)
			}
			return input.Wrap(dec.SkipValue())
		})
	})
	if err == nil && b.Upto == nil {
		err = dial.ErrCut // it is no feed that does not say how far it goes
	}
	return b, rows, err
}

// readChange reads a row of a feed.
func (b *Batch) readChange(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return input.Wrap(err)
	}
	var row struct {
		ID      string
		Removed bool
		Changes []struct{ Rev string }
	}
	if json.Unmarshal(v, &row) != nil {
		return input.ErrJSON
	}
	if row.Removed {
		b.Left = append(b.Left, row.ID)
		return nil // it is nothing to copy
	}
	revs := make([]string, len(row.Changes))
	for i, c := range row.Changes {
		revs[i] = c.Rev
	}
	b.offer(row.ID, revs)
	return nil
}

func (t *httpTransport) missing(ctx context.Context, offers []kv.Revs) (missing []kv.MissingRevs, err error) {
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
			body = line.AppendRevision(body, rev)
		}
		body = append(body, ']')
	}
	body = append(body, '}')
	err = t.link.Stream(ctx, http.MethodPost, t.link.At("_revs_diff"), dial.Bytes(body), func(dec *jsontext.Decoder) error {
		return input.EachMember(dec, func(id string) error {
			m := kv.MissingRevs{ID: id}
			err := input.EachMember(dec, func(name string) (err error) {
				var list []string
				switch name {
				case "missing":
					list, err = input.Texts(dec)
					m.Missing = line.ParseRevisions(list)
				case "possible_ancestors":
					list, err = input.Texts(dec)
					m.PossibleAncestors = line.ParseRevisions(list)
				default:
					err = input.Wrap(dec.SkipValue())
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
