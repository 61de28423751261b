package replicate

import (
	"slices"
	"sync"

	"doorward/kv/docs"
	"doorward/kv/merge"
	"doorward/kv/rev"
)

// Echo remembers revisions that a peer has just given. This store's log offers them back at once, and the peer is not asked about them.
// Each is forgotten once it was offered back, and all when the link ends.
type Echo struct {
	mu   sync.Mutex // guards revs
	revs map[docRevision]struct{}
}

type docRevision struct {
	id  string
	rev rev.ID
}

// maxReceived is how many revisions are remembered. The peer is asked about all others.
const maxReceived = 200_000

// note remembers revisions before they are written here. A nil Echo remembers nothing.
func (r *Echo) note(missing []docs.MissingRevs) {
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

// Unknown returns those of the offers that the peer has not given itself.
func (r *Echo) Unknown(offers []merge.Revs) []merge.Revs {
	if r == nil {
		return offers
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	left := make([]merge.Revs, 0, len(offers))
	for _, o := range offers {
		o.Revisions = slices.DeleteFunc(slices.Clone(o.Revisions), func(rev rev.ID) bool { return r.forget(docRevision{o.ID, rev}) })
		if len(o.Revisions) > 0 {
			left = append(left, o)
		}
	}
	if len(r.revs) == 0 {
		r.revs = nil // a map never shrinks
	}
	return left
}

// forget tells whether a revision was remembered, and forgets it.
func (r *Echo) forget(d docRevision) bool {
	_, was := r.revs[d]
	delete(r.revs, d)
	return was
}
