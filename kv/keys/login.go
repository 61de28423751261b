package keys

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"log/slog"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/table"
)

// login is what Login compares with, and the principal that it returns.
type login struct {
	hash      [sha256.Size]byte
	expires   time.Time
	revoked   bool
	principal auth.Principal
}

func loginOf(k auth.Key, hash [sha256.Size]byte) login {
	return login{hash: hash, expires: k.Expires, revoked: !k.Revoked.IsZero(), principal: k.Principal()}
}

// stands returns the principal, unless the key is revoked or has expired at a moment.
func (l *login) stands(now time.Time) (auth.Principal, error) {
	switch {
	case l.revoked:
		return auth.Principal{}, table.ErrRevoked
	case !l.expires.IsZero() && !now.Before(l.expires):
		return auth.Principal{}, table.ErrExpired
	}
	return l.principal, nil
}

// Ring keeps the api keys that work, in memory, and makes and revokes them in the file.
type Ring struct {
	tables      *table.Set
	logins      atomic.Pointer[map[string]login]
	rekeyed     table.Bell                            // rung when logins has changed, and when a person was erased
	keysFor     func(auth.Principal) ([]int64, error) // the keys that work at a laptop too
	erasedTimes func() uint64                         // how often erasures were finished since the start
}

// New makes the ring of a store. keysFor lists the keys that work at a laptop too; erasedTimes counts finished erasures.
func New(t *table.Set, keysFor func(auth.Principal) ([]int64, error), erasedTimes func() uint64) *Ring {
	return &Ring{tables: t, keysFor: keysFor, erasedTimes: erasedTimes}
}

// Rekey wakes the requests that wait for keys.
func (kr *Ring) Rekey() { kr.rekeyed.Ring() }

// Login returns the principal of a key and secret. It returns ErrBadLogin for every wrong pair, after the same work. If the pair is right it
// returns ErrExpired for an expired key and ErrRevoked for a revoked one, which are ErrBadLogin too.
func (kr *Ring) Login(key, secret string) (auth.Principal, error) {
	hash := HashSecret(secret)
	l, known := (*kr.logins.Load())[key]
	right := subtle.ConstantTimeCompare(hash[:], l.hash[:]) == 1
	if !known || !right {
		return auth.Principal{}, table.ErrBadLogin
	}
	return l.stands(kr.tables.Clock.Now())
}

// Standing returns a principal as its key is now, for work that lasts longer than a request. It returns ErrBadLogin if the key
// is gone or expired, and ErrRevoked if it is revoked.
func (kr *Ring) Standing(p auth.Principal) (now auth.Principal, err error) {
	err = kr.tables.View(func(v *table.View) error {
		now, err = kr.StandingIn(v, p)
		return err
	})
	return now, err
}

// StandingIn is Standing in a View, for what the View shows, and in an operation, for what it writes (table.Standing).
func (kr *Ring) StandingIn(v *table.View, p auth.Principal) (auth.Principal, error) {
	if p.Public() == "" {
		return p, nil // the operator has no key; any other principal without a key has no rights
	}
	rekeying := v.Rekeying() // before a look at the logins, which a commit reloads before it ends
	l, known := (*kr.logins.Load())[p.Public()]
	if known && rekeying {
		st, err := v.Load(record.APIKey, record.Int(l.principal.Key()))
		if err != nil {
			return auth.Principal{}, err
		}
		if known = st != nil; known {
			k, hash, err := ReadKey(st)
			if err != nil {
				return auth.Principal{}, table.ErrBadLogin // LoadLogins refuses it too
			}
			l = loginOf(k, hash)
		}
	}
	if !known {
		return auth.Principal{}, table.ErrBadLogin
	}
	if p.IsRevoked() && l.revoked {
		return p, nil
	}
	return l.stands(v.Now)
}

// RevokedNode returns the principal of a laptop for which Login returned ErrRevoked. This principal reads nothing and may only
// bring its facts. It returns ErrRevoked for a key of another class.
func (kr *Ring) RevokedNode(key string) (auth.Principal, error) {
	l := (*kr.logins.Load())[key]
	if !l.revoked || !l.principal.IsLaptop() {
		return auth.Principal{}, table.ErrRevoked
	}
	return l.principal.Revoked(), nil
}

// StandingKey returns the principal of a key that has shown its secret before.
func (kr *Ring) StandingKey(key string) (auth.Principal, error) {
	return kr.Standing(auth.Key{Key: key}.Principal())
}

