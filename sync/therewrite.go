package sync

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv"
	"doorward/kv/rev"
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
	return slices.ContainsFunc(x.held, func(rev rev.ID) bool {
		return p.RevPos > 0 && p.RevPos <= rev.Generation && slices.Contains(x.path, rev)
	})
}

// writeMany sends revisions in one request. A server that finds it too large, or one of them malformed, is sent halves.
func (t *There) writeMany(ctx context.Context, replicas []*replica) (denied []Denial, err error) {
	if len(replicas) == 0 {
		return nil, nil
	}
	if t.fast {
		denied, err = t.fastWrite(ctx, replicas)
	} else {
		denied, err = t.bulkDocs(ctx, replicas)
	}
	no := refusesAll(err)
	switch {
	case no == nil:
		return t.again(ctx, replicas, denied, err)
	case len(replicas) == 1:
		return []Denial{replicas[0].deny(no)}, nil
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

// refusesAll answers what is wrong with a request whose documents may be taken in smaller ones; nil for any other error. As CouchDB
// does, a free database refuses a whole request for one document that is malformed.
func refusesAll(err error) error {
	var no *refusal
	switch {
	case is(err, http.StatusRequestEntityTooLarge):
		return errTooLarge
	case errors.As(err, &no) && no.status == http.StatusBadRequest && no.word == "illegal_docid":
		return kv.ErrDocumentID
	case errors.As(err, &no) && no.status == http.StatusBadRequest && no.word == "doc_validation":
		return kv.ErrDocument
	}
	return nil
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
		d.Kept = d.Kept || name == "kept" && v.Kind() == 't'
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
