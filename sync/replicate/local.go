package replicate

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/entry"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/sync/dial"
	"doorward/sync/line"
	"doorward/sync/mango"
	"doorward/sync/transit"
)

// Local is a database of this process, as a peer.
type Local struct {
	store *kv.Store
	db    *docs.Database
}

// NewLocal makes a peer of an open database.
func NewLocal(store *kv.Store, db *docs.Database) *Local { return &Local{store, db} }

// OpenLocal opens a database as a peer. It returns kv's errors.
func OpenLocal(store *kv.Store, p auth.Principal, name string) (*Local, error) {
	db, err := store.Docs.Database(p, name)
	if err != nil {
		return nil, err
	}
	return NewLocal(store, db), nil
}

// Identify says the store's realm, node and epoch.
func (h *Local) Identify(context.Context) (Identity, error) {
	head := line.Head{Format: line.Format, Realm: h.store.Tables.Identity.Realm(), Node: h.store.Tables.Identity.Node(), Epoch: h.store.Tables.Epochs.Present(), DB: h.db.Name()}
	return Identity{Head: head, ID: strings.ToLower(head.Node) + "/" + head.DB}, nil
}

// Checkpoint reads a local document of the database.
func (h *Local) Checkpoint(_ context.Context, id string) (c Checkpoint, err error) {
	body, _, err := h.db.Local(id)
	if errors.Is(err, table.ErrNotFound) {
		return c, nil
	}
	if err != nil || json.Unmarshal(body, &c) != nil {
		return Checkpoint{}, err // a document of another program
	}
	return c, nil
}

// Keep writes a local document of the database.
func (h *Local) Keep(_ context.Context, id string, c Checkpoint) error {
	body, err := json.Marshal(c)
	if err == nil {
		_, err = h.db.PutLocal(id, body, docs.Whatever)
	}
	return err
}

// coalesceFor is how long a live feed collects changes after the first. The first change after a quiet time goes at once.
const coalesceFor = 100 * time.Millisecond

// Feed reads the log page by page. A live feed waits at the log's end. From the beginning the feed brings the revisions along, because the
// target probably lacks them.
func (h *Local) Feed(ctx context.Context, w Wish, fn func(*Batch) error) error {
	since, err := SinceOf(h.store, w.Since)
	if err != nil {
		return err
	}
	passes, err := mango.Parse(w.Selector)
	if err != nil {
		return err
	}
	carries := w.Carry || since == 0
	f := docs.Feed{Since: since, Limit: docs.DocPage, IDs: w.IDs, Bodies: carries || passes != nil}
	b, size := &Batch{Carried: carries}, 0
	for ctx.Err() == nil {
		page, more, err := h.db.Changes(f)
		if err != nil {
			return err
		}
		n, err := h.offer(b, page, passes)
		if err != nil {
			return err
		}
		size += n
		if len(page) > 0 {
			f.Since = page[len(page)-1].Seq
			b.Upto = h.sequence(f.Since)
		}
		if more && !b.full(size) {
			continue
		}
		if b.Upto != nil {
			if err := fn(b); err != nil {
				return err
			}
			b, size = &Batch{Carried: carries}, 0
		}
		switch {
		case more:
		case !w.Live:
			return nil
		default:
			if err := h.await(ctx, f.Since); err != nil {
				return err
			}
		}
	}
	return context.Cause(ctx)
}

// full tells whether a batch is large enough. Revisions take more room than offers.
func (b *Batch) full(size int) bool {
	if !b.Carried {
		return len(b.Offers) >= loadRows
	}
	return len(b.Offers) >= carriedRows || size >= carriedBytes
}

// await waits until a change follows a place, and until coalesceFor has passed.
func (h *Local) await(ctx context.Context, since uint64) error {
	asked := time.Now()
	if err := h.db.Await(ctx, since); err != nil {
		return err
	}
	return dial.Rest(ctx, time.Until(asked.Add(coalesceFor)))
}

func (h *Local) sequence(n uint64) transit.Sequence {
	return transit.Sequence(`"` + h.store.Tables.Epochs.SeqText(n) + `"`)
}

// SinceOf returns the sequence in a store's log that a place stands for; 0 is the beginning.
func SinceOf(store *kv.Store, s transit.Sequence) (uint64, error) {
	if len(s) == 0 || string(s) == "null" {
		return 0, nil
	}
	return store.Tables.Epochs.Since(strings.Trim(string(s), `"`))
}

