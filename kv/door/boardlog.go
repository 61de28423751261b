package door

import (
	"time"

	"doorward/kv/admission"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// boardPage is how many rows a board reads in one View.
const boardPage = 2000

// boardKinds are what a board reads of an event. Tickets come first: an admission is counted with its ticket's type.
var boardKinds = [...]*record.Kind{record.Ticket, record.Checkin, record.Scan}

// follow brings a board up to the latest commit.
func (b *board) follow(s *table.Set) error {
	far, err := isFarBehind(b, s)
	if err == nil && far {
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
	b.tally = tally{outcomes: map[outcome.Outcome]int{}, types: map[string]TypeCount{}, doors: map[string]int{}, scanned: map[string]time.Time{}, minutes: map[int64]MinuteCount{}, recent: moments{}}
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
		leave(b, k, id)
		return nil
	}
	return count(v, k, st)
}

// leave takes off a ticket that was the event's and is now another's.
func leave(b *board, k *record.Kind, id record.ID) {
	if k == record.Ticket && b.tickets[id.Int()] != nil {
		b.ticket(&table.Stored{ID: id})
	}
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
