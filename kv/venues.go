package kv

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"doorward/kv/record"
	"doorward/kv/value"
)

// Contact is what a laptop reports about itself to its centre.
type Contact struct {
	At      time.Time `json:"at"`
	Backlog int       `json:"backlog"`          // changes that it has and the centre may lack
	Oldest  time.Time `json:"oldest,omitzero"`  // of the oldest of them; zero = there are none
	Offset  *int64    `json:"clock_offset_ms"`  // how far the centre's clock is ahead of its own; nil = not known
	Version string    `json:"version"`          // of its program
	Wiped   bool      `json:"wiped,omitempty"`  // it is about to wipe itself
	Events  []int64   `json:"events,omitempty"` // of which it holds more than the event itself
}

// Enrolled is a laptop as the centre knows it.
type Enrolled struct {
	ID      int64
	Name    string
	Level   Level
	Events  []int64
	Venue   Venue // its Node is "" until it has joined
	Scopes  []string
	Contact Contact // the last; its At is zero until it has been met, and one that is revoked has no backlog
	Joined  time.Time
	Revoked time.Time
	Wipe    time.Time // when the order to wipe itself was given
	Wiped   time.Time
}

// contactKey is in meta: the last Contact of an enrolled laptop, as JSON.
func contactKey(id int64) []byte { return []byte("contact/" + strconv.FormatInt(id, 10)) }

// Venues lists the laptops that are enrolled for no more than p sees, in order of their ids. It returns *Forbidden if p may not
// list them.
func (s *Store) Venues(p Principal) (all []Enrolled, err error) {
	if err := p.Check("admin", "GET"); err != nil {
		return nil, err
	}
	err = s.view(func(v *sight) error {
		for _, id := range idsOf(v, record.Node) {
			e, err := enrolled(v, id)
			if err != nil {
				return err
			}
			ok, err := levelWithin(v, p, e.Level)
			if err != nil {
				return err
			}
			if ok {
				all = append(all, e)
			}
		}
		return nil
	})
	return all, err
}

// Venue returns the laptop of p's key. It returns ErrNotFound for a key of another class.
func (s *Store) Venue(p Principal) (e Enrolled, err error) {
	err = s.view(func(v *sight) error {
		e, err = laptopOf(v, p)
		return err
	})
	return e, err
}

func laptopOf(v *sight, p Principal) (e Enrolled, err error) {
	for _, id := range idsOf(v, record.Node) {
		st, err := v.load(record.Node, id)
		if err != nil {
			return e, err
		}
		if intOf(st.body.Member("key_id")) == p.Key() && p.IsLaptop() {
			return enrolled(v, id)
		}
	}
	return e, ErrNotFound
}

// enrolled reads one laptop.
func enrolled(v *sight, id record.ID) (e Enrolled, err error) {
	st, err := v.load(record.Node, id)
	if err != nil || st == nil {
		return e, orNotFound(err)
	}
	d, err := st.decode(record.Node)
	if err != nil {
		return e, err
	}
	e = Enrolled{ID: id.Int(), Name: d.Text("name"), Venue: venueOf(d)}
	e.Joined, _ = timeOf(d.Value("joined_at")) // null: not
	e.Revoked, _ = timeOf(d.Value("revoked_at"))
	e.Wipe, _ = timeOf(d.Value("wipe_ordered_at"))
	e.Wiped, _ = timeOf(d.Value("wiped_at"))
	if e.Level, err = ParseLevel(d.Text("level")); err != nil {
		return e, fmt.Errorf("%w: node: %w", ErrCorrupt, err)
	}
	for _, text := range texts(d.Value("events")) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return e, fmt.Errorf("%w: node: %w", ErrCorrupt, err)
		}
		e.Events = append(e.Events, n)
	}
	for _, db := range exchanged(v, &e) {
		e.Scopes = append(e.Scopes, db.Name)
	}
	row, err := v.Get(metaBucket, contactKey(e.ID))
	if err == nil && row != nil && json.Unmarshal(row, &e.Contact) != nil {
		err = fmt.Errorf("%w: meta row contact", ErrCorrupt)
	}
	if !e.Revoked.IsZero() { // a revoked laptop may bring its facts alone, and it has not reported how many of these wait
		e.Contact.Backlog, e.Contact.Oldest = 0, time.Time{}
	}
	return e, err
}

