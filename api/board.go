package api

import (
	"bytes"
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"doorward/api/nullable"
	"doorward/kv/door"
	"doorward/kv/fault"
	"doorward/kv/outcome"
	"doorward/kv/value"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	typeEvents  = "text/event-stream"
	streamBeat  = 10 * time.Second       // between two events where nothing changes
	streamPause = 500 * time.Millisecond // between two events where much changes: doors see each other within a second, and to draw costs a phone time
	streamIdle  = 30 * time.Second       // without progress a stream ends
	doorsShown  = 30
)

// boardView is an event as a page at one of its doors follows it.
type boardView struct {
	EventID   int64        `json:"event_id"`
	Issued    int          `json:"issued"`
	Admitted  int          `json:"admitted"`
	Inside    int          `json:"inside"`
	PerMinute int          `json:"per_minute"`
	Doubles   int          `json:"double_entries"`
	LetIn     int          `json:"let_in"`
	Guests    int          `json:"guests_today"`
	Entries   int          `json:"entries_today"`
	Doors     []doorView   `json:"doors"`
	Recent    []momentView `json:"recent"`
}

// doorView is a door. Pages counts its open pages; a door without one is silent, unless a supervisor has closed it.
type doorView struct {
	Name      string         `json:"name"`
	Admitted  int            `json:"admitted"`
	ScannedAt jsontext.Value `json:"scanned_at"`
	Pages     int            `json:"pages"`
	Closed    bool           `json:"closed,omitzero"`
}

// momentView is one of the last scans. It names no guest.
type momentView struct {
	ID      string          `json:"id"`
	At      jsontext.Value  `json:"at"`
	Door    string          `json:"door"`
	Outcome outcome.Outcome `json:"outcome"`
	Own     bool            `json:"own"`
	LetIn   bool            `json:"let_in,omitzero"` // a phone let the guest in against the outcome
}

// doorParameter is the parameter of follow_door in the OpenAPI document.
var doorParameter = parameterDoc{name: "door", schema: map[string]any{"type": "string", "maxLength": maxDoor}, text: "The door that listens."}

// streamDoor answers GET /door/v1/event/{id}/stream/.
func streamDoor(x *exchange, event int64) error {
	door := strings.TrimSpace(x.query.Value("door")) // as the field that names the door of a check-in
	if len([]rune(door)) > maxDoor {
		return unlessMissing(x, event, fault.ByField{"door": {fault.TooLong(maxDoor)}})
	}
	if _, err := x.store().Door.Status(x.caller, event); err != nil {
		return err
	}
	x.Header().Set("Content-Type", typeEvents)
	x.WriteHeader(http.StatusOK)
	if x.request.Method == http.MethodHead {
		return nil
	}
	rc := http.NewResponseController(x)
	_ = rc.SetReadDeadline(time.Time{}) // a recorder in a test has none
	leave := x.server.company.join(event, door)
	defer leave()
	return (&boardStream{x, event, rc}).follow()
}

// boardStream sends one page the events of its doors.
type boardStream struct {
	x     *exchange
	event int64
	rc    *http.ResponseController
}

// follow writes events until the page, the key or the server goes.
func (s *boardStream) follow() error {
	beat := time.NewTicker(streamBeat)
	defer beat.Stop()
	for {
		changed, leave := s.x.store().Door.EventChanged(s.event)
		pages, moved := s.x.server.company.look(s.event)
		err := s.tell(pages)
		if err == nil {
			err = s.await(beat.C, changed, moved)
		}
		leave()
		if err != nil {
			return err
		}
	}
}

// await waits until something has changed or the beat is due, and at least for streamPause.
func (s *boardStream) await(beat <-chan time.Time, changed, moved <-chan struct{}) error {
	gone, ending := s.x.request.Context().Done(), s.x.server.company.ending
	pause := time.NewTimer(streamPause)
	defer pause.Stop()
	if waitFor(pause.C, nil, nil, gone, ending) && waitFor(beat, changed, moved, gone, ending) {
		return nil
	}
	return errGone
}

// waitFor waits for the timer or a change. It returns false if the page or the server is gone.
func waitFor(timer <-chan time.Time, changed, moved, gone, ending <-chan struct{}) bool {
	select {
	case <-timer:
	case <-changed:
	case <-moved:
	case <-gone:
		return false
	case <-ending:
		return false
	}
	return true
}

