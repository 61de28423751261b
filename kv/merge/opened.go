package merge

import (
	"fmt"
	"slices"

	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// opened is what a document of a record says, as far as that is known without the store: it is read before the writer's turn.
type opened struct {
	doc     *record.Doc
	body    record.Body // of doc
	ready   table.ReadyLookups
	foreign bool // the revision is not made of the body
	err     error
}

// OpenRecord opens the document of a record; one that is none, or that deletes the record, is left as it is.
func (in *DocWrite) OpenRecord() error {
	if in.Parent.Text != "" || slices.ContainsFunc(in.Path, func(r rev.ID) bool { return r.Text != "" }) {
		return ErrRevision
	}
	k, id, ok := record.ParseDocID(in.ID)
	if !ok || in.Deleted {
		return nil
	}
	if in.open(k); in.opened.err == nil && !k.Fact {
		in.opened.ready = table.LookupKeys(k, id, in.opened.doc, 0)
	}
	return nil
}

// open opens the document of a kind.
func (in *DocWrite) open(k *record.Kind) {
	in.opened = &opened{}
	in.opened.doc, in.opened.err = in.decode(k)
	if in.opened.err == nil {
		in.opened.body, in.opened.foreign = in.opened.doc.Encode(), !in.isOurs(in.opened.doc)
	}
}

func (in *DocWrite) decode(k *record.Kind) (*record.Doc, error) {
	if len(in.Content) > entry.MaxRecordDoc {
		return nil, table.Refused("the document is too large for a record")
	}
	d, err := k.Adopt(record.Body{Shown: in.Content[1 : len(in.Content)-1]})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	for _, name := range d.Unknown() {
		if _, known := k.Field(name); known {
			return nil, table.Refused("a derived field is no part of a record")
		}
	}
	return d, nil
}

// isOurs tells a revision that is made of the body in our way; a new edit's will be.
func (in *DocWrite) isOurs(d *record.Doc) bool {
	if !d.IsAllOf(in.Content) {
		return false
	}
	var parent rev.ID
	if len(in.Path) > 1 {
		parent = in.Path[1]
	}
	return len(in.Path) == 0 || rev.Next(parent, false, in.Content) == in.Path[0]
}
