package phone

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"
	"time"

	"doorward/api/overview"
	"doorward/api/web"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/keys"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Role is what a helper is at a door.
type Role string

// The roles: a steward takes back only their own check-ins of the last minute and finds five tickets at most; a supervisor any, and twenty.
const (
	Steward    Role = "steward"
	Supervisor Role = "supervisor"
)

// permissions are those of a helper's key.
func (r Role) permissions() []auth.Permission {
	if r == Supervisor {
		return []auth.Permission{{Resource: record.Checkin.Resource, Method: "*"}}
	}
	return []auth.Permission{{Resource: record.Checkin.Resource, Method: "GET"}, {Resource: record.Checkin.Resource, Method: "POST"}}
}

// RoleOf is what a principal is at a door.
func RoleOf(p auth.Principal) Role {
	if p.Supervises() {
		return Supervisor
	}
	return Steward
}

// soon is how long before an event helpers set up its doors.
const soon = 18 * time.Hour

// Near returns the events that doors are set up for at a moment: those that begin soon, else all. The others are later.
func Near(all []door.DoorEvent, now time.Time) (near, later []door.DoorEvent) {
	for _, e := range all {
		if e.Start.After(now.Add(soon)) {
			later = append(later, e)
		} else {
			near = append(near, e)
		}
	}
	if len(near) == 0 {
		return all, nil
	}
	return near, later
}

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
// error that is not ErrTicket, for example that of a full disk.
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

// maxCards is how many events the console counts.
const maxCards = 10

// Console is what a principal is shown of the events that it may serve, and of what needs attention. The path of the server is left out.
func Console(c overview.Config) (w web.Console, err error) {
	w.Name = c.Who.Name()
	all, err := c.Store.Door.DoorEvents(c.Who)
	if err != nil {
		return w, err
	}
	now := c.Store.Tables.Clock.Now()
	near, later := Near(all, now)
	slices.SortStableFunc(near, func(a, b door.DoorEvent) int { return over(a, now) - over(b, now) })
	if len(near) > maxCards {
		near, later = near[:maxCards], slices.Concat(near[maxCards:], later)
	}
	for _, e := range near {
		card, err := cardOf(c, e)
		if errors.Is(err, table.ErrNotFound) {
			continue // it was deleted a moment ago
		}
		if err != nil {
			return w, err
		}
		w.Near = append(w.Near, card)
	}
	for _, e := range later {
		w.Later = append(w.Later, plainCard(e))
	}
	w.Needs, err = needsOf(c)
	return w, err
}

// over is 1 for an event that has ended, else 0.
func over(e door.DoorEvent, now time.Time) int {
	if e.End.Before(now) {
		return 1
	}
	return 0
}

// plainCard is an event without counts.
func plainCard(e door.DoorEvent) web.Card {
	return web.Card{ID: e.ID, Name: e.Name, Start: e.Start.UTC().Format(time.RFC3339), Open: e.Open, Reentry: e.Reentry}
}

// cardOf is an event with its counts, and the roles of the helpers that the principal may let in.
func cardOf(c overview.Config, e door.DoorEvent) (web.Card, error) {
	card := plainCard(e)
	st, err := c.Store.Door.Status(c.Who, e.ID)
	if err != nil {
		return card, err
	}
	card.In, card.Expected = st.Inside, st.Issued
	for _, as := range []Role{Steward, Supervisor} {
		err := Check(c.Store, c.Who, e, as)
		if err == nil {
			card.Roles = append(card.Roles, string(as))
		} else if !errors.As(err, new(*auth.Forbidden)) {
			return card, err
		}
	}
	return card, nil
}

// needsOf are the sentences of the overview that ask for a person, for a key that rules the whole store.
func needsOf(c overview.Config) (texts []string, err error) {
	if c.Who.CheckRule() != nil {
		return nil, nil
	}
	view, err := overview.Take(c)
	if err != nil {
		return nil, err
	}
	for _, n := range view.Needs {
		texts = append(texts, n.Text)
	}
	return texts, nil
}
