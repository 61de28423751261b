package replicate

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/entry"
	"doorward/kv/merge"
	"doorward/kv/table"
	"doorward/sync/transit"
)

// writers is how many operations run at a time. The store commits those that wait together, and the next are prepared while it writes.
const writers = 64

// Missing returns the offered revisions that the database lacks.
func (h *Local) Missing(_ context.Context, offers []merge.Revs) ([]docs.MissingRevs, error) {
	answers, err := h.db.Missing(offers)
	return slices.DeleteFunc(answers, func(m docs.MissingRevs) bool { return len(m.Missing) == 0 }), err
}

// Write stores revisions, up to a hundred an operation.
func (h *Local) Write(ctx context.Context, revisions []*transit.Revision) (denied []Denial, err error) {
	var mu sync.Mutex
	var running sync.WaitGroup
	places := make(chan struct{}, writers)
	for rows := range slices.Chunk(revisions, table.MaxRows) {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			d, e := h.writeOperation(ctx, rows)
			mu.Lock()
			defer mu.Unlock()
			denied, err = append(denied, d...), errors.Join(err, e)
		})
	}
	running.Wait()
	return denied, err
}

// writeOperation stores some revisions in one operation, after the attachments that come with them.
func (h *Local) writeOperation(ctx context.Context, rows []*transit.Revision) (denied []Denial, err error) {
	writes := make([]merge.DocWrite, 0, len(rows))
	at := make([]*transit.Revision, 0, len(rows))
	for _, x := range rows {
		w := merge.DocWrite{ID: x.ID, Path: x.Path, Deleted: x.Deleted, Body: x.Body, Canonical: x.Canonical, Author: x.Author.Decode()}
		err := h.findAttachments(ctx, x, &w)
		if isPermanent(err) {
			denied = append(denied, denial(x, err))
			continue
		}
		if err != nil {
			return nil, err
		}
		writes, at = append(writes, w), append(at, x)
	}
	results, err := h.db.Write(writes)
	if err != nil {
		return nil, err
	}
	for i, r := range results {
		switch {
		case r.Err == nil:
		case isPermanent(r.Err):
			d := denial(at[i], r.Err)
			d.Kept = r.Kept
			denied = append(denied, d)
		default:
			return nil, r.Err
		}
	}
	return denied, nil
}

// isPermanent tells errors of the revision itself from those that may pass.
func isPermanent(err error) bool {
	return slices.ContainsFunc([]error{auth.ErrForbidden, table.ErrConflict, merge.ErrDocument, merge.ErrRevision, entry.ErrTooLarge, transit.ErrStub, transit.ErrLength},
		func(known error) bool { return errors.Is(err, known) })
}

// findAttachments finds the bytes of a revision's attachments: in the database, if an earlier revision has brought them, or at the source.
func (h *Local) findAttachments(ctx context.Context, x *transit.Revision, w *merge.DocWrite) error {
	if len(x.Parts) == 0 {
		return nil
	}
	known, err := Relatives(h.db, x.ID, []docs.Ask{{Revisions: x.Path}, {Leaves: true}})
	if err != nil && !errors.Is(err, transit.ErrStub) {
		return err
	}
	for i := range x.Parts {
		p := &x.Parts[i]
		if found := p.Find(known); found != nil && p.ClaimedDigest != "" {
			a := *found
			a.Type, a.RevPos = p.Type, p.RevPos
			w.Attachments = append(w.Attachments, a)
			continue
		}
		if x.Content == nil {
			return transit.ErrStub
		}
		a := p.Attachment
		if a.Blob, err = h.storeBlob(ctx, x, p); err != nil {
			return err
		}
		w.Attachments = append(w.Attachments, a)
	}
	return nil
}

// storeBlob stores the bytes of an attachment as they come from the source.
func (h *Local) storeBlob(ctx context.Context, x *transit.Revision, p *transit.Part) (merge.Blob, error) {
	blob, err := transit.StoreContent(func(w io.Writer) error { return x.Content(ctx, p, w) }, h.db.PutBlob)
	if err == nil && p.Length >= 0 && blob.Length != p.Length {
		err = transit.ErrLength // a digest cannot tell: CouchDB's is of the bytes that it keeps, which may be compressed
	}
	return blob, err
}

func (h *Local) content(_ context.Context, p *transit.Part, w io.Writer) error {
	return h.db.Blob(p.SHA256, w)
}

// Relatives returns revisions of a document. It returns transit.ErrStub if there is no document.
func Relatives(db *docs.Database, id string, asks []docs.Ask) (known []docs.DocRevision, err error) {
	for _, ask := range asks {
		doc, err := db.Read(id, ask)
		if errors.Is(err, table.ErrNotFound) {
			return nil, transit.ErrStub
		}
		if err != nil {
			return nil, err
		}
		known = append(known, doc.Revisions...)
	}
	return known, nil
}
