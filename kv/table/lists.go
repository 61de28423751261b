package table

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"doorward/kv/engine"
	"doorward/kv/record"
)

// lists are the id lists of one committed state of the store: for each kind all its records, those of each church or
// event, and of tickets those that count as issued. They are derived: rebuilt at start, published with each commit.
type lists struct {
	Tx    int // the transaction with the state that they show
	refs  *refCache
	kinds [engine.NumBuckets]*KindLists
	Count scopeCounts

	Doubtful bool // some records' scopes are not known
}

type KindLists struct {
	All    *IdList
	Home   homeLists // by church or event; 0 = records without one
	Issued homeLists // tickets in state valid or unpaid, by event
	edit   uint64

	Doubtful bool // it was damaged when the store was opened, and the homes of some records are unknown
}

// homeLists is sorted by home.
type homeLists []homeList

type homeList struct {
	home int64
	Ids  *IdList
}

func (h homeLists) place(home int64) (int, bool) {
	return slices.BinarySearchFunc(h, home, func(l homeList, home int64) int { return cmp.Compare(l.home, home) })
}

func (h homeLists) Of(home int64) *IdList {
	if i, ok := h.place(home); ok {
		return h[i].Ids
	}
	return nil
}

// ListChange is one record entering or leaving the lists.
type ListChange struct {
	Kind        *record.Kind
	ID          record.ID
	Was, Is     bool
	WasHome     int64
	IsHome      int64
	WasIn, isIn bool // tickets: issued
	From, To    scopeMark
}

func (l *lists) Kind(k *record.Kind) *KindLists {
	if kl := l.kinds[k.Number]; kl != nil {
		return kl
	}
	return &KindLists{}
}

// with is the lists after some changes, as transaction tx will show them.
func (l *lists) with(tx int, edit uint64, changes []ListChange) *lists {
	next := &lists{Tx: tx, kinds: l.kinds, refs: l.refs, Count: l.Count, Doubtful: l.Doubtful}
	for i := range changes {
		c := &changes[i]
		next.Count.note(edit, &c.From, -1)
		next.Count.note(edit, &c.To, 1)
		if c.Kind == nil {
			continue // of a kind that this version does not know
		}
		if cached(c.Kind) && next.refs == l.refs {
			next.refs = newRefCache()
		}
		kl := next.kinds[c.Kind.Number]
		if kl == nil || kl.edit != edit {
			kl = kl.clone(edit)
			next.kinds[c.Kind.Number] = kl
		}
		kl.apply(c)
	}
	return next
}

func (kl *KindLists) clone(edit uint64) *KindLists {
	if kl == nil {
		return &KindLists{edit: edit}
	}
	return &KindLists{All: kl.All, Home: slices.Clone(kl.Home), Issued: slices.Clone(kl.Issued), edit: edit, Doubtful: kl.Doubtful}
}

func (kl *KindLists) apply(c *ListChange) {
	if c.Was != c.Is {
		kl.All = kl.All.Own(kl.edit)
		if c.Is {
			kl.All.Insert(c.ID)
		} else {
			kl.All.Remove(c.ID)
		}
	}
	if c.Kind.Home != "" {
		kl.Home = kl.Home.move(kl.edit, c.ID, c.Was, c.WasHome, c.Is, c.IsHome)
	}
	if c.Kind == record.Ticket {
		kl.Issued = kl.Issued.move(kl.edit, c.ID, c.Was && c.WasIn, c.WasHome, c.Is && c.isIn, c.IsHome)
	}
}

// move takes an id from one home's list to another's.
func (h homeLists) move(edit uint64, id record.ID, was bool, from int64, is bool, to int64) homeLists {
	if was == is && from == to {
		return h
	}
	if was {
		h = h.edit(edit, from, func(l *IdList) { l.Remove(id) })
	}
	if is {
		h = h.edit(edit, to, func(l *IdList) { l.Insert(id) })
	}
	return h
}

