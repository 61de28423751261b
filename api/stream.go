package api

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"doorward/api/nullable"
	"doorward/api/query"
	"doorward/kv/door"
	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

const (
	typeEvents  = "text/event-stream"
	streamBeat  = 10 * time.Second       // between two events where nothing changes
	streamPause = 200 * time.Millisecond // between two events where much changes
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
	Doors     []doorView   `json:"doors"`
	Recent    []momentView `json:"recent"`
}

// doorView is a door. Pages are those that are open at it now: none, and the door is silent.
type doorView struct {
	Name      string         `json:"name"`
	Admitted  int            `json:"admitted"`
	ScannedAt jsontext.Value `json:"scanned_at"`
	Pages     int            `json:"pages"`
}

// momentView is one of the last scans. It names no guest.
type momentView struct {
	ID      string         `json:"id"`
	At      jsontext.Value `json:"at"`
	Door    string         `json:"door"`
	Outcome table.Outcome  `json:"outcome"`
	Own     bool           `json:"own"`
}

// doorParameter is what the document says of the door that listens.
var doorParameter = parameterDoc{name: "door", schema: map[string]any{"type": "string", "maxLength": maxDoor}, text: "The door that listens."}

// streamDoor answers GET /door/v1/event/{id}/stream/.
func streamDoor(x *exchange) error {
	id, err := event(x)
	if err != nil {
		return err
	}
	door, _ := query.Parse(x.request.URL.RawQuery).Last("door")
	if len([]rune(door)) > maxDoor {
		return unlessMissing(x, record.Event, id, fault.ByField{"door": {fault.TooLong(maxDoor)}})
	}
	if _, err := x.store().Door.Status(x.caller, id.Int()); err != nil {
		return err
	}
	x.Header().Set("Content-Type", typeEvents)
	x.WriteHeader(http.StatusOK)
	if x.request.Method == http.MethodHead {
		return nil
	}
	rc := http.NewResponseController(x)
	_ = rc.SetReadDeadline(time.Time{}) // a recorder in a test has none
	leave := x.server.company.join(id.Int(), door)
	defer leave()
	return x.follow(id.Int(), rc)
}

// follow writes events until the page, the key or the server goes.
func (x *exchange) follow(event int64, rc *http.ResponseController) error {
	beat := time.NewTicker(streamBeat)
	defer beat.Stop()
	for {
		changed, leave := x.store().Door.EventChanged(event)
		pages, moved := x.server.company.look(event)
		err := x.tell(event, pages, rc)
		if err == nil {
			err = x.await(beat.C, changed, moved)
		}
		leave()
		if err != nil {
			return err
		}
	}
}

// await waits for the next event's reason, and at least a pause.
func (x *exchange) await(beat <-chan time.Time, changed, moved <-chan struct{}) error {
	gone, ending := x.request.Context().Done(), x.server.company.ending
	pause := time.NewTimer(streamPause)
	defer pause.Stop()
	for _, reason := range []func() bool{
		func() bool { return waitFor(pause.C, nil, nil, gone, ending) },
		func() bool { return waitFor(beat, changed, moved, gone, ending) },
	} {
		if !reason() {
			return errGone
		}
	}
	return nil
}

// waitFor tells whether there is something to tell; false, and the page or the server is gone.
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

// tell writes one event. A key that is no longer good is told nothing.
func (x *exchange) tell(event int64, pages map[string]int, rc *http.ResponseController) error {
	if _, err := x.store().Keys.Standing(x.caller); err != nil {
		return err
	}
	st, err := x.store().Door.Status(x.caller, event)
	if err != nil {
		return err
	}
	line, err := statusEvent(viewBoard(event, st, pages, x.caller.Key(), x.store().Tables.Now()))
	if err != nil {
		return err
	}
	_ = rc.SetWriteDeadline(time.Now().Add(streamIdle)) // as above
	if _, err := x.Write(line); err != nil {
		return errGone
	}
	return unlessGone(rc.Flush())
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
		Doors: []doorView{}, Recent: make([]momentView, len(st.Recent))}
	names := map[string]bool{}
	for _, of := range []map[string]int{st.Doors, pages} {
		for name := range of {
			names[name] = true
		}
	}
	for name := range st.Scanned {
		names[name] = true
	}
	for name := range names {
		if name != "" {
			v.Doors = append(v.Doors, doorView{name, st.Doors[name], nullable.Time(st.Scanned[name]), pages[name]})
		}
	}
	slices.SortFunc(v.Doors, func(a, b doorView) int {
		return cmp.Or(min(b.Pages, 1)-min(a.Pages, 1), b.Admitted-a.Admitted, cmp.Compare(a.Name, b.Name))
	})
	v.Doors = v.Doors[:min(len(v.Doors), doorsShown)]
	for i, m := range st.Recent {
		v.Recent[i] = momentView{m.ID, value.Time(m.At), m.Door, m.Outcome, m.Key == key}
	}
	return v
}

// perMinute is about how many guests came in during the last sixty seconds: those of this minute, and the part of the last one that has not
// gone by.
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
	line, err := statusEvent(boardView{EventID: 7, Issued: 150, Admitted: 96, Inside: 96, PerMinute: 12,
		Doors: []doorView{{"North door", 96, at, 1}}, Recent: []momentView{{exampleULID, at, "North door", table.Admitted, true}}})
	if err != nil {
		panic(err) // it is the same each time
	}
	return string(line)
}
