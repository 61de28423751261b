package sync

import (
	"errors"
	"strings"

	"doorward/kv"
	"doorward/kv/record"
	"doorward/sync/input"
	"doorward/sync/line"

	"github.com/go-json-experiment/json/jsontext"
)

// readDocument reads the next object. Its error is one of reading; what is wrong with the document is in it. Attachments with bytes are
// stored at once.
func readDocument(c *call, dec *jsontext.Decoder) (*line.Parsed, error) {
	if dec.PeekKind() != '{' {
		if err := dec.SkipValue(); err != nil {
			return nil, input.Wrap(err)
		}
		return &line.Parsed{Err: input.ErrShape}, nil
	}
	d := &line.Parsed{Body: []byte{'{'}}
	err := input.EachMember(dec, func(name string) error {
		if name == "_attachments" {
			c.values.Large = true
			defer func() { c.values.Large = false }()
			return readAttachments(c, dec, d)
		}
		v, err := dec.ReadValue()
		if err != nil {
			return input.Wrap(err)
		}
		if strings.HasPrefix(name, "_") {
			d.Refuse(d.Special(name, v))
			return nil
		}
		d.Member(name, v)
		return nil
	})
	d.Body = append(d.Body, '}')
	return d, err
}

// docWrite makes a write of a document: a new edit, or a replicated revision. What is wrong with the document is in it.
func docWrite(c *call, d *line.Parsed, replicated bool) (w kv.DocWrite, err error) {
	w = kv.DocWrite{ID: d.ID, Parent: d.Rev, Deleted: d.Deleted, Body: d.Body, Wrong: d.Err}
	if w.Wrong == nil && (d.BadRev || d.BadPath || d.UpperCase && !c.db.Free()) {
		w.Wrong = line.ErrRevision
	}
	if replicated {
		if w.Path = d.Path; w.Path == nil || d.Rev != (record.Revision{}) && w.Path[0] != d.Rev {
			w.Path = []record.Revision{d.Rev}
		}
		if w.Wrong == nil && w.Path[0] == (record.Revision{}) {
			w.Wrong = line.ErrNoRevision
		}
		w.Parent = record.Revision{}
	}
	if w.Wrong != nil {
		return w, nil
	}
	if w.Attachments, err = resolveStubs(c, d, w.Path); errors.Is(err, line.ErrStub) {
		w.Wrong, err = err, nil
	}
	return w, err
}
