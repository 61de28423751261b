package sync

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"

	"doorward/kv/record"

	"github.com/go-json-experiment/json/jsontext"
)

// inline is up to how many bytes of a document's attachments are sent within it.
const inline = 256 << 10

// write sends revisions many at a time, and those with large attachments one by one.
func (t *There) write(ctx context.Context, replicas []*replica) (denied []Denial, err error) {
	if err := t.open(ctx); err != nil {
		return nil, err
	}
	t.uncommit = true
	var many []*replica
	for _, x := range replicas {
		if !x.large() {
			many = append(many, x)
			continue
		}
		d, err := t.putRelated(ctx, x)
		if err != nil {
			return nil, err
		}
		denied = append(denied, d...)
	}
	d, err := t.writeMany(ctx, many)
	return append(denied, d...), err
}

func (x *replica) large() bool {
	size := int64(0)
	for i := range x.parts {
		if p := &x.parts[i]; !x.knows(p) {
			size += max(p.Length, 0)
			if p.Length < 0 {
				return true
			}
		}
	}
	return size > inline
}

// knows tells that the target has an attachment's bytes already, with a revision that this one comes from.
func (x *replica) knows(p *part) bool {
	return slices.ContainsFunc(x.held, func(rev record.Revision) bool {
		return p.RevPos > 0 && p.RevPos <= rev.Generation && slices.Contains(x.path, rev)
	})
}

// writeMany sends revisions in one request. A server that finds it too large is sent halves.
func (t *There) writeMany(ctx context.Context, replicas []*replica) (denied []Denial, err error) {
	if len(replicas) == 0 {
		return nil, nil
	}
	if t.fast {
		denied, err = t.fastWrite(ctx, replicas)
	} else {
		denied, err = t.bulkDocs(ctx, replicas)
	}
	switch {
	case !is(err, http.StatusRequestEntityTooLarge):
		return t.again(ctx, replicas, denied, err)
	case len(replicas) == 1:
		return []Denial{replicas[0].deny(errTooLarge)}, nil
	}
	half := len(replicas) / 2
	for _, some := range [][]*replica{replicas[:half], replicas[half:]} {
		d, err := t.writeMany(ctx, some)
		if err != nil {
			return nil, err
		}
		denied = append(denied, d...)
	}
	return denied, nil
}

// again sends with all their bytes those revisions whose attachments the server was believed to have.
func (t *There) again(ctx context.Context, replicas []*replica, denied []Denial, err error) ([]Denial, error) {
	for i := 0; i < len(denied) && err == nil; i++ {
		d := denied[i]
		at := slices.IndexFunc(replicas, func(x *replica) bool { return x.id == d.ID && (d.Rev == "" || x.rev().String() == d.Rev) })
		if at < 0 || len(replicas[at].parts) == 0 || !stubbed(d) {
			continue
		}
		var still []Denial
		if still, err = t.putRelated(ctx, replicas[at]); err == nil && len(still) == 0 {
			denied = slices.Delete(denied, i, i+1)
			i--
		}
	}
	return denied, err
}

// stubbed tells a denial for want of an attachment's bytes.
func stubbed(d Denial) bool {
	return d.Error == "missing_stub" || d.Reason == explain(errStub).Reason
}

// bulkDocs sends revisions as the protocol has them.
func (t *There) bulkDocs(ctx context.Context, replicas []*replica) ([]Denial, error) {
	body := []byte(`{"new_edits":false,"docs":[`)
	for i, x := range replicas {
		if i > 0 {
			body = append(body, ',')
		}
		var err error
		if body, err = x.appendDoc(body, func(dst []byte, p *part) ([]byte, error) { return x.appendContent(ctx, dst, p) }); err != nil {
			return nil, err
		}
	}
	return t.denials(ctx, t.at("_bulk_docs"), bytesOf(append(body, "]}"...)))
}

// denials sends revisions and reads which of them are refused.
func (t *There) denials(ctx context.Context, address string, p *payload) (denied []Denial, err error) {
	err = t.stream(ctx, http.MethodPost, address, p, func(dec *jsontext.Decoder) error {
		return eachItem(dec, func() error {
			var d Denial
			err := eachMember(dec, func(name string) error { return d.readMember(dec, name) })
			if err == nil && d.Error != "" {
				denied = append(denied, d)
			}
			return err
		})
	})
	for _, d := range denied {
		if slices.Contains([]string{"internal_server_error", "service_unavailable", "timeout", "unknown_error"}, d.Error) {
			return nil, &refusal{status: http.StatusServiceUnavailable, word: d.Error, reason: d.Reason}
		}
	}
	return denied, err
}