// LoadLogins reads the table that Login looks into from the committed keys. A key that this version cannot read is refused.
func (kr *Ring) LoadLogins() error {
	logins := make(map[string]login)
	err := kr.tables.View(func(v *table.View) error {
		return eachKey(v, func(k auth.Key, hash [sha256.Size]byte) {
			logins[k.Key] = loginOf(k, hash)
		}, func(id record.ID, err error) {
			kr.tables.Log.Warn("an api key cannot be read by this version; it logs nobody in", slog.Int64("key", id.Int()), slog.Any("cause", err))
		})
	})
	if err == nil {
		kr.logins.Store(&logins)
	}
	return err
}

// FollowKeys reloads the keys after a commit that has changed one.
func (kr *Ring) FollowKeys(changes []table.ListChange) {
	if slices.ContainsFunc(changes, func(c table.ListChange) bool { return c.Kind == record.APIKey }) {
		kr.reloadLogins()
	}
}

// reloadLogins makes a committed change of the keys count from the next request on.
func (kr *Ring) reloadLogins() {
	defer kr.rekeyed.Ring()
	if err := kr.LoadLogins(); err != nil {
		kr.tables.Damage.Note(err)
		none := make(map[string]login)
		kr.logins.Store(&none) // no key logs in while keys cannot be checked
	}
}

// HashSecret returns the hash of a secret. The centre gets and keeps only this hash.
func HashSecret(secret string) [sha256.Size]byte { return sha256.Sum256([]byte(secret)) }

// ParseHash reads a hash as hexadecimal digits.
func ParseHash(text string) (hash [sha256.Size]byte, ok bool) {
	n, err := hex.Decode(hash[:], []byte(text[:min(len(text), 2*sha256.Size)]))
	return hash, err == nil && n == sha256.Size && len(text) == 2*sha256.Size
}

// KeyMark returns a mark of the keys that work at a laptop too. The mark changes if one of them changes, comes or goes, and if
// a person is erased.
func (kr *Ring) KeyMark(p auth.Principal) (string, error) {
	ids, err := kr.keysFor(p)
	if err != nil {
		return "", err
	}
	text := binary.BigEndian.AppendUint64(nil, kr.erasedTimes())
	err = kr.tables.View(func(v *table.View) error {
		for _, id := range ids {
			st, err := v.Load(record.APIKey, record.Int(id))
			if err != nil {
				return err
			}
			if st != nil {
				text = table.AppendRevision(binary.BigEndian.AppendUint64(text, uint64(id)), st.Revision)
			}
		}
		return nil
	})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), err
}

// AwaitKeys waits until the mark of a laptop's keys is no longer seen, and returns the new mark. It returns the present mark
// when ctx ends. It returns an error if the laptop may no longer ask.
func (kr *Ring) AwaitKeys(ctx context.Context, p auth.Principal, seen string) (mark string, err error) {
	_ = kr.rekeyed.Await(ctx, func() bool { // what ends it is no failure
		if _, err = kr.Standing(p); err == nil {
			mark, err = kr.KeyMark(p)
		}
		return err != nil || mark != seen
	})
	return mark, err
}

// The phone of a revoked key may hand in its kept scans once. Its first request opens a window, within which it may repeat the request, for
// example because the answer was lost. The facts are flagged for review.
const handInLasts = 10 * time.Minute

func handedIn(key int64) []byte { return []byte("handed_in/" + strconv.FormatInt(key, 10)) }

// RevokedDoor returns the principal of a phone for which Login returned ErrRevoked. This principal may hand in scans of guests that the phone
// has let in, and reads nothing. RevokedDoor returns ErrRevoked for a key that is not a door's, and after the window has closed.
func (kr *Ring) RevokedDoor(key string, event int64) (p auth.Principal, err error) {
	l := (*kr.logins.Load())[key]
	p = l.principal
	if !l.revoked || p.IsLaptop() || !p.IsOf(auth.EventOf) || !p.Level().Has(event) || p.Check(record.Checkin.Resource, "POST") != nil {
		return auth.Principal{}, table.ErrRevoked
	}
	p = p.Revoked()
	return p, kr.tables.DoAtDoor(func(o *table.Tx) error {
		row, err := o.Get(table.MetaBucket, handedIn(p.Key()))
		if err != nil {
			return err
		}
		if len(row) == 8 {
			if age := o.Now.Sub(time.UnixMicro(int64(binary.BigEndian.Uint64(row)))); age > handInLasts || age < -handInLasts {
				return table.ErrRevoked
			}
			return nil
		}
		o.Put(table.MetaBucket, handedIn(p.Key()), binary.BigEndian.AppendUint64(nil, uint64(o.Now.UnixMicro())))
		return nil
	})
}
