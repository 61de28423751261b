package keys

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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

// KeySpec is a key to make: nothing is read of its ID, Key and Revoked. No permissions are every action but admin and sync.
type KeySpec = auth.Key

// EachKey calls fn with every key, in order of the ids, also after fn has returned an error. It skips a damaged key, and a key that
// this version cannot read: that key lets no client in, no laptop gets it, and no list shows it. The others still work.
func EachKey(v *table.View, fn func(k auth.Key) error) (err error) {
	failed := eachKey(v, func(k auth.Key, _ [sha256.Size]byte) { err = errors.Join(err, fn(k)) }, func(record.ID, error) {})
	return errors.Join(failed, err)
}

// eachKey is EachKey with the hashes, and calls unread with the id of each key that this version cannot read, and with the reason.
func eachKey(v *table.View, fn func(k auth.Key, hash [sha256.Size]byte), unread func(id record.ID, err error)) error {
	for _, id := range table.IDsOf(v, record.APIKey) {
		st, err := v.Load(record.APIKey, id)
		if errors.Is(err, engine.ErrCorrupt) {
			v.Store.Damage.Note(err)
			continue
		}
		if err != nil {
			return err
		}
		k, hash, err := ReadKey(st)
		if err != nil {
			unread(id, err)
			continue
		}
		fn(k, hash)
	}
	return nil
}

// ReadKey reads an api_key record. It returns an error for a key that this version cannot read: a later version may know more
// levels and permissions.
func ReadKey(st *table.Stored) (k auth.Key, hash [sha256.Size]byte, err error) {
	d, err := st.Decode(record.APIKey)
	if err != nil {
		return k, hash, err
	}
	k = auth.Key{ID: st.ID.Int(), Key: d.Text("key"), Name: d.Text("name"), Rate: int(d.Int("rate_limit"))}
	if k.Level, err = auth.ParseLevel(d.Text("level")); err != nil {
		return k, hash, err
	}
	for _, text := range value.ReadTexts(d.Value("permissions")) {
		g, err := auth.ParsePermission(text)
		if err != nil {
			return k, hash, err
		}
		k.Permissions = append(k.Permissions, g)
	}
	k.Made, _ = table.TimeOf(d.Value("created_at"))    // every key has one
	k.Expires, _ = table.TimeOf(d.Value("expires_at")) // null: never
	k.Revoked, _ = table.TimeOf(d.Value("revoked_at")) // null: not
	k.Node = VenueOf(d)
	sum, err := hex.DecodeString(d.Text("secret_hash"))
	if err == nil && len(sum) > len(hash) {
		err = fmt.Errorf("a hash of %d bytes", len(sum))
	}
	copy(hash[:], sum)
	return k, hash, err
}

// Draw draws the public half of a key: what a client logs in with besides the secret.
func Draw() string { return "dw_" + codes.Draw() + codes.Draw()[:4] }

