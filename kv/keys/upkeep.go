package keys

import (
	"time"

	"doorward/kv/auth"
)

// KeyExpiry tells of the keys of one class that are not revoked.
type KeyExpiry struct {
	Soonest time.Time // of those that work and will end; zero = none of them will
	Name    string    // of the key that ends first
	Expired int       // how many have ended
}

// KeyExpiry tells when keys end, those of laptops apart from all others: *Forbidden.
func (kr *Ring) KeyExpiry(p auth.Principal) (keys, laptops KeyExpiry, err error) {
	if err := p.CheckRule(); err != nil {
		return keys, laptops, err
	}
	now := kr.tables.ClockNow()
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
