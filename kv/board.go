package kv

import (
	"maps"
	"slices"
	"sync"
	"time"

	"doorward/kv/engine"
	"doorward/kv/record"
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

// countDoubles reads how many double entries there are. One that is damaged is left out of the number.
func (s *tables) countDoubles(r *engine.View, found *damages) {
	n := int64(0)
	sound(r, admissionBucket, []byte{byDouble}, func(_, _ []byte) { n++ }, func(key []byte) { found.add(damagedRow(admissionBucket, key)) })
	s.doubles.Store(n)
}

// board counts one event. It follows the log when a caller asks it, so that doors pay nothing for it. It keeps the outcome that
// it counted for each fact. So it can count a fact again if it meets a row twice, or if an undo or an earlier check-in changes
// the outcome of a check-in.
type board struct {
	event    int64
	asked    int64 // guarded by boards.mu
	mu       sync.Mutex
	upto     uint64 // of the log
	read     bool   // what was there before has been counted
	doubles  int
	tickets  map[int64]*boardTicket
	checkins map[record.ID]Outcome // "" = neither admitted nor anything else
	refused  map[record.ID]bool
	tally
}

// tally is what a board has counted.
type tally struct {
	outcomes map[Outcome]int
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

// status copies what has been counted. Minutes that lie ahead of the clock by more than a day are a broken clock's, and left out.
func (b *board) status(now time.Time) Status {
	st := Status{Doubles: b.doubles, Outcomes: map[Outcome]int{}, Types: map[string]TypeCount{}, Doors: map[string]int{}, Scanned: maps.Clone(b.scanned), Minutes: []MinuteCount{}, Recent: b.recent.latest()}
	for _, o := range Outcomes() {
		st.Outcomes[o] = b.outcomes[o]
	}
	st.Admitted = b.outcomes[Admitted]
	st.Inside = st.Admitted - b.outcomes[Left]
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
func (b *board) ticket(st *stored) {
	t := b.ticketOf(st.id.Int())
	b.count(t, -1)
	t.sort, t.issued = value.Unquote(st.body.Member("type")), issued(record.Ticket, st.body)
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
func (b *board) checkin(st *stored, is Outcome) {
	was, known := b.checkins[st.id]
	if known && was == is {
		return
	}
	b.checkins[st.id] = is
	b.outcomes[was]--
	b.outcomes[is]++
	if was == Admitted {
		b.admit(st, -1)
	}
	if is == Admitted {
		b.admit(st, 1)
	}
}

// admit adds an admission to its door, minute and type, or takes it off.
func (b *board) admit(st *stored, by int) {
	b.doors[value.Unquote(st.body.Member("door"))] += by
	b.minute(st, by, 0)
	t := b.ticketOf(intOf(st.body.Member("ticket_id")))
	b.count(t, -1)
	t.admitted += by
	b.count(t, 1)
}

// scan notes when a fact was made at its door, and what it counts as. The clock of another store may be wrong: its measure against the centre's, which the fact
// carries, corrects it, and a fact cannot be made later than it came here.
func (b *board) scan(v *sight, k *record.Kind, st *stored, is Outcome) {
	door := value.Unquote(st.body.Member("door"))
	at, _ := timeOf(st.body.Member("at")) // facts have one
	if value.Unquote(st.body.Member("node")) != v.store.identity.node {
		ours, _ := v.store.offset() // 0 at the centre
		at = at.Add(time.Duration(intOf(st.body.Member("clock_offset_ms"))-ours) * time.Millisecond)
	}
	if came := st.updated(); came.Before(at) {
		at = came
	}
	if at.After(b.scanned[door]) {
		b.scanned[door] = at
	}
	b.recent.note(k, st, at, is)
}

func (b *board) minute(st *stored, admitted, refused int) {
	at, _ := timeOf(st.body.Member("at")) // facts have one
	at = at.Truncate(time.Minute)
	m := b.minutes[at.Unix()]
	m.Minute, m.Admitted, m.Refused = at, m.Admitted+admitted, m.Refused+refused
	b.minutes[at.Unix()] = m
}

// refusal counts a refusal once.
func (b *board) refusal(st *stored) {
	if b.refused[st.id] {
		return
	}
	b.refused[st.id] = true
	b.outcomes[Outcome(value.Unquote(st.body.Member("outcome")))]++
	b.minute(st, 0, 1)
}
