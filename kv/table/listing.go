package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/scopes"
)

// When a file is opened the lists are made of all records. Kinds are read beside each other, and of a kind with many numbers ranges of them.

// A kind of which the numbers span less is read as one part, another as several.
const (
	partSpan  = 10_000
	kindParts = 8
)

// listing makes the lists of a kind, or of the part of it with some keys.
type listing struct {
	kind        *record.Kind
	from, below []byte // of keys; nil = from the first, to the last
	err         error
	KindLists
	marks map[scopeMark]int // how many records are counted so
	like  scopeMark         // of the record before: records side by side mostly are in the same scopes
	alike int               // how many in a row are
	home  int64             // of the record before
	homes *IdList           // its list; nil = there is none
}

func newListing(k *record.Kind) *listing { return &listing{kind: k, marks: map[scopeMark]int{}} }

// buildLists reads every kind's records into lists, as the View shows them, and tells what of them is damaged. The lists of a kind
// with a damaged row are made of all that is sound, from the start: what was read of it before the damage is not counted.
func buildLists(r *engine.View, found *damages) (*lists, error) {
	l := &lists{Tx: r.Version(), refs: newRefCache()}
	var parts []*listing
	for _, k := range record.Kinds() {
		l.kinds[k.Number] = &KindLists{}
		parts = append(parts, partsOf(r, k)...)
	}
	readParts(r, parts)
	damaged := map[*record.Kind]bool{}
	for _, p := range parts {
		if p.err != nil && !errors.Is(p.err, engine.ErrCorrupt) {
			return nil, p.err
		}
		damaged[p.kind] = damaged[p.kind] || p.err != nil
	}
	for _, p := range parts {
		if !damaged[p.kind] {
			l.take(p)
		}
	}
	for _, k := range record.Kinds() {
		if damaged[k] {
			l.takeSound(r, k, found)
		}
	}
	l.countOpaque(r, found)
	return l, nil
}

// takeSound adds what is sound of a kind with a damaged row.
func (l *lists) takeSound(r *engine.View, k *record.Kind, found *damages) {
	again, p := relist(r, k), newListing(k)
	again.each(p.add)
	found.join(again.damages)
	p.Doubtful, p.Unsure, l.Doubtful = again.doubtful, again.unsure, l.Doubtful || again.counts
	l.take(p)
}

// partsOf are the parts that a kind is read in. Where its first or last row cannot be read, it is one.
func partsOf(r *engine.View, k *record.Kind) []*listing {
	whole := []*listing{newListing(k)}
	if k.ULID {
		return whole // its ids span what they like
	}
	c := r.Cursor(KindBucket(k))
	first, ok := k.KeyID(c.Seek(nil).Key)
	var last record.ID
	err := r.ScanDown(KindBucket(k), nil, bytes.Repeat([]byte{0xff}, k.IDSize()), func(key, _ []byte) (bool, error) {
		last, _ = k.KeyID(key)
		return false, nil
	})
	span := last.Int() - first.Int()
	if !ok || err != nil || span < partSpan {
		return whole
	}
	parts := whole
	for i := int64(1); i < kindParts; i++ {
		p, at := newListing(k), k.AppendID(nil, record.Int(first.Int()+span/kindParts*i))
		parts[len(parts)-1].below, p.from = at, at
		parts = append(parts, p)
	}
	return parts
}

// readParts reads parts on all processors. Each part keeps its error.
func readParts(r *engine.View, parts []*listing) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(parts); i = int(next.Add(1)) - 1 {
				parts[i].err = r.Beside(parts[i].read)
			}
		})
	}
	group.Wait()
}

