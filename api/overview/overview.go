package overview

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/api/nullable"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/door"
	"doorward/kv/engine"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/kv/value"
)

// maxShown is how many items each list of an overview names; its count tells of all.
const maxShown = 100

// Overview is what the operator has to know of a store: the wire form of GET /control/status. Of each list the first hundred items are named, those that
// need something first, and the member with _count says how many there are.
type Overview struct {
	At           jsontext.Value `json:"at"`
	Version      string         `json:"version"` // of the program
	Role         string         `json:"role"`    // centre, or laptop where the store has joined one
	Served       bool           `json:"served"`  // a server runs on the folder
	EventID      *int64         `json:"event_id"`
	Needs        []need         `json:"needs"`
	NeedsCount   int            `json:"needs_count"`
	Events       []eventState   `json:"events"`
	EventsCount  int            `json:"events_count"`
	Laptops      []laptopState  `json:"laptops"`
	LaptopsCount int            `json:"laptops_count"`
	Centre       *centreState   `json:"centre"` // of a laptop
	Keys         []keyState     `json:"keys"`   // that end within 30 days or have ended in the last 7
	KeysCount    int            `json:"keys_count"`
	Doubles      int            `json:"double_entries"`
	Reviews      int            `json:"reviews"` // facts to review
	Conflicts    int            `json:"conflicts"`
	Refusals     int            `json:"refusals"`
	Records      map[string]int `json:"records"` // by kind
	Tickets      map[string]int `json:"tickets"` // by state
	Erasures     erasureState   `json:"erasures"`
	Backup       *backupState   `json:"backup"`      // the last one; null = none is known
	Verify       *verifyState   `json:"verify"`      // the last check of every value; null = there was none
	Certificate  *certificate   `json:"certificate"` // by which serve speaks https; null = it does not, or no server runs
	State        storeState     `json:"store"`
	Clock        clockState     `json:"clock"`
}

// eventState is an event at its doors.
type eventState struct {
	ID         int64          `json:"id"`
	Name       string         `json:"name"`
	Start      jsontext.Value `json:"start_datetime"`
	End        jsontext.Value `json:"end_datetime"`
	Expected   int            `json:"expected"` // tickets in state valid or unpaid
	Admitted   int            `json:"admitted"` // check-ins of tickets that were good, of all days
	Doubles    int            `json:"double_entries"`
	Reviews    int            `json:"reviews"` // facts to review
	Doors      []doorState    `json:"doors"`   // the one that scanned last first
	DoorsCount int            `json:"doors_count"`
	Inside     int            `json:"inside"`        // guests that have not left; at a daily event those of today
	LetIn      int            `json:"let_in"`        // whom a phone let in with a ticket that is refused; they count as inside and as double entries
	Guests     int            `json:"guests_today"`  // each once
	Entries    int            `json:"entries_today"` // theirs
	Reentry    bool           `json:"reentry"`       // guests leave and come back
	Daily      bool           `json:"daily"`         // guests come again on another day
}

// doorState is one door. It is silent where it has scanned nothing for 15 minutes, and another door of the event has in the last five, unless a
// supervisor has closed it.
type doorState struct {
	Name     string         `json:"name"`
	Admitted int            `json:"admitted"`
	LastScan jsontext.Value `json:"last_scan"` // admitted or refused
	Silent   bool           `json:"silent"`
	Closed   bool           `json:"closed"`
	scanned  time.Time
}

// laptopState is an enrolled laptop. Needs are the words of its items in the list of needs.
type laptopState struct {
	Laptop      `json:",inline"`
	Joined      jsontext.Value `json:"joined_at"`
	Oldest      jsontext.Value `json:"oldest_backlog_at"`
	RevokedAt   jsontext.Value `json:"revoked_at"`
	WipeOrdered jsontext.Value `json:"wipe_ordered_at"`
	Ends        jsontext.Value `json:"credential_expires_at"`
	Replaced    bool           `json:"replaced"` // the same laptop was enrolled again since
	Needs       []string       `json:"needs"`
	of          office.Enrolled
	ends        time.Time
}

