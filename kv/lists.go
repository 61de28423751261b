package kv

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
	tx    int // the transaction with the state that they show
	refs  *refCache
	kinds [engine.NumBuckets]*kindLists
	count scopeCounts

	doubtful bool // some records' scopes are not known
}

type kindLists struct {
	all    *idList
	home   homeLists // by church or event; 0 = records without one
	issued homeLists // tickets in state valid or unpaid, by event
	edit   uint64

	doubtful bool // it was damaged when the store was opened, and the homes of some records are unknown
}

// homeLists is sorted by home.
type homeLists []homeList

type homeList struct {
	home int64
	ids  *idList
}

func (h homeLists) place(home int64) (int, bool) {
	return slices.BinarySearchFunc(h, home, func(l homeList, home int64) int { return cmp.Compare(l.home, home) })
}

func (h homeLists) of(home int64) *idList {
	if i, ok := h.place(home); ok {
		return h[i].ids
	}
	return nil
}

// listChange is one record entering or leaving the lists.
type listChange struct {
	kind        *record.Kind
	id          record.ID
	was, is     bool
	wasHome     int64
	isHome      int64
	wasIn, isIn bool // tickets: issued
	from, to    scopeMark
}

func (l *lists) kind(k *record.Kind) *kindLists {
	if kl := l.kinds[k.Number]; kl != nil {
		return kl
	}
	return &kindLists{}
}

// with is the lists after some changes, as transaction tx will show them.
func (l *lists) with(tx int, edit uint64, changes []listChange) *lists {
	next := &lists{tx: tx, kinds: l.kinds, refs: l.refs, count: l.count, doubtful: l.doubtful}
	for i := range changes {
		c := &changes[i]
		next.count.note(edit, &c.from, -1)
		next.count.note(edit, &c.to, 1)
		if c.kind == nil {
			continue // of a kind that this version does not know
		}
		if cached(c.kind) && next.refs == l.refs {
			next.refs = newRefCache()
		}
		kl := next.kinds[c.kind.Number]
		if kl == nil || kl.edit != edit {
			kl = kl.clone(edit)
			next.kinds[c.kind.Number] = kl
		}
		kl.apply(c)
	}
	return next
}

func (kl *kindLists) clone(edit uint64) *kindLists {
	if kl == nil {
		return &kindLists{edit: edit}
	}
	return &kindLists{all: kl.all, home: slices.Clone(kl.home), issued: slices.Clone(kl.issued), edit: edit, doubtful: kl.doubtful}
}

func (kl *kindLists) apply(c *listChange) {
	if c.was != c.is {
		kl.all = kl.all.own(kl.edit)
		if c.is {
			kl.all.insert(c.id)
		} else {
			kl.all.remove(c.id)
		}
	}
	if c.kind.Home != "" {
		kl.home = kl.home.move(kl.edit, c.id, c.was, c.wasHome, c.is, c.isHome)
	}
	if c.kind == record.Ticket {
		kl.issued = kl.issued.move(kl.edit, c.id, c.was && c.wasIn, c.wasHome, c.is && c.isIn, c.isHome)
	}
}

// move takes an id from one home's list to another's.
func (h homeLists) move(edit uint64, id record.ID, was bool, from int64, is bool, to int64) homeLists {
	if was == is && from == to {
		return h
	}
	if was {
		h = h.edit(edit, from, func(l *idList) { l.remove(id) })
	}
	if is {
		h = h.edit(edit, to, func(l *idList) { l.insert(id) })
	}
	return h
}

func (h homeLists) edit(edit uint64, home int64, fn func(*idList)) homeLists {
	i, ok := h.place(home)
	if !ok {
		h = slices.Insert(h, i, homeList{home: home})
	}
	h[i].ids = h[i].ids.own(edit)
	fn(h[i].ids)
	return h
}