// read adds the records of its part.
func (p *listing) read(r *engine.View) error {
	c := r.Cursor(KindBucket(p.kind))
	var st Stored
	for at := c.Seek(p.from); at.Key != nil && (p.below == nil || bytes.Compare(at.Key, p.below) < 0); at = c.Next() {
		row, err := at.Value()
		if err != nil {
			return err
		}
		if err := st.Parse(row); err != nil {
			return err
		}
		id, ok := p.kind.KeyID(at.Key)
		if !ok {
			return fmt.Errorf("%w: key of kind %s", engine.ErrCorrupt, p.kind.Name)
		}
		st.ID = id
		p.add(&st, !st.Deleted && Issued(p.kind, st.Body))
	}
	return nil
}

// add adds a record with an id that is larger than all before it. issued tells a ticket that counts as issued.
func (p *listing) add(st *Stored, issued bool) {
	if mark := st.Mark(); mark != p.like {
		p.marks[p.like] += p.alike
		p.like, p.alike = mark, 0
	}
	p.alike++
	if st.Deleted {
		return
	}
	p.All = p.All.Own(0)
	p.All.Push(st.ID)
	if p.kind.Home == "" {
		return
	}
	if home := st.Home(p.kind); p.homes == nil || home != p.home {
		p.home, p.homes = home, p.Home.own(0, home)
	}
	p.homes.Push(st.ID)
	if issued {
		p.Issued.own(0, p.home).Push(st.ID)
	}
}

// take adds a part to the lists. The ids of its kind's parts that were taken before are smaller.
func (l *lists) take(p *listing) {
	kl := l.kinds[p.kind.Number]
	kl.Doubtful, kl.Unsure = kl.Doubtful || p.Doubtful, kl.Unsure || p.Unsure
	kl.All = kl.All.Own(0)
	kl.All.extend(p.All)
	for _, h := range p.Home {
		kl.Home.own(0, h.home).extend(h.Ids)
	}
	for _, h := range p.Issued {
		kl.Issued.own(0, h.home).extend(h.Ids)
	}
	p.marks[p.like] += p.alike
	for mark, n := range p.marks {
		l.Count.note(0, &mark, n)
	}
}

// extend adds the ids of another list, which are larger than all others, to an owned list.
func (l *IdList) extend(o *IdList) {
	if o != nil {
		l.chunks, l.n = append(l.chunks, o.chunks...), l.n+o.n
	}
}

// A damaged row is not trusted: not its id, its home, or its deletion. The logs have all three in rows of their own. The lists of a
// kind with a damaged row are made from the sound rows and the logs. They count right, and a caller that reads the record gets the
// damage. A damaged ticket counts as issued, because no other row has its state.
//
// Rows of the logs may be damaged too. A record is in its lists if any of its rows is sound. If none is, it is listed as a record
// without a home, because no row shows that it was deleted. Its kind is then listed to no one, because the count may be wrong
// (KindLists.Unsure). If a damaged row of a scope's log may have had the home of a record, no list of a home returns ids
// (KindLists.Doubtful).

// relisting collects the records of a kind of which a row is damaged.
type relisting struct {
	*engine.View
	kind     *record.Kind
	all      map[record.ID]*Stored // seq 0: only the logs tell of it
	lost     map[string]bool       // sequences of damaged rows in the log for which no sound row names the record
	scopes   map[string]bool       // of damaged rows in the logs of scopes, likewise
	unknown  []record.ID           // of damaged rows that no log names
	doubtful bool                  // where some of the live records belong is not known
	unsure   bool                  // whether some of the records are deleted is not known
	counts   bool                  // nor how many records each scope has
	damages
}

// relist collects a kind's records in order of their ids.
func relist(r *engine.View, k *record.Kind) *relisting {
	l := &relisting{View: r, kind: k, all: map[record.ID]*Stored{}, lost: map[string]bool{}, scopes: map[string]bool{}}
	l.readScopeLog()
	l.readLog()
	l.readRows()
	if len(l.lost)+len(l.scopes) > 0 {
		l.readOthers()
	}
	// If no row of the log is lost, the damage is in the keys: the log names the records under their right ids.
	if len(l.lost) > 0 && len(l.unknown) > 0 {
		l.doubtful, l.unsure, l.counts = true, true, true
		for _, id := range l.unknown {
			l.all[id] = &Stored{ID: id}
		}
	}
	for _, st := range l.all {
		if st.Seq == 0 && len(l.scopes) > 0 {
			l.doubtful, l.counts = l.doubtful || !st.Deleted, true
		}
	}
	return l
}

