package replicate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"doorward/kv/docs"
	"doorward/kv/merge"
	"doorward/sync/dial"
	"doorward/sync/input"
	"doorward/sync/transit"

	"github.com/go-json-experiment/json/jsontext"
)

// httpTransport speaks CouchDB's replication protocol.
type httpTransport struct {
	link   *dial.Link
	noBulk bool // the server does not know _bulk_get
}

// docPath is a document's part of a path.
func docPath(id string) string {
	if name, is := strings.CutPrefix(id, "_design/"); is {
		return "_design/" + url.PathEscape(name)
	}
	return url.PathEscape(id)
}

const (
	feedRows = 500   // changes that one request asks for
	beat     = 10000 // milliseconds between the heartbeats of a long poll
)

// feed reads the peer's changes, a batch a request. A live feed then waits for more in a long poll.
func (t *httpTransport) feed(ctx context.Context, w Wish, fn func(*Batch) error) error {
	for {
		b, rows, err := t.changes(ctx, w, feedRows, atOnce)
		if err == nil && rows == 0 && w.Live {
			b, rows, err = t.changes(ctx, w, feedRows, waiting)
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

// The values of the parameter feed: the server answers at once, or waits until there are changes.
const (
	atOnce  = "normal"
	waiting = "longpoll"
)

// changes reads one batch of a limited number of changes.
func (t *httpTransport) changes(ctx context.Context, w Wish, limit int, feed string) (b *Batch, rows int, err error) {
	q := url.Values{"style": {"all_docs"}, "limit": {strconv.Itoa(limit)}}
	if text := transit.SequenceText(w.Since); text != "" {
		q.Set("since", text)
	}
	if feed == waiting {
		q.Set("feed", feed)
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
				b.Upto = transit.Sequence(v.Clone())
				return input.Wrap(err)
			}
			return input.Wrap(dec.SkipValue())
		})
	})
	if err == nil && b.Upto == nil {
		err = dial.ErrCut // each feed says how far it goes
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
		return nil // there is nothing to copy
	}
	revs := make([]string, len(row.Changes))
	for i, c := range row.Changes {
		revs[i] = c.Rev
	}
	b.offer(row.ID, revs)
	return nil
}

