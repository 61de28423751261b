package kv

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"doorward/kv/record"
)

// wasErased refuses what would bring an erased record back. It is not kept for staff: it is what was erased.
const wasErased = "the record was erased"

// erasures are what a store knows of them besides its rows.
type erasures struct {
	mu         sync.Mutex              // one at a time
	any        atomic.Bool             // there is one: before, nobody need look
	dir        string                  // of the ledger; "" = none is kept
	stop       func(step string) error // of tests, which end the work there; nil = nobody
	come       bell                    // rung when a peer has told of one
	told       atomic.Uint64           // how often
	close      context.CancelFunc
	running    sync.WaitGroup
	concealed  atomic.Pointer[concealed] // nil: nothing
	unfinished atomic.Int64              // what could not be erased the last time
	idsMu      sync.Mutex                // guards ids
	ids        map[erasedHash]record.ID  // what was erased, as far as somebody has asked; the zero id is not here
}

// erased is the row of an erased record: kind 1, done 8, n × (kind of the part 1, generation 8, hash 16). Of a ticket, which stays,
// it has the revisions of its parts that are the first without a name: one that took the names away, and one upon each that came
// later from who did not know of that. Whatever stands on one of them was made since.
type erased struct {
	kind  *record.Kind
	done  int64 // microseconds since 1970; 0 = not yet
	first map[*record.Kind][]record.Revision
	again bool // whose ticket it was since is erased too: nothing counts as made since. It is not stored
}

func (e *erased) encode() []byte {
	row := binary.BigEndian.AppendUint64([]byte{e.kind.Number}, uint64(e.done))
	for _, k := range ticketParts {
		for _, rev := range e.first[k] {
			row = appendRevision(append(row, k.Number), rev)
		}
	}
	return row
}

// standsOn tells whether a part of a ticket, as it is, was made since the names were erased.
func (v *sight) standsOn(e *erased, k *record.Kind, st *stored) (bool, error) {
	t, err := v.tree(k, st)
	return err == nil && e.knows(k, t.Path(st.revision), &t), err
}

// knows tells whether a revision of a part was made since the names were erased. path is newest first, and tree that of the part, which
// may know more of where the path comes from. Where the tree has forgotten so much that the oldest revision that it knows there is
// younger than all that were the first, it was.
func (e *erased) knows(k *record.Kind, path []record.Revision, tree *record.Tree) bool {
	if e.again {
		return false
	}
	first := e.first[k]
	isFirst := func(rev record.Revision) bool { return slices.Contains(first, rev) }
	if len(first) == 0 || slices.ContainsFunc(path, isFirst) {
		return len(first) > 0
	}
	at := slices.IndexFunc(path, tree.Has)
	if at < 0 {
		return false
	}
	known := tree.Path(path[at])
	oldest := known[len(known)-1].Generation
	later := func(rev record.Revision) bool { return rev.Generation >= oldest }
	return slices.ContainsFunc(known, isFirst) || !slices.ContainsFunc(first, later)
}

func parseErased(row []byte) (e *erased, err error) {
	c := cutter{rest: row}
	e = &erased{first: map[*record.Kind][]record.Revision{}}
	e.kind, _ = record.ByNumber(c.byte())
	e.done = int64(c.uint64())
	for len(c.rest) > 0 {
		k, _ := record.ByNumber(c.byte())
		rev := record.Revision{Generation: c.uint64()}
		copy(rev.Hash[:], c.bytes(16))
		e.first[k] = append(e.first[k], rev)
	}
	if c.short || e.kind == nil {
		return nil, ErrCorrupt
	}
	return e, nil
}

// erasedAs is the kind under which a record is erased: a ticket's parts are the ticket.
func erasedAs(k *record.Kind) *record.Kind {
	if k == record.HolderName || k == record.Holder {
		return record.Ticket
	}
	return k
}

// hashErased is a record's keyed hash.
func (s *Store) hashErased(k *record.Kind, id record.ID) erasedHash {
	return erasedHash(s.hashCode("erased\x00" + erasedAs(k).DocID(id)))
}

// erased tells whether a record was erased, or is being; nil: it was not.
func (v *sight) erased(k *record.Kind, id record.ID) (*erased, error) {
	switch erasedAs(k) {
	case record.Person, record.Membership, record.Ticket:
	default:
		return nil, nil
	}
	if !v.store.erasures.any.Load() {
		return nil, nil
	}
	hash := v.store.hashErased(k, id)
	row, err := v.get(erasedBucket, hash[:])
	if err != nil || row == nil {
		return nil, err
	}
	return parseErased(row)
}

