package keys

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
	"doorward/kv/disk"
	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// KeySpec is a key to make.
type KeySpec struct {
	Name        string
	Level       auth.Level
	Permissions []auth.Permission // empty = every action but admin and sync
	Expires     time.Time         // zero = never
	Rate        int               // requests a minute; 0 = no limit
	Node        auth.Venue        // of class node; its Node is "" for any other key
}

// EachKey calls fn with every key, in order of the ids. It skips a damaged key: that key lets no client in, and the others
// still work.
func EachKey(v *table.View, fn func(k auth.Key, hash [sha256.Size]byte)) error {
	all := v.Lists.Kind(record.APIKey).All
	for _, id := range all.Page(nil, 0, all.Len()) {
		st, err := v.Load(record.APIKey, id)
		if errors.Is(err, engine.ErrCorrupt) {
			v.Store.NoteCorrupt(err)
			continue
		}
		if err != nil {
			return err
		}
		k, hash, err := ReadKey(st)
		if err != nil {
			return err
		}
		fn(k, hash)
	}
	return nil
}

// ReadKey reads an api_key record.
func ReadKey(st *table.Stored) (k auth.Key, hash [sha256.Size]byte, err error) {
	d, err := st.Decode(record.APIKey)
	if err != nil {
		return k, hash, err
	}
	k = auth.Key{ID: st.ID.Int(), Key: d.Text("key"), Name: d.Text("name"), Rate: int(d.Int("rate_limit"))}
	if k.Level, err = auth.ParseLevel(d.Text("level")); err != nil {
		return k, hash, err
	}
	for _, text := range Texts(d.Value("permissions")) {
		g, err := auth.ParsePermission(text)
		if err != nil {
			return k, hash, err
		}
		k.Permissions = append(k.Permissions, g)
	}
	k.Expires, _ = table.TimeOf(d.Value("expires_at")) // null: never
	k.Revoked, _ = table.TimeOf(d.Value("revoked_at")) // null: not
	k.Node = VenueOf(d)
	_, err = hex.Decode(hash[:], []byte(d.Text("secret_hash")))
	return k, hash, err
}

// Texts reads a stored list of texts.
func Texts(v jsontext.Value) (all []string) {
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
func (kr *Ring) AddKey(p auth.Principal, spec KeySpec) (k auth.Key, secret string, err error) {
	if err := p.Check("admin", "POST"); err != nil {
		return auth.Key{}, "", err
	}
	k = auth.Key{Key: "dw_" + codes.Make(entry.Draw10()) + codes.Make(entry.Draw10())[:4], Name: strings.TrimSpace(spec.Name),
		Level: spec.Level, Permissions: spec.Permissions, Expires: spec.Expires, Rate: spec.Rate, Node: spec.Node}
	random := make([]byte, 32)
	rand.Read(random)
	secret = base64.RawURLEncoding.EncodeToString(random)
	if faults := KeyFaults(&k); len(faults) > 0 {
		return auth.Key{}, "", faults
	}
	if err := auth.CheckTerm(p, k); err != nil {
		return auth.Key{}, "", err
	}
	if err := kr.tables.Room(disk.Creates); err != nil {
		return auth.Key{}, "", err
	}
	err = kr.tables.Do(false, func(o *table.Tx) error {
		if err := within(o, p, k); err != nil {
			return err
		}
		id, _, err := entry.Vacant(o, record.APIKey, record.ID{})
		if err != nil {
			return err
		}
		k.ID = id.Int()
		_, err = entry.Add(o, p, record.APIKey, entry.NewRecord{ID: id, Made: entry.Finish(p, KeyDoc(&k, sha256.Sum256([]byte(secret))), entry.Moment(o))})
		return err
	})
	if err != nil {
		return auth.Key{}, "", err
	}
	return k, secret, nil
}

func KeyFaults(k *auth.Key) (f fault.ByField) {
	if k.Name == "" {
		f.Add("name", fault.Blank)
	}
	if len([]rune(k.Name)) > 255 {
		f.Add("name", fault.TooLong(255))
	}
	if !k.Level.Name.IsKnown() || (k.Level.Name == auth.Denomination) != (len(k.Level.IDs) == 0) {
		f.Add("level", fault.InvalidChoice(string(k.Level.Name)))
	}
	if k.Rate < 0 {
		f.Add("rate_limit", fault.NotInteger)
	}
	return f
}

// KeyDoc is the key as a record.
func KeyDoc(k *auth.Key, hash [sha256.Size]byte) *record.Doc {
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
func (kr *Ring) Keys(p auth.Principal) (keys []auth.Key, err error) {
	return KeysWithin(kr.tables, p)
}

// KeysWithin is Keys.
func KeysWithin(s *table.Set, p auth.Principal) (keys []auth.Key, err error) {
	if err := p.Check("admin", "GET"); err != nil {
		return nil, err
	}
	err = s.View(func(v *table.View) error {
		var levels error
		err := EachKey(v, func(k auth.Key, _ [sha256.Size]byte) {
			ok, err := entry.LevelWithin(v, p, k.Level)
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
func (kr *Ring) RevokeKey(p auth.Principal, id int64) error {
	if err := p.Check("admin", "DELETE"); err != nil {
		return err
	}
	return kr.tables.Do(false, func(o *table.Tx) error {
		st, err := o.Load(record.APIKey, record.Int(id))
		if err != nil {
			return err
		}
		if st == nil {
			return table.ErrNotFound
		}
		k, _, err := ReadKey(st)
		if err != nil {
			return err
		}
		if ok, err := entry.LevelWithin(o.View, p, k.Level); err != nil || !ok {
			return OrNotFound(err)
		}
		if !k.Revoked.IsZero() {
			return table.ErrNotFound
		}
		if err := within(o, p, k); err != nil {
			return err
		}
		_, err = entry.Amend(o, p, record.APIKey, st, func(d *record.Doc) { d.Set("revoked_at", value.Time(o.Now)) })
		return err
	})
}

func OrNotFound(err error) error {
	if err == nil {
		return table.ErrNotFound
	}
	return err
}
