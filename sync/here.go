package sync

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"doorward/kv"
	"doorward/kv/rev"
)

// Here is a database of this process, as an end of replications.
type Here struct {
	store   *kv.Store
	db      *kv.Database
	carries bool // the feed brings revisions along
}

// OpenHere opens a database as an end: kv's errors.
func OpenHere(store *kv.Store, p kv.Principal, name string) (*Here, error) {
	db, err := store.Database(p, name)
	if err != nil {
		return nil, err
	}
	return &Here{store: store, db: db}, nil
}

func (h *Here) identity(context.Context) (string, error) {
	return strings.ToLower(h.store.Node()) + "/" + h.db.Name(), nil
}

func (h *Here) checkpoint(_ context.Context, id string) (c checkpoint, err error) {
	body, _, err := h.db.Local(id)
	if errors.Is(err, kv.ErrNotFound) {
		return c, nil
	}
	if err != nil || json.Unmarshal(body, &c) != nil {
		return checkpoint{}, err // what somebody else has put there is no checkpoint
	}
	return c, nil
}

func (h *Here) keep(_ context.Context, id string, c checkpoint) error {
	body, err := json.Marshal(c)
	if err == nil {
		_, err = h.db.PutLocal(id, body, kv.Whatever)
	}
	return err
}

// Of a live feed what changes within a moment goes together; the first change after a quiet time goes at once.
const moment = 100 * time.Millisecond

// feed reads the log page by page; live, it waits at the log's end. From the beginning it brings the revisions along: they are
// likely to be lacked.
func (h *Here) feed(ctx context.Context, w wish, fn func(*batch) error) error {
	since, err := h.since(w.since)
	if err != nil {
		return err
	}
	passes, err := parseWish(w.selector)
	if err != nil {
		return err
	}
	carries := h.carries || since == 0
	f := kv.Feed{Since: since, Limit: kv.DocPage, IDs: w.ids, Bodies: carries || passes != nil}
	b, size := &batch{carried: carries}, 0
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
			b.upto = h.sequence(f.Since)
		}
		if more && !b.full(size) {
			continue
		}
		if b.upto != nil {
			if err := fn(b); err != nil {
				return err
			}
			b, size = &batch{carried: carries}, 0
		}
		switch {
		case more:
		case !w.live:
			return nil
		default:
			if err := h.await(ctx, f.Since); err != nil {
				return err
			}
		}
	}
	return context.Cause(ctx)
}

// full tells that a batch is to go on, whatever follows: revisions take room, offers little.
func (b *batch) full(size int) bool {
	if !b.carried {
		return len(b.offers) >= loadRows
	}
	return len(b.offers) >= carriedRows || size >= carriedBytes
}

// await waits until something follows a place, and a moment has passed since it was asked to.
func (h *Here) await(ctx context.Context, since uint64) error {
	asked := time.Now()
	if err := h.db.Await(ctx, since); err != nil {
		return err
	}
	return rest(ctx, time.Until(asked.Add(moment)))
}

func (h *Here) sequence(n uint64) sequence { return sequence(`"` + h.store.SeqText(n) + `"`) }

func (h *Here) since(s sequence) (uint64, error) {
	if len(s) == 0 || string(s) == "null" {
		return 0, nil
	}
	return h.store.Since(strings.Trim(string(s), `"`))
}

// parseWish reads a selector; nil for none.
func parseWish(text json.RawMessage) (selector, error) {
	if text == nil {
		return nil, nil
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, errSelector
	}
	return parseSelector(v)
}

// offer adds a page of changes to a batch, all leaves of each document, and answers how many bytes of revisions came along. What
// has left the database is nothing to copy.
func (h *Here) offer(b *batch, page []kv.DocChange, passes selector) (size int, err error) {
	for i := range page {
		c := &page[i]
		if c.Removed {
			b.left = append(b.left, c.ID)
			continue
		}
		if passes != nil && !passes.matches(c) {
			continue
		}
		o := kv.Revs{ID: c.ID}
		for _, leaf := range c.Leaves {
			o.Revisions = append(o.Revisions, leaf.Revision)
		}
		b.offers = append(b.offers, o)
		if !b.carried {
			continue
		}
		seq := h.sequence(c.Seq)
		err := h.carry(c, o.Revisions, func(x *replica) error {
			x.seq = seq
			size += x.size()
			b.replicas = append(b.replicas, x)
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return size, nil
}

// carry calls fn with the leaves of a change; of most documents that is the winner, which the change itself has.
func (h *Here) carry(c *kv.DocChange, leaves []rev.ID, fn func(*replica) error) error {
	if len(leaves) == 1 && c.Tree.Len() > 0 && c.Winner.Body != nil {
		return fn(h.replica(&kv.Doc{ID: c.ID, Tree: c.Tree}, &c.Winner))
	}
	return h.each(kv.MissingRevs{ID: c.ID, Missing: leaves}, fn)
}

func (h *Here) read(ctx context.Context, missing []kv.MissingRevs, fn func(*replica) error) error {
	for _, m := range missing {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := h.each(m, fn); err != nil {
			return err
		}
	}
	return nil
}

// each calls fn with some revisions of a document, or with the leaves that have followed them.
func (h *Here) each(m kv.MissingRevs, fn func(*replica) error) error {
	doc, err := h.db.Read(m.ID, kv.Ask{Revisions: m.Missing, Latest: true})
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range doc.Revisions {
		if r := &doc.Revisions[i]; r.Body != nil {
			if err := fn(h.replica(&doc, r)); err != nil {
				return err
			}
		}
	}
	return nil
}

// replica is a revision on its way out.
func (h *Here) replica(doc *kv.Doc, r *kv.DocRevision) *replica {
	x := &replica{id: doc.ID, path: doc.Tree.Path(r.Revision), deleted: r.Deleted, body: r.Body, author: authorOf(doc.Tree.Find(r.Revision), h.store.Node())}
	if len(x.path) == 0 {
		x.path = []rev.ID{r.Revision} // it has been forgotten since
	}
	for _, a := range r.Attachments {
		x.parts = append(x.parts, part{Attachment: a, digest: a.Digest(), stub: true})
	}
	x.content = h.content
	return x
}

func authorOf(n rev.Node, here string) author {
	a := author{At: n.At, Key: n.Key, Fields: n.Fields}
	switch {
	case !n.Node.IsZero():
		a.Node = n.Node.String()
	case n.At != 0:
		a.Node = here
	}
	return a
}
