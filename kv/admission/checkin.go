package admission

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"time"

	"doorward/kv/engine"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// Direction is where a check-in leads, as its fact says.
type Direction string

// The directions.
const (
	In  Direction = "in"
	Out Direction = "out"
)

// Checkin is a check-in with all that decides whether it counts. Without a place it is one that is about to be written.
type Checkin struct {
	Place
	Event, Ticket int64 // Ticket 0: none
	CodeHash      table.CodeHash
	List          string
	Out           bool
	Verdict       outcome.Outcome // why the guest would have been refused; "": a guest who would not
	unknown       bool            // it does not count: see doc.go
	waits         bool            // nor does it, until staff accept it
}

// lastStamp is the last hybrid time that there is. A check-in out that has it does not count, because no check-in in comes after it: the
// guest would be let in without end.
const lastStamp = math.MaxUint64

// Of reads a stored check-in.
func Of(st *table.Stored) Checkin {
	b := st.Body
	c := Checkin{Place: Place{ID: st.ID}, Event: value.Int(b.Member("event_id")), Ticket: value.Int(b.Member("ticket_id")),
		CodeHash: table.HashOf(b.Member("code_hash")), List: value.Unquote(b.Member("list"))}
	var hlc [8]byte
	if text := value.Unquote(b.Member("hlc")); len(text) == 2*len(hlc) {
		_, _ = hex.Decode(hlc[:], []byte(text)) // another text is no clock's reading: zero
	}
	c.Hlc = binary.BigEndian.Uint64(hlc[:])
	direction := Direction(value.Unquote(b.Member("direction")))
	c.Out = direction == Out
	c.Verdict = outcome.Outcome(value.Unquote(b.Member("verdict")))
	c.unknown = !known(c.List, direction) || c.Out && c.Hlc == lastStamp
	if c.Verdict != "" {
		c.unknown = c.unknown || c.Out || !c.Verdict.Refuses()
		c.waits = !c.unknown && needsReview(b)
		c.unknown = c.unknown || c.waits
	}
	return c
}

// Waits reports whether a check-in with a verdict waits for staff. It counts once they accept it.
func (c *Checkin) Waits() bool { return c.waits }

// needsReview reports whether a fact waits for staff.
func needsReview(b record.Body) bool {
	return slices.Contains(value.ReadTexts(b.Member("flags")), FlagNeedsReview)
}

// known reports whether this version knows a list and a direction. Check-ins of others are stored and admit no holder.
func known(list string, direction Direction) bool {
	if list != "" {
		if _, err := time.Parse(time.DateOnly, list); err != nil { // west of Greenwich the year 1 of a scanner begins in the year 0
			return false
		}
	}
	return direction == In || direction == Out
}

// rows are the prefixes of the rows of its code and of its ticket that lead in, or out, as far as it names them.
func (c *Checkin) rows(out bool) (rows [][]byte) {
	code, ticket := letters(out)
	if c.CodeHash != (table.CodeHash{}) {
		rows = append(rows, c.codeRows([]byte{code}))
	}
	if c.Ticket != 0 {
		rows = append(rows, c.ticketRows([]byte{ticket}))
	}
	return rows
}

// doubleKey is its row among the double entries.
func (c *Checkin) doubleKey() []byte { return c.appendTo(Doubles(c.Event)) }

// Keys are the rows of a stored record that lead to it in the order of check-ins. A record of another kind has none, and neither has
// a check-in with a list or a direction that this version does not know, or a check-in out with the last stamp.
func Keys(k *record.Kind, st *table.Stored) (keys [][]byte) {
	if k != record.Checkin {
		return nil
	}
	c := Of(st)
	if c.unknown {
		return nil
	}
	for _, prefix := range c.rows(c.Out) {
		keys = append(keys, c.appendTo(prefix))
	}
	return keys
}

// Add writes the rows of a check-in that a door has just made, with its code and its ticket.
func Add(o *table.Tx, c *Checkin) {
	code, ticket := letters(c.Out)
	var buf [128]byte
	o.Put(table.AdmissionBucket, c.appendTo(c.codeRows(append(buf[:0], code))), nil)
	o.Put(table.AdmissionBucket, c.appendTo(c.ticketRows(append(buf[:0], ticket))), nil)
}

// Fewer returns nil while the code of a check-in has fewer check-ins in its direction than a limit. Otherwise it returns a *Forbidden
// with the reason.
func (c *Checkin) Fewer(v *table.View, limit int, reason string) error {
	code, _ := letters(c.Out)
	return table.Fewer(v, table.AdmissionBucket, c.codeRows([]byte{code}), limit, reason)
}

