package table

import (
	"bytes"
	"cmp"
	"slices"
	"sync/atomic"

	"doorward/kv/engine"
	"doorward/kv/record"
)

// Lists are the id lists of the latest commits, and how many double entries there are.
type Lists struct {
	versions atomic.Pointer[[]*lists]
	Doubles  atomic.Int64 // of all events
	LetIn    atomic.Int64 // of Doubles, those of guests that would have been refused
}

// read makes the lists of what the file holds, and tells what of it is damaged.
func (l *Lists) read(r *engine.View, found *damages) error {
	built, err := buildLists(r, found)
	if err != nil {
		return err
	}
	l.countDoubles(r, found)
	l.publish(built)
	return nil
}

// countDoubles reads how many double entries there are. One that is damaged is left out of the number.
func (l *Lists) countDoubles(r *engine.View, found *damages) {
	all, letIn := int64(0), int64(0)
	Sound(r, AdmissionBucket, []byte{ByDouble}, func(_, reason []byte) {
		all++
		letIn += int64(Flag(bytes.HasPrefix(reason, []byte(LetInMark))))
	}, func(key []byte) { found.add(DamagedRow(AdmissionBucket, key)) })
	l.Doubles.Store(all)
	l.LetIn.Store(letIn)
}

// keptVersions is how many published versions are kept for readers with an open View.
const keptVersions = 8

func (l *Lists) publish(latest *lists) {
	var kept []*lists
	if old := l.versions.Load(); old != nil {
		kept = *old
	}
	next := append(make([]*lists, 0, keptVersions), latest)
	next = append(next, kept[:min(len(kept), keptVersions-1)]...)
	l.versions.Store(&next)
}

// Current is the lists of the latest commit, which may not be durable yet: a View may not show what they name. A View has its own lists.
func (l *Lists) Current() *lists { return (*l.versions.Load())[0] }

// at finds the lists of a View by its version; nil if too many commits have passed since the View was opened.
func (l *Lists) at(tx int) *lists {
	for _, version := range *l.versions.Load() {
		if version.Tx == tx {
			return version
		}
	}
	return nil
}

// Live is how many live records of a kind there are.
func (l *Lists) Live(k *record.Kind) int { return l.Current().Kind(k).All.Len() }

// lists are the id lists of one committed state of the store: for each kind all its records, those of each church or
// event, and of tickets those that count as issued. They are derived: rebuilt at start, published with each commit.
type lists struct {
	Tx    int // the transaction with the state that they show
	refs  *refCache
	kinds [engine.NumBuckets]*KindLists
	Count scopeCounts

	Doubtful bool // some records' scopes are not known
}

// KindLists are the lists of one kind.
type KindLists struct {
	All    *IdList
	Home   homeLists // by church or event; 0 = records without one
	Issued homeLists // tickets in state valid or unpaid, by event
	edit   uint64

	// It was damaged when the store was opened:
	Doubtful bool // the homes of some records are unknown
	Unsure   bool // some of the records in All may be deleted
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

// Listed are the lists of a kind. In an operation they show what the operations before it in its group have left, but not its own writes.
func Listed(v *View, k *record.Kind) *KindLists {
	kl := v.Lists.Kind(k)
	if v.Group == nil {
		return kl
	}
	edit := v.Store.Commits.Edits + 1 // no published list is of it
	for i := range v.Group.Lists {
		c := &v.Group.Lists[i]
		if c.Kind != k {
			continue
		}
		if kl.edit != edit {
			kl = kl.clone(edit)
		}
		kl.apply(c)
	}
	return kl
}

// IDsOf are the live records of a kind (Listed).
func IDsOf(v *View, k *record.Kind) []record.ID {
	all := Listed(v, k).All
	return all.Page(make([]record.ID, 0, all.Len()), 0, all.Len())
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

// with is the lists after some changes, for the version tx.
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
	return &KindLists{All: kl.All, Home: slices.Clone(kl.Home), Issued: slices.Clone(kl.Issued), edit: edit, Doubtful: kl.Doubtful, Unsure: kl.Unsure}
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
		h.own(edit, from).Remove(id)
	}
	if is {
		h.own(edit, to).Insert(id)
	}
	return h
}

// own returns the list of a home that an edit may change. It makes one if there is none.
func (h *homeLists) own(edit uint64, home int64) *IdList {
	i, ok := h.place(home)
	if !ok {
		*h = slices.Insert(*h, i, homeList{home: home})
	}
	(*h)[i].Ids = (*h)[i].Ids.Own(edit)
	return (*h)[i].Ids
}