// centreState is what a laptop knows of its centre and of itself, as a wire form.
type centreState struct {
	URL         string         `json:"url"`
	ID          int64          `json:"id"`   // of this laptop there
	Name        string         `json:"name"` // as above
	LastContact jsontext.Value `json:"last_contact"`
	Backlog     *int           `json:"backlog"` // changes that the centre has not said that it has
	Oldest      jsontext.Value `json:"oldest_backlog_at"`
	Ends        jsontext.Value `json:"credential_expires_at"`
	Revoked     bool           `json:"revoked"`
	Events      []int64        `json:"events"` // that it is ready for
	Drops       []dropState    `json:"drops"`
	of          table.Upstream
	met, oldest time.Time
}

// dropState is an event that is over and may leave the laptop from some moment on.
type dropState struct {
	EventID int64          `json:"event_id"`
	At      jsontext.Value `json:"at"`
}

type keyState struct {
	ID      int64          `json:"id"`
	Name    string         `json:"name"`
	Level   string         `json:"level"`
	Ends    jsontext.Value `json:"expires_at"`
	Expired bool           `json:"expired"`
	of      auth.Key
}

type erasureState struct {
	Unfinished  int            `json:"unfinished"`
	Uncompacted int            `json:"uncompacted"` // their bytes may lie in free pages of the file
	Since       jsontext.Value `json:"since"`
	since       time.Time
}

type backupState struct {
	At   jsontext.Value `json:"at"`
	File string         `json:"file"`
	of   table.Backup
}

type verifyState struct {
	At     jsontext.Value `json:"at"`
	Faults int64          `json:"faults"`
}

type certificate struct {
	Ends jsontext.Value `json:"expires_at"`
	ends time.Time
}

type storeState struct {
	Writable bool     `json:"writable"`
	Cause    *string  `json:"cause"` // why it is not
	Bytes    int64    `json:"file_bytes"`
	Free     *int64   `json:"disk_free_bytes"` // null where the system does not say
	Refused  []string `json:"disk_refused"`    // what is refused because the disk is nearly full
	Damaged  bool     `json:"damaged"`         // values were damaged when the store was opened, or could not be read now
}

type clockState struct {
	Doubted  bool           `json:"doubted"`
	Cause    *string        `json:"cause"`
	Measured jsontext.Value `json:"measured_at"`
	Offset   *int64         `json:"clock_offset_ms"` // how far a peer's clock was ahead
}

// Config says which store an overview is of, and what its server knows besides.
type Config struct {
	Store           *kv.Store
	Who             auth.Principal
	Version         string
	Served          bool                                        // a server runs on the folder
	Event           int64                                       // the one that is asked about; 0 = all
	Language        string                                      // of the sentences, as "pt-BR"; one that the overview does not speak is English
	CertificateEnds func() time.Time                            // nil = http
	Backlog         func() (n int, oldest time.Time, err error) // nil = not known
}

// survey reads an overview.
type survey struct {
	Config
	*Overview
	now      time.Time
	current  []door.CurrentEvent
	restored time.Time // zero = the store was made of no backup
}

