package kv

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"slices"
	"time"

	"doorward/kv/record"
)

// login is what Login compares with, and the principal that it returns.
type login struct {
	hash      [sha256.Size]byte
	expires   time.Time
	revoked   bool
	principal Principal
}

// Login returns the principal of a key and secret. It returns ErrBadLogin for every wrong pair, after the same work, and for an
// expired key. It returns ErrRevoked if the pair is right and the key is revoked.
func (s *Store) Login(key, secret string) (Principal, error) {
	hash := HashSecret(secret)
	l, known := (*s.logins.Load())[key]
	right := subtle.ConstantTimeCompare(hash[:], l.hash[:]) == 1
	if !known || !right {
		return Principal{}, ErrBadLogin
	}
	return s.stand(l)
}

// Standing returns a principal as its key is now, for work that lasts longer than a request. It returns ErrBadLogin if the key
// is gone or expired, and ErrRevoked if it is revoked.
func (s *Store) Standing(p Principal) (Principal, error) {
	if p.Public() == "" {
		return p, nil // the operator has no key; any other principal without a key has no rights
	}
	l, known := (*s.logins.Load())[p.Public()]
	if !known {
		return Principal{}, ErrBadLogin
	}
	if p.IsRevoked() && l.revoked {
		return p, nil
	}
	return s.stand(l)
}

// RevokedNode returns the principal of a laptop for which Login returned ErrRevoked. This principal reads nothing and may only
// bring its facts. It returns ErrRevoked for a key of another class.
func (s *Store) RevokedNode(key string) (Principal, error) {
	l := (*s.logins.Load())[key]
	if !l.revoked || !l.principal.IsLaptop() {
		return Principal{}, ErrRevoked
	}
	return l.principal.Revoked(), nil
}

// StandingKey is the principal of a key that has shown its secret before.
func (s *Store) StandingKey(key string) (Principal, error) {
	return s.Standing(Key{Key: key}.Principal())
}

// stand judges a key itself.
func (s *Store) stand(l login) (Principal, error) {
	switch {
	case l.revoked:
		return Principal{}, ErrRevoked
	case !l.expires.IsZero() && !s.clock().Before(l.expires):
		return Principal{}, ErrBadLogin
	}
	return l.principal, nil
}

// loadLogins reads the table that Login looks into from the committed keys.
func (s *Store) loadLogins() error {
	logins := make(map[string]login)
	err := s.view(func(v *sight) error {
		return eachKey(v, func(k Key, hash [sha256.Size]byte) {
			logins[k.Key] = login{hash: hash, expires: k.Expires, revoked: !k.Revoked.IsZero(), principal: k.Principal()}
		})
	})
	if err == nil {
		s.logins.Store(&logins)
	}
	return err
}

// followKeys reloads the keys after a commit that has changed one.
func (s *Store) followKeys(changes []listChange) {
	if slices.ContainsFunc(changes, func(c listChange) bool { return c.kind == record.APIKey }) {
		s.reloadLogins()
	}
}

// reloadLogins makes a committed change of the keys count from the next request on.
func (s *Store) reloadLogins() {
	defer s.rekeyed.ring()
	if err := s.loadLogins(); err != nil {
		s.noteCorrupt(err)
		none := make(map[string]login)
		s.logins.Store(&none) // no key logs in while keys cannot be checked
	}
}

// HashSecret returns the hash of a secret. The centre gets and keeps only this hash.
func HashSecret(secret string) [sha256.Size]byte { return sha256.Sum256([]byte(secret)) }

// ParseHash reads a hash as hexadecimal digits.
func ParseHash(text string) (hash [sha256.Size]byte, ok bool) {
	n, err := hex.Decode(hash[:], []byte(text[:min(len(text), 2*sha256.Size)]))
	return hash, err == nil && n == sha256.Size && len(text) == 2*sha256.Size
}
