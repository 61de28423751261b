package table

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/value"
)

// NoTicket stands where the id of the ticket will be.
var NoTicket = jsontext.Value("0")

// Place gives a part of a holding the ticket's id. It is the last member of the body and of the canonical text.
func (m *Made) Place(ticket record.ID) {
	m.Doc.Set("ticket_id", value.Number(ticket.Int()))
	last := func(text []byte, end int) []byte {
		return append(strconv.AppendInt(text[:end:end], ticket.Int(), 10), text[end+len(NoTicket):]...)
	}
	m.Body.Shown = last(m.Body.Shown, len(m.Body.Shown)-len(NoTicket))
	m.Canonical = last(m.Canonical, len(m.Canonical)-len(NoTicket)-len("}"))
	m.Revision = rev.Next(rev.ID{}, false, m.Canonical)
}