// Take reads everything that an operator has to know. A part that is damaged stays empty: the rest is told all the same.
func Take(c Config) (*Overview, error) {
	s := survey{Config: c, Overview: &Overview{Version: c.Version, Role: "centre", Served: c.Served}, now: c.Store.Tables.Clock.Now()}
	s.At = value.Time(s.now)
	if c.Event != 0 {
		s.EventID = &c.Event
	}
	for _, part := range []func() error{s.events, s.doors, s.centre, s.laptops, s.keys, s.lists, s.counts, s.erasures, s.upkeep} {
		err := part()
		if errors.Is(err, engine.ErrCorrupt) {
			s.State.Damaged = true
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	s.state()
	needs{&s, tongues[c.Language]}.add()
	s.cut()
	return s.Overview, nil
}

func (s *survey) events() (err error) {
	if s.Event == 0 {
		s.current, err = s.Store.Door.CurrentEvents(s.Who)
		return err
	}
	e, err := s.Store.Door.CurrentEvent(s.Who, s.Event)
	if err == nil {
		s.current = []door.CurrentEvent{e}
	}
	return err
}

func (s *survey) doors() error {
	s.Events, s.EventsCount = []eventState{}, len(s.current)
	for _, e := range s.current[:min(len(s.current), maxShown)] {
		st, err := s.Store.Door.Status(s.Who, e.ID)
		if errors.Is(err, table.ErrNotFound) && s.Event == 0 {
			continue // it was deleted a moment ago
		}
		if err != nil {
			return err
		}
		reviews, err := s.reviews(e.ID)
		if err != nil {
			return err
		}
		s.Events = append(s.Events, eventState{
			ID: e.ID, Name: e.Name, Start: value.Time(e.Start), End: value.Time(e.End), Expected: st.Issued, Admitted: st.Admitted,
			Inside: st.Inside, LetIn: st.LetIn, Guests: st.GuestsToday, Entries: st.EntriesToday, Reentry: e.Reentry, Daily: e.Daily, Doubles: st.Doubles, Reviews: reviews, Doors: s.doorsOf(st),
		})
	}
	return nil
}

// When a door is silent.
const (
	silentAfter = 15 * time.Minute // of its own last scan
	silentWhile = 5 * time.Minute  // of the last scan at another door
)

func (s *survey) doorsOf(st door.Status) (doors []doorState) {
	busy := false
	for _, at := range st.Scanned {
		busy = busy || s.now.Sub(at).Abs() < silentWhile // a scan far ahead was made before the clock was put back
	}
	for name, at := range st.Scanned {
		_, closed := st.Closed[name]
		silent := !closed && busy && s.now.Sub(at) >= silentAfter && s.now.Sub(at) < door.ScanMargin
		doors = append(doors, doorState{name, st.Doors[name], value.Time(at.UTC().Truncate(time.Microsecond)), silent, closed, at})
	}
	slices.SortFunc(doors, func(a, b doorState) int { return cmp.Or(b.scanned.Compare(a.scanned), cmp.Compare(a.Name, b.Name)) })
	return doors
}

// centre reads what a laptop knows of its centre. The clocks are compared whenever the two meet, so that is the last contact.
func (s *survey) centre() error {
	u, joined, err := s.Store.Laptop.Upstream()
	if err != nil || !joined {
		return err
	}
	s.Role = "laptop"
	c := &centreState{URL: u.URL, ID: u.ID, Name: u.Name, Ends: nullable.Time(u.Ends), Revoked: u.Revoked, Drops: []dropState{}, of: u}
	s.Centre = c
	if k := s.Store.Tables.Clock.Reading(); k.Peer == u.Node {
		c.met = k.Measured
	}
	if told := s.Backlog; told != nil {
		n, oldest, err := told()
		if err != nil {
			return err
		}
		c.Backlog, c.oldest = &n, oldest
	}
	c.LastContact, c.Oldest = nullable.Time(c.met), nullable.Time(c.oldest)
	for _, event := range slices.Sorted(maps.Keys(u.Drops)) {
		c.Drops = append(c.Drops, dropState{event, value.Time(u.Drops[event])})
	}
	c.Events, err = s.Store.Laptop.ReadyEvents(maxShown)
	return err
}

func (s *survey) laptops() error {
	s.Laptops = []laptopState{}
	all, err := s.Store.Venues.Venues(s.Who)
	if err != nil {
		return err
	}
	keys, err := s.Store.Keys.Keys(s.Who)
	if err != nil {
		return err
	}
	for _, e := range all {
		l := laptopState{Laptop: LaptopOf(e), Joined: nullable.Time(e.Joined), Oldest: nullable.Time(e.Contact.Oldest), RevokedAt: nullable.Time(e.Revoked),
			WipeOrdered: nullable.Time(e.Wipe), Needs: []string{}, of: e}
		if s.Event != 0 && !slices.Contains(e.Scopes, scopes.Scope{Sort: scopes.Event, ID: s.Event}.String()) {
			continue
		}
		l.Replaced = slices.ContainsFunc(all, func(other office.Enrolled) bool {
			return other.Venue.Node != "" && other.Venue.Node == e.Venue.Node && other.Joined.After(e.Joined)
		})
		for _, k := range keys {
			if k.Node.Node != "" && k.Node.Node == e.Venue.Node && k.Revoked.IsZero() && !l.Replaced {
				l.ends = k.Expires
			}
		}
		l.Ends = nullable.Time(l.ends)
		s.Laptops = append(s.Laptops, l)
	}
	return nil
}

// How long before and after the end of a key it is shown.
const (
	keyAhead  = 30 * 24 * time.Hour
	keyBehind = 7 * 24 * time.Hour
)

func (s *survey) keys() error {
	s.Keys = []keyState{}
	all, err := s.Store.Keys.Keys(s.Who)
	for _, k := range all {
		left := k.Expires.Sub(s.now)
		if k.Expires.IsZero() || !k.Revoked.IsZero() || k.Node.Node != "" || left > keyAhead || left < -keyBehind {
			continue
		}
		s.Keys = append(s.Keys, keyState{k.ID, k.Name, k.Level.String(), value.Time(k.Expires), left <= 0, k})
	}
	slices.SortStableFunc(s.Keys, func(a, b keyState) int { return a.of.Expires.Compare(b.of.Expires) })
	return err
}

// lists counts what staff have to decide or to look at.
func (s *survey) lists() error {
	doubles, err := s.Store.Door.DoubleEntries(s.Who, s.Event, desk.Part{})
	if err != nil {
		return err
	}
	conflicts, err := s.Store.Inbox.List(s.Who, record.Conflict, desk.Part{})
	if err != nil {
		return err
	}
	if s.Reviews, err = s.reviews(s.Event); err != nil {
		return err
	}
	refusals, err := s.Store.Inbox.List(s.Who, record.Refusal, desk.Part{})
	s.Doubles, s.Conflicts, s.Refusals = doubles.Count, conflicts.Count, refusals.Count
	return err
}

// reviews is how many facts of an event, or of all, staff have to review.
func (s *survey) reviews(event int64) (int, error) {
	var q desk.Part
	if event != 0 {
		q.Where = []desk.Where{{Field: "event_id", In: []any{event}}}
	}
	page, err := s.Store.Door.Reviews(s.Who, q)
	return page.Count, err
}

func (s *survey) counts() (err error) {
	if s.Records, err = s.Store.Figures.RecordCounts(s.Who); err != nil {
		return err
	}
	s.Tickets, err = s.Store.Figures.TicketStates(s.Who, s.Event)
	return err
}

func (s *survey) erasures() error {
	n, since, err := s.Store.Erasures.Uncompacted()
	s.Erasures = erasureState{s.Store.Erasures.Unfinished(), n, nullable.Time(since), since}
	return err
}

// upkeep reads what was done in time, and what ends.
func (s *survey) upkeep() error {
	if told := s.CertificateEnds; told != nil {
		ends := told()
		s.Certificate = &certificate{nullable.Time(ends.UTC()), ends}
	}
	made, err := s.Store.Figures.LastBackup(s.Who)
	if err != nil {
		return err
	}
	if !made.At.IsZero() {
		s.Backup = &backupState{value.Time(made.At.UTC()), made.Path, made}
	}
	if s.restored, err = s.Store.Figures.LastRestore(s.Who); err != nil {
		return err
	}
	checked, err := s.Store.Figures.LastVerify(s.Who)
	if err == nil && !checked.At.IsZero() {
		s.Verify = &verifyState{value.Time(checked.At.UTC()), checked.Faults}
	}
	return err
}

func (s *survey) state() {
	st := &s.State
	st.Bytes, st.Refused, st.Damaged = s.Store.Tables.Folder.Bytes(), []string{}, st.Damaged || s.Store.Tables.Damage.Found() > 0
	if free, ok := s.Store.Tables.Folder.Room.Free(); ok {
		st.Free = &free
	}
	err := s.Store.Tables.Engine.Writable()
	if st.Writable = err == nil; err != nil {
		cause := strings.TrimPrefix(err.Error(), engine.ErrStopped.Error()+": ")
		st.Cause = &cause
	}
	for _, short := range s.Store.Tables.Folder.Room.Shortages() {
		st.Refused = append(st.Refused, short.What)
	}
	c := s.Store.Tables.Clock.Reading()
	s.Clock = clockState{Doubted: c.Doubt != "", Cause: nullable.Text(string(c.Doubt)), Measured: nullable.Time(c.Measured)}
	if !c.Measured.IsZero() {
		ms := c.Offset.Milliseconds()
		s.Clock.Offset = &ms
	}
}

// cut shortens each list to the items that are shown.
func (s *survey) cut() {
	slices.SortStableFunc(s.Laptops, func(a, b laptopState) int { return cmp.Compare(min(1, len(b.Needs)), min(1, len(a.Needs))) })
	s.Needs, s.NeedsCount = first(s.Needs)
	s.Laptops, s.LaptopsCount = first(s.Laptops)
	s.Keys, s.KeysCount = first(s.Keys)
	for i := range s.Events {
		e := &s.Events[i]
		e.Doors, e.DoorsCount = first(e.Doors)
	}
}

// first returns the items of a list that are shown, and the number of all.
func first[T any](all []T) ([]T, int) {
	return append([]T{}, all[:min(len(all), maxShown)]...), len(all)
}
