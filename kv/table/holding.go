package table

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/value"
)

// NoTicket is the place of the ticket's id until that is known.
var NoTicket = jsontext.Value("0")

const maxDigits = 20 // of an id

// Place writes the ticket's id into a record of a holding. It is the last member of the body and of the canonical text.
func (m *Made) Place(ticket record.ID) {
	m.Doc.Set("ticket_id", value.Number(ticket.Int()))
	last := func(text []byte, end int) []byte {
		placed := append(make([]byte, 0, len(text)+maxDigits), text[:end]...)
		return append(strconv.AppendInt(placed, ticket.Int(), 10), text[end+len(NoTicket):]...)
	}
	m.Body.Shown = last(m.Body.Shown, len(m.Body.Shown)-len(NoTicket))
	m.Canonical = last(m.Canonical, len(m.Canonical)-len(NoTicket)-len("}"))
	m.Revision = rev.Next(rev.ID{}, false, m.Canonical)
}