// told is a record as a log describes it.
func (l *relisting) told(c Change) *Stored {
	st := l.all[c.ID]
	if st == nil {
		st = &Stored{ID: c.ID, Header: Header{Deleted: c.Deleted}}
		l.all[c.ID] = st
	}
	return st
}

// readScopeLog notes the scopes that records are in.
func (l *relisting) readScopeLog() {
	Sound(l.View, ScopeLogBucket, nil, func(key, row []byte) {
		s, seq, err := CutScope(key)
		if err != nil || len(seq) != 8 {
			return
		}
		c, err := ParseScopeLog(binary.BigEndian.Uint64(seq), row)
		if err == nil && !c.Removed && c.Kind == l.kind {
			l.told(c.Change).join(s)
		}
	}, func(key []byte) {
		if _, seq, err := CutScope(key); err == nil {
			key = seq
		}
		l.scopes[string(key)] = true
	})
}

// readLog notes which records the log names, and whether they are deleted.
func (l *relisting) readLog() {
	Sound(l.View, LogBucket, nil, func(key, row []byte) {
		switch c, err := ParseLog(key, row); {
		case err == nil && c.Kind == l.kind:
			l.told(c)
		case err == nil:
			delete(l.scopes, string(key)) // another kind's
		}
	}, func(key []byte) { l.lost[string(key)] = true })
}

// readRows notes what sound records say themselves, and the ids of damaged ones that no log names.
func (l *relisting) readRows() {
	Sound(l.View, KindBucket(l.kind), nil, func(key, row []byte) {
		st := &Stored{}
		if id, ok := l.kind.KeyID(key); ok && st.Parse(row) == nil {
			st.ID = id
			l.all[id] = st
			l.known(st.Seq)
		}
	}, func(key []byte) {
		l.damages.add(DamagedRow(KindBucket(l.kind), key))
		if id, ok := l.kind.KeyID(key); ok && l.all[id] == nil {
			l.unknown = append(l.unknown, id)
		}
	})
}

// known notes that the record with this latest change is known, by the change's sequence.
func (l *relisting) known(seq uint64) {
	delete(l.lost, string(SeqKey(seq)))
	delete(l.scopes, string(SeqKey(seq)))
}

// readOthers takes those lost rows off the list that belong to sound records of other kinds.
func (l *relisting) readOthers() {
	for _, k := range record.Kinds() {
		Sound(l.View, KindBucket(k), nil, func(_, row []byte) {
			var st Stored
			if st.Parse(row) == nil {
				l.known(st.Seq)
			}
		}, nil)
	}
	// A row of the log that is lost, and one of a scope's that is not, tell of the same record.
	Sound(l.View, ScopeLogBucket, nil, func(key, row []byte) {
		if _, seq, err := CutScope(key); err == nil && len(row) > 1 && row[1]&RowRemoved == 0 {
			delete(l.lost, string(seq))
		}
	}, nil)
}

// each calls fn with each record in order of the ids, and with whether it counts as issued. fn must not keep the record after it returns.
func (l *relisting) each(fn func(st *Stored, counts bool)) {
	for _, id := range slices.SortedFunc(maps.Keys(l.all), record.ID.Compare) {
		st := l.all[id]
		readable := st.Seq != 0
		fn(st, l.kind == record.Ticket && !st.Deleted && (!readable || Issued(l.kind, st.Body)))
	}
}

// join adds a scope.
func (h *Header) join(s scopes.Scope) {
	if i := slices.Index(h.Scopes[:], scopes.Scope{}); i >= 0 {
		h.Scopes[i] = s
	}
}
