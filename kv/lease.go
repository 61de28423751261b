package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"

	"doorward/kv/auth"
	"doorward/kv/record"
)

// A store without a centre mints ids from 1 and leases ranges beyond its mark, which it then never uses itself; one with a centre
// mints from the ranges that it was leased, and where these are dry draws from those that no range ever holds (design.md §4).
const (
	leaseGiven = 'g' // g 1, kind 1, from 8 → to 8, api key uv, epoch
	leaseTaken = 't' // t 1, kind 1, from 8 → to 8, next 8
	leaseLast  = 'l' // l 1, kind 1 → the end 8 of the last range taken: they ascend
)

// forgotten is the key of a range that was given in a past which a restored store knows nothing of: it may have been any laptop's.
const forgotten = 0

// Lease is a range of ids of one kind, from the first to the last.
type Lease struct {
	Kind     *record.Kind
	From, To int64
}

// LeaseSize is how many ids of a kind are leased at once; 0 where nobody but the root makes such records.
func LeaseSize(k *record.Kind) int64 {
	switch {
	case k == record.Ticket:
		return 100_000
	case k.ULID || k == record.HolderName || k == record.Holder || !auth.OfLaptops(k):
		return 0 // a ticket's parts have its id
	}
	return 10_000
}

// Lease gives a key ids that nobody else will ever use. epoch is that of the laptop that asks, "" for any other key. *Forbidden for
// a kind that the key does not make, or where it has been given more ranges than anybody needs; *Conflict where a store that has a centre has too few left, ErrNotFound for a count that is
// less than 1 or more than LeaseSize.
func (s *Store) Lease(p Principal, k *record.Kind, count int64, epoch string) (l Lease, err error) {
	if p, err = s.standing(p); err != nil {
		return l, err
	}
	if err := mayLease(p, k); err != nil {
		return l, err
	}
	if count < 1 || count > LeaseSize(k) {
		return l, ErrNotFound
	}
	l.Kind = k
	err = s.do(false, func(o *op) error {
		ok, _, err := spend(o, p.Key(), s.limits.leases, 0)
		if err == nil && !ok {
			err = refused("the key has asked for too many ranges of ids")
		}
		if err != nil {
			return err
		}
		if l.From, err = cut(o, k, count); err != nil {
			return err
		}
		l.To = l.From + count - 1
		row := binary.AppendUvarint(seqKey(uint64(l.To)), uint64(p.Key()))
		o.put(leaseBucket, leaseKey(leaseGiven, k, l.From), append(row, epoch...))
		return nil
	})
	return l, err
}

func mayLease(p Principal, k *record.Kind) error {
	if err := p.Check("sync", "POST"); err != nil {
		return err
	}
	brings := auth.Brings(p, k)
	switch {
	case p.IsOperator(), p.IsLaptop() && LeaseSize(k) > 0 && brings:
		return nil
	case p.IsLaptop():
		return refused("the laptop makes no such records")
	}
	if err := asRefusal(mayCreate(p, k)); err != nil { // what a level writes it sees
		return err
	}
	if !brings {
		return refused(auth.NoKey.String())
	}
	return p.Check(k.Resource, "POST")
}

// cut takes ids off what the store has to give, and answers the first.
func cut(o *op, k *record.Kind, count int64) (from int64, err error) {
	if !o.store.isLeaf() {
		from = o.state.minted[k.Number] + 1
		if from+count > record.FirstDrawn {
			return 0, &Conflict{Reason: "the ids of this kind are used up"}
		}
		o.state.minted[k.Number] += count
		return from, nil
	}
	from, err = fromLease(o, k, count)
	if err == nil && from == 0 {
		err = &Conflict{Reason: "no such range of ids is left until the centre gives one"}
	}
	return from, err
}

func leaseKey(side byte, k *record.Kind, from int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{side, k.Number}, uint64(from))
}

// fromLease takes ids off a range that this store was leased; 0 where none holds so many.
func fromLease(o *op, k *record.Kind, count int64) (from int64, err error) {
	var key, row []byte
	err = o.Scan(leaseBucket, []byte{leaseTaken, k.Number}, nil, func(at, value []byte) (bool, error) {
		to, next, err := parseTaken(value)
		if err == nil && to-next+1 >= count {
			from = next
			key, row = append(key, at...), takenRow(to, next+count)
		}
		return from == 0, err
	})
	switch {
	case err != nil || from == 0:
		return 0, err
	case binary.BigEndian.Uint64(row) < binary.BigEndian.Uint64(row[8:]):
		o.delete(leaseBucket, key)
	default:
		o.put(leaseBucket, key, row)
	}
	return from, nil
}