// offer adds a page of changes to a batch, all leaves of each document, and returns the size of the revisions that came along. A document
// that has left the database is not copied.
func (h *Local) offer(b *Batch, page []docs.DocChange, passes mango.Selector) (size int, err error) {
	for i := range page {
		c := &page[i]
		if c.Removed {
			b.Left = append(b.Left, c.ID)
			continue
		}
		if passes != nil && !passes.Matches(c) {
			continue
		}
		o := merge.Revs{ID: c.ID}
		for _, leaf := range c.Leaves {
			o.Revisions = append(o.Revisions, leaf.Revision)
		}
		b.Offers = append(b.Offers, o)
		if !b.Carried {
			continue
		}
		seq := h.sequence(c.Seq)
		err := h.carry(c, o.Revisions, func(x *transit.Revision) error {
			x.Seq = seq
			size += x.Size()
			b.Revisions = append(b.Revisions, x)
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return size, nil
}

// carry calls fn with the leaves of a change. Most documents have one, and the change has it already.
func (h *Local) carry(c *docs.DocChange, leaves []rev.ID, fn func(*transit.Revision) error) error {
	if len(leaves) == 1 && c.Tree.Len() > 0 && c.Winner.Body != nil {
		return fn(h.revision(&docs.Doc{ID: c.ID, Tree: c.Tree, Scopes: c.Scopes}, &c.Winner))
	}
	return h.each(c.ID, docs.Ask{Revisions: leaves, Latest: true}, fn)
}

// Leaves calls fn with the leaves of a document.
func (h *Local) Leaves(id string, fn func(*transit.Revision) error) error {
	return h.each(id, docs.Ask{Leaves: true}, fn)
}

// Read reads revisions, or the leaves that have followed them.
func (h *Local) Read(ctx context.Context, missing []docs.MissingRevs, fn func(*transit.Revision) error) error {
	for _, m := range missing {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := h.each(m.ID, docs.Ask{Revisions: m.Missing, Latest: true}, fn); err != nil {
			return err
		}
	}
	return nil
}

// each calls fn with the revisions that are asked for.
func (h *Local) each(id string, ask docs.Ask, fn func(*transit.Revision) error) error {
	doc, err := h.db.Read(id, ask)
	if errors.Is(err, table.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range doc.Revisions {
		if r := &doc.Revisions[i]; r.Body != nil {
			if err := fn(h.revision(&doc, r)); err != nil {
				return err
			}
		}
	}
	return nil
}

// revision makes a revision in transit.
func (h *Local) revision(doc *docs.Doc, r *docs.DocRevision) *transit.Revision {
	x := &transit.Revision{ID: doc.ID, Path: doc.Tree.Path(r.Revision), Deleted: r.Deleted, Body: r.Body, Scopes: doc.Scopes, Author: authorOf(doc.Tree.Find(r.Revision), h.store.Tables.Identity.Node())}
	if len(x.Path) == 0 {
		x.Path = []rev.ID{r.Revision} // the tree was pruned since
	}
	for _, a := range r.Attachments {
		x.Parts = append(x.Parts, transit.Part{Attachment: a, ClaimedDigest: a.Digest(), Stub: true})
	}
	x.Content = h.content
	return x
}

func authorOf(n rev.Node, here string) transit.Author {
	a := transit.Author{At: n.At, Key: n.Key, Fields: n.Fields}
	switch {
	case !n.Node.IsZero():
		a.Node = n.Node.String()
	case n.At != 0:
		a.Node = here
	}
	return a
}

// Path returns a revision and those before it, newest first, as far as the database has them.
func (h *Local) Path(id, text string) ([]rev.ID, error) {
	revision, ok := rev.ParseFree(text)
	if !ok {
		return nil, nil
	}
	doc, err := h.db.Read(id, docs.Ask{Revisions: []rev.ID{revision}})
	if errors.Is(err, table.ErrNotFound) {
		return nil, nil
	}
	return doc.Tree.Path(revision), err
}

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
		w := merge.DocWrite{ID: x.ID, Path: x.Path, Deleted: x.Deleted, Body: x.Body, Canonical: x.Canonical, Wrong: x.Wrong, Author: x.Author.Decode()}
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
	known, err := h.relatives(x)
	if err != nil {
		return err
	}
	for i := range x.Parts {
		p := &x.Parts[i]
		if found := p.Find(known); found != nil {
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

// relatives returns the revisions of a document that may have the bytes of a revision's attachments: its ancestors, and all leaves.
func (h *Local) relatives(x *transit.Revision) (known []docs.DocRevision, err error) {
	for _, ask := range []docs.Ask{{Revisions: x.Path}, {Leaves: true}} {
		doc, err := h.db.Read(x.ID, ask)
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return nil, err
		}
		known = append(known, doc.Revisions...)
	}
	return known, nil
}
