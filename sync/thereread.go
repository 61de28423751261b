package sync

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv"
	"doorward/kv/rev"
)

// askRows is how many documents one request asks for.
const askRows = 200

// read asks for revisions many at a time; a peer that cannot is asked one document after the other. Attachments are named alone,
// and fetched when the target wants them.
func (t *There) read(ctx context.Context, missing []kv.MissingRevs, fn func(*replica) error) error {
	for some := range slices.Chunk(missing, askRows) {
		if !t.noBulk {
			err := t.bulkGet(ctx, some, fn)
			if unknown(err) {
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

// unknown tells that a server does not know a path.
func unknown(err error) bool {
	return is(err, http.StatusNotFound) || is(err, http.StatusMethodNotAllowed) || is(err, http.StatusBadRequest) || is(err, http.StatusNotImplemented)
}

func (t *There) bulkGet(ctx context.Context, missing []kv.MissingRevs, fn func(*replica) error) error {
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
	address := t.at("_bulk_get") + "?revs=true&latest=true"
	answered := false
	err := t.stream(ctx, http.MethodPost, address, jsonOf(map[string]any{"docs": items}), func(dec *jsontext.Decoder) error {
		return eachMember(dec, func(name string) error {
			if name != "results" {
				return badBody(dec.SkipValue())
			}
			answered = true
			return eachItem(dec, func() error {
				return eachMember(dec, func(name string) error {
					if name != "docs" {
						return badBody(dec.SkipValue())
					}
					return t.revisions(dec, fn)
				})
			})
		})
	})
	if err == nil && !answered {
		err = errCut // what was asked for may be there
	}
	return err
}

// openRevs asks for the revisions of one document, as JSON: what a server that knows only parts sends is read as such.
func (t *There) openRevs(ctx context.Context, m kv.MissingRevs, fn func(*replica) error) error {
	revs, _ := json.Marshal(revisionTexts(m.Missing)) // it can be
	q := url.Values{"open_revs": {string(revs)}, "revs": {"true"}, "latest": {"true"}}
	address := t.at(docPath(m.ID)) + "?" + q.Encode()
	err := t.stream(ctx, http.MethodGet, address, nil, func(dec *jsontext.Decoder) error { return t.revisions(dec, fn) })
	if is(err, http.StatusNotFound) {
		return nil // it has gone since
	}
	return err
}

// revisions reads a list of {"ok":document} and of what is not there.
func (t *There) revisions(dec *jsontext.Decoder, fn func(*replica) error) error {
	return eachItem(dec, func() error {
		return eachMember(dec, func(name string) error {
			if name != "ok" {
				return badBody(dec.SkipValue())
			}
			x, err := t.replica(dec)
			if err != nil || x == nil {
				return err
			}
			return fn(x)
		})
	})
}

// replica reads a document; nil for one that cannot be copied, as it has no revisions of ours.
func (t *There) replica(dec *jsontext.Decoder) (*replica, error) {
	d := &incoming{body: []byte{'{'}}
	err := eachMember(dec, func(name string) error { return d.readMember(dec, name) })
	if err != nil {
		return nil, err
	}
	x := d.replica()
	if x != nil {
		x.content = func(ctx context.Context, p *part, w io.Writer) error { return t.content(ctx, x, p, w) }
	}
	return x, nil
}

// readMember reads a member of a document whose attachments are stubs.
func (d *incoming) readMember(dec *jsontext.Decoder, name string) error {
	if name == "_attachments" {
		return eachMember(dec, func(name string) error { return d.readStub(dec, name) })
	}
	v, err := dec.ReadValue()
	switch {
	case err != nil:
		return badBody(err)
	case name == "":
		d.member(name, v)
	case name[0] == '_':
		d.refuse(d.special(name, v))
	default:
		d.member(name, v)
	}
	return nil
}

func (d *incoming) readStub(dec *jsontext.Decoder, name string) error {
	p := part{Attachment: kv.Attachment{Name: name}, stub: true}
	p.Length = -1
	err := eachMember(dec, func(name string) error {
		v, err := dec.ReadValue()
		if err != nil {
			return badBody(err)
		}
		switch name {
		case "length":
			_ = json.Unmarshal(v, &p.Length) // where it is none, nobody compares
		case "data":
			p.data = v.Clone()
		}
		p.read(name, v)
		return nil
	})
	p.stub, p.follows = true, false
	d.parts = append(d.parts, p)
	return err
}

// replica is what came in as a revision on its way; nil where it names no revision of ours.
func (d *incoming) replica() *replica {
	d.body = append(d.body, '}')
	path := d.path
	if path == nil || d.rev != (rev.ID{}) && path[0] != d.rev {
		path = []rev.ID{d.rev}
	}
	if d.id == "" || d.strange || path[0] == (rev.ID{}) {
		return nil
	}
	return &replica{id: d.id, path: path, deleted: d.deleted, body: d.body, parts: d.parts}
}

// content fetches an attachment.
func (t *There) content(ctx context.Context, x *replica, p *part, w io.Writer) error {
	address := t.at(docPath(x.id), escape(p.Name)) + "?rev=" + url.QueryEscape(x.rev().String())
	resp, err := t.do(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it is read, or given up
	if _, err := io.Copy(w, resp.Body); err != nil {
		return fmt.Errorf("attachment: %w", err)
	}
	return nil
}
