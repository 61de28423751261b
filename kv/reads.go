package kv

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"doorward/kv/record"
)

// readsKept is how long counts of reads are kept, readsPurged how many that are older go with each commit, and readsHeld how many
// wait in memory for one before a commit of their own.
const (
	readsKept   = 400 * 24 * time.Hour
	readsPurged = 64
	readsHeld   = 10_000
)

// Reads are how many records that are people, or say something of one, a key was shown within a minute.
type Reads struct {
	Minute  time.Time
	Key     int64
	Kind    *record.Kind
	Records uint64
}

// ReadsQuery is a page of counts, the latest first.
type ReadsQuery struct {
	Where         []Where // on key_id, kind and minute
	Offset, Limit int
}

// ReadsPage is what Reads answers.
type ReadsPage struct {
	Count int // of all pages
	Reads []Reads
}

// readsOf is what is counted by: it is a row's key.
type readsOf struct {
	minute, key int64
	kind        byte
}

type readCounts map[readsOf]uint64

// reads counts in memory; a later commit writes what the minutes hold that have ended.
type reads struct {
	mu     sync.Mutex
	counts readCounts
	oldest atomic.Int64 // minute in counts; 0 = there is none
}

func minuteOf(t time.Time) int64 { return t.Unix() / 60 }

// noteReads counts records that p is shown.
func (s *Store) noteReads(p Principal, k *record.Kind, n int) {
	if p.key == 0 || n == 0 || !k.OfPeople() {
		return
	}
	if s.reads.add(readsOf{minuteOf(s.clock()), p.key, k.Number}, uint64(n)) > readsHeld {
		go s.keepReads() // who reads must not wait for who writes
	}
}

// add answers how many counts are held.
func (r *reads) add(of readsOf, n uint64) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = readCounts{}
	}
	r.counts[of] += n
	if oldest := r.oldest.Load(); oldest == 0 || of.minute < oldest {
		r.oldest.Store(of.minute)
	}
	return len(r.counts)
}

// ended takes the counts of the minutes before one.
func (r *reads) ended(minute int64) readCounts {
	if oldest := r.oldest.Load(); oldest == 0 || oldest >= minute {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	taken, oldest := readCounts{}, int64(0)
	for of, n := range r.counts {
		if of.minute < minute {
			taken[of] = n
			delete(r.counts, of)
		} else if oldest == 0 || of.minute < oldest {
			oldest = of.minute
		}
	}
	r.oldest.Store(oldest)
	return taken
}

// keepReads writes all counts, in a commit of their own if nothing else is written. What cannot be written is let go.
func (s *Store) keepReads() {
	if taken := s.reads.ended(1 << 62); len(taken) > 0 {
		err := s.do(false, func(o *op) error {
			taken.write(o.rows)
			return nil
		})
		if err != nil {
			s.log.Warn("counts of reads are lost", slog.Any("cause", err))
		}
	}
}

// write adds the counts to those in the file, and deletes some that are too old. One that is damaged begins anew: verify reports it, and
// no operation is to fail of it.
func (counts readCounts) write(r rows) {
	latest := int64(0)
	for of, n := range counts {
		latest = max(latest, of.minute)
		key := of.rowKey()
		row, err := r.get(readsBucket, key)
		if before, failed := parseReads(key, row); row != nil && err == nil && failed == nil {
			n += before.Records
		}
		r.put(readsBucket, key, binary.AppendUvarint(nil, n))
	}
	if len(counts) == 0 {
		return
	}
	var old [][]byte
	limit := readsOf{minute: latest - int64(readsKept/time.Minute)}.rowKey()
	_ = r.scan(readsBucket, nil, nil, func(key, _ []byte) (bool, error) {
		if bytes.Compare(key, limit) >= 0 || len(old) == readsPurged {
			return false, nil
		}
		old = append(old, bytes.Clone(key))
		return true, nil
	})
	for _, key := range old {
		r.delete(readsBucket, key)
	}
}

func (of readsOf) rowKey() []byte {
	key := binary.BigEndian.AppendUint64(make([]byte, 0, 17), uint64(of.minute))
	return append(binary.BigEndian.AppendUint64(key, uint64(of.key)), of.kind)
}

func parseReads(key, row []byte) (r Reads, err error) {
	k, v := cutter{rest: key}, cutter{rest: row}
	of := readsOf{int64(k.uint64()), int64(k.uint64()), k.byte()}
	r, ok := of.reads(v.uvarint())
	if !ok || k.short || v.short || len(k.rest)+len(v.rest) > 0 {
		return r, fmt.Errorf("%w: a count of reads", ErrCorrupt)
	}
	return r, nil
}

func (of readsOf) reads(n uint64) (Reads, bool) {
	k, ok := record.ByNumber(of.kind)
	return Reads{time.Unix(of.minute*60, 0).UTC(), of.key, k, n}, ok
}

// held are the counts that are not written yet.
func (r *reads) held() (all []Reads) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for of, n := range r.counts {
		h, _ := of.reads(n) // of a kind that we know
		all = append(all, h)
	}
	return all
}

// fulfils tells whether the counts are among those that conditions ask for.
func (r *Reads) fulfils(where []Where) bool {
	for _, w := range where {
		var value any = r.Key
		switch w.Field {
		case "kind":
			value = r.Kind.Name
		case "minute":
			from, _ := w.From.(time.Time)
			to, bounded := w.To.(time.Time)
			if r.Minute.Before(from) || bounded && r.Minute.After(to) {
				return false
			}
			continue
		}
		if !slices.Contains(w.In, value) {
			return false
		}
	}
	return true
}

// Reads lists which of the keys within p was shown how many records of people, and when. *Forbidden.
func (s *Store) Reads(p Principal, q ReadsQuery) (page ReadsPage, err error) {
	keys, err := s.Keys(p)
	if err != nil {
		return page, err
	}
	within := map[int64]bool{}
	for _, k := range keys {
		within[k.ID] = true
	}
	all := s.reads.held()
	err = s.view(func(v *sight) error {
		return v.scan(readsBucket, nil, nil, func(key, row []byte) (bool, error) {
			r, err := parseReads(key, row)
			all = append(all, r)
			return err == nil, err
		})
	})
	all = slices.DeleteFunc(all, func(r Reads) bool { return !within[r.Key] || !r.fulfils(q.Where) })
	slices.SortFunc(all, func(a, b Reads) int {
		return cmp.Or(b.Minute.Compare(a.Minute), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Kind.Number, b.Kind.Number))
	})
	page.Count = len(all)
	page.Reads = all[min(q.Offset, len(all)):min(q.Offset+q.Limit, len(all))]
	return page, err
}
