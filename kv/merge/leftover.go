package merge

import (
	"slices"

	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// A ticket that was passed on says of who had it before what nobody has changed since. That goes with that person: of the private half
// whatever was not changed since the ticket was taken away; of name, digits and label what had not been changed since it was given, for
// a door may write the next holder's name first. When a field was changed last the trees tell, along the path of what the parts are now.

// edit is one of those that have made a part of a ticket what it is.
type edit struct {
	revision rev.ID
	at       int64
	fields   []string // that it has changed
	oldest   bool     // that is known: whatever none after it has changed counts as changed by it
}

func (e edit) changed(field string) bool { return e.oldest || slices.Contains(e.fields, field) }

// edits are those of a part, newest first, as far back as it is known what they have changed. Where a node does not tell that, as of
// several that a laptop made one after the other, the kept bodies do.
func edits(o *table.Tx, k *record.Kind, st *table.Stored, t *rev.Tree) (all []edit, err error) {
	path := t.Path(st.Revision)
	for i := 0; i < len(path) && t.Find(path[i]).At != 0; {
		n, before := t.Find(path[i]), i+1
		for before < len(path) && t.Find(path[before]).At == 0 {
			before++
		}
		e := edit{revision: path[i], at: n.At, fields: n.Fields, oldest: before == len(path)}
		if !e.oldest && (before > i+1 || len(n.Fields) == 0) {
			if e.fields, err = differing(o, k, st, path[i], path[before]); err != nil {
				return nil, err
			}
			e.oldest = e.fields == nil
		}
		all = append(all, e)
		if e.oldest {
			break
		}
		i = before
	}
	return all, nil
}

// differing are the fields in which two revisions of a part differ; nil where there are none, or one's body is not held.
func differing(o *table.Tx, k *record.Kind, st *table.Stored, revs ...rev.ID) ([]string, error) {
	var docs [2]*record.Doc
	for i, rev := range revs {
		var err error
		if docs[i], err = table.DocOf(o.View, k, st, rev); err != nil || docs[i] == nil {
			return nil, err
		}
	}
	return docs[0].Differs(docs[1]), nil
}

// Leftover is what is left on a ticket of somebody who had it once.
type Leftover struct {
	Author  int64 // of what empties it
	None    bool  // nothing is: the ticket says what the next holder's side has said alone
	e       *table.Erased
	since   int64       // when the ticket was taken away
	passed  int         // which edit of the private half has taken it away
	taken   int64       // when that was made, as far as it is known; 0: never
	given   int64       // when the ticket was given; 0: it is not known, and the ticket's creation counts
	of      *record.Doc // the part before, from which the next one follows
	moved   bool        // that has changed
	Emptied bool        // there was something
}

// pass finds out when the ticket was given and taken away, by the edits of its private half.
func (l *Leftover) pass(all []edit) {
	l.passed = -1
	for i, e := range all {
		if !e.changed("person_id") {
			continue
		}
		if l.passed < 0 || e.at >= l.since { // of several branches another one may have taken it away
			l.passed = i
		}
		if e.at == l.since {
			break
		}
	}
	if l.passed < 0 {
		return
	}
	l.taken = min(l.since, all[l.passed].at)
	for _, e := range all[l.passed+1:] {
		if slices.Contains(e.fields, "person_id") || e.revision.Generation == 1 {
			l.given = e.at
			return
		}
	}
}

// goes tells a field that was changed last when the ticket was that person's, or before.
func (l *Leftover) goes(k *record.Kind, field string, all []edit) bool {
	i := slices.IndexFunc(all, func(e edit) bool { return e.changed(field) })
	switch {
	case i < 0:
		return false
	case k == record.Holder:
		return i > l.passed
	case all[i].at >= l.taken:
		return false
	case l.given != 0:
		return all[i].at <= l.given
	}
	return all[i].revision.Generation == 1
}

// without is a part without what was that person's.
func (l *Leftover) without(was *record.Doc, all []edit) *record.Doc {
	is, bare := was.Clone(), was.Erased()
	for i := range was.Kind.Fields {
		f := &was.Kind.Fields[i]
		if f.Flags.Has(record.Personal) && table.RefersTo(f) == "" && l.goes(was.Kind, f.Name, all) {
			is.Set(f.Name, bare.Value(f.Name))
		}
	}
	if l.of != nil && (l.moved || len(is.Differs(was)) > 0) {
		is.FollowPart(l.of)
	}
	return is
}

// empty notes of a part what was made of it since the ticket was passed on, and empties what is left of who had it before.
func emptyLeftover(o *table.Tx, l *Leftover, k *record.Kind, st *table.Stored) error {
	t, err := table.LoadTree(o.View, k, st)
	if err != nil {
		return err
	}
	l.e.Begins(k, &t, l.since)
	if st.Deleted || l.None {
		return nil
	}
	all, err := edits(o, k, st, &t)
	if err != nil {
		return err
	}
	if k == record.Holder {
		l.pass(all)
	}
	was, err := st.Decode(k)
	if err != nil {
		return err
	}
	is := l.without(was, all)
	fields := is.Differs(was)
	if l.of, l.moved = is, len(fields) > 0; !l.moved {
		return nil
	}
	next, err := o.Write(table.Edit{Kind: k, Id: st.Id, Before: st, Was: was, Is: is, Author: l.Author})
	if err != nil {
		return err
	}
	l.e.Empties(k, next.Revision, l.since, fields)
	l.Emptied = true
	return nil
}
