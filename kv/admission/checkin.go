package admission

import (
	"encoding/binary"
	"encoding/hex"
	"math"

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
	unknown       bool // this version does not know its list or its direction, or nothing can come after it
}

// lastStamp is the last hybrid time that there is. A check-in out that has it does not count, because no check-in in comes after it: the
// guest would be let in without end.
const lastStamp = math.MaxUint64

// Of reads a stored check-in.
func Of(st *table.Stored) Checkin {
	b := st.Body
	c := Checkin{Place: Place{ID: st.ID}, Event: table.IntOf(b.Member("event_id")), Ticket: table.IntOf(b.Member("ticket_id")),
		CodeHash: table.HashOf(b.Member("code_hash")), List: value.Unquote(b.Member("list"))}
	var hlc [8]byte
	if text := value.Unquote(b.Member("hlc")); len(text) == 2*len(hlc) {
		_, _ = hex.Decode(hlc[:], []byte(text)) // another text is no clock's reading: zero
	}
	c.Hlc = binary.BigEndian.Uint64(hlc[:])
	direction := Direction(value.Unquote(b.Member("direction")))
	c.Out = direction == Out
	c.unknown = !known(c.List, direction) || c.Out && c.Hlc == lastStamp
	return c
}

// known reports whether this version knows a list and a direction. Check-ins of others are stored and admit no holder.
func known(list string, direction Direction) bool {
	if list != "" {
		if _, day := value.ParseDate(list); !day {
			return false
		}
	}
	return direction == In || direction == Out
}

// rows are the prefixes of the rows of its code and of its ticket that lead in, or out, as far as it names them.
func (c *Checkin) rows(out bool) (rows [][]byte) {
	code, ticket := byte(byCode), byte(byTicket)
	if out {
		code, ticket = byCodeOut, byTicketOut
	}
	if c.CodeHash != (table.CodeHash{}) {
		rows = append(rows, codeRows([]byte{code}, c.Event, c.CodeHash, c.List))
	}
	if c.Ticket != 0 {
		rows = append(rows, ticketRows([]byte{ticket}, c.Ticket, c.Event, c.List))
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
	code, ticket := byte(byCode), byte(byTicket)
	if c.Out {
		code, ticket = byCodeOut, byTicketOut
	}
	var buf [128]byte
	o.Put(table.AdmissionBucket, c.appendTo(codeRows(append(buf[:0], code), c.Event, c.CodeHash, c.List)), nil)
	o.Put(table.AdmissionBucket, c.appendTo(ticketRows(append(buf[:0], ticket), c.Ticket, c.Event, c.List)), nil)
}

// Fewer returns nil while the code of a check-in has fewer check-ins in its direction than a limit. Otherwise it returns a *Forbidden
// with the reason.
func (c *Checkin) Fewer(v *table.View, limit int, reason string) error {
	letter := byte(byCode)
	if c.Out {
		letter = byCodeOut
	}
	return table.Fewer(v, table.AdmissionBucket, codeRows([]byte{letter}, c.Event, c.CodeHash, c.List), limit, reason)
}
