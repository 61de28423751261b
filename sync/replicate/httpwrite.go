package replicate

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"doorward/kv"
	"doorward/sync/dial"
	"doorward/sync/input"
	"doorward/sync/line"

	"github.com/go-json-experiment/json/jsontext"
)

// Write sends revisions many at a time, and those with large attachments one by one.
func (t *Remote) Write(ctx context.Context, revisions []*line.Revision) (denied []Denial, err error) {
	if err := t.open(ctx); err != nil {
		return nil, err
	}
	t.dirty = true
	var many []*line.Revision
	for _, x := range revisions {
		if !isLarge(x) {
			many = append(many, x)
			continue
		}
		d, err := t.http.putRelated(ctx, x)
		if err != nil {
			return nil, err
		}
		denied = append(denied, d...)
	}
	d, err := t.writeMany(ctx, many)
	return append(denied, d...), err
}

func isLarge(x *line.Revision) bool {
	size := int64(0)
	for i := range x.Parts {
		if p := &x.Parts[i]; !x.Knows(p) {
			size += max(p.Length, 0)
			if p.Length < 0 {
				return true
			}
		}
	}
	return size > line.MaxInline
}

// writeMany sends revisions in one request. A server that finds it too large, or one of them malformed, is sent halves.
func (t *Remote) writeMany(ctx context.Context, revisions []*line.Revision) (denied []Denial, err error) {
	if len(revisions) == 0 {
		return nil, nil
	}
	denied, err = t.transport().write(ctx, revisions)
	no := batchRefusal(err)
	switch {
	case no == nil:
		return t.resendWhole(ctx, revisions, denied, err)
	case len(revisions) == 1:
		return []Denial{denial(revisions[0], no)}, nil
	}
	half := len(revisions) / 2
	for _, some := range [][]*line.Revision{revisions[:half], revisions[half:]} {
		d, err := t.writeMany(ctx, some)
		if err != nil {
			return nil, err
		}
		denied = append(denied, d...)
	}
	return denied, nil
}

// batchRefusal answers what is wrong with a request whose documents may be taken in smaller ones; nil for any other error. As CouchDB
// does, a free database refuses a whole request for one document that is malformed.
func batchRefusal(err error) error {
	var no *dial.Refusal
	switch {
	case dial.Is(err, http.StatusRequestEntityTooLarge):
		return input.ErrTooLarge
	case errors.As(err, &no) && no.Status == http.StatusBadRequest && no.Word == "illegal_docid":
		return kv.ErrDocumentID
	case errors.As(err, &no) && no.Status == http.StatusBadRequest && no.Word == "doc_validation":
		return kv.ErrDocument
	}
	return nil
}

// resendWhole sends with all their bytes those revisions whose attachments the server was believed to have.
func (t *Remote) resendWhole(ctx context.Context, revisions []*line.Revision, denied []Denial, err error) ([]Denial, error) {
	for i := 0; i < len(denied) && err == nil; i++ {
		d := denied[i]
		at := slices.IndexFunc(revisions, func(x *line.Revision) bool { return x.ID == d.ID && (d.Rev == "" || x.Rev().String() == d.Rev) })
		if at < 0 || len(revisions[at].Parts) == 0 || !lacksBytes(d) {
			continue
		}
		var still []Denial
		if still, err = t.http.putRelated(ctx, revisions[at]); err == nil && len(still) == 0 {
			denied = slices.Delete(denied, i, i+1)
			i--
		}
	}
	return denied, err
}

// lacksBytes tells a denial for want of an attachment's bytes.
func lacksBytes(d Denial) bool {
	return d.Error == "missing_stub" || d.Reason == Reason(line.ErrStub)
}

// write sends revisions by _bulk_docs.
func (t *httpTransport) write(ctx context.Context, revisions []*line.Revision) ([]Denial, error) {
	body := []byte(`{"new_edits":false,"docs":[`)
	for i, x := range revisions {
		if i > 0 {
			body = append(body, ',')
		}
		var err error
		if body, err = x.AppendDoc(body, func(dst []byte, p *line.Part) ([]byte, error) { return x.AppendContent(ctx, dst, p) }); err != nil {
			return nil, err
		}
	}
	return t.denials(ctx, t.link.At("_bulk_docs"), dial.Bytes(append(body, "]}"...)))
}

// denials sends revisions and reads which of them are refused.
func (t *httpTransport) denials(ctx context.Context, address string, p *dial.Payload) (denied []Denial, err error) {
	err = t.link.Stream(ctx, http.MethodPost, address, p, func(dec *jsontext.Decoder) error {
		return input.EachItem(dec, func() error {
			var d Denial
			err := input.EachMember(dec, func(name string) error { return d.readMember(dec, name) })
			if err == nil && d.Error != "" {
				denied = append(denied, d)
			}
			return err
		})
	})
	for _, d := range denied {
		if slices.Contains([]string{"internal_server_error", "service_unavailable", "timeout", "unknown_error"}, d.Error) {
			return nil, &dial.Refusal{Status: http.StatusServiceUnavailable, Word: d.Error, Reason: d.Reason}
		}
	}
	return denied, err
}

func (d *Denial) readMember(dec *jsontext.Decoder, name string) error {
	v, err := dec.ReadValue()
	if err != nil || v.Kind() != '"' {
		d.Kept = d.Kept || name == "kept" && v.Kind() == 't'
		return input.Wrap(err)
	}
	b, _ := jsontext.AppendUnquote(nil, v) // it was read as a text
	switch name {
	case "id":
		d.ID = string(b)
	case "rev":
		d.Rev = string(b)
	case "error":
		d.Error = string(b)
	case "reason":
		d.Reason = string(b)
	}
	return nil
}
