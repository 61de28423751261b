package kv

import (
	"time"

	"doorward/kv/record"
	"doorward/kv/value"
)

// boardPage is how many rows a board reads in one View.
const boardPage = 2000

// boardKinds are what a board reads of an event. Tickets come first: an admission is counted with its ticket's type.
var boardKinds = [...]*record.Kind{record.Ticket, record.Checkin, record.Scan}

// follow brings a board up to the latest commit.
func (b *board) follow(s *tables) error {
	if !b.read || b.behind(s.Seq()) > uint64(s.current().kind(record.Checkin).home.of(b.event).len())+100*boardPage {
		if err := b.rebuild(s); err != nil {
			return err
		}
	}
	for changed := false; ; {
		seen, moved := 0, false
		err := s.view(func(v *sight) (err error) {
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

// behind is how many sequences a board has not read of so many: it may have read a commit that Seq does not tell of yet.
func (b *board) behind(seq uint64) uint64 { return seq - min(seq, b.upto) }

// rebuild counts everything there is. The log is followed from before the first look.
func (b *board) rebuild(s *tables) error {
	b.tickets, b.checkins, b.refused = map[int64]*boardTicket{}, map[record.ID]Outcome{}, map[record.ID]bool{}
	b.tally = tally{outcomes: map[Outcome]int{}, types: map[string]TypeCount{}, doors: map[string]int{}, scanned: map[string]time.Time{}, minutes: map[int64]MinuteCount{}, recent: moments{}}
	b.upto = s.Seq()
	for _, k := range boardKinds {
		var last record.ID
		for n := boardPage; n == boardPage; {
			err := s.view(func(v *sight) (err error) {
				n, last, err = b.next(v, k, last)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	b.read = true
	return s.view(b.countDoubles)
}

// next counts the event's records of a kind that come after one.
func (b *board) next(v *sight, k *record.Kind, last record.ID) (n int, end record.ID, err error) {
	if v.lists.kind(k).doubtful {
		return 0, last, errDoubtful(k)
	}
	list := v.lists.kind(k).home.of(b.event)
	from := list.rank(last)
	if list.contains(last) {
		from++
	}
	ids := list.page(nil, from, boardPage)
	for _, id := range ids {
		if err := b.look(v, k, id, b.alone); err != nil {
			return 0, last, err
		}
		last = id
	}
	return len(ids), last, nil
}

// page reads some rows of the log, and tells whether facts or tickets were among them.
func (b *board) page(v *sight) (seen int, moved bool, err error) {
	err = v.Scan(logBucket, nil, seqKey(b.upto+1), func(key, row []byte) (bool, error) {
		c, err := parseLog(key, row)
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
type counter func(*sight, *record.Kind, *stored) error

// look counts one record if it is the event's. Where one is damaged there is no count: it would be wrong without saying so.
func (b *board) look(v *sight, k *record.Kind, id record.ID, count counter) error {
	st, err := v.loadAny(k, id)
	if err != nil || st == nil || st.home(k) != b.event {
		return err
	}
	return count(v, k, st)
}

// alone counts a record where all others are looked at too.
func (b *board) alone(v *sight, k *record.Kind, st *stored) error {
	if k == record.Checkin {
		return b.judge(v, st)
	}
	return b.record(v, k, st)
}

// record counts a record, and what it may have changed.
func (b *board) record(v *sight, k *record.Kind, st *stored) error {
	switch k {
	case record.Ticket:
		if st.deleted {
			st = &stored{id: st.id}
		}
		b.ticket(st)
	case record.Scan:
		b.scan(v, k, st, Outcome(value.Unquote(st.body.Member("outcome"))))
		b.refusal(st)
	case record.Checkin:
		return b.turn(v, st)
	case record.Undo:
		id, _ := record.Checkin.ParseID(value.Unquote(st.body.Member("checkin_id"))) // an undo has one
		checkin, err := v.load(record.Checkin, id)
		if err != nil || checkin == nil || checkin.home(record.Checkin) != b.event {
			return err // it is not here yet
		}
		return b.turn(v, checkin)
	}
	return nil
}

// turn counts a check-in, and those that it may have turned into something else, as they are now.
func (b *board) turn(v *sight, st *stored) error {
	if err := b.judge(v, st); err != nil {
		return err
	}
	e := standOf(st)
	return afterwards(v, &e, func(next *stored) error { return b.judge(v, next) })
}

func (b *board) judge(v *sight, st *stored) error {
	is, err := countsAs(v, st)
	if err == nil && st.home(record.Checkin) == b.event {
		b.scan(v, record.Checkin, st, is)
		b.checkin(st, is)
	}
	return err
}

// countsAs is what a check-in counts as: Admitted, AlreadyAdmitted, Undone, Left, NotInside, or "".
func countsAs(v *sight, st *stored) (Outcome, error) {
	e := standOf(st)
	if !e.counts {
		return "", nil
	}
	listed, err := v.Get(admissionBucket, e.doubleKey())
	if err != nil || string(listed) == string(AlreadyAdmitted) {
		return AlreadyAdmitted, err
	}
	if undone, err := undone(v, st.id); err != nil || undone {
		return Undone, err
	}
	if !e.out {
		return Admitted, nil
	}
	first, err := entered(v, &e, &e.admission)
	if err != nil || first == nil {
		return NotInside, err
	}
	return Left, nil
}

// countDoubles counts the event's double entries.
func (b *board) countDoubles(v *sight) error {
	b.doubles = 0
	return v.Scan(admissionBucket, eventDoubles(nil, b.event), nil, func(_, _ []byte) (bool, error) {
		b.doubles++
		return true, nil
	})
}
