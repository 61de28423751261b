package door

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"doorward/kv/admission"
	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/kv/value"
)

// maxBoards is how many events are kept counted. The one that was asked about longest ago goes first.
const maxBoards = 64

// boardOf finds an event's board, or begins one.
func (dk *Desk) boardOf(event int64) *board {
	if b, known := dk.boards.Get(event); known {
		return b
	}
	b := &board{event: event}
	if other, known, _ := dk.boards.PeekOrAdd(event, b); known {
		return other // another caller has begun it just now
	}
	return b
}

// board counts one event. It reads the log when a caller asks for the counts, so a check-in costs nothing more. It keeps the outcome that it
// counted for each fact, so it can count a fact again when a row comes twice or when an undo or an earlier check-in changes the outcome.
type board struct {
	event    int64
	days     days
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

// days is how an event's days are counted, and which one is counted apart.
type days struct {
	daily  bool // each check-in says its day by its list
	begin  value.TimeOfDay
	zone   *time.Location
	counts string // the date of today
}

func daysOf(event *table.Stored, now time.Time, zone *time.Location) days {
	begin := beginOf(event)
	return days{isDaily(event), begin, zone, begin.DayOf(now, zone)}
}

// has reports whether a check-in is of the day that is counted.
func (d *days) has(st *table.Stored) bool {
	if d.daily {
		return value.Unquote(st.Body.Member("list")) == d.counts
	}
	at, _ := table.TimeOf(st.Body.Member("at")) // facts have one
	return d.begin.DayOf(at, d.zone) == d.counts
}

// tally is what a board has counted.
type tally struct {
	letIn    int
	entries  int           // of today
	guests   map[int64]int // the entries of today by ticket; 0: those without one
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
	admitted int // its check-ins; at a daily event those of today
}

// status copies what has been counted. A minute more than a day ahead comes from a broken clock and is left out.
func (b *board) status(now time.Time) Status {
	st := Status{Doubles: b.doubles, Outcomes: map[outcome.Outcome]int{}, Types: map[string]TypeCount{}, Doors: map[string]int{}, Scanned: maps.Clone(b.scanned), Minutes: []MinuteCount{}, Recent: b.recent.latest()}
	for _, o := range outcome.All() {
		st.Outcomes[o] = b.outcomes[o]
	}
	st.Admitted = b.outcomes[outcome.Admitted]
	st.LetIn, st.EntriesToday, st.GuestsToday = b.letIn, b.entries, len(b.guests)
	if n, some := b.guests[0]; some {
		st.GuestsToday += n - 1 // each is another guest
	}
	st.Inside = st.Admitted + st.LetIn - b.outcomes[outcome.Left]
	if b.days.daily {
		st.Inside = st.EntriesToday
	}
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

// count adds a ticket to its type, or takes it off. A guest counts once, however often they came in.
func (b *board) count(t *boardTicket, by int) {
	n := b.types[t.sort]
	if t.issued {
		n.Issued += by
	}
	if t.admitted > 0 {
		n.Admitted += by
	}
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
	countEntry(b, st, was, -1)
	countEntry(b, st, is, 1)
}

// countEntry adds a check-in that brought a guest in, or takes it off.
func countEntry(b *board, st *table.Stored, as outcome.Outcome, by int) {
	switch {
	case as == outcome.Admitted:
		b.admit(st, by)
	case as.Refuses():
		b.letIn += by
		b.minute(st, 0, by)
	default:
		return
	}
	if !b.days.has(st) {
		return
	}
	ticket := value.Int(st.Body.Member("ticket_id"))
	b.entries += by
	if b.guests[ticket] += by; b.guests[ticket] == 0 {
		delete(b.guests, ticket)
	}
}

// admit adds an admission to its minute, door and type, or takes it off. At a daily event doors and types count today.
func (b *board) admit(st *table.Stored, by int) {
	b.minute(st, by, 0)
	if b.days.daily && !b.days.has(st) {
		return
	}
	b.doors[value.Unquote(st.Body.Member("door"))] += by
	t := b.ticketOf(value.Int(st.Body.Member("ticket_id")))
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
		at = at.Add(time.Duration(value.Int(st.Body.Member("clock_offset_ms"))-ours) * time.Millisecond)
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

// boardPage is how many rows a board reads in one View.
const boardPage = 2000

// boardKinds are what a board reads of an event. Tickets come first: an admission is counted with its ticket's type.
var boardKinds = [...]*record.Kind{record.Ticket, record.Checkin, record.Scan}

// follow brings a board up to the latest commit. Other days than it has counted are counted anew.
func (b *board) follow(s *table.Set, d days) error {
	far, err := isFarBehind(b, s)
	if far = far || b.days != d; err == nil && far {
		b.days = d
		err = b.rebuild(s)
	}
	if err != nil {
		return err
	}
	for changed := false; ; {
		seen, moved := 0, false
		err := s.View(func(v *table.View) (err error) {
			if seen, moved, err = b.page(v); err == nil && seen < boardPage && (changed || moved) {
				err = b.countDoubles(v)
			}
			return err
		})
		if err != nil {
			b.read = false
			return err
		}
		if changed = changed || moved; seen < boardPage {
			return nil
		}
	}
}

// isFarBehind tells whether reading the log takes longer than counting everything, or does not tell of records that were taken out of
// the file.
func isFarBehind(b *board, s *table.Set) (far bool, err error) {
	if !b.read || b.releases != s.Commits.Releases() {
		return true, nil
	}
	err = s.View(func(v *table.View) error {
		checkins := v.Lists.Kind(record.Checkin).Home.Of(b.event).Len()
		far = b.behind(s.Commits.Seq()) > uint64(checkins)+100*boardPage
		return nil
	})
	return far, err
}

// behind is how many sequences a board has not read of so many: it may have read a commit that Seq does not tell of yet.
func (b *board) behind(seq uint64) uint64 { return seq - min(seq, b.upto) }

// rebuild counts everything there is. The log is followed from before the first look.
func (b *board) rebuild(s *table.Set) error {
	b.tickets, b.checkins, b.refused = map[int64]*boardTicket{}, map[record.ID]outcome.Outcome{}, map[record.ID]bool{}
	b.tally = tally{guests: map[int64]int{}, outcomes: map[outcome.Outcome]int{}, types: map[string]TypeCount{}, doors: map[string]int{}, scanned: map[string]time.Time{}, minutes: map[int64]MinuteCount{}, recent: moments{}}
	b.upto, b.releases = s.Commits.Seq(), s.Commits.Releases()
	for _, k := range boardKinds {
		var last record.ID
		for n := boardPage; n == boardPage; {
			err := s.View(func(v *table.View) (err error) {
				n, last, err = b.next(v, k, last)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	b.read = true
	return s.View(b.countDoubles)
}

// next counts the event's records of a kind that come after one.
func (b *board) next(v *table.View, k *record.Kind, last record.ID) (n int, end record.ID, err error) {
	if v.Lists.Kind(k).Doubtful {
		return 0, last, table.ErrDoubtful(k)
	}
	list := v.Lists.Kind(k).Home.Of(b.event)
	from := list.Rank(last)
	if list.Contains(last) {
		from++
	}
	ids := list.Page(nil, from, boardPage)
	for _, id := range ids {
		if err := b.look(v, k, id, b.alone); err != nil {
			return 0, last, err
		}
		last = id
	}
	return len(ids), last, nil
}

// page reads some rows of the log, and tells whether facts or tickets were among them.
func (b *board) page(v *table.View) (seen int, moved bool, err error) {
	err = v.Scan(table.LogBucket, nil, table.SeqKey(b.upto+1), func(key, row []byte) (bool, error) {
		c, err := table.ParseLog(key, row)
		if err != nil {
			return false, err
		}
		seen, b.upto = seen+1, c.Seq
		if c.Kind.Class == record.Events {
			moved = true
			err = b.look(v, c.Kind, c.ID, b.record)
		}
		return seen < boardPage, err
	})
	return seen, moved, err
}

// counter counts one record as it is now.
type counter func(*table.View, *record.Kind, *table.Stored) error

// look counts one record if it is the event's. A damaged record is an error, because a count without it would be wrong.
func (b *board) look(v *table.View, k *record.Kind, id record.ID, count counter) error {
	st, err := v.LoadAny(k, id)
	if err != nil || st == nil {
		return err
	}
	if st.Home(k) != b.event {
		if k == record.Ticket && b.tickets[id.Int()] != nil {
			b.ticket(&table.Stored{ID: id}) // it was the event's and is now another's
		}
		return nil
	}
	return count(v, k, st)
}

// alone counts one record during a rebuild, which reads all the others too.
func (b *board) alone(v *table.View, k *record.Kind, st *table.Stored) error {
	if k == record.Checkin {
		return b.judge(v, st)
	}
	return b.record(v, k, st)
}

// record counts a changed record and each check-in that may have another outcome by it.
func (b *board) record(v *table.View, k *record.Kind, st *table.Stored) error {
	switch k {
	case record.Ticket:
		if st.Deleted {
			st = &table.Stored{ID: st.ID}
		}
		b.ticket(st)
	case record.Scan:
		b.scan(v, k, st, outcome.Outcome(value.Unquote(st.Body.Member("outcome"))))
		b.refusal(st)
	case record.Checkin:
		return b.turn(v, st)
	case record.Undo:
		id, _ := record.Checkin.ParseID(value.Unquote(st.Body.Member("checkin_id"))) // an undo has one
		checkin, err := v.Load(record.Checkin, id)
		if err != nil || checkin == nil || checkin.Home(record.Checkin) != b.event {
			return err // it is not here yet
		}
		return b.turn(v, checkin)
	}
	return nil
}

// turn counts a check-in and the ones after it that may have another outcome by it.
func (b *board) turn(v *table.View, st *table.Stored) error {
	if err := b.judge(v, st); err != nil {
		return err
	}
	c := admission.Of(st)
	return c.EachNext(v, func(next *table.Stored) error { return b.judge(v, next) })
}

// judge counts a check-in by its outcome now.
func (b *board) judge(v *table.View, st *table.Stored) error {
	c := admission.Of(st)
	is, err := c.Outcome(v)
	if err == nil && st.Home(record.Checkin) == b.event {
		b.scan(v, record.Checkin, st, is)
		b.checkin(st, is)
	}
	return err
}

// countDoubles counts the event's double entries.
func (b *board) countDoubles(v *table.View) error {
	b.doubles = 0
	return v.Scan(table.AdmissionBucket, admission.Doubles(b.event), nil, func(_, _ []byte) (bool, error) {
		b.doubles++
		return true, nil
	})
}

// Status is an event according to its facts. Each check-in counts once: as already admitted if it is a double entry of a holder
// that was in, as undone, as its verdict if a phone let the guest in against it, or else as admitted. It does not count if its list or
// direction is unknown. Refusals count as they are written: equal ones of a minute once.
type Status struct {
	Issued   int                     // tickets in state valid or unpaid
	Admitted int                     // check-ins in that count, of tickets that were good
	LetIn    int                     // those of guests whom a phone let in and this program would have refused
	Inside   int                     // of both, those of guests that have not left; at a daily event those of today
	Doubles  int                     // what DoubleEntries lists, the guests of LetIn among them
	Outcomes map[outcome.Outcome]int // of check-ins and refusals
	Types    map[string]TypeCount
	Doors    map[string]int       // admitted; at a daily event today
	Scanned  map[string]time.Time // by door, the last check-in or refusal that was made there, by this machine's clock
	Closed   map[string]time.Time // by door, since when a supervisor has closed it; without those that have scanned since
	Minutes  []MinuteCount        // the latest of them, oldest first
	Recent   []Moment             // the last check-ins and refusals, the latest first

	GuestsToday  int // that came in today, each once; the day begins as the event says
	EntriesToday int // theirs
}

// TypeCount counts the tickets of a type: those issued, and those whose guests came in. At a daily event these came in today.
type TypeCount struct{ Issued, Admitted int }

// MinuteCount counts the check-ins and refusals of one minute, by the wall clock of the node that recorded them.
type MinuteCount struct {
	Minute            time.Time
	Admitted, Refused int
}

// maxMinutes is how many minutes a Status has.
const maxMinutes = 240

// Status counts an event. It returns *Forbidden, or ErrNotFound if the event is not the principal's.
func (dk *Desk) Status(p auth.Principal, event int64) (Status, error) {
	if err := p.Check(record.Checkin.Resource, "GET"); err != nil {
		return Status{}, err
	}
	var d days
	err := dk.tables.View(func(v *table.View) error {
		st, err := entry.Find(v, p, record.Event, record.Int(event))
		if err == nil {
			d = daysOf(st, v.Now, v.Store.Clock.Zone())
		}
		return err
	})
	if err != nil {
		return Status{}, err
	}
	b := dk.boardOf(event)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.follow(dk.tables, d); err != nil {
		return Status{}, err
	}
	st := b.status(dk.tables.Clock.Now())
	err = dk.tables.View(func(v *table.View) (err error) {
		st.Closed, err = closed(v, event, st.Scanned)
		return err
	})
	return st, err
}

// EventChanged returns a channel that is closed by the next commit that changes an event, its tickets or its facts. The caller must call
// leave when it stops listening.
func (dk *Desk) EventChanged(event int64) (changed <-chan struct{}, leave func()) {
	return dk.tables.Commits.Bells.Hear(table.FeedName{Scope: scopes.Scope{Sort: scopes.Event, ID: event}})
}

// Moment is one of the last things that happened at an event's doors. It names no guest.
type Moment struct {
	ID      string    // of the check-in or refusal
	At      time.Time // by this machine's clock
	Door    string
	Outcome outcome.Outcome
	LetIn   bool  // a phone let the guest in against that outcome
	Key     int64 // that was used; 0 = the operator
}

// maxRecent is how many of them a Status has.
const maxRecent = 20

// moments are an event's last ones by their ids, some more than a Status has.
type moments map[record.ID]Moment

// note keeps a fact with its present outcome.
func (m moments) note(k *record.Kind, st *table.Stored, at time.Time, is outcome.Outcome) {
	m[st.ID] = Moment{ID: k.FormatID(st.ID), At: at, Door: value.Unquote(st.Body.Member("door")), Outcome: is, LetIn: k == record.Checkin && is.Refuses(), Key: value.Int(st.Body.Member("key_id"))}
	if len(m) < 4*maxRecent {
		return
	}
	keep := m.latest()
	clear(m)
	for _, one := range keep {
		id, _ := k.ParseID(one.ID) // it was made by FormatID
		m[id] = one
	}
}

// latest are the last ones, the latest first.
func (m moments) latest() []Moment {
	all := make([]Moment, 0, len(m))
	for _, one := range m {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Moment) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.ID, a.ID)) })
	return all[:min(len(all), maxRecent)]
}
