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

	"doorward/kv/engine"
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

// ReadsPage is what Reads returns.
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
	mu      sync.Mutex
	counts  readCounts
	oldest  atomic.Int64 // minute in counts; 0 = there is none
	keeping sync.WaitGroup
}

func minuteOf(t time.Time) int64 { return t.Unix() / 60 }

// noteReads counts records that p is shown.
func (s *tables) noteReads(p Principal, k *record.Kind, n int) {
	if p.Key() == 0 || n == 0 || !k.OfPeople() {
		return
	}
	if s.reads.add(readsOf{minuteOf(s.clock()), p.Key(), k.Number}, uint64(n)) > readsHeld {
		s.reads.keeping.Go(s.keepReads) // a reader must not wait for the writer
	}
}

// add returns how many counts are held.
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

// keepReads writes all counts, in a commit of their own if nothing else is written. Counts that cannot be written are dropped.
func (s *tables) keepReads() {
	if taken := s.reads.ended(1 << 62); len(taken) > 0 {
		err := s.do(false, func(o *op) error {
			taken.write(o.tx, !o.doubted)
			return nil
		})
		if err != nil {
			s.log.Warn("counts of reads are lost", slog.Any("cause", err))
		}
	}
}

// write adds the counts to those in the file. With purge, it also deletes some that are too old; purge is false if the clock is
// in doubt. A damaged count begins again at 0: verify reports it, and no operation may fail because of it.
func (counts readCounts) write(w *engine.Tx, purge bool) {
	latest := int64(0)
	for of, n := range counts {
		latest = max(latest, of.minute)
		key := of.rowKey()
		row, err := w.Get(readsBucket, key)
		if before, failed := parseReads(key, row); row != nil && err == nil && failed == nil {
			n += before.Records
		}
		w.Put(readsBucket, key, binary.AppendUvarint(nil, n))
	}
	if len(counts) == 0 || !purge {
		return
	}
	old, _ := keysBefore(&w.View, readsBucket, readsOf{minute: latest - int64(readsKept/time.Minute)}.rowKey(), readsPurged) // as above
	for _, key := range old {
		w.Delete(readsBucket, key)
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

// held are the counts that are not written yet, the latest first.
func (r *reads) held() (all []Reads) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for of, n := range r.counts {
		h, _ := of.reads(n) // of a kind that we know
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b Reads) int { return a.compare(&b) })
	return all
}

// isWanted tells whether counts are among those that conditions ask for.
func isWanted(r *Reads, where []Where) bool {
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

// readsPage is how many rows one View reads, so that no View stays open for long.
const readsPage = 20_000

// Reads lists how many records of people each key within p was shown, and when. It returns *Forbidden if p may not list keys.
func (s *Store) Reads(p Principal, q ReadsQuery) (page ReadsPage, err error) {
	keys, err := keysWithin(s.tables, p)
	if err != nil {
		return page, err
	}
	l := &readsList{query: q, within: map[int64]bool{}}
	for _, k := range keys {
		l.within[k.ID] = true
	}
	var from []byte
	for more := true; more && err == nil; {
		err = s.view(func(v *sight) (err error) {
			if from == nil {
				from, l.held = bytes.Repeat([]byte{0xff}, 17), s.reads.held() // what is written later is not in this View
			}
			from, more, err = l.read(v, from)
			return err
		})
	}
	for _, r := range l.held {
		l.add(r)
	}
	return l.page, err
}

// readsList is a page in the making: it holds what is shown, and counts the rest.
type readsList struct {
	query  ReadsQuery
	within map[int64]bool
	held   []Reads // in memory and not passed yet, the latest first
	page   ReadsPage
}

// read goes back from a row, so many rows, and returns where to go on.
func (l *readsList) read(v *sight, from []byte) (next []byte, more bool, err error) {
	n := 0
	err = v.walk(readsBucket, true, nil, from, func(key, row []byte) (bool, error) {
		if n++; n > readsPage {
			next, more = bytes.Clone(key), true
			return false, nil
		}
		r, err := parseReads(key, row)
		if err != nil {
			return false, err
		}
		for ; len(l.held) > 0 && l.held[0].compare(&r) < 0; l.held = l.held[1:] {
			l.add(l.held[0])
		}
		if len(l.held) > 0 && l.held[0].compare(&r) == 0 {
			r.Records += l.held[0].Records
			l.held = l.held[1:]
		}
		l.add(r)
		return true, nil
	})
	return next, more, err
}

func (l *readsList) add(r Reads) {
	if !l.within[r.Key] || !isWanted(&r, l.query.Where) {
		return
	}
	if l.page.Count++; l.page.Count > l.query.Offset && len(l.page.Reads) < l.query.Limit {
		l.page.Reads = append(l.page.Reads, r)
	}
}

// compare orders the latest first, and otherwise as the rows lie backwards.
func (r *Reads) compare(o *Reads) int {
	return cmp.Or(o.Minute.Compare(r.Minute), cmp.Compare(o.Key, r.Key), cmp.Compare(o.Kind.Number, r.Kind.Number))
}
