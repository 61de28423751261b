package kv

import (
	"context"
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
	dir        string                  // of the ledger; "" = none is kept
	stop       func(step string) error // of tests, which end the work there; nil = nobody
	done       atomic.Uint64           // how often any were finished since the start, which laptops are told of at once
	rekey      func()                  // tells those who wait for keys that a person was erased
	close      context.CancelFunc
	running    sync.WaitGroup
	unfinished atomic.Int64 // what could not be erased the last time
}

// erasedAs is the kind under which a record is erased: a ticket's parts are the ticket.
func erasedAs(k *record.Kind) *record.Kind {
	if k == record.HolderName || k == record.Holder {
		return record.Ticket
	}
	return k
}

// hashErased is a record's keyed hash.
func (s *tables) hashErased(k *record.Kind, id record.ID) erasedHash {
	return erasedHash(s.hashCode("erased\x00" + erasedAs(k).DocID(id)))
}

// erased tells whether a record was erased, or is being; nil: it was not.
func findErased(v *sight, k *record.Kind, id record.ID) (*erased, error) {
	switch erasedAs(k) {
	case record.Person, record.Membership, record.Ticket:
	default:
		return nil, nil
	}
	if !v.store.recalls.any.Load() {
		return nil, nil
	}
	hash := v.store.hashErased(k, id)
	row, err := v.Get(erasedBucket, hash[:])
	if err != nil || row == nil {
		return nil, err
	}
	return parseErased(row)
}

// isErased tells whether a record is gone for good.
func isErased(v *sight, k *record.Kind, id record.ID) (bool, error) {
	if erasedAs(k) == record.Ticket {
		return false, nil
	}
	e, err := findErased(v, k, id)
	return e != nil, err
}

// refuseErased answers a *Forbidden for a living revision of a record that is gone for good, though its tree still names the revision.
func refuseErased(o *op, a *arrival) error {
	if a.doc == nil {
		return nil // the tombstone itself, or one before it
	}
	if gone, err := isErased(o.sight, a.kind, a.id); err != nil || gone {
		return refusedFor(err, wasErased)
	}
	return nil
}

// expunge takes out of an arrival what was erased: *Forbidden where that is all of it. What has been made of a ticket since its names
// were erased is let in as it is, and so is what a laptop is given: its centre has made a revision without names of whatever had any.
func expunge(o *op, a *arrival) error {
	if !o.store.recalls.any.Load() {
		return nil
	}
	if a.doc == nil {
		return expungeLost(o, a)
	}
	if err := refuseErased(o, a); err != nil {
		return err
	}
	of, err := namesErased(o.sight, a.kind, a.doc)
	if err != nil {
		return err
	}
	if of && a.kind == record.Membership {
		return refused(wasErased)
	}
	e, err := findErased(o.sight, a.kind, a.id)
	if err == nil && of { // its other parts do not say whose they are
		err = eraseTicket(o, a, e)
	}
	if err == nil && e == nil {
		e, err = findErased(o.sight, a.kind, a.id)
	}
	if err == nil && e != nil && !o.store.isLeaf() && (of || !e.knows(a.kind, a.path, &a.tree)) {
		err = nameLate(o, a, e)
	}
	return err
}

// nameLate takes out of an arrival the names that were erased. Where another holder has the ticket by now it says what that one is called:
// it is no other than what is there, and nobody need choose.
func nameLate(o *op, a *arrival, e *erased) error {
	if a.before != nil && !a.before.deleted && e.knowsHalf(a.kind, a.path, &a.tree) {
		return nameHalf(o, a, e.half[a.kind])
	}
	a.doc, a.late = a.doc.Erased(), true
	if a.before == nil || a.before.deleted {
		return nil
	}
	since, err := standsOn(o.sight, e, a.kind, a.before)
	if err != nil || !since {
		return err
	}
	is, err := a.before.decode(a.kind)
	for i := range a.kind.Fields {
		if f := &a.kind.Fields[i]; err == nil && f.Flags.Has(record.Personal) {
			a.doc.Set(f.Name, is.Value(f.Name))
		}
	}
	return err
}

// nameHalf takes out of an arrival what was emptied of its ticket since it was made, but what the next holder's own edit says of that.
func nameHalf(o *op, a *arrival, h half) error {
	is, err := a.before.decode(a.kind)
	if err != nil {
		return err
	}
	d := a.doc.Clone()
	for _, field := range h.fields {
		if a.node.At < h.since || !slices.Contains(a.node.Fields, field) {
			d.Set(field, is.Value(field))
		}
	}
	a.doc, a.late = d, true // what it says wins over what was emptied
	return nil
}

// expungeLost takes out of what a tombstone has brought along what was erased.
func expungeLost(o *op, a *arrival) error {
	if a.lost == nil {
		return nil
	}
	gone, err := isErased(o.sight, a.kind, a.id)
	if err != nil {
		return err
	}
	of, err := namesErased(o.sight, a.kind, a.lost)
	if err != nil {
		return err
	}
	e, err := findErased(o.sight, a.kind, a.id)
	switch {
	case gone || of && a.kind == record.Membership:
		a.lost = nil
	case of || e != nil && !e.knows(a.kind, a.path, &a.tree):
		a.lost = a.lost.Erased()
	}
	return err
}

// namesErased tells whether a record refers to an erased person.
func namesErased(v *sight, k *record.Kind, d *record.Doc) (bool, error) {
	for i := range k.Fields {
		f := &k.Fields[i]
		if refersTo(f) != record.Person.Name {
			continue
		}
		if n := d.Int(f.Name); n != 0 {
			if gone, err := isErased(v, record.Person, record.Int(n)); err != nil || gone {
				return gone, err
			}
		}
	}
	return false, nil
}

// holderErased tells a ticket that belongs to an erased person.
func holderErased(v *sight, ticket record.ID) (bool, error) {
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
	return namesErased(v, record.Holder, d)
}

// ErasuresDue is how many erasures have left bytes in free pages of the store's file, which compacting takes away, and since when.
func (s *Store) ErasuresDue() (n int, since time.Time, err error) {
	if !s.recalls.any.Load() {
		return 0, since, nil
	}
	err = s.view(func(v *sight) error {
		compacted, err := compactedAt(v)
		if err != nil {
			return err
		}
		return v.Scan(erasedBucket, nil, nil, func(_, row []byte) (bool, error) {
			e, err := parseErased(row)
			if err != nil {
				return false, err
			}
			if e.kept || e.done == nothingHeld || e.done != 0 && e.done <= compacted {
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
	ahead := age < -doubtSlack // the clock was wrong when it was noted: nobody knows how long ago that is
	return ahead || age >= compactLate || age >= compactSoon && !s.engine.DoorWithin(doorsQuiet), nil
}
