package merge

import (
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// A laptop that is told of an erasure does to a ticket what its centre did, and lets what it made itself stand upon that: the centre knows
// then that whatever names come were given since, or to somebody else. Which of its revisions the centre's first one without names was
// made of it finds out by making that anew, for its name follows from what it says.

// footing is the centre's first revision without names of a part of a ticket, and what was made here of what that was made of.
type footing struct {
	tree   rev.Tree
	first  *table.Stored
	bare   *record.Doc // of first
	is     *record.Doc // the part as it is
	mine   []rev.ID    // made here of what first was made of, newest first
	fields []string    // that those changed
}

// footing answers nil where the first one was made of nothing that is here, and where the part stands upon it already.
func newFooting(o *table.Tx, k *record.Kind, st *table.Stored, e *table.Erased) (*footing, error) {
	t, err := table.LoadTree(o.View, k, st)
	if err != nil || e.Knows(k, t.Path(st.Revision), &t) {
		return nil, err
	}
	s := &footing{tree: t}
	if s.is, err = st.Decode(k); err != nil {
		return nil, err
	}
	was := s.is
	for i, revision := range t.Path(st.Revision) {
		if i > 0 {
			if was, err = table.KeptDoc(o.View, k, st.Id, revision); err != nil || was == nil {
				return nil, err
			}
		}
		s.bare = was.Erased()
		first := rev.Next(revision, false, s.bare.Canonical())
		if slices.Contains(e.First[k], first) {
			s.first = &table.Stored{Id: st.Id, Header: table.Header{Version: k.Version, Revision: first}, Body: s.bare.Encode()}
			return s, nil
		}
		n := t.Find(revision)
		if n.Node != (ulid.ULID{}) || n.At == 0 {
			return nil, nil // others have made it: they do not stand upon what was made here
		}
		s.mine, s.fields = append(s.mine, revision), append(s.fields, n.Fields...)
	}
	return nil, nil
}

// passedOnHere tells a ticket that was taken from who is erased by what was made here since.
func passedOnHere(o *table.Tx, ticket record.ID, e *table.Erased) (bool, error) {
	st, err := o.Load(record.Holder, ticket)
	if err != nil || st == nil {
		return false, err
	}
	s, err := newFooting(o, record.Holder, st, e)
	if err != nil || s == nil || !slices.Contains(s.fields, "person_id") {
		return false, err
	}
	of, err := table.NamesErased(o.View, record.Holder, s.is)
	return !of, err
}

// stand lets a part stand upon the first one without names: with the names that were given here to another holder, and no others. It
// tells whether it could.
func standPart(o *table.Tx, k *record.Kind, st *table.Stored, e *table.Erased, passedOn bool) (bool, error) {
	s, err := newFooting(o, k, st, e)
	if err != nil || s == nil {
		return false, err
	}
	next := s.is.Erased()
	for i := range k.Fields {
		if f := &k.Fields[i]; passedOn && f.Flags.Has(record.Personal) && slices.Contains(s.fields, f.Name) {
			next.Set(f.Name, s.is.Value(f.Name))
		}
	}
	t, path := s.tree, s.tree.Path(st.Revision)[len(s.mine):]
	if len(s.mine) > 0 {
		t.Prune(st.Revision, func(n rev.Node) bool { return !slices.Contains(s.mine, n.Revision) })
	}
	centre, _ := ulid.ParseStrict(o.Store.Centre())
	revision, node := s.first.Revision, rev.Node{Held: true, Node: centre}
	path = append([]rev.ID{revision}, path...)
	if _, err := t.Graft(path, node); err != nil {
		return false, err
	}
	fields := next.Differs(s.bare)
	if len(fields) > 0 {
		revision = rev.Next(revision, false, next.Canonical())
		if _, err := t.Graft(append([]rev.ID{revision}, path...), rev.Node{Held: true, At: o.Stamp, Key: st.UpdatedBy, Fields: fields}); err != nil {
			return false, err
		}
	}
	if t.Winner().Revision != revision {
		return false, nil // another branch would win, which has names
	}
	table.KeepBody(o, k, s.first) // the centre may refuse what stands upon it
	return true, forgetAt(o, k, st, &t, e, next)
}

// forgetAt is forgetPast at a laptop: the bodies of losing branches stay, for the centre may not have them, and those of first revisions
// without names, for it may refuse what stands upon them.
func forgetAt(o *table.Tx, k *record.Kind, st *table.Stored, t *rev.Tree, e *table.Erased, is *record.Doc) error {
	kept, err := keptWithoutNames(o, k, st.Id, t, e)
	if err != nil {
		return err
	}
	if err := become(o, k, st, t, is, st.UpdatedBy); err != nil || len(kept) == 0 {
		return err
	}
	for _, other := range kept {
		t.Hold(other.Revision, true)
		table.KeepBody(o, k, other)
	}
	o.Put(table.TreeBucket, table.TreeKey(k, st.Id), t.Append(nil))
	return nil
}

// withoutNames is a body of a part as it stays: where it was not made since the names were erased, as far as that is known, it has none.
func withoutNames(o *table.Tx, k *record.Kind, st *table.Stored, t *rev.Tree, e *table.Erased) (*record.Doc, error) {
	d, err := st.Decode(k)
	if err == nil && e != nil && (e.Again || len(e.First) > 0) && !e.Knows(k, t.Path(st.Revision), t) {
		d = d.Erased()
	}
	return d, err
}

// keptWithoutNames are the kept bodies that stay, as they stay.
func keptWithoutNames(o *table.Tx, k *record.Kind, id record.ID, t *rev.Tree, e *table.Erased) (all []*table.Stored, err error) {
	var revs []rev.ID
	for _, leaf := range t.Conflicts() {
		revs = append(revs, leaf.Revision)
	}
	if e != nil {
		revs = append(revs, e.First[k]...)
	}
	winner := t.Winner().Revision
	for _, rev := range slices.Compact(slices.SortedFunc(slices.Values(revs), rev.ID.Compare)) {
		kept, err := table.KeptBody(o.View, k, id, rev)
		if err != nil {
			return nil, err
		}
		if kept == nil || rev == winner {
			continue
		}
		d, err := withoutNames(o, k, kept, t, e)
		if err != nil {
			return nil, err
		}
		kept.Version, kept.Foreign, kept.Body = k.Version, true, d.Encode()
		all = append(all, kept)
	}
	return all, nil
}