// countOpaque counts the documents of unknown kinds in their scopes. Where one of their rows is damaged, the logs of the scopes count.
func (l *lists) countOpaque(r *engine.View, found *damages) {
	var marks []scopeMark
	before := found.count
	Sound(r, OpaqueBucket, nil, func(key, row []byte) {
		s, _, err := CutScope(key)
		d, short := ParseDocumentHead(row)
		if err == nil && short == nil {
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
		if err != nil {
			return
		}
		if c, err := ParseScopeLog(1, row); err == nil && c.Kind == nil {
			d := Document{Seq: c.Seq, Deleted: c.Deleted}
			marks = append(marks, d.Mark(s))
		}
	}, func([]byte) { lost = true })
	return marks, lost
}

// chunkSize is how many ids a chunk holds before it is split.
const chunkSize = 1024

// IdList is a sorted sequence of ids in chunks. A published list never changes. An edit works on a copy, which shares the chunks that
// stay the same.
type IdList struct {
	chunks []*chunk
	n      int
	edit   uint64 // the edit that owns this list's chunk table
}

// chunk is a part of a list. An edit adds an id at the end to the array of the edit before: no reader's list is that long, and no two edits begin at one
// list and are both published.
type chunk struct {
	ids    []record.ID
	edit   uint64 // the edit that made this chunk and may still change it
	shared bool   // its array is one of an earlier edit: nothing but the end may be changed
}

func (l *IdList) Len() int {
	if l == nil {
		return 0
	}
	return l.n
}

// locate finds the chunk that holds id or would hold it, and the place in it.
func (l *IdList) locate(id record.ID) (c, i int, found bool) {
	c, _ = slices.BinarySearchFunc(l.chunks, id, func(ch *chunk, id record.ID) int {
		return ch.ids[len(ch.ids)-1].Compare(id)
	})
	if c == len(l.chunks) {
		return c, 0, false
	}
	i, found = slices.BinarySearchFunc(l.chunks[c].ids, id, record.ID.Compare)
	return c, i, found
}

func (l *IdList) Contains(id record.ID) bool {
	if l == nil {
		return false
	}
	_, _, found := l.locate(id)
	return found
}

// Rank is how many ids lie before id.
func (l *IdList) Rank(id record.ID) int {
	if l == nil {
		return 0
	}
	c, i, _ := l.locate(id)
	for _, ch := range l.chunks[:c] {
		i += len(ch.ids)
	}
	return i
}

// Page appends up to limit ids from the place offset on.
func (l *IdList) Page(dst []record.ID, offset, limit int) []record.ID {
	if l == nil {
		return dst
	}
	for _, ch := range l.chunks {
		if limit <= 0 {
			break
		}
		if offset >= len(ch.ids) {
			offset -= len(ch.ids)
			continue
		}
		part := ch.ids[offset:min(offset+limit, len(ch.ids))]
		dst = append(dst, part...)
		limit -= len(part)
		offset = 0
	}
	return dst
}

// Own returns the list that this edit may change: a copy, if another edit made it.
func (l *IdList) Own(edit uint64) *IdList {
	switch {
	case l == nil:
		return &IdList{edit: edit}
	case l.edit == edit:
		return l
	}
	return &IdList{chunks: slices.Clone(l.chunks), n: l.n, edit: edit}
}

// ownChunk makes a chunk changeable by this edit.
func (l *IdList) ownChunk(c int) *chunk {
	ch := l.chunks[c]
	if ch.edit != l.edit || ch.shared {
		ch = &chunk{ids: append(make([]record.ID, 0, len(ch.ids)+8), ch.ids...), edit: l.edit}
		l.chunks[c] = ch
	}
	return ch
}

// add adds an id at the end of a chunk.
func (l *IdList) add(c int, id record.ID) {
	ch := l.chunks[c]
	if ch.edit != l.edit {
		ch = &chunk{ids: ch.ids, edit: l.edit, shared: true}
		l.chunks[c] = ch
	}
	if len(ch.ids) == cap(ch.ids) {
		ch.shared = false
	}
	ch.ids = append(ch.ids, id)
}

// Insert adds an id to an owned list.
func (l *IdList) Insert(id record.ID) {
	c, i, found := l.locate(id)
	if found {
		return
	}
	l.n++
	if c == len(l.chunks) {
		if c == 0 || len(l.chunks[c-1].ids) == chunkSize {
			l.chunks = append(l.chunks, &chunk{ids: []record.ID{id}, edit: l.edit})
			return
		}
		c--
		i = len(l.chunks[c].ids)
	}
	if len(l.chunks[c].ids) == chunkSize {
		l.split(c)
		if i > chunkSize/2 {
			c, i = c+1, i-chunkSize/2
		}
	}
	if i == len(l.chunks[c].ids) {
		l.add(c, id)
		return
	}
	ch := l.ownChunk(c)
	ch.ids = slices.Insert(ch.ids, i, id)
}

// split makes two half-full chunks of a full one.
func (l *IdList) split(c int) {
	full := l.chunks[c].ids
	left := &chunk{ids: slices.Clone(full[:chunkSize/2]), edit: l.edit}
	right := &chunk{ids: slices.Clone(full[chunkSize/2:]), edit: l.edit}
	l.chunks[c] = left
	l.chunks = slices.Insert(l.chunks, c+1, right)
}

// Remove takes an id out of an owned list.
func (l *IdList) Remove(id record.ID) {
	c, i, found := l.locate(id)
	if !found {
		return
	}
	l.n--
	ch := l.ownChunk(c)
	if ch.ids = slices.Delete(ch.ids, i, i+1); len(ch.ids) == 0 {
		l.chunks = slices.Delete(l.chunks, c, c+1)
	}
}

// At is the id at a place, which must be there.
func (l *IdList) At(i int) record.ID {
	for _, ch := range l.chunks {
		if i < len(ch.ids) {
			return ch.ids[i]
		}
		i -= len(ch.ids)
	}
	return record.ID{}
}

// Push adds an id that is larger than all others to an owned list.
func (l *IdList) Push(id record.ID) {
	last := len(l.chunks) - 1
	switch {
	case last < 0:
		l.chunks = append(l.chunks, &chunk{edit: l.edit})
		last++
	case len(l.chunks[last].ids) == chunkSize:
		l.chunks = append(l.chunks, &chunk{edit: l.edit, ids: make([]record.ID, 0, chunkSize)}) // the list is long: it will be full too
		last++
	}
	l.chunks[last].ids = append(l.chunks[last].ids, id)
	l.n++
}
