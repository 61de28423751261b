package sync

import (
	"context"
	"encoding/base64"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// appendDoc writes the revision as a document with _revisions; content writes what follows an attachment's type and revpos.
func (x *replica) appendDoc(dst []byte, content func([]byte, *part) ([]byte, error)) (_ []byte, err error) {
	dst, _ = jsontext.AppendQuote(append(dst, `{"_id":`...), x.id) // what is no UTF-8 becomes what is
	dst = appendRevision(append(dst, `,"_rev":`...), x.rev())
	if x.deleted {
		dst = append(dst, `,"_deleted":true`...)
	}
	dst = append(strconv.AppendUint(append(dst, `,"_revisions":{"start":`...), x.rev().Generation, 10), `,"ids":[`...)
	for i, rev := range x.path {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendHash(dst, rev, rev.HashText())
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
