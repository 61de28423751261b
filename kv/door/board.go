package door

import (
	"maps"
	"slices"
	"sync"
	"time"

	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// boards are the counts of the events that callers ask about.
type boards struct {
	mu     sync.Mutex
	events map[int64]*board
	asked  int64
}

// maxBoards is how many events are kept counted. The one that was asked about longest ago goes first.
const maxBoards = 64

// of finds an event's board, or begins one.
func (bs *boards) of(event int64) *board {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	b := bs.events[event]
	if b == nil {
		b = &board{event: event}
		if bs.events == nil {
			bs.events = map[int64]*board{}
		}
		if len(bs.events) >= maxBoards {
			bs.drop()
		}
		bs.events[event] = b
	}
	bs.asked++
	b.asked = bs.asked
	return b
}

func (bs *boards) drop() {
	oldest := int64(0)
	for event, b := range bs.events {
		if old := bs.events[oldest]; old == nil || b.asked < old.asked {
			oldest = event
		}
	}
	delete(bs.events, oldest)
}

// board counts one event. It reads the log when a caller asks for the counts, so a check-in costs nothing more. It keeps the outcome that it
// counted for each fact, so it can count a fact again when a row comes twice or when an undo or an earlier check-in changes the outcome.
type board struct {
	event    int64
	asked    int64 // guarded by boards.mu
	mu       sync.Mutex
	upto     uint64 // of the log
	releases uint64 // as Commits counts them, when the counting began
	read     bool   // what was there before has been counted
	doubles  int
	tickets  map[int64]*boardTicket
	checkins map[record.ID]outcome.Outcome // "" = neither admitted nor anything else
	refused  map[record.ID]bool
	tally
}

// tally is what a board has counted.
type tally struct {
	outcomes map[outcome.Outcome]int
	types    map[string]TypeCount
	doors    map[string]int
	scanned  map[string]time.Time  // by door
	minutes  map[int64]MinuteCount // by Unix minute
	recent   moments
}

// boardTicket is a ticket as it was counted.
type boardTicket struct {
	sort     string // its type
	issued   bool
	admitted int
}

// status copies what has been counted. A minute more than a day ahead comes from a broken clock and is left out.
func (b *board) status(now time.Time) Status {
	st := Status{Doubles: b.doubles, Outcomes: map[outcome.Outcome]int{}, Types: map[string]TypeCount{}, Doors: map[string]int{}, Scanned: maps.Clone(b.scanned), Minutes: []MinuteCount{}, Recent: b.recent.latest()}
	for _, o := range outcome.All() {
		st.Outcomes[o] = b.outcomes[o]
	}
	st.Admitted = b.outcomes[outcome.Admitted]
	st.Inside = st.Admitted - b.outcomes[outcome.Left]
	for sort, n := range b.types {
		if n != (TypeCount{}) {
			st.Types[sort] = n
			st.Issued += n.Issued
		}
	}
	for door, n := range b.doors {
		if n > 0 {
			st.Doors[door] = n
		}
	}
	for _, m := range b.minutes {
		if m.Admitted+m.Refused > 0 && m.Minute.Before(now.AddDate(0, 0, 1)) {
			st.Minutes = append(st.Minutes, m)
		}
	}
	slices.SortFunc(st.Minutes, func(a, b MinuteCount) int { return a.Minute.Compare(b.Minute) })
	st.Minutes = st.Minutes[max(0, len(st.Minutes)-maxMinutes):]
	return st
}

// ticket counts a ticket as it is now; one that is gone has no body.
func (b *board) ticket(st *table.Stored) {
	t := b.ticketOf(st.ID.Int())
	b.count(t, -1)
	t.sort, t.issued = value.Unquote(st.Body.Member("type")), table.Issued(record.Ticket, st.Body)
	b.count(t, 1)
}

// ticketOf finds a ticket, or begins one that is not here yet.
func (b *board) ticketOf(id int64) *boardTicket {
	t := b.tickets[id]
	if t == nil {
		t = &boardTicket{}
		b.tickets[id] = t
	}
	return t
}

// count adds a ticket to its type, or takes it off.
func (b *board) count(t *boardTicket, by int) {
	n := b.types[t.sort]
	if t.issued {
		n.Issued += by
	}
	n.Admitted += by * t.admitted
	b.types[t.sort] = n
}

// checkin counts a check-in as what it is now.
func (b *board) checkin(st *table.Stored, is outcome.Outcome) {
	was, known := b.checkins[st.ID]
	if known && was == is {
		return
	}
	b.checkins[st.ID] = is
	b.outcomes[was]--
	b.outcomes[is]++
	if was == outcome.Admitted {
		b.admit(st, -1)
	}
	if is == outcome.Admitted {
		b.admit(st, 1)
	}
}

// admit adds an admission to its door, minute and type, or takes it off.
func (b *board) admit(st *table.Stored, by int) {
	b.doors[value.Unquote(st.Body.Member("door"))] += by
	b.minute(st, by, 0)
	t := b.ticketOf(table.IntOf(st.Body.Member("ticket_id")))
	b.count(t, -1)
	t.admitted += by
	b.count(t, 1)
}

// scan notes when a fact was made at its door, and its outcome. The clock of another store may be wrong. The fact carries its offset from
// the centre's clock, which corrects it. No fact is made later than it came here.
func (b *board) scan(v *table.View, k *record.Kind, st *table.Stored, is outcome.Outcome) {
	door := value.Unquote(st.Body.Member("door"))
	at, _ := table.TimeOf(st.Body.Member("at")) // facts have one
	if value.Unquote(st.Body.Member("node")) != v.Store.Identity.Node() {
		ours, _ := v.Store.Clock.Offset() // 0 at the centre
		at = at.Add(time.Duration(table.IntOf(st.Body.Member("clock_offset_ms"))-ours) * time.Millisecond)
	}
	if came := st.Updated(); came.Before(at) {
		at = came
	}
	if at.After(b.scanned[door]) {
		b.scanned[door] = at
	}
	b.recent.note(k, st, at, is)
}

func (b *board) minute(st *table.Stored, admitted, refused int) {
	at, _ := table.TimeOf(st.Body.Member("at")) // facts have one
	at = at.Truncate(time.Minute)
	m := b.minutes[at.Unix()]
	m.Minute, m.Admitted, m.Refused = at, m.Admitted+admitted, m.Refused+refused
	b.minutes[at.Unix()] = m
}

// refusal counts a refusal once.
func (b *board) refusal(st *table.Stored) {
	if b.refused[st.ID] {
		return
	}
	b.refused[st.ID] = true
	b.outcomes[outcome.Outcome(value.Unquote(st.Body.Member("outcome")))]++
	b.minute(st, 0, 1)
}
