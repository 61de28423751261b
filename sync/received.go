package sync

import (
	"slices"
	"sync"

	"doorward/kv"
	"doorward/kv/rev"
)

// received are revisions of a database that a peer has just given. This store's log offers them back at once, and the peer need not be asked
// whether it has them. They are remembered while the link holds, and each until it has been offered back: what else a peer has is asked for.
type received struct {
	mu   sync.Mutex // guards revs
	revs map[docRevision]struct{}
}

type docRevision struct {
	id  string
	rev rev.ID
}

// maxReceived is how many are remembered at once; about the others the peer is asked.
const maxReceived = 200_000

// note remembers revisions that the peer has offered and that are about to be written here. Nil remembers nothing.
func (r *received) note(missing []kv.MissingRevs) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.revs == nil {
		r.revs = map[docRevision]struct{}{}
	}
	for _, m := range missing {
		for _, rev := range m.Missing {
			if len(r.revs) < maxReceived {
				r.revs[docRevision{m.ID, rev}] = struct{}{}
			}
		}
	}
}

// unasked are those of some offers that the peer has not given itself.
func (r *received) unasked(offers []kv.Revs) []kv.Revs {
	if r == nil {
		return offers
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	left := make([]kv.Revs, 0, len(offers))
	for _, o := range offers {
		o.Revisions = slices.DeleteFunc(slices.Clone(o.Revisions), func(rev rev.ID) bool { return r.forget(docRevision{o.ID, rev}) })
		if len(o.Revisions) > 0 {
			left = append(left, o)
		}
	}
	if len(r.revs) == 0 {
		r.revs = nil // a map keeps the room that it once took
	}
	return left
}

// forget tells whether a revision was remembered, which it is no more.
func (r *received) forget(d docRevision) bool {
	_, was := r.revs[d]
	delete(r.revs, d)
	return was
}