// tell writes one event. It returns an error if the key is no longer good.
func (s *boardStream) tell(pages map[string]int) error {
	x := s.x
	st, err := x.store().Door.Status(x.caller, s.event)
	if err == nil {
		_, err = x.store().Keys.Standing(x.caller) // a key that was revoked before the last scan is not told of it
	}
	if err != nil {
		return err
	}
	line, err := statusEvent(viewBoard(s.event, st, pages, x.caller.Key(), x.store().Tables.Clock.Now()))
	if err != nil {
		return err
	}
	_ = s.rc.SetWriteDeadline(time.Now().Add(streamIdle)) // as above
	if _, err := x.Write(line); err != nil {
		return errGone
	}
	return unlessGone(s.rc.Flush())
}

func statusEvent(v boardView) ([]byte, error) {
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return bytes.Join([][]byte{[]byte("event: status\ndata: "), data, []byte("\n\n")}, nil), nil
}

func viewBoard(event int64, st door.Status, pages map[string]int, key int64, now time.Time) boardView {
	v := boardView{EventID: event, Issued: st.Issued, Admitted: st.Admitted, Inside: st.Inside, PerMinute: perMinute(st.Minutes, now), Doubles: st.Doubles,
		LetIn: st.LetIn, Guests: st.GuestsToday, Entries: st.EntriesToday, Doors: []doorView{}, Recent: make([]momentView, len(st.Recent))}
	names := slices.AppendSeq(slices.Collect(maps.Keys(st.Doors)), maps.Keys(pages))
	names = slices.AppendSeq(slices.AppendSeq(names, maps.Keys(st.Scanned)), maps.Keys(st.Closed))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name != "" {
			v.Doors = append(v.Doors, doorView{name, st.Doors[name], nullable.Time(st.Scanned[name]), pages[name], !st.Closed[name].IsZero()})
		}
	}
	slices.SortFunc(v.Doors, func(a, b doorView) int {
		return cmp.Or(min(b.Pages, 1)-min(a.Pages, 1), b.Admitted-a.Admitted, cmp.Compare(a.Name, b.Name))
	})
	v.Doors = v.Doors[:min(len(v.Doors), doorsShown)]
	for i, m := range st.Recent {
		v.Recent[i] = momentView{m.ID, value.Time(m.At), m.Door, m.Outcome, m.Key == key, m.LetIn}
	}
	return v
}

// perMinute estimates how many guests came in during the last sixty seconds: all of this minute, and a share of the minute before.
func perMinute(minutes []door.MinuteCount, now time.Time) int {
	this := now.Truncate(time.Minute)
	n := 0.5
	for _, m := range minutes {
		switch {
		case m.Minute.Equal(this):
			n += float64(m.Admitted)
		case m.Minute.Equal(this.Add(-time.Minute)):
			n += float64(m.Admitted) * (1 - now.Sub(this).Minutes())
		}
	}
	return int(n)
}

// streamExample is what the document shows of a stream.
func streamExample() string {
	at := value.Time(exampleTime)
	line, err := statusEvent(boardView{EventID: 7, Issued: 150, Admitted: 96, Inside: 96, PerMinute: 12, Guests: 96, Entries: 96,
		Doors: []doorView{{"North door", 96, at, 1, false}}, Recent: []momentView{{exampleULID, at, "North door", outcome.Admitted, true, false}}})
	if err != nil {
		panic(err) // it is the same each time
	}
	return string(line)
}

// company counts the pages at an event's doors: each page of a door holds a stream open. It is in memory alone.
type company struct {
	mu     sync.Mutex
	events map[int64]*crowd
	ending chan struct{} // closed when the server ends
	once   sync.Once
}

// crowd is the company of one event.
type crowd struct {
	doors   map[string]int // pages
	changed chan struct{}  // closed when they change
}

func newCompany() *company { return &company{events: map[int64]*crowd{}, ending: make(chan struct{})} }

// end ends all streams.
func (c *company) end() { c.once.Do(func() { close(c.ending) }) }

// join adds a page to a door. The caller must call leave.
func (c *company) join(event int64, door string) (leave func()) {
	c.add(event, door, 1)
	return func() { c.add(event, door, -1) }
}

