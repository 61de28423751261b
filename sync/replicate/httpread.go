package replicate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"doorward/kv"
	"doorward/sync/dial"
	"doorward/sync/input"
	"doorward/sync/line"

	"github.com/go-json-experiment/json/jsontext"
)

// askRows is how many documents one request asks for.
const askRows = 200

// Read asks for revisions many at a time; a peer that cannot is asked one document after the other. Attachments are named alone,
// and fetched when the target wants them.
func (t *httpTransport) read(ctx context.Context, missing []kv.MissingRevs, fn func(*line.Revision) error) error {
	for some := range slices.Chunk(missing, askRows) {
		if !t.noBulk {
			err := t.bulkGet(ctx, some, fn)
			if isUnsupported(err) {
				t.noBulk = true
			} else if err != nil {
				return err
			}
		}
		if !t.noBulk {
			continue
		}
		for _, m := range some {
			if err := t.openRevs(ctx, m, fn); err != nil {
				return err
			}
		}
	}
	return nil
}

// isUnsupported tells that a server does not know a path.
func isUnsupported(err error) bool {
	return dial.Is(err, http.StatusNotFound) || dial.Is(err, http.StatusMethodNotAllowed) || dial.Is(err, http.StatusBadRequest) || dial.Is(err, http.StatusNotImplemented)
}

func (t *httpTransport) bulkGet(ctx context.Context, missing []kv.MissingRevs, fn func(*line.Revision) error) error {
	type item struct {
		ID  string `json:"id"`
		Rev string `json:"rev"`
	}
	var items []item
	for _, m := range missing {
		for _, rev := range m.Missing {
			items = append(items, item{m.ID, rev.String()})
		}
	}
	address := t.link.At("_bulk_get") + "?revs=true&latest=true"
	answered := false
	err := t.link.Stream(ctx, http.MethodPost, address, dial.JSON(map[string]any{"docs": items}), func(dec *jsontext.Decoder) error {
		return input.EachMember(dec, func(name string) error {
			if name != "results" {
				return input.Wrap(dec.SkipValue())
			}
			answered = true
			return input.EachItem(dec, func() error {
				return input.EachMember(dec, func(name string) error {
					if name != "docs" {
						return input.Wrap(dec.SkipValue())
					}
					return t.eachRevision(dec, fn)
				})
			})
		})
	})
	if err == nil && !answered {
		err = dial.ErrCut // what was asked for may be there
	}
	return err
}

// openRevs asks for the revisions of one document, as JSON: what a server that knows only parts sends is read as such.
func (t *httpTransport) openRevs(ctx context.Context, m kv.MissingRevs, fn func(*line.Revision) error) error {
	revs, _ := json.Marshal(line.RevisionTexts(m.Missing)) // it can be
	q := url.Values{"open_revs": {string(revs)}, "revs": {"true"}, "latest": {"true"}}
	address := t.link.At(docPath(m.ID)) + "?" + q.Encode()
	err := t.link.Stream(ctx, http.MethodGet, address, nil, func(dec *jsontext.Decoder) error { return t.eachRevision(dec, fn) })
	if dial.Is(err, http.StatusNotFound) {
		return nil // it has gone since
	}
	return err
}

// eachRevision reads a list of {"ok":document} and of what is not there.
func (t *httpTransport) eachRevision(dec *jsontext.Decoder, fn func(*line.Revision) error) error {
	return input.EachItem(dec, func() error {
		return input.EachMember(dec, func(name string) error {
			if name != "ok" {
				return input.Wrap(dec.SkipValue())
			}
			x, err := t.parse(dec)
			if err != nil || x == nil {
				return err
			}
			return fn(x)
		})
	})
}

// parse reads a document; nil for one that cannot be copied, as it has no revisions of ours.
func (t *httpTransport) parse(dec *jsontext.Decoder) (*line.Revision, error) {
	d := &line.Parsed{Body: []byte{'{'}}
	err := input.EachMember(dec, func(name string) error { return d.ReadMember(dec, name) })
	if err != nil {
		return nil, err
	}
	x := d.Revision()
	if x != nil {
		x.Content = func(ctx context.Context, p *line.Part, w io.Writer) error { return t.content(ctx, x, p, w) }
	}
	return x, nil
}

// content fetches an attachment.
func (t *httpTransport) content(ctx context.Context, x *line.Revision, p *line.Part, w io.Writer) error {
	address := t.link.At(docPath(x.ID), escape(p.Name)) + "?rev=" + url.QueryEscape(x.Rev().String())
	resp, err := t.link.Do(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it is read, or given up
	if _, err := io.Copy(w, resp.Body); err != nil {
		return fmt.Errorf("attachment: %w", err)
	}
	return nil
}
