package table

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"doorward/kv/engine"
	"doorward/kv/record"
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
// with a damaged row are made of all that is sound, from the start: what was read of it before the damage is in the counts.
func buildLists(r *engine.View, found *damages) (*lists, error) {
	damaged := map[*record.Kind]bool{}
	for {
		l, these, k, err := listAll(r, damaged)
		if err == nil {
			l.Tx = r.Version()
			found.join(these)
			l.countOpaque(r, found)
			return l, nil
		}
		if damaged[k] || !errors.Is(err, engine.ErrCorrupt) {
			return nil, err
		}
		damaged[k] = true
	}
}

// listAll reads every kind, and names the one that it fails to read.
func listAll(r *engine.View, damaged map[*record.Kind]bool) (*lists, damages, *record.Kind, error) {
	l := &lists{refs: newRefCache()}
	var found damages
	var parts, all []*listing
	for _, k := range record.Kinds() {
		l.kinds[k.Number] = &KindLists{}
		if !damaged[k] {
			parts = append(parts, partsOf(r, k)...)
			continue
		}
		again, p := relist(r, k), newListing(k)
		again.each(p.add)
		found.join(again.damages)
		p.Doubtful, l.Doubtful = again.doubtful, l.Doubtful || again.counts
		all = append(all, p)
	}
	readParts(r, parts)
	for _, p := range append(all, parts...) {
		if p.err != nil {
			return nil, found, p.kind, p.err
		}
		l.take(p)
	}
	return l, found, nil, nil
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
		p.home, p.homes = home, p.Home.make(home)
	}
	p.homes.Push(st.ID)
	if issued {
		p.Issued.make(p.home).Push(st.ID)
	}
}

// make returns the list of a home, which it makes if there is none.
func (h *homeLists) make(home int64) *IdList {
	i, ok := h.place(home)
	if !ok {
		*h = slices.Insert(*h, i, homeList{home: home, Ids: &IdList{}})
	}
	return (*h)[i].Ids
}

// take adds a part to the lists. The ids of its kind's parts that were taken before are smaller.
func (l *lists) take(p *listing) {
	kl := l.kinds[p.kind.Number]
	kl.Doubtful = kl.Doubtful || p.Doubtful
	kl.All = kl.All.Own(0)
	kl.All.extend(p.All)
	for _, h := range p.Home {
		kl.Home.make(h.home).extend(h.Ids)
	}
	for _, h := range p.Issued {
		kl.Issued.make(h.home).extend(h.Ids)
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
