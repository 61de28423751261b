package phone

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/keys"
	"doorward/kv/table"
)

// ErrTicket is returned for a ticket that is unknown, used or too old, or that a key has shown which is revoked now.
var ErrTicket = errors.New("the door's ticket is unknown, used or too old")

// Tickets are the tickets that were shown and not used yet, in memory alone: after a restart new ones are shown.
type Tickets struct {
	mu   sync.Mutex
	open map[[sha256.Size]byte]ticket
}

// ticket is good once, for a key of one event. by has shown it.
type ticket struct {
	event int64
	role  Role
	by    auth.Principal
	ends  time.Time
}

const (
	ticketLasts = 12 * time.Hour
	maxTickets  = 1000
	keyLasts    = 24 * time.Hour // how long a helper's key is good after the event's end
	keyLeast    = 12 * time.Hour // and at least from now
)

// Check returns nil if a principal may show a ticket of an event's door, and a *Forbidden if not: it must be allowed to make the key that
// the phone gets.
func Check(s *kv.Store, by auth.Principal, e door.DoorEvent, as Role) error {
	spec := keyOf(ticket{event: e.ID, role: as, by: by}, e, s.Tables.Clock.Now())
	spec.Name = string(as)
	return s.Tables.View(func(v *table.View) error { return keys.CheckAdd(v, by, spec) })
}

// keyOf is the key that a ticket gives a phone. It is good for no longer than the key that has shown the ticket.
func keyOf(t ticket, e door.DoorEvent, now time.Time) keys.KeySpec {
	ends := e.End.Add(keyLasts)
	if least := now.Add(keyLeast); ends.Before(least) {
		ends = least
	}
	spec := keys.KeySpec{Level: auth.Level{Name: auth.EventOf, IDs: []int64{t.event}}, Permissions: t.role.permissions()}
	spec.Expires, spec.Rate = auth.Term(t.by, ends, 0)
	return spec
}

// Show makes a ticket of an event's door, for a principal that may show one. It returns the text this once: Tickets keeps only a hash.
func (t *Tickets) Show(s *kv.Store, by auth.Principal, e door.DoorEvent, as Role) (text string, ends time.Time, err error) {
	if err := Check(s, by, e, as); err != nil {
		return "", ends, err
	}
	now := s.Tables.Clock.Now()
	text, ends = rand.Text(), now.Add(ticketLasts)
	t.mu.Lock()
	defer t.mu.Unlock()
	for hash, old := range t.open {
		if len(t.open) >= maxTickets || now.After(old.ends) {
			delete(t.open, hash)
		}
	}
	if t.open == nil {
		t.open = map[[sha256.Size]byte]ticket{}
	}
	t.open[sha256.Sum256([]byte(text))] = ticket{e.ID, as, by, ends}
	return text, ends, nil
}

// take uses a ticket up. ok is false for one that is unknown, used or too old.
func (t *Tickets) take(text string, now time.Time) (found ticket, ok bool) {
	hash := sha256.Sum256([]byte(text))
	t.mu.Lock()
	defer t.mu.Unlock()
	found, ok = t.open[hash]
	delete(t.open, hash)
	return found, ok && now.Before(found.ends)
}

// putBack makes a ticket good again.
func (t *Tickets) putBack(text string, taken ticket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open[sha256.Sum256([]byte(text))] = taken
}

// Redeem uses a ticket up, and makes a key for the phone in the name of the principal that has shown the ticket. A ticket stays good after an
// error that is not ErrTicket, such as that of a full disk.
func (t *Tickets) Redeem(s *kv.Store, text, name string) (k auth.Key, secret string, err error) {
	now := s.Tables.Clock.Now()
	shown, ok := t.take(text, now)
	if !ok {
		return k, "", ErrTicket
	}
	k, secret, err = addKey(s, shown, name, now)
	if err != nil && !errors.Is(err, ErrTicket) {
		t.putBack(text, shown)
	}
	return k, secret, err
}

// addKey makes the key of a ticket.
func addKey(s *kv.Store, shown ticket, name string, now time.Time) (k auth.Key, secret string, err error) {
	if shown.by, err = s.Keys.Standing(shown.by); err != nil {
		return k, "", ErrTicket
	}
	e, err := s.Door.DoorEvent(shown.by, shown.event)
	if err != nil {
		return k, "", err
	}
	spec := keyOf(shown, e, now)
	spec.Name = name
	return s.Keys.AddKey(shown.by, spec)
}
