package laptop

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"

	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/table"
)

// ErrOtherRealm says that a store with records cannot join another congregation.
var ErrOtherRealm = errors.New("the folder holds records of another congregation: export them, join with an empty folder, and import them there")

// Laptop is a laptop's own side of its centre.
type Laptop struct {
	Mirror   *Mirror // of another server's records, at a centre
	tables   *table.Set
	venues   *office.Desk
	eraseNow func() bool // carries out the pending erasures
}

// New makes the laptop's side of a store.
func New(t *table.Set, venues *office.Desk, eraseNow func() bool) *Laptop {
	return &Laptop{Mirror: &Mirror{t}, tables: t, venues: venues, eraseNow: eraseNow}
}

// Upstream returns the centre that the store has joined; ok is false if it has joined none.
func (lp *Laptop) Upstream() (u table.Upstream, ok bool, err error) {
	err = lp.tables.View(func(v *table.View) error {
		u, err = table.ReadUpstream(v)
		return err
	})
	return u, u.URL != "", err
}

// Join makes the store a laptop's store of a centre. An empty store takes over the realm and the key that codes are hashed
// with. A store with records can join its own realm only: Join returns ErrOtherRealm for another, or *Forbidden. A store that
// is going to be filled from a file has a centre that it has never met, without URL and key. It mints ids and merges like a
// joined store, and gets the key when it joins.
func (lp *Laptop) Join(p auth.Principal, u table.Upstream, c office.Credential) error {
	if err := p.CheckWhole(); err != nil {
		return err
	}
	err := lp.tables.Do(func(o *table.Tx) error {
		f := lp.tables.Identity.Family()
		before, err := table.ReadUpstream(o.View)
		if err != nil {
			return err
		}
		if before.Node == u.Node {
			u.Epoch, u.Anew = before.Epoch, before.Epoch != "" // a centre of another epoch was restored since
		}
		u.Unkeyed = len(c.CodeKey) == 0 && (c.Realm != f.Realm || lp.tables.Identity.IsUnkeyed())
		if c.Realm != f.Realm {
			if err := enterRealm(o); err != nil {
				return err
			}
		}
		if len(c.CodeKey) == 0 {
			c.CodeKey = f.CodeKey
		}
		if !bytes.Equal(c.CodeKey, f.CodeKey) {
			if err := merge.RequeueErasures(o); err != nil {
				return err
			}
		}
		putFamily(o, &table.Family{Realm: c.Realm, CodeKey: c.CodeKey})
		o.Put(table.MetaBucket, table.CentreKey, []byte(u.Node))
		o.After(func() { lp.tables.Identity.SetCentre(u.Node) })
		return putUpstream(o, u)
	})
	if err == nil && lp.tables.Recalls.Any.Load() {
		lp.eraseNow() // it logs a failure, redacts the person, and tries again
	}
	return err
}

// CodeKey returns the key that the realm uses to hash codes and what was erased. The operator needs it to copy all records to
// another folder. It returns *Forbidden for any other principal, and nil if the store has no key yet.
func (lp *Laptop) CodeKey(p auth.Principal) ([]byte, error) {
	switch {
	case !p.IsOperator():
		return nil, table.Refused("the key that codes are hashed with is given to laptops that are enrolled, and to no other key")
	case lp.tables.Identity.IsUnkeyed():
		return nil, nil
	}
	return bytes.Clone(lp.tables.Identity.Family().CodeKey), nil
}

// MayJoin returns nil if Join would take the store into another realm.
func (lp *Laptop) MayJoin() error { return lp.tables.View(isVacant) }

// NoteUpstream keeps what the store has learnt about its centre. It returns ErrNotFound if the store has joined another centre
// since.
func (lp *Laptop) NoteUpstream(u table.Upstream) error {
	return lp.tables.Do(func(o *table.Tx) error {
		now, err := table.ReadUpstream(o.View)
		if err == nil && now.Key != u.Key {
			err = table.ErrNotFound
		}
		if err != nil {
			return err
		}
		return putUpstream(o, u)
	})
}

func putUpstream(o *table.Tx, u table.Upstream) error {
	row, err := json.Marshal(u)
	if err == nil {
		o.Put(table.MetaBucket, table.UpstreamKey, row)
		o.After(func() { o.Store.Identity.SetUpstream(&u) })
	}
	return err
}

// enterRealm makes an empty store ready for another realm.
func enterRealm(o *table.Tx) error {
	if err := isVacant(o.View); err != nil {
		return err
	}
	return moveKeys(o)
}

