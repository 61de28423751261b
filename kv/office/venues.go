package office

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/keys"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// Desk is the centre's side of its laptops.
type Desk struct {
	tables   *table.Set
	standing table.Standing
}

// New makes the desk of a store.
func New(t *table.Set, standing table.Standing) *Desk {
	return &Desk{tables: t, standing: standing}
}

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
	Level   auth.Level
	Events  []int64
	Venue   auth.Venue // its Node is "" until it has joined
	Scopes  []string
	Contact Contact // the last one; its At is zero before the first. A revoked laptop has no backlog
	Joined  time.Time
	Revoked time.Time
	Wipe    time.Time // when the order to wipe itself was given
	Wiped   time.Time
}

// contactKey is the key of a laptop's last Contact, as JSON, in the meta bucket.
func contactKey(id int64) []byte { return []byte("contact/" + strconv.FormatInt(id, 10)) }

// Venues lists the laptops that are enrolled for no more than p sees, in order of their ids. It returns *Forbidden if p may not
// list them.
func (of *Desk) Venues(p auth.Principal) (all []Enrolled, err error) {
	if err := p.Check("admin", "GET"); err != nil {
		return nil, err
	}
	err = of.tables.View(func(v *table.View) error {
		for _, id := range table.IDsOf(v, record.Node) {
			e, err := enrolled(v, id)
			if err != nil {
				return err
			}
			ok, err := entry.LevelWithin(v, p, e.Level)
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
func (of *Desk) Venue(p auth.Principal) (e Enrolled, err error) {
	err = of.tables.View(func(v *table.View) error {
		e, err = LaptopOf(v, p)
		return err
	})
	return e, err
}

// LaptopOf reads the laptop of p's key. It returns ErrNotFound for a key of another class.
func LaptopOf(v *table.View, p auth.Principal) (e Enrolled, err error) {
	for _, id := range table.IDsOf(v, record.Node) {
		st, err := v.Load(record.Node, id)
		if err != nil {
			return e, err
		}
		if table.IntOf(st.Body.Member("key_id")) == p.Key() && p.IsLaptop() {
			return enrolled(v, id)
		}
	}
	return e, table.ErrNotFound
}

// eachNode calls fn with each enrolment, in order of the ids, until fn returns false or an error.
func eachNode(v *table.View, fn func(st *table.Stored, d *record.Doc) (more bool, err error)) error {
	for _, id := range table.IDsOf(v, record.Node) {
		st, err := v.Load(record.Node, id)
		if err != nil {
			return err
		}
		d, err := st.Decode(record.Node)
		if err != nil {
			return err
		}
		if more, err := fn(st, d); err != nil || !more {
			return err
		}
	}
	return nil
}

// isRevoked tells whether an enrolment is revoked.
func isRevoked(d *record.Doc) bool {
	_, revoked := table.TimeOf(d.Value("revoked_at"))
	return revoked
}

// stamp returns a change that sets a field to the time of the transaction.
func stamp(o *table.Tx, field string) func(*record.Doc) {
	return func(d *record.Doc) { d.Set(field, value.Time(o.Now)) }
}

// enrolled reads one laptop.
func enrolled(v *table.View, id record.ID) (e Enrolled, err error) {
	st, err := v.Load(record.Node, id)
	if err != nil || st == nil {
		return e, table.OrNotFound(err)
	}
	d, err := st.Decode(record.Node)
	if err != nil {
		return e, err
	}
	e = Enrolled{ID: id.Int(), Name: d.Text("name"), Venue: keys.VenueOf(d)}
	e.Joined, _ = table.TimeOf(d.Value("joined_at")) // null: not
	e.Revoked, _ = table.TimeOf(d.Value("revoked_at"))
	e.Wipe, _ = table.TimeOf(d.Value("wipe_ordered_at"))
	e.Wiped, _ = table.TimeOf(d.Value("wiped_at"))
	if e.Level, err = auth.ParseLevel(d.Text("level")); err != nil {
		return e, fmt.Errorf("%w: node: %w", engine.ErrCorrupt, err)
	}
	for _, text := range value.ReadTexts(d.Value("events")) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return e, fmt.Errorf("%w: node: %w", engine.ErrCorrupt, err)
		}
		e.Events = append(e.Events, n)
	}
	for _, db := range ExchangedOf(v, &e) {
		e.Scopes = append(e.Scopes, db.Name)
	}
	row, err := v.Get(table.MetaBucket, contactKey(e.ID))
	if err == nil && row != nil && json.Unmarshal(row, &e.Contact) != nil {
		err = fmt.Errorf("%w: meta row contact", engine.ErrCorrupt)
	}
	if !e.Revoked.IsZero() { // a revoked laptop may bring its facts alone, and it has not reported how many of these wait
		e.Contact.Backlog, e.Contact.Oldest = 0, time.Time{}
	}
	return e, err
}

// RevokeVenue revokes a laptop. From then on the laptop reads nothing, and the store takes only its facts. It returns
// ErrNotFound or *Forbidden.
func (of *Desk) RevokeVenue(p auth.Principal, id int64) error {
	return of.changeVenue(p, id, func(o *table.Tx, st *table.Stored, d *record.Doc) error {
		if isRevoked(d) {
			return table.ErrNotFound
		}
		return endVenue(o, p, st, d)
	})
}

// WipeVenue revokes a laptop and orders it to wipe itself, when it is met next and has handed over its last fact.
func (of *Desk) WipeVenue(p auth.Principal, id int64) error {
	return of.changeVenue(p, id, func(o *table.Tx, st *table.Stored, d *record.Doc) error {
		if err := endVenue(o, p, st, d); err != nil {
			return err
		}
		st, err := o.Load(record.Node, st.ID)
		if err != nil {
			return err
		}
		_, err = entry.Amend(o, p, record.Node, st, stamp(o, "wipe_ordered_at"))
		return err
	})
}

func (of *Desk) changeVenue(p auth.Principal, id int64, change func(*table.Tx, *table.Stored, *record.Doc) error) error {
	if err := p.CheckRule(); err != nil {
		return err
	}
	return of.tables.Do(of.standing.By(p, func(o *table.Tx) error {
		st, err := o.Load(record.Node, record.Int(id))
		if err != nil || st == nil {
			return table.OrNotFound(err)
		}
		d, err := st.Decode(record.Node)
		if err != nil {
			return err
		}
		return change(o, st, d)
	}))
}

// endVenue revokes a laptop and its key, unless they are revoked already.
func endVenue(o *table.Tx, p auth.Principal, st *table.Stored, d *record.Doc) error {
	if !isRevoked(d) {
		if _, err := entry.Amend(o, p, record.Node, st, stamp(o, "revoked_at")); err != nil {
			return err
		}
	}
	key, err := o.Load(record.APIKey, record.Int(d.Int("key_id")))
	if err != nil || key == nil {
		return err
	}
	if _, revoked := table.TimeOf(key.Body.Member("revoked_at")); revoked {
		return nil
	}
	_, err = entry.Amend(o, p, record.APIKey, key, stamp(o, "revoked_at"))
	return err
}

// NoteContact keeps what a laptop has reported about itself. It returns ErrNotFound for a key of another class.
func (of *Desk) NoteContact(p auth.Principal, c Contact) error {
	return of.tables.Do(func(o *table.Tx) error {
		e, err := LaptopOf(o.View, p)
		if err != nil {
			return err
		}
		row, err := json.Marshal(c)
		if err != nil {
			return err
		}
		o.Put(table.MetaBucket, contactKey(e.ID), row)
		if !c.Wiped || !e.Wiped.IsZero() || e.Wipe.IsZero() {
			return nil
		}
		st, err := o.Load(record.Node, record.Int(e.ID))
		if err != nil {
			return err
		}
		_, err = entry.Amend(o, p, record.Node, st, stamp(o, "wiped_at"))
		return err
	})
}

// KeysFor lists the ids of the keys that work at a laptop too: the keys of its churches and events. A key of an event that has left works
// there as long as the laptop holds the event.
func (of *Desk) KeysFor(p auth.Principal) (ids []int64, err error) {
	err = of.tables.View(func(v *table.View) error {
		e, err := LaptopOf(v, p)
		if err != nil {
			return err
		}
		var levels error
		err = keys.EachKey(v, func(k auth.Key, _ [32]byte) {
			ok, err := GoesTo(v, p, e.Contact.Events, &k)
			levels = errors.Join(levels, err)
			if ok {
				ids = append(ids, k.ID)
			}
		})
		return errors.Join(err, levels)
	})
	return ids, err
}

// GoesTo tells whether a key works at the laptop of p too. held are the events that the laptop holds.
func GoesTo(v *table.View, p auth.Principal, held []int64, k *auth.Key) (bool, error) {
	if k.Node.Node != "" || k.Level.Name != auth.EventOf && k.Level.Name != auth.ChurchOf {
		return false, nil
	}
	within, err := entry.LevelWithin(v, auth.Key{Level: p.Level()}.Principal(), k.Level)
	if err != nil || within || k.Level.Name != auth.EventOf {
		return within, err
	}
	for _, id := range k.Level.IDs {
		if !slices.Contains(held, id) {
			return false, nil
		}
		if had, err := HadEvent(v, p, id); err != nil || !had {
			return false, err
		}
	}
	return true, nil
}