// RevokeVenue revokes a laptop. From then on the laptop reads nothing, and the store takes only its facts. It returns
// ErrNotFound or *Forbidden.
func (s *Store) RevokeVenue(p Principal, id int64) error {
	return s.changeVenue(p, id, func(o *op, st *stored, d *record.Doc) error {
		if _, revoked := timeOf(d.Value("revoked_at")); revoked {
			return ErrNotFound
		}
		return endVenue(o, p, st, d)
	})
}

// WipeVenue revokes a laptop and orders it to wipe itself, when it is met next and has handed over its last fact.
func (s *Store) WipeVenue(p Principal, id int64) error {
	return s.changeVenue(p, id, func(o *op, st *stored, d *record.Doc) error {
		if err := endVenue(o, p, st, d); err != nil {
			return err
		}
		st, err := o.load(record.Node, st.id)
		if err != nil {
			return err
		}
		_, err = amend(o, p, record.Node, st, func(d *record.Doc) { d.Set("wipe_ordered_at", value.Time(o.now)) })
		return err
	})
}

func (s *Store) changeVenue(p Principal, id int64, change func(*op, *stored, *record.Doc) error) error {
	if err := p.CheckRule(); err != nil {
		return err
	}
	return s.do(false, func(o *op) error {
		st, err := o.load(record.Node, record.Int(id))
		if err != nil || st == nil {
			return orNotFound(err)
		}
		d, err := st.decode(record.Node)
		if err != nil {
			return err
		}
		return change(o, st, d)
	})
}

// endVenue revokes a laptop and its key, as far as they are not.
func endVenue(o *op, p Principal, st *stored, d *record.Doc) error {
	if _, revoked := timeOf(d.Value("revoked_at")); !revoked {
		if _, err := amend(o, p, record.Node, st, func(d *record.Doc) { d.Set("revoked_at", value.Time(o.now)) }); err != nil {
			return err
		}
	}
	key, err := o.load(record.APIKey, record.Int(d.Int("key_id")))
	if err != nil || key == nil {
		return err
	}
	if _, revoked := timeOf(key.body.Member("revoked_at")); revoked {
		return nil
	}
	_, err = amend(o, p, record.APIKey, key, func(d *record.Doc) { d.Set("revoked_at", value.Time(o.now)) })
	return err
}

// NoteContact keeps what a laptop has reported about itself. It returns ErrNotFound for a key of another class.
func (s *Store) NoteContact(p Principal, c Contact) error {
	return s.do(false, func(o *op) error {
		e, err := laptopOf(o.sight, p)
		if err != nil {
			return err
		}
		row, err := json.Marshal(c)
		if err != nil {
			return err
		}
		o.put(metaBucket, contactKey(e.ID), row)
		if !c.Wiped || !e.Wiped.IsZero() || e.Wipe.IsZero() {
			return nil
		}
		st, err := o.load(record.Node, record.Int(e.ID))
		if err != nil {
			return err
		}
		_, err = amend(o, p, record.Node, st, func(d *record.Doc) { d.Set("wiped_at", value.Time(o.now)) })
		return err
	})
}

// KeysFor are the ids of the keys that work at a laptop too: those of its churches and events, and of an event that has left them, for as long
// as the laptop holds it.
func (s *Store) KeysFor(p Principal) (ids []int64, err error) {
	err = s.view(func(v *sight) error {
		e, err := laptopOf(v, p)
		if err != nil {
			return err
		}
		var levels error
		err = eachKey(v, func(k Key, _ [32]byte) {
			ok, err := goesTo(v, p, e.Contact.Events, &k)
			levels = errors.Join(levels, err)
			if ok {
				ids = append(ids, k.ID)
			}
		})
		return errors.Join(err, levels)
	})
	return ids, err
}

// goesTo tells whether a key works at the laptop of p too, which holds some events.
func goesTo(v *sight, p Principal, held []int64, k *Key) (bool, error) {
	if k.Node.Node != "" || k.Level.Name != EventOf && k.Level.Name != ChurchOf {
		return false, nil
	}
	within, err := levelWithin(v, Key{Level: p.Level()}.Principal(), k.Level)
	if err != nil || within || k.Level.Name != EventOf {
		return within, err
	}
	for _, id := range k.Level.IDs {
		if !slices.Contains(held, id) {
			return false, nil
		}
		if had, err := hadEvent(v, p, id); err != nil || !had {
			return false, err
		}
	}
	return true, nil
}