func (c *company) add(event int64, door string, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.events[event]
	if of == nil {
		of = &crowd{map[string]int{}, make(chan struct{})}
		c.events[event] = of
	}
	if of.doors[door] += by; of.doors[door] == 0 {
		delete(of.doors, door)
	}
	close(of.changed)
	of.changed = make(chan struct{})
	if len(of.doors) == 0 {
		delete(c.events, event)
	}
}

// look returns the pages of an event by door, and a channel that is closed when they change; nil if no page listens.
func (c *company) look(event int64) (doors map[string]int, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.events[event]
	if of == nil {
		return nil, nil // no page listens
	}
	return maps.Clone(of.doors), of.changed
}

// maxNames is how many ticket types, and how many doors, a status names. Those with the most admissions are named.
const maxNames = 200

// statusView counts an event's check-ins. Types and Doors are by name, "" for tickets without a type; the members _more add up the names
// beyond maxNames. Minutes are the latest 240 with a scan, oldest first. Inside counts the guests that have not left, those of LetIn too: whom a
// phone let in with a ticket that is refused. At a daily event it counts those of today, which begins as the event says. Guests counts a guest of
// today once, Entries each time. Zone is the server's time zone.
type statusView struct {
	EventID   int64                   `json:"event_id"`
	Issued    int                     `json:"issued"`
	Admitted  int                     `json:"admitted"`
	Doubles   int                     `json:"double_entries"`
	Inside    int                     `json:"inside"`
	Outcomes  map[outcome.Outcome]int `json:"outcomes"`
	Types     map[string]typeCount    `json:"types"`
	TypesMore typeCount               `json:"types_more"`
	Doors     map[string]int          `json:"doors"`
	DoorsMore int                     `json:"doors_more"`
	Minutes   []minuteView            `json:"minutes"`
	LetIn     int                     `json:"let_in"`
	Guests    int                     `json:"guests_today"`
	Entries   int                     `json:"entries_today"`
	Closed    []string                `json:"closed_doors"`
	Zone      string                  `json:"zone"`
}

type typeCount struct {
	Issued   int `json:"issued"`
	Admitted int `json:"admitted"`
}

type minuteView struct {
	Minute   jsontext.Value `json:"minute"`
	Admitted int            `json:"admitted"`
	Refused  int            `json:"refused"`
}

// status answers GET /door/v1/event/{id}/status/.
func status(x *exchange, event int64) error {
	st, err := x.store().Door.Status(x.caller, event)
	if err != nil {
		return err
	}
	return x.answer(http.StatusOK, viewStatus(event, st, x.store().Tables.Clock.Zone()))
}

func viewStatus(event int64, st door.Status, zone *time.Location) statusView {
	v := statusView{EventID: event, Issued: st.Issued, Admitted: st.Admitted, Doubles: st.Doubles, Inside: st.Inside, Outcomes: st.Outcomes,
		Types: map[string]typeCount{}, Doors: map[string]int{}, Minutes: make([]minuteView, len(st.Minutes)),
		LetIn: st.LetIn, Guests: st.GuestsToday, Entries: st.EntriesToday, Closed: append([]string{}, slices.Sorted(maps.Keys(st.Closed))...), Zone: zone.String()}
	types := most(st.Types, func(a, b door.TypeCount) int { return cmp.Or(b.Admitted-a.Admitted, b.Issued-a.Issued) })
	for i, name := range types {
		n := st.Types[name]
		if i < maxNames {
			v.Types[name] = typeCount(n)
			continue
		}
		v.TypesMore = typeCount{v.TypesMore.Issued + n.Issued, v.TypesMore.Admitted + n.Admitted}
	}
	for i, name := range most(st.Doors, func(a, b int) int { return b - a }) {
		if i < maxNames {
			v.Doors[name] = st.Doors[name]
			continue
		}
		v.DoorsMore += st.Doors[name]
	}
	for i, m := range st.Minutes {
		v.Minutes[i] = minuteView{value.Time(m.Minute), m.Admitted, m.Refused}
	}
	return v
}

// most lists the names of counts, the largest first.
func most[N any](counts map[string]N, order func(a, b N) int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(order(counts[a], counts[b]), cmp.Compare(a, b)) })
}