func (d *Denial) readMember(dec *jsontext.Decoder, name string) error {
	v, err := dec.ReadValue()
	if err != nil || v.Kind() != '"' {
		return badBody(err)
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

// appendDoc writes the revision as a document with _revisions; content writes what follows an attachment's type and revpos.
func (x *replica) appendDoc(dst []byte, content func([]byte, *part) ([]byte, error)) (_ []byte, err error) {
	dst, _ = jsontext.AppendQuote(append(dst, `{"_id":`...), x.id) // what is no UTF-8 becomes what is
	dst = append(append(append(dst, `,"_rev":"`...), x.rev().String()...), '"')
	if x.deleted {
		dst = append(dst, `,"_deleted":true`...)
	}
	dst = append(strconv.AppendUint(append(dst, `,"_revisions":{"start":`...), x.rev().Generation, 10), `,"ids":[`...)
	for i, rev := range x.path {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), hash(rev)...), '"')
	}
	dst = append(dst, "]}"...)
	if dst, err = x.appendParts(dst, content); err != nil {
		return nil, err
	}
	return appendMembers(dst, x.body), nil
}

// appendMembers writes the members of a body and closes the document.
func appendMembers(dst, body []byte) []byte {
	if len(body) <= len("{}") {
		return append(dst, '}')
	}
	return append(append(dst, ','), body[1:]...)
}

func (x *replica) appendParts(dst []byte, content func([]byte, *part) ([]byte, error)) (_ []byte, err error) {
	for i := range x.parts {
		p := &x.parts[i]
		if i == 0 {
			dst = append(dst, `,"_attachments":{`...)
		} else {
			dst = append(dst, ',')
		}
		dst, _ = jsontext.AppendQuote(dst, p.Name) // as above
		dst, _ = jsontext.AppendQuote(append(dst, `:{"content_type":`...), orBinary(p.Type))
		dst = strconv.AppendUint(append(dst, `,"revpos":`...), p.RevPos, 10)
		if dst, err = content(dst, p); err != nil {
			return nil, err
		}
		dst = append(dst, '}')
	}
	if len(x.parts) > 0 {
		dst = append(dst, '}')
	}
	return dst, nil
}

// appendStub says that the server has the bytes.
func appendStub(dst []byte, p *part) ([]byte, error) {
	dst = append(dst, `,"stub":true`...)
	if p.digest != "" {
		dst, _ = jsontext.AppendQuote(append(dst, `,"digest":`...), p.digest) // as above
	}
	if p.Length >= 0 {
		dst = strconv.AppendInt(append(dst, `,"length":`...), p.Length, 10)
	}
	return dst, nil
}

// appendContent writes an attachment's bytes, or that the server has them.
func (x *replica) appendContent(ctx context.Context, dst []byte, p *part) ([]byte, error) {
	if x.knows(p) || x.content == nil {
		return appendStub(dst, p)
	}
	w := &appending{b: append(dst, `,"data":"`...)}
	enc := base64.NewEncoder(base64.StdEncoding, w)
	if err := x.content(ctx, p, enc); err != nil {
		return nil, err
	}
	_ = enc.Close() // memory takes everything
	return append(w.b, '"'), nil
}

// appending is bytes that are written to.
type appending struct{ b []byte }

// Write appends.
func (a *appending) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

// putRelated sends one revision, its attachments as they come from the source.
func (t *There) putRelated(ctx context.Context, x *replica) ([]Denial, error) {
	if x.content == nil {
		return []Denial{x.deny(errStub)}, nil
	}
	r, w := io.Pipe()
	mw := multipart.NewWriter(w)
	done := make(chan error, 1)
	go func() {
		err := x.related(ctx, mw)
		_ = w.CloseWithError(err) // never fails
		done <- err
	}()
	p := &payload{media: `multipart/related; boundary="` + mw.Boundary() + `"`, read: r}
	resp, err := t.do(ctx, http.MethodPut, t.at(docPath(x.id))+"?new_edits=false", p)
	_ = r.Close() // never fails; it ends the writer
	if failed := <-done; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
		err = failed // the source's own, which is why the request broke off
	}
	var no *refusal
	switch {
	case err == nil:
		return nil, drain(resp)
	case errors.As(err, &no) && !transient(err) && no.status != http.StatusUnauthorized && no.status != http.StatusNotFound:
		return []Denial{{x.id, x.rev().String(), "forbidden", no.Error()}}, nil
	}
	return nil, err
}

// related writes a document and then its attachments.
func (x *replica) related(ctx context.Context, mw *multipart.Writer) error {
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
		err = x.follow(ctx, mw, &x.parts[i])
	}
	if err != nil {
		return err
	}
	return mw.Close()
}

func (x *replica) follow(ctx context.Context, mw *multipart.Writer, p *part) error {
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
	return x.content(ctx, p, w)
}
