package admission

import (
	"encoding/binary"

	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/table"
)

// The letters that the rows of check-ins begin with.
const (
	byCode      = 'c'
	byCodeOut   = 'o'
	byTicket    = 't'
	byTicketOut = 'u'
)

// codeRows appends to a letter the rest of a prefix by code.
func codeRows(dst []byte, event int64, hash table.CodeHash, list string) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(event))
	return append(append(append(dst, hash[:]...), list...), 0)
}

// ticketRows appends to a letter the rest of a prefix by ticket.
func ticketRows(dst []byte, ticket, event int64, list string) []byte {
	dst = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, uint64(ticket)), uint64(event))
	return append(append(dst, list...), 0)
}

// OfTicket returns the check-ins in of a ticket, on all lists.
func OfTicket(v *table.View, ticket record.ID) (ids []record.ID, err error) {
	prefix := binary.BigEndian.AppendUint64([]byte{byTicket}, uint64(ticket.Int()))
	err = v.Scan(table.AdmissionBucket, prefix, nil, func(key, _ []byte) (bool, error) {
		id, err := CheckinIn(key)
		ids = append(ids, id)
		return true, err
	})
	return ids, err
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
	id, err := CheckinIn(key)
	if err != nil || len(key) != len(prefix)+24 {
		return p, engine.ErrCorrupt
	}
	return Place{binary.BigEndian.Uint64(key[len(prefix):]), id}, nil
}

// CheckinIn is the id of the check-in that a row leads to. It returns ErrCorrupt for a row that leads to none.
func CheckinIn(key []byte) (record.ID, error) {
	id, ok := record.Checkin.KeyID(key[max(0, len(key)-16):])
	if !ok {
		return id, engine.ErrCorrupt
	}
	return id, nil
}
