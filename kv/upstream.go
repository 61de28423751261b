package kv

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"doorward/kv/record"
)

// ErrOtherRealm is a store that has records of its own and shall join another congregation's.
var ErrOtherRealm = errors.New("the folder holds records of another congregation: export them, join with an empty folder, and import them there")

// Upstream is the centre that a store has joined, and what the store is known by there.
type Upstream struct {
	URL      string              `json:"url"` // of the centre's site, without a slash at its end
	Insecure bool                `json:"insecure,omitempty"`
	Node     string              `json:"node"`  // the centre's
	Epoch    string              `json:"epoch"` // the centre's when it was last met
	ID       int64               `json:"id"`    // of this laptop among those that are enrolled there
	Name     string              `json:"name"`
	Key      string              `json:"key"`
	Secret   string              `json:"secret"`
	Ends     time.Time           `json:"ends"`
	Pushes   []string            `json:"pushes,omitempty"`  // the databases that the centre takes from here
	Pulls    []string            `json:"pulls,omitempty"`   // those that it gives
	Guest    []string            `json:"guest,omitempty"`   // of Pushes those where it takes back only what was made here
	Over     []string            `json:"over,omitempty"`    // databases of events that are over: it takes nothing more of them
	Drops    map[int64]time.Time `json:"drops,omitempty"`   // by event that is over, from when on it may be dropped here, as was announced
	Chosen   bool                `json:"chosen,omitempty"`  // of its churches' events the laptop takes along only those that were named
	Revoked  bool                `json:"revoked,omitempty"` // it takes nothing from here but facts
	Erased   string              `json:"erased,omitempty"`  // its sequence up to which it has sent what was erased
	Unkeyed  bool                `json:"unkeyed,omitempty"` // the key that the realm hashes with is not known here
}

var upstreamKey = []byte("upstream") // in meta: an Upstream as JSON

// Upstream tells which centre the store has joined; ok is false where it has joined none.
func (s *Store) Upstream() (u Upstream, ok bool, err error) {
	err = s.view(func(v *sight) error {
		u, err = upstream(v)
		return err
	})
	return u, u.URL != "", err
}

// upstream is the zero Upstream where the store has joined none.
func upstream(v *sight) (u Upstream, err error) {
	row, err := v.Get(metaBucket, upstreamKey)
	if err == nil && len(row) > 0 && json.Unmarshal(row, &u) != nil {
		err = fmt.Errorf("%w: meta row upstream", ErrCorrupt)
	}
	return u, err
}

// Join makes the store a laptop's store of a centre. An empty store takes over the realm and the key that codes are hashed
// with. A store with records can join its own realm only: Join returns ErrOtherRealm for another, or *Forbidden. A store that
// is going to be filled from a file has a centre that it has never met, without URL and key. It mints ids and merges like a
// joined store, and gets the key when it joins.
func (s *Store) Join(p Principal, u Upstream, c Credential) error {
	if err := p.CheckWhole(); err != nil {
		return err
	}
	err := s.do(false, func(o *op) error {
		f := s.identity.family.Load()
		u.Unkeyed = len(c.CodeKey) == 0 && (c.Realm != f.realm || s.isUnkeyed())
		if c.Realm != f.realm {
			if err := enterRealm(o); err != nil {
				return err
			}
		}
		if len(c.CodeKey) == 0 {
			c.CodeKey = f.codeKey
		}
		if !bytes.Equal(c.CodeKey, f.codeKey) {
			if err := eraseAnew(o); err != nil {
				return err
			}
		}
		putFamily(o, &family{c.Realm, c.CodeKey})
		o.put(metaBucket, centreKey, []byte(u.Node))
		o.after(func() { s.centre.Store(&u.Node) })
		return putUpstream(o, u)
	})
	if err == nil && s.recalls.any.Load() {
		s.eraseNow() // what fails is logged, hidden, and tried again
	}
	return err
}