func takenRow(to, next int64) []byte {
	return binary.BigEndian.AppendUint64(seqKey(uint64(to)), uint64(next))
}

func parseTaken(row []byte) (to, next int64, err error) {
	c := cutter{rest: row}
	to, next = int64(c.uint64()), int64(c.uint64())
	if c.short || to >= record.FirstDrawn {
		return 0, 0, ErrCorrupt
	}
	return to, next, nil
}

// TakeLease keeps a range that the centre has leased to this store's epoch. One that is kept already, or of which ids are used, is
// not taken twice.
func (s *Store) TakeLease(p Principal, l Lease) error {
	if err := p.CheckWhole(); err != nil {
		return err
	}
	if l.From < 1 || l.To < l.From || l.To >= record.FirstDrawn || LeaseSize(l.Kind) == 0 {
		return fmt.Errorf("%w: a lease from %d to %d", ErrNotFound, l.From, l.To)
	}
	return s.do(false, func(o *op) error {
		last, err := o.Get(leaseBucket, []byte{leaseLast, l.Kind.Number})
		if err != nil {
			return err
		}
		if len(last) == 8 && uint64(l.From) <= binary.BigEndian.Uint64(last) {
			return &Conflict{Reason: "the range was taken before"}
		}
		o.put(leaseBucket, []byte{leaseLast, l.Kind.Number}, seqKey(uint64(l.To)))
		o.put(leaseBucket, leaseKey(leaseTaken, l.Kind, l.From), takenRow(l.To, l.From))
		return nil
	})
}

// LeasesWanted are the kinds of which less than half a range is left, for who may write them: what to ask the centre for.
func (s *Store) LeasesWanted(p Principal) (kinds []*record.Kind, err error) {
	if err := p.CheckWhole(); err != nil || !s.isLeaf() {
		return nil, err
	}
	err = s.view(func(v *sight) error {
		for _, k := range record.Kinds() {
			left := int64(0)
			err := v.Scan(leaseBucket, []byte{leaseTaken, k.Number}, nil, func(_, row []byte) (bool, error) {
				to, next, err := parseTaken(row)
				left += to - next + 1
				return true, err
			})
			if err != nil {
				return err
			}
			if size := LeaseSize(k); size > 0 && left <= size/2 {
				kinds = append(kinds, k)
			}
		}
		return nil
	})
	return kinds, err
}

// mintID is the next id for a record made here.
func mintID(o *op, k *record.Kind) (record.ID, error) {
	if !o.store.isLeaf() {
		return o.state.mint(k), nil
	}
	n, err := fromLease(o, k, 1)
	if err != nil || n != 0 {
		return record.Int(n), err
	}
	o.after(func() {
		o.store.log.Warn("no leased ids are left: one is drawn at random", slog.String("kind", k.Name))
	})
	return record.Int(record.FirstDrawn + rand.Int64N(record.MaxID+1-record.FirstDrawn)), nil
}

// mayGive answers a *Conflict for an id that nobody may give a record: one that is leased, and at a store that has a centre any.
func mayGive(o *op, k *record.Kind, id record.ID) error {
	if o.store.isLeaf() {
		return &Conflict{Reason: "ids are given at the centre alone", Field: "id"}
	}
	_, given, err := leaseOf(o.sight, k, id.Int())
	if err == nil && given {
		err = &Conflict{Reason: "the id is leased to a laptop", Field: "id"}
	}
	return err
}

// leaseOf finds the key that an id is leased to; given is false where it is in no range.
func leaseOf(v *sight, k *record.Kind, id int64) (key int64, given bool, err error) {
	if k == record.HolderName || k == record.Holder {
		k = record.Ticket
	}
	prefix := []byte{leaseGiven, k.Number}
	err = v.walk(leaseBucket, true, prefix, leaseKey(leaseGiven, k, id), func(_, row []byte) (bool, error) {
		c := cutter{rest: row}
		given = id <= int64(c.uint64())
		key = int64(c.uvarint())
		if c.short {
			return false, ErrCorrupt
		}
		return false, nil
	})
	return key, given, err
}

// burnLeases gives up every range of ids that this store has leased: another copy of it may mint from the same ones.
func burnLeases(o *op) {
	keys, err := firstKeys(o.sight.View, leaseBucket, []byte{leaseTaken}, maxKept)
	o.store.noteCorrupt(err)
	if errors.Is(err, ErrCorrupt) { // the ranges beyond a damaged row are given up too, and that one
		all := func(key []byte) { keys = append(keys, bytes.Clone(key)) }
		sound(o.sight.View, leaseBucket, []byte{leaseTaken}, func(key, _ []byte) { all(key) }, all)
	}
	for _, key := range keys {
		o.delete(leaseBucket, key)
	}
}