// buildLists reads every kind's records into lists, as the View shows them, and tells what of them is damaged. The lists of a kind
// with a damaged row are made of all that is sound (relist.go), from the start: what was read of it before the damage is in the counts.
func buildLists(r *engine.View, found *damages) (*lists, error) {
	damaged := map[*record.Kind]bool{}
	for {
		l, these, k, err := listAll(r, damaged)
		if err == nil {
			l.tx = r.Version()
			found.join(these)
			l.countOpaque(r, found)
			return l, nil
		}
		if damaged[k] || !errors.Is(err, ErrCorrupt) {
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
		kl := &kindLists{}
		l.kinds[k.Number] = kl
		var like scopeMark // records side by side mostly are in the same scopes
		n := 0
		add := func(st *stored, counts bool) {
			if mark := st.mark(); mark != like {
				l.count.note(0, &like, n)
				like, n = mark, 0
			}
			n++
			if !st.deleted {
				kl.push(k, st.id, st.home(k), counts)
			}
		}
		if damaged[k] {
			again := relist(r, k)
			again.each(add)
			found.join(again.damages)
			kl.doubtful, l.doubtful = again.doubtful, l.doubtful || again.counts
		} else if err := eachHeader(r, k, add); err != nil {
			return nil, found, k, err
		}
		l.count.note(0, &like, n)
	}
	return l, found, nil, nil
}

// eachHeader calls fn with each record of a kind, and with whether it counts as issued. fn must not keep the record after it returns.
func eachHeader(r *engine.View, k *record.Kind, fn func(st *stored, counts bool)) error {
	c := r.Cursor(kindBucket(k))
	var st stored
	for at := c.Seek(nil); at.Key != nil; at = c.Next() {
		row, err := at.Value()
		if err != nil {
			return err
		}
		if err := st.parse(row); err != nil {
			return err
		}
		id, ok := k.KeyID(at.Key)
		if !ok {
			return fmt.Errorf("%w: key of kind %s", ErrCorrupt, k.Name)
		}
		st.id = id
		fn(&st, !st.deleted && issued(k, st.body))
	}
	return nil
}

// countOpaque counts the documents of unknown kinds in their scopes. Where one of their rows is damaged, the logs of the scopes count.
func (l *lists) countOpaque(r *engine.View, found *damages) {
	var marks []scopeMark
	before := found.count
	sound(r, opaqueBucket, nil, func(key, row []byte) {
		if s, _, err := cutScope(key); err == nil && len(row) > 8 {
			d := opaque{seq: 1, deleted: row[8] == rowDeleted}
			marks = append(marks, d.mark(s))
		}
	}, func(key []byte) { found.add(damagedRow(opaqueBucket, key)) })
	if found.count > before {
		var lost bool
		marks, lost = loggedOpaque(r)
		l.doubtful = l.doubtful || lost
	}
	for i := range marks {
		l.count.note(0, &marks[i], 1)
	}
}

// loggedOpaque are the documents of unknown kinds that the logs of the scopes tell of; lost tells that these may tell of more.
func loggedOpaque(r *engine.View) (marks []scopeMark, lost bool) {
	sound(r, scopeLogBucket, nil, func(key, row []byte) {
		s, _, err := cutScope(key)
		if err != nil || row[0] != opaqueKind {
			return
		}
		if c, err := parseOpaqueLog(0, row); err == nil {
			d := opaque{seq: 1, deleted: c.Deleted}
			marks = append(marks, d.mark(s))
		}
	}, func([]byte) { lost = true })
	return marks, lost
}

// push adds a record with an id that is larger than all before it.
func (kl *kindLists) push(k *record.Kind, id record.ID, home int64, counts bool) {
	kl.all = kl.all.own(0)
	kl.all.push(id)
	if k.Home != "" {
		kl.home = kl.home.edit(0, home, func(l *idList) { l.push(id) })
	}
	if counts {
		kl.issued = kl.issued.edit(0, home, func(l *idList) { l.push(id) })
	}
}
