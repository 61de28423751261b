package table

import "encoding/binary"

// Admission rows lead to check-ins in the order that decides which was first, hlc then id: by event, code hash and list, and
// by ticket and list. The row by code names the ticket's exact code, so that two tickets of one code admit once. Check-ins that
// lead out have rows of their own, in the same order (inside.go).
const ByCode = 'c'

const ByTicket = 't'

// TicketAdmissions is the prefix of all check-ins in of a ticket.
func TicketAdmissions(dst []byte, ticket int64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, ByTicket), uint64(ticket))
}