func (t *httpTransport) missing(ctx context.Context, offers []merge.Revs) (missing []docs.MissingRevs, err error) {
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
			body = transit.AppendRev(body, rev)
		}
		body = append(body, ']')
	}
	body = append(body, '}')
	err = t.link.Stream(ctx, http.MethodPost, t.link.At("_revs_diff"), dial.Bytes(body), func(dec *jsontext.Decoder) error {
		return input.EachMember(dec, func(id string) error {
			m := docs.MissingRevs{ID: id}
			err := input.EachMember(dec, func(name string) (err error) {
				var list []string
				switch name {
				case "missing":
					list, err = input.Texts(dec)
					m.Missing = transit.ParseRevs(list)
				case "possible_ancestors":
					list, err = input.Texts(dec)
					m.PossibleAncestors = transit.ParseRevs(list)
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

// askRows is how many documents one request asks for.
const askRows = 200

// read asks for many revisions at a time. A server without _bulk_get is asked for one document after the other. Attachments come as stubs,
// and are fetched when the target wants them.
func (t *httpTransport) read(ctx context.Context, missing []docs.MissingRevs, fn func(*transit.Revision) error) error {
	for some := range slices.Chunk(missing, askRows) {
		if !t.noBulk {
			err := t.bulkGet(ctx, some, fn)
			if dial.Is(err, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusBadRequest, http.StatusNotImplemented) {
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

func (t *httpTransport) bulkGet(ctx context.Context, missing []docs.MissingRevs, fn func(*transit.Revision) error) error {
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
		err = dial.ErrCut // the answer is not one of _bulk_get
	}
	return err
}

// openRevs asks for the revisions of one document as JSON.
func (t *httpTransport) openRevs(ctx context.Context, m docs.MissingRevs, fn func(*transit.Revision) error) error {
	revs, _ := json.Marshal(transit.RevTexts(m.Missing)) // texts can be marshalled
	q := url.Values{"open_revs": {string(revs)}, "revs": {"true"}, "latest": {"true"}}
	address := t.link.At(docPath(m.ID)) + "?" + q.Encode()
	err := t.link.Stream(ctx, http.MethodGet, address, nil, func(dec *jsontext.Decoder) error { return t.eachRevision(dec, fn) })
	if dial.Is(err, http.StatusNotFound) {
		return nil // it was deleted or erased since
	}
	return err
}

// eachRevision reads a list of {"ok":document} and of missing revisions.
func (t *httpTransport) eachRevision(dec *jsontext.Decoder, fn func(*transit.Revision) error) error {
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

// parse reads a document. It returns nil if the document has no id or no revision.
func (t *httpTransport) parse(dec *jsontext.Decoder) (*transit.Revision, error) {
	x, err := (&transit.Parsed{}).Read(dec)
	if x != nil {
		x.Content = func(ctx context.Context, p *transit.Part, w io.Writer) error { return t.content(ctx, x, p, w) }
	}
	return x, err
}

// content fetches an attachment.
func (t *httpTransport) content(ctx context.Context, x *transit.Revision, p *transit.Part, w io.Writer) error {
	address := t.link.At(docPath(x.ID), url.PathEscape(p.Name)) + "?rev=" + url.QueryEscape(x.Rev().String())
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

// write sends revisions by _bulk_docs.
func (t *httpTransport) write(ctx context.Context, revisions []*transit.Revision) ([]Denial, error) {
	body := []byte(`{"new_edits":false,"docs":[`)
	for i, x := range revisions {
		if i > 0 {
			body = append(body, ',')
		}
		var err error
		if body, err = x.AppendDoc(body, func(dst []byte, p *transit.Part) ([]byte, error) { return x.AppendContent(ctx, dst, p) }); err != nil {
			return nil, err
		}
	}
	return t.denials(ctx, t.link.At("_bulk_docs"), dial.Bytes(append(body, "]}"...)))
}

// denials sends revisions and reads which of them the server refuses.
func (t *httpTransport) denials(ctx context.Context, address string, p *dial.Payload) (denied []Denial, err error) {
	err = t.link.Stream(ctx, http.MethodPost, address, p, func(dec *jsontext.Decoder) error {
		return input.EachItem(dec, func() error {
			v, err := dec.ReadValue()
			switch {
			case err != nil:
				return input.Wrap(err)
			case v.Kind() != '{':
				return input.ErrShape
			}
			var d Denial
			_ = json.Unmarshal(v, &d) // a member of another type stays empty
			if d.Error != "" {
				denied = append(denied, d)
			}
			return nil
		})
	})
	for _, d := range denied {
		if slices.Contains([]string{"internal_server_error", "service_unavailable", "timeout", "unknown_error"}, d.Error) {
			return nil, &dial.Refusal{Status: http.StatusServiceUnavailable, Word: d.Error, Reason: d.Reason}
		}
	}
	return denied, err
}

// putRelated sends one revision and its attachments, with bytes that come from the source.
func (t *httpTransport) putRelated(ctx context.Context, x *transit.Revision) ([]Denial, error) {
	if x.Content == nil {
		return []Denial{denial(x, transit.ErrStub)}, nil
	}
	r, w := io.Pipe()
	mw := multipart.NewWriter(w)
	done := make(chan error, 1)
	go func() {
		err := writeRelated(ctx, x, mw)
		_ = w.CloseWithError(err) // never fails
		done <- err
	}()
	p := &dial.Payload{Media: `multipart/related; boundary="` + mw.Boundary() + `"`, Read: r}
	resp, err := t.link.Do(ctx, http.MethodPut, t.link.At(docPath(x.ID))+"?new_edits=false", p)
	_ = r.Close() // never fails; it ends the writer
	if failed := <-done; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
		err = failed // the source broke off, and so did the request
	}
	switch {
	case err == nil:
		return nil, dial.Drain(resp)
	case dial.Refused(err) && !dial.Is(err, http.StatusUnauthorized, http.StatusNotFound):
		return []Denial{{ID: x.ID, Rev: x.Rev().String(), Error: "forbidden", Reason: err.Error()}}, nil
	}
	return nil, err
}

// writeRelated writes a document and then its attachments.
func writeRelated(ctx context.Context, x *transit.Revision, mw *multipart.Writer) error {
	doc, err := x.AppendDoc(nil, func(dst []byte, p *transit.Part) ([]byte, error) {
		if p.Length >= 0 {
			dst = strconv.AppendInt(append(dst, `,"length":`...), p.Length, 10)
		}
		return append(dst, `,"follows":true`...), nil
	})
	if err != nil {
		return err
	}
	first, err := mw.CreatePart(textproto.MIMEHeader{"Content-Type": {"application/json"}})
	if err == nil {
		_, err = first.Write(doc)
	}
	for i := 0; i < len(x.Parts) && err == nil; i++ {
		err = writePart(ctx, x, &x.Parts[i], mw)
	}
	if err != nil {
		return err
	}
	return mw.Close()
}

// writePart writes one attachment of a revision as a part.
func writePart(ctx context.Context, x *transit.Revision, p *transit.Part, mw *multipart.Writer) error {
	h := textproto.MIMEHeader{
		"Content-Disposition": {mime.FormatMediaType("attachment", map[string]string{"filename": p.Name})},
		"Content-Type":        {transit.MediaType(p.Type)},
	}
	if p.Length >= 0 {
		h.Set("Content-Length", strconv.FormatInt(p.Length, 10))
	}
	w, err := mw.CreatePart(h)
	if err != nil {
		return err
	}
	return x.Content(ctx, p, w)
}

func isLarge(x *transit.Revision) bool {
	size := int64(0)
	for i := range x.Parts {
		if p := &x.Parts[i]; !x.Knows(p) {
			size += max(p.Length, 0)
			if p.Length < 0 {
				return true
			}
		}
	}
	return size > transit.MaxInline
}