func putFamily(o *table.Tx, f *table.Family) {
	o.Put(table.MetaBucket, table.RealmKey, []byte(f.Realm))
	o.Put(table.MetaBucket, table.CodeKey, f.CodeKey)
	o.After(func() {
		o.Store.Identity.SetFamily(f)
	})
}

// HoldsNothing tells whether a store is empty: it has no record of any kind, no document and no centre.
func (lp *Laptop) HoldsNothing() (nothing bool, err error) {
	buckets := []engine.Bucket{table.OpaqueBucket, table.FreeDocBucket}
	for _, k := range record.Kinds() {
		buckets = append(buckets, table.KindBucket(k))
	}
	err = lp.tables.View(func(v *table.View) error {
		u, err := table.ReadUpstream(v)
		if err == nil && u.URL == "" {
			nothing, err = areEmpty(v, buckets)
		}
		return err
	})
	return nothing, err
}

// areEmpty tells whether some buckets have no row.
func areEmpty(v *table.View, buckets []engine.Bucket) (bool, error) {
	for _, b := range buckets {
		if keys, err := table.FirstKeys(v.View, b, nil, 1); err != nil || len(keys) > 0 {
			return false, err
		}
	}
	return true, nil
}

// isVacant returns ErrOtherRealm if there is, or was, a record that is not the server's own.
func isVacant(v *table.View) error {
	var buckets []engine.Bucket
	for _, k := range record.Kinds() {
		if !k.System {
			buckets = append(buckets, table.KindBucket(k))
		}
	}
	empty, err := areEmpty(v, buckets)
	if err == nil && !empty {
		err = ErrOtherRealm
	}
	return err
}

// moveKeys gives the keys that were made here ids that the centre does not give to its own keys.
func moveKeys(o *table.Tx) error {
	for _, id := range table.IDsOf(o.View, record.APIKey) {
		if id.Int() >= record.FirstDrawn {
			continue
		}
		st, d, err := o.LoadDoc(record.APIKey, id)
		if err != nil {
			return err
		}
		if err := merge.Purge(o, record.APIKey, st); err != nil {
			return err
		}
		drawn := record.Int(record.FirstDrawn + rand.Int64N(record.MaxID+1-record.FirstDrawn))
		if _, err := o.Write(table.Edit{Kind: record.APIKey, ID: drawn, Is: d}); err != nil {
			return err
		}
	}
	return nil
}

// TakeLease keeps a range of ids that the centre has leased to this store. It returns *Conflict if the range, or a later one, was taken
// before.
func (lp *Laptop) TakeLease(p auth.Principal, l office.Lease) error {
	if err := p.CheckWhole(); err != nil {
		return err
	}
	if l.From < 1 || l.To < l.From || l.To >= record.FirstDrawn || table.LeaseSize(l.Kind) == 0 {
		return fmt.Errorf("%w: a lease from %d to %d", table.ErrNotFound, l.From, l.To)
	}
	return lp.tables.Do(func(o *table.Tx) error {
		last, err := o.Get(table.LeaseBucket, []byte{table.LeaseLast, l.Kind.Number})
		if err != nil {
			return err
		}
		if len(last) == 8 && uint64(l.From) <= binary.BigEndian.Uint64(last) {
			return &table.Conflict{Reason: "the range was taken before"}
		}
		o.Put(table.LeaseBucket, []byte{table.LeaseLast, l.Kind.Number}, table.SeqKey(uint64(l.To)))
		o.Put(table.LeaseBucket, table.LeaseKey(table.LeaseTaken, l.Kind, l.From), entry.TakenRow(l.To, l.From))
		return nil
	})
}

// LeasesWanted lists the kinds of which this store asks the centre for ids, because at most half a range is left.
func (lp *Laptop) LeasesWanted(p auth.Principal) (kinds []*record.Kind, err error) {
	if err := p.CheckWhole(); err != nil || !lp.tables.Identity.IsLeaf() {
		return nil, err
	}
	err = lp.tables.View(func(v *table.View) error {
		for _, k := range record.Kinds() {
			left := int64(0)
			err := v.Scan(table.LeaseBucket, []byte{table.LeaseTaken, k.Number}, nil, func(_, row []byte) (bool, error) {
				to, next, err := entry.ParseTaken(row)
				left += to - next + 1
				return true, err
			})
			if err != nil {
				return err
			}
			if size := table.LeaseSize(k); size > 0 && left <= size/2 {
				kinds = append(kinds, k)
			}
		}
		return nil
	})
	return kinds, err
}
