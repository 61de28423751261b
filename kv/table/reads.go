package table

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/record"
)

// readsKept is how long counts of reads are kept. readsPurged is how many older ones each commit deletes. ReadsHeld is how many wait in
// memory for another commit before they get a commit of their own.
const (
	readsKept   = 400 * 24 * time.Hour
	readsPurged = 64
	ReadsHeld   = 10_000
)

// Reads is how many records of people a key was shown within a minute.
type Reads struct {
	Minute  time.Time
	Key     int64
	Kind    *record.Kind
	Records uint64
}

// readsOf is the key of a row.
type readsOf struct {
	minute, key int64
	kind        byte
}

type readCounts map[readsOf]uint64

// readCounter counts in memory. A later commit writes the minutes that have ended. What the latest of these commits has written stays in
// memory, for the Views that do not show it.
type readCounter struct {
	tables  *Set
	mu      sync.RWMutex // a reader that adds to a count which is there holds it for reading
	counts  map[readsOf]*atomic.Uint64
	oldest  atomic.Int64 // minute in counts; 0 = counts is empty
	keeping sync.WaitGroup
	busy    atomic.Bool // keep is on its way

	taken   readCounts // by the commit of version
	version int
	before  int // version of the commit that took counts before that one
}

func minuteOf(t time.Time) int64 { return t.Unix() / 60 }

// Note counts records that p is shown.
func (r *readCounter) Note(p auth.Principal, k *record.Kind, n int) {
	if p.Key() == 0 || n == 0 || !k.OfPeople {
		return
	}
	if r.add(readsOf{minuteOf(r.tables.Clock.Now()), p.Key(), k.Number}, uint64(n)) > ReadsHeld && r.busy.CompareAndSwap(false, true) {
		r.keeping.Go(func() { // a reader must not wait for the writer
			defer r.busy.Store(false)
			r.keep()
		})
	}
}

// add adds n to a count. It returns how many counts are in memory.
func (r *readCounter) add(of readsOf, n uint64) int {
	r.mu.RLock()
	count, held := r.counts[of], len(r.counts)
	if count != nil {
		count.Add(n)
	}
	r.mu.RUnlock()
	if count != nil {
		return held
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(of, n)
	return len(r.counts)
}

// put is add for a caller that holds mu.
func (r *readCounter) put(of readsOf, n uint64) {
	if r.counts == nil {
		r.counts = map[readsOf]*atomic.Uint64{}
	}
	if r.counts[of] == nil {
		r.counts[of] = &atomic.Uint64{}
	}
	r.counts[of].Add(n)
	if oldest := r.oldest.Load(); oldest == 0 || of.minute < oldest {
		r.oldest.Store(of.minute)
	}
}

// ended takes the counts of the minutes before one, for the commit of a version, which writes them.
func (r *readCounter) ended(minute int64, version int) readCounts {
	if oldest := r.oldest.Load(); oldest == 0 || oldest >= minute {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.version != version {
		r.taken, r.version, r.before = readCounts{}, version, r.version
	}
	taken, oldest := readCounts{}, int64(0)
	for of, count := range r.counts {
		if n := count.Load(); of.minute < minute {
			taken[of] = n
			r.taken[of] += n
			delete(r.counts, of)
		} else if oldest == 0 || of.minute < oldest {
			oldest = of.minute
		}
	}
	r.oldest.Store(oldest)
	return taken
}

// everMinute is after all minutes.
const everMinute = 1 << 62

// keep writes all counts, in a commit of their own if nothing else is written. Counts that cannot be written are dropped, unless the store is only busy.
func (r *readCounter) keep() {
	if r.oldest.Load() == 0 {
		return
	}
	err := r.tables.Do(func(o *Tx) error {
		if err := o.Tx.Full(); err != nil {
			return err
		}
		r.ended(everMinute, o.Version()+1).write(o.Tx, !o.Doubted)
		return nil
	})
	if errors.Is(err, engine.ErrBusy) {
		return // it is tried again
	}
	if err != nil {
		r.drop()
		r.tables.Log.Warn("counts of reads are lost", slog.Any("cause", err))
	}
}

// drop forgets the counts that no commit has taken.
func (r *readCounter) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.counts)
	r.oldest.Store(0)
}

// refused takes back the counts that the commit after a version has taken and not written.
func (r *readCounter) refused(version int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.version <= version {
		return
	}
	for of, n := range r.taken {
		r.put(of, n)
	}
	clear(r.taken)
}

// write adds the counts to those in the file. With purge, it also deletes some that are too old; purge is false if the clock is
// in doubt. A damaged count begins again at 0: verify reports it, and no operation may fail because of it.
func (counts readCounts) write(w *engine.Tx, purge bool) {
	latest := int64(0)
	for of, n := range counts {
		latest = max(latest, of.minute)
		key := of.rowKey()
		row, err := w.Get(ReadsBucket, key)
		if before, failed := ParseReads(key, row); row != nil && err == nil && failed == nil {
			n += before.Records
		}
		w.Put(ReadsBucket, key, binary.AppendUvarint(nil, n))
	}
	if len(counts) == 0 || !purge {
		return
	}
	old, _ := KeysBefore(&w.View, ReadsBucket, readsOf{minute: latest - int64(readsKept/time.Minute)}.rowKey(), readsPurged) // as above
	for _, key := range old {
		w.Delete(ReadsBucket, key)
	}
}

func (of readsOf) rowKey() []byte {
	key := binary.BigEndian.AppendUint64(make([]byte, 0, 17), uint64(of.minute))
	return append(binary.BigEndian.AppendUint64(key, uint64(of.key)), of.kind)
}

// ParseReads reads a row.
func ParseReads(key, row []byte) (r Reads, err error) {
	k, v := Cutter{Rest: key}, Cutter{Rest: row}
	of := readsOf{int64(k.Uint64()), int64(k.Uint64()), k.Byte()}
	r, ok := of.reads(v.Uvarint())
	if !ok || k.Short || v.Short || len(k.Rest)+len(v.Rest) > 0 {
		return r, fmt.Errorf("%w: a count of reads", engine.ErrCorrupt)
	}
	return r, nil
}

func (of readsOf) reads(n uint64) (Reads, bool) {
	k, ok := record.ByNumber(of.kind)
	return Reads{time.Unix(of.minute*60, 0).UTC(), of.key, k, n}, ok
}

// Held are the counts that a View does not show, the latest first. ok is false if several commits have passed since the View was opened:
// another View is wanted.
func (r *readCounter) Held(v *View) (all []Reads, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v.Version() < r.before {
		return nil, false
	}
	held := readCounts{}
	if v.Version() < r.version {
		maps.Copy(held, r.taken)
	}
	for of, count := range r.counts {
		held[of] += count.Load()
	}
	for of, n := range held {
		h, _ := of.reads(n) // of a kind that we know
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b Reads) int { return a.Compare(&b) })
	return all, true
}

// Compare orders the latest first, in the reverse order of the rows.
func (r *Reads) Compare(o *Reads) int {
	return cmp.Or(o.Minute.Compare(r.Minute), cmp.Compare(o.Key, r.Key), cmp.Compare(o.Kind.Number, r.Kind.Number))
}
