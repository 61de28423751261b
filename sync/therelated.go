package sync

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strconv"
)

// putRelated sends one revision, its attachments as they come from the source.
func (t *There) putRelated(ctx context.Context, x *replica) ([]Denial, error) {
	if x.content == nil {
		return []Denial{denial(x, errStub)}, nil
	}
	r, w := io.Pipe()
	mw := multipart.NewWriter(w)
	done := make(chan error, 1)
	go func() {
		err := writeRelated(ctx, x, mw)
		_ = w.CloseWithError(err) // never fails
		done <- err
	}()
	p := &payload{media: `multipart/related; boundary="` + mw.Boundary() + `"`, read: r}
	resp, err := t.link.do(ctx, http.MethodPut, t.link.at(docPath(x.id))+"?new_edits=false", p)
	_ = r.Close() // never fails; it ends the writer
	if failed := <-done; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
		err = failed // the source's own, which is why the request broke off
	}
	var no *refusal
	switch {
	case err == nil:
		return nil, drain(resp)
	case errors.As(err, &no) && !transient(err) && no.status != http.StatusUnauthorized && no.status != http.StatusNotFound:
		return []Denial{{ID: x.id, Rev: x.rev().String(), Error: "forbidden", Reason: no.Error()}}, nil
	}
	return nil, err
}

// writeRelated writes a document and then its attachments.
func writeRelated(ctx context.Context, x *replica, mw *multipart.Writer) error {
	doc, err := x.appendDoc(nil, func(dst []byte, p *part) ([]byte, error) {
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
	for i := 0; i < len(x.parts) && err == nil; i++ {
		err = writePart(ctx, mw, followed{x, &x.parts[i]})
	}
	if err != nil {
		return err
	}
	return mw.Close()
}

// followed is an attachment that follows its document.
type followed struct {
	of *replica
	*part
}

// writePart writes one attachment as a part.
func writePart(ctx context.Context, mw *multipart.Writer, p followed) error {
	h := textproto.MIMEHeader{
		"Content-Disposition": {mime.FormatMediaType("attachment", map[string]string{"filename": p.Name})},
		"Content-Type":        {orBinary(p.Type)},
	}
	if p.Length >= 0 {
		h.Set("Content-Length", strconv.FormatInt(p.Length, 10))
	}
	w, err := mw.CreatePart(h)
	if err != nil {
		return err
	}
	return p.of.content(ctx, p.part, w)
}
