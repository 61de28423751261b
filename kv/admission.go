package kv

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"time"

	"doorward/kv/record"
	"doorward/kv/value"
)

// Admission rows lead to check-ins in the order that decides which was first, hlc then id: by event, code hash and list, and
// by ticket and list. The row by code names the ticket's exact code, so that two tickets of one code admit once. Check-ins that
// lead out have rows of their own, in the same order (inside.go).
const (
	byCode      = 'c'
	byTicket    = 't'
	byCodeOut   = 'o'
	byTicketOut = 'u'
)

// codeRows appends to a letter the rest of a prefix by code.
func codeRows(dst []byte, event int64, hash codeHash, list string) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(event))
	return append(append(append(dst, hash[:]...), list...), 0)
}

// ticketAdmissions is the prefix of all check-ins in of a ticket.
func ticketAdmissions(dst []byte, ticket int64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, byTicket), uint64(ticket))
}

// ticketRows appends to a letter the rest of a prefix by ticket. The event is in it: a laptop of another event cannot use a ticket up.
func ticketRows(dst []byte, ticket, event int64, list string) []byte {
	dst = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, uint64(ticket)), uint64(event))
	return append(append(dst, list...), 0)
}

func admissionKey(prefix []byte, hlc uint64, id record.ID) []byte {
	return record.Checkin.AppendID(binary.BigEndian.AppendUint64(prefix, hlc), id)
}

// admission is where a check-in stands in the order.
type admission struct {
	hlc uint64
	id  record.ID
}

func (a admission) before(b admission) bool {
	return a.hlc < b.hlc || a.hlc == b.hlc && a.id.Compare(b.id) < 0
}

// undone tells whether an undo of its own event names a check-in.
func undone(v *sight, checkin record.ID) (bool, error) {
	undos, err := v.lookup(record.Undo, "checkin_id", record.Checkin.FormatID(checkin))
	if err != nil || len(undos) == 0 {
		return false, err
	}
	st, err := v.load(record.Checkin, checkin)
	if err != nil || st == nil {
		return false, err
	}
	for _, id := range undos {
		undo, err := v.load(record.Undo, id)
		if err != nil {
			return false, err
		}
		if undo != nil && bytes.Equal(undo.body.Member("event_id"), st.body.Member("event_id")) {
			return true, nil
		}
	}
	return false, nil
}

// nonceOf is what an Idempotency-Key becomes in a fact: the same at every node that knows the key's id.
func nonceOf(p Principal, a Attempt) string {
	if a.Nonce == "" {
		return ""
	}
	h := sha256.New()
	h.Write(strconv.AppendInt(nil, p.Key(), 10))
	h.Write([]byte{0})
	h.Write(strconv.AppendInt(nil, a.Event, 10))
	h.Write([]byte{0})
	h.Write([]byte(a.Nonce))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// replay answers an attempt whose nonce a check-in carries already: the same code gets the first answer, unless that
// check-in was undone; another code is refused.
func replayAttempt(o *op, a *attempt, ticket *stored) (d Decision, done bool, err error) {
	if a.nonce == "" {
		return d, false, nil
	}
	ids, err := o.lookup(record.Checkin, "nonce", a.nonce)
	if err != nil {
		return d, false, err
	}
	for _, id := range ids {
		undone, err := undone(o.sight, id)
		if err != nil {
			return d, false, err
		}
		first, err := o.load(record.Checkin, id)
		if err != nil || first == nil {
			return d, false, err
		}
		if ticket == nil || hashOf(ticket.body.Member("code_hash")) != hashOf(first.body.Member("code_hash")) || standOf(first).out != (a.Way == Out) {
			return d, false, ErrKeyReused
		}
		if undone {
			continue
		}
		if d, err = repeated(o, first, a); err != nil {
			return d, false, err
		}
		return d, true, describe(o.sight, &d, a.p, ticket)
	}
	return d, false, nil
}

// repeated is the answer that was given when a check-in was written.
func repeated(o *op, mine *stored, a *attempt) (Decision, error) {
	e := standOf(mine)
	if !e.out && value.Unquote(mine.body.Member("basis")) != offline {
		d := decisionOf(o.sight, Admitted, mine, a.Door)
		d.Replayed = true
		return d, nil
	}
	first, err := entered(o.sight, &e, &e.admission)
	if err != nil {
		return Decision{}, err
	}
	if e.out {
		d := leaving(o.sight, mine, first, a.Door)
		d.Replayed = true
		return d, nil
	}
	if first == nil {
		first = mine // of a list that no longer counts
	}
	d := decisionOf(o.sight, AlreadyAdmitted, first, a.Door)
	d.Double, d.Replayed = record.Checkin.FormatID(mine.id), true
	return d, nil
}

// decisionOf tells of an admission that is stored, at a door.
func decisionOf(v *sight, out Outcome, first *stored, here string) Decision {
	at, _ := timeOf(first.body.Member("at")) // written by admit
	door := value.Unquote(first.body.Member("door"))
	return Decision{
		Outcome: out, CheckinID: record.Checkin.FormatID(first.id), AdmittedAt: at, Door: door,
		SecondsAgo: max(0, int64(v.now.Sub(at)/time.Second)), SameDoor: door == here,
	}
}

// describe adds what the door, and a key that sees names, may know of the ticket.
func describe(v *sight, d *Decision, p Principal, ticket *stored) (err error) {
	if p.IsRevoked() {
		return nil // it hands in what it knows
	}
	shown := *ticket
	if err := unshown(v, record.Ticket, &shown); err != nil {
		return err
	}
	ticket = &shown
	d.Label = value.Unquote(ticket.body.Member("label"))
	d.Type = value.Unquote(ticket.body.Member("type"))
	d.Order = value.Unquote(ticket.body.Member("order"))
	if d.Notice, err = noticeOf(v, ticket); err != nil {
		return err
	}
	if !seesHolders(p) {
		return nil
	}
	name, err := v.load(record.HolderName, ticket.id)
	if err == nil && name != nil {
		err = unshown(v, record.HolderName, name)
	}
	if err != nil || name == nil {
		return err
	}
	if full := value.Unquote(name.body.Member("full_name")); full != "" {
		d.Holder = &full
	}
	return nil
}