// DrawSecret draws a secret of 256 bits.
func DrawSecret() string {
	var b [32]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// keyOf is the key that p asks for. It returns *Forbidden or fault.ByField, but does not look at what the key would see and do.
func keyOf(p auth.Principal, spec KeySpec) (k auth.Key, err error) {
	if err := p.Check("admin", "POST"); err != nil {
		return k, err
	}
	k = spec
	k.ID, k.Key, k.Name, k.Revoked = 0, Draw(), strings.TrimSpace(spec.Name), time.Time{}
	if faults := KeyFaults(&k); len(faults) > 0 {
		return k, faults
	}
	return k, auth.CheckTerm(p, k)
}

// CheckAdd returns the *Forbidden or the fault.ByField that AddKey would return now. It makes nothing.
func CheckAdd(v *table.View, p auth.Principal, spec KeySpec) error {
	k, err := keyOf(p, spec)
	if err != nil {
		return err
	}
	return within(v, p, k)
}

// AddKey makes a key, and returns its secret this once. It returns *Forbidden if the key could do or see more than p, or fault.ByField.
func (kr *Ring) AddKey(p auth.Principal, spec KeySpec) (k auth.Key, secret string, err error) {
	if k, err = keyOf(p, spec); err != nil {
		return auth.Key{}, "", err
	}
	secret = DrawSecret()
	if err := kr.tables.Folder.Room.Check(disk.Creates); err != nil {
		return auth.Key{}, "", err
	}
	err = kr.tables.Do(table.Standing(kr.StandingIn).By(p, func(o *table.Tx) error {
		if err := within(o.View, p, k); err != nil {
			return err
		}
		id, _, err := entry.Vacant(o, record.APIKey, record.ID{})
		if err != nil {
			return err
		}
		k.ID = id.Int()
		_, err = entry.Add(o, p, record.APIKey, entry.NewRecord{ID: id, Made: entry.Finish(p, KeyDoc(&k, sha256.Sum256([]byte(secret))), entry.Moment(o))})
		return err
	}))
	if err != nil {
		return auth.Key{}, "", err
	}
	return k, secret, nil
}

// KeyFaults finds what is wrong with the fields of a key.
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

// KeyDoc returns a key as a record, with the hash of its secret.
func KeyDoc(k *auth.Key, hash [sha256.Size]byte) *record.Doc {
	d := record.APIKey.NewDoc()
	d.Set("name", value.Quote(k.Name))
	d.Set("level", value.Quote(k.Level.String()))
	d.Set("permissions", value.Texts(k.PermissionTexts()...))
	if !k.Expires.IsZero() {
		d.Set("expires_at", value.Time(k.Expires))
	}
	if k.Rate > 0 {
		d.Set("rate_limit", value.Number(int64(k.Rate)))
	}
	if k.Node.Node != "" {
		d.Set("node", value.Quote(k.Node.Node))
		d.Set("grants", value.Texts(GrantsOf(k.Node)...))
	}
	d.Set("key", value.Quote(k.Key))
	d.Set("secret_hash", value.Quote(hex.EncodeToString(hash[:])))
	return d
}

// Keys lists the keys within p, revoked ones too, in order of their ids.
func (kr *Ring) Keys(p auth.Principal) (keys []auth.Key, err error) {
	if err := p.Check("admin", "GET"); err != nil {
		return nil, err
	}
	err = kr.tables.View(func(v *table.View) error {
		return EachKey(v, func(k auth.Key) error {
			ok, err := entry.LevelWithin(v, p, k.Level)
			if ok {
				keys = append(keys, k)
			}
			return err
		})
	})
	return keys, err
}

// RevokeKey ends a key from the next request on. It returns ErrNotFound if the key is not within p, or is revoked already.
func (kr *Ring) RevokeKey(p auth.Principal, id int64) error {
	if err := p.Check("admin", "DELETE"); err != nil {
		return err
	}
	return kr.tables.Do(table.Standing(kr.StandingIn).By(p, func(o *table.Tx) error {
		st, err := o.Load(record.APIKey, record.Int(id))
		if err != nil || st == nil {
			return table.OrNotFound(err)
		}
		k, _, err := ReadKey(st)
		if err != nil {
			return err
		}
		if ok, err := entry.LevelWithin(o.View, p, k.Level); err != nil || !ok {
			return table.OrNotFound(err)
		}
		if !k.Revoked.IsZero() {
			return table.ErrNotFound
		}
		if err := within(o.View, p, k); err != nil {
			return err
		}
		_, err = entry.Amend(o, p, record.APIKey, st, func(d *record.Doc) { d.Set("revoked_at", value.Time(o.Now)) })
		return err
	}))
}

// within refuses a key that could do or see more than p.
func within(v *table.View, p auth.Principal, k auth.Key) error {
	if p.IsOperator() {
		return nil
	}
	ok, err := entry.LevelWithin(v, p, k.Level)
	if err != nil {
		return err
	}
	if !ok {
		return &auth.Forbidden{CurrentScopes: []string{}, RequiredLevel: k.Level.String(), CurrentLevel: p.Level().String()}
	}
	return auth.CheckKey(p, k)
}

// Missing returns the ids of a level that name nothing. A key for them would see nothing, or the church or event that gets the
// number later. It returns ids only to a principal that sees everything. Other principals may not have a key for them at all.
func (kr *Ring) Missing(p auth.Principal, l auth.Level) (ids []int64, err error) {
	k := map[auth.LevelName]*record.Kind{auth.RegionalOf: record.Regional, auth.ChurchOf: record.Church, auth.EventOf: record.Event}[l.Name]
	if k == nil || !p.IsWhole() {
		return nil, nil
	}
	err = kr.tables.View(func(v *table.View) error {
		for _, id := range l.IDs {
			st, err := v.Load(k, record.Int(id))
			if err != nil {
				return err
			}
			if st == nil {
				ids = append(ids, id)
			}
		}
		return nil
	})
	return ids, err
}

// The grants as the api_key record has them.
const (
	grantFinance = "finance"
	grantMirror  = "mirror"
	grantNames   = "names"
)

// VenueOf reads the venue of an api_key or node record.
func VenueOf(d *record.Doc) auth.Venue {
	grants := value.ReadTexts(d.Value("grants"))
	return auth.Venue{Node: d.Text("node"), Finance: slices.Contains(grants, grantFinance), Mirror: slices.Contains(grants, grantMirror),
		Names: slices.Contains(grants, grantNames)}
}

// GrantsOf lists the grants of a venue, as records have them.
func GrantsOf(n auth.Venue) (grants []string) {
	for _, g := range []struct {
		name string
		has  bool
	}{{grantFinance, n.Finance}, {grantMirror, n.Mirror}, {grantNames, n.Names}} {
		if g.has {
			grants = append(grants, g.name)
		}
	}
	return grants
}

// KeyExpiry says when the keys of one class end. It leaves out revoked keys.
type KeyExpiry struct {
	Soonest time.Time // when the first of the working keys ends; zero = none of them ends
	Name    string    // of the key that ends first
	Expired int       // how many have ended
}

// KeyExpiry returns when keys end, the keys of laptops apart from all others. It returns *Forbidden.
func (kr *Ring) KeyExpiry(p auth.Principal) (keys, laptops KeyExpiry, err error) {
	if err := p.CheckRule(); err != nil {
		return keys, laptops, err
	}
	now := kr.tables.Clock.Now()
	for _, l := range *kr.logins.Load() {
		of := &keys
		if l.principal.IsLaptop() {
			of = &laptops
		}
		of.count(l, now)
	}
	return keys, laptops, nil
}

func (e *KeyExpiry) count(l login, now time.Time) {
	switch {
	case l.expires.IsZero() || l.revoked:
	case !now.Before(l.expires):
		e.Expired++
	case e.Soonest.IsZero() || l.expires.Before(e.Soonest):
		e.Soonest, e.Name = l.expires, l.principal.Name()
	}
}
