package replicate

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"

	"doorward/sync/dial"
	"doorward/sync/input"
	"doorward/sync/transit"

	"github.com/go-json-experiment/json/jsontext"
)

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
	var no *dial.Refusal
	switch {
	case err == nil:
		return nil, dial.Drain(resp)
	case errors.As(err, &no) && !dial.Transient(err) && no.Status != http.StatusUnauthorized && no.Status != http.StatusNotFound:
		return []Denial{{ID: x.ID, Rev: x.Rev().String(), Error: "forbidden", Reason: no.Error()}}, nil
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
		err = writePart(ctx, mw, followed{x, &x.Parts[i]})
	}
	if err != nil {
		return err
	}
	return mw.Close()
}

// followed is an attachment that follows its document.
type followed struct {
	of *transit.Revision
	*transit.Part
}

// writePart writes one attachment as a part.
func writePart(ctx context.Context, mw *multipart.Writer, p followed) error {
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
	return p.of.Content(ctx, p.Part, w)
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