// The flags of facts that staff have to review.
const (
	FlagNeedsReview  = "needs_review"  // a laptop wrote or brought the fact after it was revoked
	FlagClockSuspect = "clock_suspect" // the machine's clock was doubted when the fact was written, or its scanner's clock said a time that cannot be
)

// MayBring returns a *Forbidden if the code of a check-in that a laptop brings has as many check-ins as laptops may bring.
func MayBring(o *table.Tx, d *record.Doc) error {
	c := Checkin{Event: d.Int("event_id"), CodeHash: table.HashOf(d.Value("code_hash")), List: d.Text("list"), Out: Direction(d.Text("direction")) == Out}
	return c.Fewer(o.View, o.Store.Rules.Limits.Checkins, "the code has been checked in too often")
}

// IndexFact writes the lookups of a new fact.
func IndexFact(o *table.Tx, k *record.Kind, st *table.Stored) {
	for i := range k.Fields {
		field := &k.Fields[i]
		if !field.Flags.Has(record.Indexed) {
			continue
		}
		for v := range table.Indexed(st.Body.Member(field.Name)) {
			if key, ok := table.AppendIndexed(table.LookupPrefix(o.Scratch[:0], k, field.Name), field, v); ok {
				o.Scratch = k.AppendID(key, st.ID)
				o.Put(table.LookupBucket, o.Scratch, nil)
			}
		}
	}
}

// The letters that the rows of check-ins begin with.
const (
	byCode      = 'c'
	byCodeOut   = 'o'
	byTicket    = 't'
	byTicketOut = 'u'
)

// letters are those of the rows that lead in, or out: by code and by ticket.
func letters(out bool) (code, ticket byte) {
	if out {
		return byCodeOut, byTicketOut
	}
	return byCode, byTicket
}

// codeRows appends to a letter the rest of a prefix by its code.
func (c *Checkin) codeRows(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(c.Event))
	return append(append(append(dst, c.CodeHash[:]...), c.List...), 0)
}

// ticketRows appends to a letter the rest of a prefix by its ticket.
func (c *Checkin) ticketRows(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, uint64(c.Ticket)), uint64(c.Event))
	return append(append(dst, c.List...), 0)
}

// OfTicket returns the check-ins in of a ticket, on all lists.
func OfTicket(v *table.View, ticket record.ID) (ids []record.ID, err error) {
	prefix := binary.BigEndian.AppendUint64([]byte{byTicket}, uint64(ticket.Int()))
	return table.IDsUnder(v, table.AdmissionBucket, prefix, record.Checkin)
}

// AllDoubles is the prefix of the double entries of all events.
func AllDoubles() []byte { return []byte{table.ByDouble} }

// Doubles is the prefix of the double entries of an event.
func Doubles(event int64) []byte {
	return binary.BigEndian.AppendUint64(AllDoubles(), uint64(event))
}

// Place is where a check-in stands in the order.
type Place struct {
	Hlc uint64
	ID  record.ID
}

func (p Place) before(other Place) bool {
	return p.Hlc < other.Hlc || p.Hlc == other.Hlc && p.ID.Compare(other.ID) < 0
}

// appendTo appends a place to the prefix of its rows.
func (p Place) appendTo(prefix []byte) []byte {
	return record.Checkin.AppendID(binary.BigEndian.AppendUint64(prefix, p.Hlc), p.ID)
}

// placeIn is the place that a row under a prefix names.
func placeIn(prefix, key []byte) (p Place, err error) {
	if len(key) != len(prefix)+24 {
		return p, engine.ErrCorrupt
	}
	id, _ := record.Checkin.KeyID(key[len(prefix)+8:]) // its length is right
	return Place{binary.BigEndian.Uint64(key[len(prefix):]), id}, nil
}

// First returns the check-in by which the holder of a code or its ticket is inside now, on a list; nil for a holder outside. Of an event
// without check-ins out it is the first admission.
func First(v *table.View, c *Checkin) (*table.Stored, error) { return inside(v, c, nil) }

// Entered returns the check-in by which the holder was inside just before a check-in; nil if the holder was outside.
func (c *Checkin) Entered(v *table.View) (*table.Stored, error) { return inside(v, c, &c.Place) }

// inside is the check-in by which a holder is inside just before a place in the order: the first one in since the last one out. Without
// a place it is about now.
func inside(v *table.View, c *Checkin, before *Place) (*table.Stored, error) {
	first, err := c.firstIn(v, nil, before)
	if err != nil || first == nil {
		return nil, err
	}
	out, err := c.lastOut(v, before)
	if err != nil {
		return nil, err
	}
	if out != nil {
		if first, err = c.firstIn(v, out, before); err != nil || first == nil {
			return nil, err
		}
	}
	return v.Load(record.Checkin, first.ID)
}