func (h homeLists) edit(edit uint64, home int64, fn func(*IdList)) homeLists {
	i, ok := h.place(home)
	if !ok {
		h = slices.Insert(h, i, homeList{home: home})
	}
	h[i].Ids = h[i].Ids.Own(edit)
	fn(h[i].Ids)
	return h
}

// buildLists reads every kind's records into lists, as the View shows them, and tells what of them is damaged. The lists of a kind
// with a damaged row are made of all that is sound (relist.go), from the start: what was read of it before the damage is in the counts.
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
	for _, k := range record.Kinds() {
		kl := &KindLists{}
		l.kinds[k.Number] = kl
		var like scopeMark // records side by side mostly are in the same scopes
		n := 0
		add := func(st *Stored, counts bool) {
			if mark := st.Mark(); mark != like {
				l.Count.note(0, &like, n)
				like, n = mark, 0
			}
			n++
			if !st.Deleted {
				kl.push(k, st.ID, st.Home(k), counts)
			}
		}
		if damaged[k] {
			again := relist(r, k)
			again.each(add)
			found.join(again.damages)
			kl.Doubtful, l.Doubtful = again.doubtful, l.Doubtful || again.counts
		} else if err := eachHeader(r, k, add); err != nil {
			return nil, found, k, err
		}
		l.Count.note(0, &like, n)
	}
	return l, found, nil, nil
}

// eachHeader calls fn with each record of a kind, and with whether it counts as issued. fn must not keep the record after it returns.
func eachHeader(r *engine.View, k *record.Kind, fn func(st *Stored, counts bool)) error {
	c := r.Cursor(KindBucket(k))
	var st Stored
	for at := c.Seek(nil); at.Key != nil; at = c.Next() {
		row, err := at.Value()
		if err != nil {
			return err
		}
		if err := st.Parse(row); err != nil {
			return err
		}
		id, ok := k.KeyID(at.Key)
		if !ok {
			return fmt.Errorf("%w: key of kind %s", engine.ErrCorrupt, k.Name)
		}
		st.ID = id
		fn(&st, !st.Deleted && Issued(k, st.Body))
	}
	return nil
}

// countOpaque counts the documents of unknown kinds in their scopes. Where one of their rows is damaged, the logs of the scopes count.
func (l *lists) countOpaque(r *engine.View, found *damages) {
	var marks []scopeMark
	before := found.count
	Sound(r, OpaqueBucket, nil, func(key, row []byte) {
		if s, _, err := CutScope(key); err == nil && len(row) > 8 {
			d := Opaque{Seq: 1, Deleted: row[8] == rowDeleted}
			marks = append(marks, d.Mark(s))
		}
	}, func(key []byte) { found.add(DamagedRow(OpaqueBucket, key)) })
	if found.count > before {
		var lost bool
		marks, lost = loggedOpaque(r)
		l.Doubtful = l.Doubtful || lost
	}
	for i := range marks {
		l.Count.note(0, &marks[i], 1)
	}
}

// loggedOpaque are the documents of unknown kinds that the logs of the scopes tell of; lost tells that these may tell of more.
func loggedOpaque(r *engine.View) (marks []scopeMark, lost bool) {
	Sound(r, ScopeLogBucket, nil, func(key, row []byte) {
		s, _, err := CutScope(key)
		if err != nil || row[0] != OpaqueKind {
			return
		}
		if c, err := ParseOpaqueLog(0, row); err == nil {
			d := Opaque{Seq: 1, Deleted: c.Deleted}
			marks = append(marks, d.Mark(s))
		}
	}, func([]byte) { lost = true })
	return marks, lost
}

// push adds a record with an id that is larger than all before it.
func (kl *KindLists) push(k *record.Kind, id record.ID, home int64, counts bool) {
	kl.All = kl.All.Own(0)
	kl.All.Push(id)
	if k.Home != "" {
		kl.Home = kl.Home.edit(0, home, func(l *IdList) { l.Push(id) })
	}
	if counts {
		kl.Issued = kl.Issued.edit(0, home, func(l *IdList) { l.Push(id) })
	}
}
