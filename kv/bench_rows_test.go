package kv_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/outcome"
)

// drawer makes rows of the shape of one recorded check-in: the same buckets, lengths of keys and sizes of values. What
// ascends in the product (sequence, clock, fact ids by millisecond) ascends here, what is scattered (codes, tickets, nonces)
// is drawn at random, so that bbolt is given the same work. It serves one goroutine.
type drawer struct {
	rows  []kv.BenchRow
	spots []spot
	now   func() time.Time
	hlc   uint64
	fresh map[part][]byte
}

// part is what varies from one check-in's keys to the next's.
type part string

const (
	factID   part = "fact id"
	clock    part = "hybrid clock"
	sequence part = "sequence"
	codeHash part = "code hash"
	ticketID part = "ticket"
	nonce    part = "nonce"
)

// spot is where a part stands in a row's key.
type spot struct {
	part part
	into []byte
}

// recordCheckIn runs one check-in and makes a drawer of its rows.
func recordCheckIn(s *kv.Store, p auth.Principal, a door.Attempt) (*drawer, error) {
	var d door.Decision
	rows, err := kv.BenchRows(s, func(s *kv.Store) (err error) {
		d, err = s.Door.CheckIn(p, a)
		return err
	})
	if err != nil {
		return nil, err
	}
	if d.Outcome != outcome.Admitted {
		return nil, fmt.Errorf("the recorded check-in is %s", d.Outcome)
	}
	id, err := ulid.ParseStrict(d.CheckinID)
	if err != nil {
		return nil, err
	}
	w := &drawer{rows: rows, now: s.Tables.Clock.Now}
	w.fresh = map[part][]byte{factID: id[:], sequence: binary.BigEndian.AppendUint64(nil, s.Tables.Commits.Seq())}
	w.learn()
	return w, w.find()
}

// learn takes the parts that only the store knows out of the rows that hold them.
func (d *drawer) learn() {
	for _, r := range d.rows {
		switch {
		case r.Bucket == "admission" && r.Key[0] == 'c': // 'c', event, code hash, list, 0, clock, id
			d.fresh[codeHash] = bytes.Clone(r.Key[9:25])
			d.fresh[clock] = bytes.Clone(r.Key[len(r.Key)-24 : len(r.Key)-16])
		case r.Bucket == "admission": // 't', ticket, event, list, 0, clock, id
			d.fresh[ticketID] = bytes.Clone(r.Key[1:9])
		case r.Bucket == "lookup" && bytes.Contains(r.Key, []byte("nonce\x00")):
			_, rest, _ := bytes.Cut(r.Key, []byte("nonce\x00"))
			d.fresh[nonce] = bytes.Clone(rest[:32])
		}
	}
	d.hlc = binary.BigEndian.Uint64(d.fresh[clock])
}

// find notes where the parts stand. A ticket in a lookup has its sign turned.
func (d *drawer) find() error {
	found := map[part]bool{}
	for _, r := range d.rows {
		for p, text := range d.fresh {
			if p == ticketID && r.Bucket == "lookup" {
				text = append([]byte{text[0] ^ 0x80}, text[1:]...)
			}
			if at := bytes.Index(r.Key, text); at >= 0 {
				into := r.Key[at : at+len(text)]
				if p == ticketID {
					into = into[1:]
				}
				d.spots = append(d.spots, spot{p, into})
				found[p] = true
			}
		}
	}
	if len(found) != len(d.fresh) {
		return fmt.Errorf("the rows of a check-in hold only %v", found)
	}
	for p, text := range d.fresh {
		if p == ticketID {
			d.fresh[p] = text[1:]
		}
	}
	return nil
}

// draw answers the rows of one more check-in. They are valid until the next draw; the values always are.
func (d *drawer) draw(seq uint64) []kv.BenchRow {
	now := d.now()
	d.hlc = max(d.hlc+1, uint64(now.UnixMilli())<<16)
	id := d.fresh[factID]
	binary.BigEndian.PutUint64(id, d.hlc&^0xffff|rand.Uint64()&0xffff)
	binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	binary.BigEndian.PutUint64(d.fresh[clock], d.hlc)
	binary.BigEndian.PutUint64(d.fresh[sequence], seq)
	binary.BigEndian.PutUint64(d.fresh[codeHash], rand.Uint64())
	binary.BigEndian.PutUint64(d.fresh[codeHash][8:], rand.Uint64())
	binary.BigEndian.PutUint32(d.fresh[ticketID][3:], uint32(1+rand.IntN(benchTickets)))
	if text := d.fresh[nonce]; text != nil {
		var b [16]byte
		binary.BigEndian.PutUint64(b[:], rand.Uint64())
		binary.BigEndian.PutUint64(b[8:], rand.Uint64())
		hex.Encode(text, b[:])
	}
	for _, s := range d.spots {
		copy(s.into, d.fresh[s.part])
	}
	return d.rows
}