// isUnkeyed tells whether the store was filled from a file. Until it joins, it cannot tell which person an erasure is about.
func (s *tables) isUnkeyed() bool { return s.joined.Load().Unkeyed }

// CodeKey returns the key that the realm uses to hash codes and what was erased. The operator needs it to copy all records to
// another folder. It returns *Forbidden for any other principal, and nil if the store has no key yet.
func (s *Store) CodeKey(p Principal) ([]byte, error) {
	switch {
	case !p.IsOperator():
		return nil, &Forbidden{CurrentScopes: []string{}, Reason: "the key that codes are hashed with is given to laptops that are enrolled, and to no other key"}
	case s.isUnkeyed():
		return nil, nil
	}
	return bytes.Clone(s.identity.family.Load().codeKey), nil
}

// MayJoin returns nil if Join would take the store into a realm.
func (s *Store) MayJoin(realm string) error {
	if realm == s.Realm() {
		return nil
	}
	return s.view(func(v *sight) error { return isVacant(v) })
}

// NoteUpstream keeps what the store has learnt about its centre. It returns ErrNotFound if the store has joined another centre
// since.
func (s *Store) NoteUpstream(u Upstream) error {
	return s.do(false, func(o *op) error {
		now, err := upstream(o.sight)
		if err == nil && now.Key != u.Key {
			err = ErrNotFound
		}
		if err != nil {
			return err
		}
		return putUpstream(o, u)
	})
}

func putUpstream(o *op, u Upstream) error {
	row, err := json.Marshal(u)
	if err == nil {
		o.put(metaBucket, upstreamKey, row)
		o.after(func() { o.store.joined.Store(&u) })
	}
	return err
}

// enterRealm makes an empty store ready for another realm.
func enterRealm(o *op) error {
	if err := isVacant(o.sight); err != nil {
		return err
	}
	return moveKeys(o)
}

func putFamily(o *op, f *family) {
	o.put(metaBucket, realmKey, []byte(f.realm))
	o.put(metaBucket, codeKey, f.codeKey)
	o.after(func() {
		o.store.identity.family.Store(f)
	})
}

// HoldsNothing tells whether a store is empty: it has no record of any kind, no document and no centre.
func (s *Store) HoldsNothing() (nothing bool, err error) {
	buckets := []bucket{opaqueBucket, freeDocBucket}
	for _, k := range record.Kinds() {
		buckets = append(buckets, kindBucket(k))
	}
	err = s.view(func(v *sight) error {
		u, err := upstream(v)
		nothing = u.URL == ""
		for i := 0; i < len(buckets) && nothing && err == nil; i++ {
			var keys [][]byte
			keys, err = firstKeys(v.View, buckets[i], nil, 1)
			nothing = len(keys) == 0
		}
		return err
	})
	return nothing && err == nil, err
}

// isVacant returns ErrOtherRealm if there is, or was, a record that is not the server's own.
func isVacant(v *sight) error {
	for _, k := range record.Kinds() {
		if k.System {
			continue
		}
		keys, err := firstKeys(v.View, kindBucket(k), nil, 1)
		if err != nil {
			return err
		}
		if len(keys) > 0 {
			return ErrOtherRealm
		}
	}
	return nil
}

// moveKeys gives the keys that were made here ids that the centre does not give to its own keys.
func moveKeys(o *op) error {
	for _, id := range idsOf(o.sight, record.APIKey) {
		st, err := o.load(record.APIKey, id)
		if err != nil {
			return err
		}
		if id.Int() >= record.FirstDrawn {
			continue
		}
		d, err := st.decode(record.APIKey)
		if err != nil {
			return err
		}
		if err := purge(o, record.APIKey, st); err != nil {
			return err
		}
		drawn := record.Int(record.FirstDrawn + rand.Int64N(record.MaxID+1-record.FirstDrawn))
		if _, err := o.write(change{kind: record.APIKey, id: drawn, is: d}); err != nil {
			return err
		}
	}
	return nil
}