// Came returns the first check-in by which the holder of a code or its ticket has ever come in, on a list; nil for a holder that never has.
func Came(v *table.View, c *Checkin) (*table.Stored, error) {
	first, err := c.firstIn(v, nil, nil)
	if err != nil || first == nil {
		return nil, err
	}
	return v.Load(record.Checkin, first.ID)
}

// LastOut returns the last check-in by which the holder of a code or its ticket was let out, on a list; nil for none.
func LastOut(v *table.View, c *Checkin) (*table.Stored, error) {
	last, err := c.lastOut(v, nil)
	if err != nil || last == nil {
		return nil, err
	}
	return v.Load(record.Checkin, last.ID)
}

// firstIn is the earliest check-in in between two places in the order that no undo names; nil for none.
func (c *Checkin) firstIn(v *table.View, after, before *Place) (first *Place, err error) {
	var buf [64]byte // each check-in looks here
	look := func(prefix []byte) error {
		found, err := earliest(v, prefix, after)
		if found != nil && (first == nil || found.before(*first)) {
			first = found
		}
		return err
	}
	if c.CodeHash != (table.CodeHash{}) {
		err = look(c.codeRows(append(buf[:0], byCode)))
	}
	if err == nil && c.Ticket != 0 {
		err = look(c.ticketRows(append(buf[:0], byTicket)))
	}
	if err != nil || first == nil || before != nil && !first.before(*before) {
		return nil, err
	}
	return first, nil
}

// earliest is the first row under a prefix, after a place in the order, whose check-in is not undone; nil for none.
func earliest(v *table.View, prefix []byte, after *Place) (first *Place, err error) {
	var from []byte
	if after != nil {
		from = after.appendTo(slices.Clone(prefix))
	}
	err = v.Scan(table.AdmissionBucket, prefix, from, func(key, _ []byte) (bool, error) {
		at, err := placeIn(prefix, key)
		if err != nil {
			return false, err
		}
		undone, err := Undone(v, at.ID)
		if err != nil || undone || after != nil && at.ID == after.ID {
			return true, err
		}
		first = &at
		return false, nil
	})
	return first, err
}

// lastOut is the last check-in out before a place in the order that no undo names; nil for none.
func (c *Checkin) lastOut(v *table.View, before *Place) (last *Place, err error) {
	for _, prefix := range c.rows(true) {
		var outs []Place
		err := v.Scan(table.AdmissionBucket, prefix, nil, func(key, _ []byte) (bool, error) {
			at, err := placeIn(prefix, key)
			if err != nil || before != nil && !at.before(*before) {
				return false, err
			}
			outs = append(outs, at)
			return true, nil
		})
		if err != nil {
			return nil, err
		}
		for _, at := range slices.Backward(outs) {
			undone, err := Undone(v, at.ID)
			if err != nil {
				return nil, err
			}
			if undone {
				continue
			}
			if last == nil || last.before(at) {
				last = &at
			}
			break
		}
	}
	return last, nil
}

// Next is the stamp after all check-ins of a code and its ticket, on a list, that lie ahead of a store's clock; 0 for none. A stamp too far
// ahead does not move that clock, but the next check-in must come after it in the order. Otherwise a guest with a way out in 2035 stays
// outside after each admission.
func (c *Checkin) Next(v *table.View, clock uint64) (hlc uint64, err error) {
	for _, prefix := range slices.Concat(c.rows(false), c.rows(true)) {
		err := v.Scan(table.AdmissionBucket, prefix, binary.BigEndian.AppendUint64(slices.Clone(prefix), clock+1), func(key, _ []byte) (bool, error) {
			at, err := placeIn(prefix, key)
			hlc = max(hlc, at.Hlc+1) // after the last stamp there is none: 0
			return err == nil, err
		})
		if err != nil {
			return 0, err
		}
	}
	if c.Out && hlc == lastStamp {
		hlc-- // it would not count
	}
	return hlc, nil
}

// Undone reports whether an undo of its own event names a check-in.
func Undone(v *table.View, checkin record.ID) (bool, error) {
	undo, err := UndoOf(v, checkin)
	return undo != nil, err
}

// UndoOf returns the undo of its own event that names a check-in, the one with the lowest id; nil for none.
func UndoOf(v *table.View, checkin record.ID) (*table.Stored, error) {
	undos, err := v.Lookup(record.Undo, "checkin_id", record.Checkin.FormatID(checkin))
	if err != nil || len(undos) == 0 {
		return nil, err
	}
	st, err := v.Load(record.Checkin, checkin)
	if err != nil || st == nil {
		return nil, err
	}
	for _, id := range undos {
		undo, err := v.Load(record.Undo, id)
		if err != nil {
			return nil, err
		}
		if undo != nil && bytes.Equal(undo.Body.Member("event_id"), st.Body.Member("event_id")) {
			return undo, nil
		}
	}
	return nil, nil
}
