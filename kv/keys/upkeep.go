package keys

import (
	"time"

	"doorward/kv/auth"
)

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