// isErased tells whether a record is gone for good.
func (v *sight) isErased(k *record.Kind, id record.ID) (bool, error) {
	if erasedAs(k) == record.Ticket {
		return false, nil
	}
	e, err := v.erased(k, id)
	return e != nil, err
}

// expunge takes out of an arrival what was erased: *Forbidden where that is all of it. What has been made of a ticket since its names
// were erased is let in as it is, and so is what a laptop is given: its centre has made a revision without names of whatever had any.
func (o *op) expunge(a *arrival) error {
	if !o.store.erasures.any.Load() {
		return nil
	}
	if a.doc == nil {
		return o.expungeLost(a)
	}
	if gone, err := o.isErased(a.kind, a.id); err != nil || gone {
		return refusedFor(err, wasErased)
	}
	of, err := o.namesErased(a.kind, a.doc)
	if err != nil {
		return err
	}
	if of && a.kind == record.Membership {
		return refused(wasErased)
	}
	e, err := o.erased(a.kind, a.id)
	if err == nil && of { // its other parts do not say whose they are
		err = o.eraseTicket(a, e)
	}
	if err == nil && e == nil {
		e, err = o.erased(a.kind, a.id)
	}
	if err == nil && e != nil && !o.store.isLeaf() && (of || !e.knows(a.kind, a.path, &a.tree)) {
		a.doc, a.late = a.doc.Erased(), true
	}
	return err
}

// expungeLost takes out of what a tombstone has brought along what was erased.
func (o *op) expungeLost(a *arrival) error {
	if a.lost == nil {
		return nil
	}
	gone, err := o.isErased(a.kind, a.id)
	if err != nil {
		return err
	}
	of, err := o.namesErased(a.kind, a.lost)
	if err != nil {
		return err
	}
	e, err := o.erased(a.kind, a.id)
	switch {
	case gone || of && a.kind == record.Membership:
		a.lost = nil
	case of || e != nil && !e.knows(a.kind, a.path, &a.tree):
		a.lost = a.lost.Erased()
	}
	return err
}

// namesErased tells whether a record refers to an erased person.
func (v *sight) namesErased(k *record.Kind, d *record.Doc) (bool, error) {
	for i := range k.Fields {
		f := &k.Fields[i]
		if refersTo(f) != record.Person.Name {
			continue
		}
		if n := d.Int(f.Name); n != 0 {
			if gone, err := v.isErased(record.Person, record.Int(n)); err != nil || gone {
				return gone, err
			}
		}
	}
	return false, nil
}

// holderErased tells a ticket that belongs to an erased person.
func (v *sight) holderErased(ticket record.ID) (bool, error) {
	bare := v.bare
	v.bare = true // what it hides depends on this
	defer func() { v.bare = bare }()
	st, err := v.load(record.Holder, ticket)
	if err != nil || st == nil {
		return false, err
	}
	d, err := st.decode(record.Holder)
	if err != nil {
		return false, err
	}
	return v.namesErased(record.Holder, d)
}

// ErasuresDue is how many erasures have left bytes in free pages of the store's file, which compacting takes away, and since when.
func (s *Store) ErasuresDue() (n int, since time.Time, err error) {
	if !s.erasures.any.Load() {
		return 0, since, nil
	}
	err = s.view(func(v *sight) error {
		compacted, err := v.compactedAt()
		if err != nil {
			return err
		}
		return v.scan(erasedBucket, nil, nil, func(_, row []byte) (bool, error) {
			e, err := parseErased(row)
			if err != nil {
				return false, err
			}
			if e.done != 0 && e.done <= compacted {
				return true, nil
			}
			n++
			if at := time.UnixMicro(e.done); e.done != 0 && (since.IsZero() || at.Before(since)) {
				since = at
			}
			return true, nil
		})
	})
	return n, since, err
}

// When a store is to be compacted after an erasure, or after what it has released: as soon as doors are quiet once half a day has
// gone by, and before a day has whatever happens at them.
const (
	compactSoon = 12 * time.Hour
	compactLate = 23 * time.Hour
	doorsQuiet  = time.Hour
)

// WantsCompacting tells that it is time to write the file anew (Compact).
func (s *Store) WantsCompacting() (bool, error) {
	_, since, err := s.ErasuresDue()
	if err != nil {
		return false, err
	}
	released, err := s.releasedSince()
	if since.IsZero() || !released.IsZero() && released.Before(since) {
		since = released
	}
	if err != nil || since.IsZero() {
		return false, err
	}
	age := s.clock().Sub(since)
	return age >= compactLate || age >= compactSoon && !s.writer.queue.doorWithin(doorsQuiet), nil
}
