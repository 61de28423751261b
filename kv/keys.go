package kv

import "time"

// KeySpec is a key to make.
type KeySpec struct {
	Name        string
	Level       Level
	Permissions []Permission // empty = every action but admin and sync
	Expires     time.Time    // zero = never
	Rate        int          // requests a minute; 0 = no limit
}

// Key is an api key as its managers see it. The secret is known only to whoever made it.
type Key struct {
	ID          int64
	Key         string
	Name        string
	Level       Level
	Permissions []Permission
	Expires     time.Time
	Revoked     time.Time
	Rate        int
}

// Login finds the principal of a key and secret. ErrBadLogin whatever is wrong, after the same work.
func (s *Store) Login(key, secret string) (Principal, error) { panic("kv") }

// AddKey makes a key and tells its secret, once. *Forbidden where the key would be larger than p.
func (s *Store) AddKey(p Principal, spec KeySpec) (k Key, secret string, err error) { panic("kv") }

// Keys lists the keys within p, revoked ones too, in order of their ids.
func (s *Store) Keys(p Principal) ([]Key, error) { panic("kv") }

// RevokeKey ends a key from the next request on. ErrNotFound for one that is not within p.
func (s *Store) RevokeKey(p Principal, id int64) error { panic("kv") }
