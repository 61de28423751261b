package line

import (
	"context"
	"encoding/base64"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendDoc appends the revision as a document with _revisions. content appends what follows an attachment's type and revpos.
func (x *Revision) AppendDoc(dst []byte, content func([]byte, *Part) ([]byte, error)) (_ []byte, err error) {
	dst, _ = jsontext.AppendQuote(append(dst, `{"_id":`...), x.ID) // what is no UTF-8 becomes what is
	dst = AppendRevision(append(dst, `,"_rev":`...), x.Rev())
	if x.Deleted {
		dst = append(dst, `,"_deleted":true`...)
	}
	dst = append(strconv.AppendUint(append(dst, `,"_revisions":{"start":`...), x.Rev().Generation, 10), `,"ids":[`...)
	for i, rev := range x.Path {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendHash(dst, rev, rev.HashText())
	}
	dst = append(dst, "]}"...)
	return x.AppendMembers(dst, content)
}

// AppendMembers appends _attachments and the members of the body, and closes the document. A nil content writes stubs.
func (x *Revision) AppendMembers(dst []byte, content func([]byte, *Part) ([]byte, error)) (_ []byte, err error) {
	if dst, err = x.appendParts(dst, content); err != nil {
		return nil, err
	}
	if len(x.Body) <= len("{}") {
		return append(dst, '}'), nil
	}
	return append(append(dst, ','), x.Body[1:]...), nil
}

func (x *Revision) appendParts(dst []byte, content func([]byte, *Part) ([]byte, error)) (_ []byte, err error) {
	if content == nil {
		content = appendStub
	}
	for i := range x.Parts {
		p := &x.Parts[i]
		if i == 0 {
			dst = append(dst, `,"_attachments":{`...)
		} else {
			dst = append(dst, ',')
		}
		dst, _ = jsontext.AppendQuote(dst, p.Name) // as above
		dst, _ = jsontext.AppendQuote(append(dst, `:{"content_type":`...), MediaType(p.Type))
		dst = strconv.AppendUint(append(dst, `,"revpos":`...), p.RevPos, 10)
		if dst, err = content(dst, p); err != nil {
			return nil, err
		}
		dst = append(dst, '}')
	}
	if len(x.Parts) > 0 {
		dst = append(dst, '}')
	}
	return dst, nil
}

// appendStub says that the server has the bytes.
func appendStub(dst []byte, p *Part) ([]byte, error) {
	dst = append(dst, `,"stub":true`...)
	if p.ClaimedDigest != "" {
		dst, _ = jsontext.AppendQuote(append(dst, `,"digest":`...), p.ClaimedDigest) // as above
	}
	if p.Length >= 0 {
		dst = strconv.AppendInt(append(dst, `,"length":`...), p.Length, 10)
	}
	return dst, nil
}

// AppendContent appends an attachment's bytes, or a stub if the target has them.
func (x *Revision) AppendContent(ctx context.Context, dst []byte, p *Part) ([]byte, error) {
	if x.Knows(p) || x.Content == nil {
		return appendStub(dst, p)
	}
	w := &appending{b: append(dst, `,"data":"`...)}
	enc := base64.NewEncoder(base64.StdEncoding, w)
	if err := x.Content(ctx, p, enc); err != nil {
		return nil, err
	}
	_ = enc.Close() // memory takes everything
	return append(w.b, '"'), nil
}

// appending is a writer to memory.
type appending struct{ b []byte }

// Write appends.
func (a *appending) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}
