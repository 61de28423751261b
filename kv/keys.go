package kv

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/auth"
	"doorward/kv/codes"
	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/value"
)

// KeySpec is a key to make.
type KeySpec struct {
	Name        string
	Level       Level
	Permissions []Permission // empty = every action but admin and sync
	Expires     time.Time    // zero = never
	Rate        int          // requests a minute; 0 = no limit
	Node        Venue        // of class node; its Node is "" for any other key
}

// eachKey calls fn with every key, in order of the ids. It skips a damaged key: that key lets no client in, and the others
// still work.
func eachKey(v *sight, fn func(k Key, hash [sha256.Size]byte)) error {
	all := v.lists.kind(record.APIKey).all
	for _, id := range all.page(nil, 0, all.len()) {
		st, err := v.load(record.APIKey, id)
		if errors.Is(err, ErrCorrupt) {
			v.store.noteCorrupt(err)
			continue
		}
		if err != nil {
			return err
		}
		k, hash, err := readKey(st)
		if err != nil {
			return err
		}
		fn(k, hash)
	}
	return nil
}

// readKey reads an api_key record.
func readKey(st *stored) (k Key, hash [sha256.Size]byte, err error) {
	d, err := st.decode(record.APIKey)
	if err != nil {
		return k, hash, err
	}
	k = Key{ID: st.id.Int(), Key: d.Text("key"), Name: d.Text("name"), Rate: int(d.Int("rate_limit"))}
	if k.Level, err = ParseLevel(d.Text("level")); err != nil {
		return k, hash, err
	}
	for _, text := range texts(d.Value("permissions")) {
		g, err := ParsePermission(text)
		if err != nil {
			return k, hash, err
		}
		k.Permissions = append(k.Permissions, g)
	}
	k.Expires, _ = timeOf(d.Value("expires_at")) // null: never
	k.Revoked, _ = timeOf(d.Value("revoked_at")) // null: not
	k.Node = venueOf(d)
	_, err = hex.Decode(hash[:], []byte(d.Text("secret_hash")))
	return k, hash, err
}

// texts reads a stored list of texts.
func texts(v jsontext.Value) (all []string) {
	d := jsontext.NewDecoder(strings.NewReader(string(v)))
	for {
		t, err := d.ReadToken()
		if err != nil {
			return all // the end of a valid list
		}
		if t.Kind() == '"' {
			all = append(all, t.String())
		}
	}
}

// AddKey makes a key and tells its secret, once. *Forbidden where the key would be larger than p; fault.ByField.
func (s *Store) AddKey(p Principal, spec KeySpec) (k Key, secret string, err error) {
	if err := p.Check("admin", "POST"); err != nil {
		return Key{}, "", err
	}
	k = Key{Key: "dw_" + codes.Make(draw10()) + codes.Make(draw10())[:4], Name: strings.TrimSpace(spec.Name),
		Level: spec.Level, Permissions: spec.Permissions, Expires: spec.Expires, Rate: spec.Rate, Node: spec.Node}
	random := make([]byte, 32)
	rand.Read(random)
	secret = base64.RawURLEncoding.EncodeToString(random)
	if faults := keyFaults(&k); len(faults) > 0 {
		return Key{}, "", faults
	}
	if err := auth.CheckTerm(p, k); err != nil {
		return Key{}, "", err
	}
	if err := s.Room(Creates); err != nil {
		return Key{}, "", err
	}
	err = s.do(false, func(o *op) error {
		if err := within(o, p, k); err != nil {
			return err
		}
		id, _, err := vacant(o, record.APIKey, record.ID{})
		if err != nil {
			return err
		}
		k.ID = id.Int()
		_, err = add(o, p, record.APIKey, newRecord{id: id, made: finish(p, keyDoc(&k, sha256.Sum256([]byte(secret))), moment(o))})
		return err
	})
	if err != nil {
		return Key{}, "", err
	}
	return k, secret, nil
}

func draw10() (b [10]byte) {
	rand.Read(b[:])
	return b
}

func keyFaults(k *Key) (f fault.ByField) {
	if k.Name == "" {
		f.Add("name", fault.Blank)
	}
	if len([]rune(k.Name)) > 255 {
		f.Add("name", fault.TooLong(255))
	}
	if !k.Level.Name.IsKnown() || (k.Level.Name == Denomination) != (len(k.Level.IDs) == 0) {
		f.Add("level", fault.InvalidChoice(string(k.Level.Name)))
	}
	if k.Rate < 0 {
		f.Add("rate_limit", fault.NotInteger)
	}
	return f
}

// keyDoc is the key as a record.
func keyDoc(k *Key, hash [sha256.Size]byte) *record.Doc {
	d := record.APIKey.NewDoc()
	d.Set("name", value.Quote(k.Name))
	d.Set("level", value.Quote(k.Level.String()))
	list := []byte{'['}
	for i, g := range k.Permissions {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, value.Quote(g.String())...)
	}
	d.Set("permissions", append(list, ']'))
	if !k.Expires.IsZero() {
		d.Set("expires_at", value.Time(k.Expires))
	}
	if k.Rate > 0 {
		d.Set("rate_limit", value.Number(int64(k.Rate)))
	}
	setVenue(d, k.Node)
	d.Set("key", value.Quote(k.Key))
	d.Set("secret_hash", value.Quote(hex.EncodeToString(hash[:])))
	return d
}

// Keys lists the keys within p, revoked ones too, in order of their ids.
func (s *Store) Keys(p Principal) (keys []Key, err error) {
	return keysWithin(s.tables, p)
}

// keysWithin is Keys.
func keysWithin(s *tables, p Principal) (keys []Key, err error) {
	if err := p.Check("admin", "GET"); err != nil {
		return nil, err
	}
	err = s.view(func(v *sight) error {
		var levels error
		err := eachKey(v, func(k Key, _ [sha256.Size]byte) {
			ok, err := levelWithin(v, p, k.Level)
			if err != nil {
				levels = err
			}
			if ok {
				keys = append(keys, k)
			}
		})
		if err == nil {
			err = levels
		}
		return err
	})
	return keys, err
}

// RevokeKey ends a key from the next request on. It returns ErrNotFound if the key is not within p, or is revoked already.
func (s *Store) RevokeKey(p Principal, id int64) error {
	if err := p.Check("admin", "DELETE"); err != nil {
		return err
	}
	return s.do(false, func(o *op) error {
		st, err := o.load(record.APIKey, record.Int(id))
		if err != nil {
			return err
		}
		if st == nil {
			return ErrNotFound
		}
		k, _, err := readKey(st)
		if err != nil {
			return err
		}
		if ok, err := levelWithin(o.sight, p, k.Level); err != nil || !ok {
			return orNotFound(err)
		}
		if !k.Revoked.IsZero() {
			return ErrNotFound
		}
		if err := within(o, p, k); err != nil {
			return err
		}
		_, err = amend(o, p, record.APIKey, st, func(d *record.Doc) { d.Set("revoked_at", value.Time(o.now)) })
		return err
	})
}

func orNotFound(err error) error {
	if err == nil {
		return ErrNotFound
	}
	return err
}
