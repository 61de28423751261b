package office

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"doorward/kv/access"
	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/keys"
	"doorward/kv/record"
	"doorward/kv/scopes"
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
		if value.Int(st.Body.Member("key_id")) == p.Key() && p.IsLaptop() {
			return enrolled(v, id)
		}
	}
	return e, table.ErrNotFound
}

// eachNode calls fn with each enrolment, in order of the ids, until fn returns false or an error.
func eachNode(v *table.View, fn func(st *table.Stored, d *record.Doc) (more bool, err error)) error {
	for _, id := range table.IDsOf(v, record.Node) {
		st, d, err := v.LoadDoc(record.Node, id)
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
	st, d, err := v.LoadDoc(record.Node, id)
	if err != nil || st == nil {
		return e, table.OrNotFound(err)
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
		st, d, err := o.LoadDoc(record.Node, record.Int(id))
		if err != nil || st == nil {
			return table.OrNotFound(err)
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
		return keys.EachKey(v, func(k auth.Key) error {
			ok, err := GoesTo(v, p, e.Contact.Events, &k)
			if ok {
				ids = append(ids, k.ID)
			}
			return err
		})
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

// ReadCentre reads which centre the store has, and what the centre takes from it.
func ReadCentre(s *table.Set) error {
	return s.Engine.View(func(r *engine.View) error {
		row, err := r.Get(table.MetaBucket, table.CentreKey)
		s.Identity.SetCentre(string(row))
		if err != nil {
			return table.Identified(table.CentreKey, err)
		}
		u, err := table.ReadUpstream(&table.View{View: r})
		s.Identity.SetUpstream(&u)
		if errors.Is(err, engine.ErrCorrupt) {
			return nil // a caller that asks for the centre gets this error; until then it is unknown what the centre takes
		}
		return err
	})
}

// mayEnrol returns a *Conflict if this store is a laptop. A laptop passes on only its own facts (sync.md §1), so the facts of a second
// laptop behind it would never reach the centre.
func (of *Desk) mayEnrol() error {
	if !of.tables.Identity.IsLeaf() {
		return nil
	}
	where := "at the centre"
	if u := of.tables.Identity.Upstream(); u.URL != "" {
		where += ", " + u.URL
	}
	return &table.Conflict{Reason: "laptops are enrolled " + where + ": this store has joined it itself, and a second laptop here opens the pages of this one"}
}

// SpotsFor returns the databases of a record that p writes, with p's ties to them.
func SpotsFor(v *table.View, p auth.Principal, k *record.Kind, all [2]scopes.Scope) (spots [2]access.Spot, err error) {
	for i, s := range all {
		if s.Sort == 0 || err != nil {
			continue
		}
		spots[i].Scope = s
		spots[i].Tie, err = WriterTie(v, p, k, s)
	}
	return spots, err
}

// WriterTie returns p's tie to a scope that it writes to. A laptop may be enrolled for an event outside its level, or may have had the
// event before.
func WriterTie(v *table.View, p auth.Principal, k *record.Kind, s scopes.Scope) (access.Tie, error) {
	tie, err := entry.TieToScope(v, p, s)
	held := tie == access.Own && !p.IsWhole()
	seenFact := tie == access.Churchless && k != nil && k.Fact // whether the laptop has the event along does not matter
	if err != nil || !p.IsLaptop() || !s.Sort.OfEvent() || held || seenFact {
		return tie, err
	}
	return enrolledTie(v, p, s.ID, tie)
}

// enrolledTie returns the tie of a laptop to an event outside its level, by its enrolments.
func enrolledTie(v *table.View, p auth.Principal, event int64, tie access.Tie) (access.Tie, error) {
	along, err := hasAlong(v, p, event)
	seen := tie&(access.Own|access.Churchless) != 0
	switch {
	case err != nil || tie == access.Churchless && !along:
		return tie, err
	case seen && along:
		return access.Guest, nil
	}
	had := along
	if !had {
		had, err = HadEvent(v, p, event)
	}
	switch {
	case err != nil || !had:
		return tie, err
	case tie == access.New:
		return access.Gone, nil
	case along:
		return access.Lent, nil
	}
	return access.Had, nil
}

// hasAlong tells whether a laptop is or was enrolled for an event by its number.
func hasAlong(v *table.View, p auth.Principal, event int64) (bool, error) {
	return anyEnrolment(v, p, func(e *Enrolled) (bool, error) { return e.names(event), nil })
}

// names tells whether an enrolment names an event by its number.
func (e *Enrolled) names(event int64) bool {
	return slices.Contains(e.Events, event) || e.Level.Name == auth.EventOf && e.Level.Has(event)
}

// HadEvent tells whether an event is or was of one of a laptop's churches, or the laptop is or was enrolled for it. The event may have
// moved or been deleted.
func HadEvent(v *table.View, p auth.Principal, event int64) (bool, error) {
	return anyEnrolment(v, p, func(e *Enrolled) (bool, error) {
		if e.names(event) {
			return true, nil
		}
		return wasOf(v, e.Level, event)
	})
}

// wasOf tells whether an event is or was of one of a level's churches.
func wasOf(v *table.View, l auth.Level, event int64) (bool, error) {
	id := record.Int(event)
	st, err := v.LoadAny(record.Event, id)
	if err != nil || st == nil || l.Name != auth.ChurchOf {
		return false, err
	}
	for _, church := range l.IDs {
		s := scopes.Scope{Sort: scopes.Church, ID: church}
		left, err := v.Get(table.LeftBucket, table.LeftKey(record.Event, id, s))
		if err != nil || left != nil || st.In(s) {
			return err == nil, err
		}
	}
	return false, nil
}

// anyEnrolment calls fn with the enrolment of a laptop's key and with its earlier enrolments, until fn returns true. The laptop
// may still hand over what it made under an enrolment that ended when the next began. An earlier enrolment that staff have
// revoked is left out.
func anyEnrolment(v *table.View, p auth.Principal, fn func(*Enrolled) (bool, error)) (bool, error) {
	if !p.IsLaptop() {
		return false, nil
	}
	e, err := LaptopOf(v, p)
	if errors.Is(err, table.ErrNotFound) {
		return false, nil
	}
	for at := &e; err == nil && at != nil; at, err = enrolledBefore(v, at) {
		if is, err := fn(at); err != nil || is {
			return is, err
		}
	}
	return false, err
}

// enrolledBefore returns the enrolment of the same laptop that ended when this one began; nil = there is none.
func enrolledBefore(v *table.View, e *Enrolled) (*Enrolled, error) {
	for _, id := range table.IDsOf(v, record.Node) {
		st, err := v.Load(record.Node, id)
		if err != nil || st == nil {
			return nil, err
		}
		began, _ := table.TimeOf(st.Body.Member("joined_at")) // null: not at all
		ended, ok := table.TimeOf(st.Body.Member("revoked_at"))
		if ok && ended.Equal(e.Joined) && began.Before(ended) && value.Unquote(st.Body.Member("node")) == e.Venue.Node {
			was, err := enrolled(v, id)
			return &was, err
		}
	}
	return nil, nil
}
