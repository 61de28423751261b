package kv

import (
	"slices"

	"doorward/kv/record"
	"doorward/kv/scopes"
)

// MatterQuery is a page of what staff have to decide: conflicts or refusals (record.Conflict, record.Refusal).
type MatterQuery struct {
	Kind          *record.Kind
	Where         []Where // on text fields, all of which must hold
	Offset, Limit int
}

// MatterPage is what Matters returns.
type MatterPage struct {
	Count   int // of all pages
	Replies []Reply
}

// Matters lists what p has to decide, oldest first: conflicts about records that p sees, and refusals of documents of the databases
// of p's churches and events. It returns *Forbidden.
func (s *Store) Matters(p Principal, q MatterQuery) (page MatterPage, err error) {
	if err := p.CheckKind(record.Admin, q.Kind, "GET"); err != nil {
		return page, err
	}
	err = s.view(func(v *sight) error {
		ids := v.lists.kind(q.Kind).all
		for _, id := range ids.page(nil, 0, ids.len()) {
			st, d, err := matter(v, p, q.Kind, id)
			if err != nil {
				return err
			}
			if st == nil || !fulfils(d, q.Where) {
				continue
			}
			if page.Count++; page.Count <= q.Offset || len(page.Replies) >= q.Limit {
				continue
			}
			r, err := reply(v, record.Admin, q.Kind, st)
			if err != nil {
				return err
			}
			page.Replies = append(page.Replies, r)
		}
		return nil
	})
	return page, err
}

// Matter reads one conflict or refusal. It returns ErrNotFound or *Forbidden.
func (s *Store) Matter(p Principal, k *record.Kind, id record.ID) (r Reply, err error) {
	if err := p.CheckKind(record.Admin, k, "GET"); err != nil {
		return r, err
	}
	err = s.view(func(v *sight) error {
		st, _, err := matter(v, p, k, id)
		if err != nil || st == nil {
			return orNotFound(err)
		}
		r, err = reply(v, record.Admin, k, st)
		return err
	})
	return r, err
}

// fulfils tells whether a record holds what conditions on its texts ask for.
func fulfils(d *record.Doc, where []Where) bool {
	for _, w := range where {
		if !slices.Contains(w.In, any(d.Text(w.Field))) {
			return false
		}
	}
	return true
}

// matter loads a conflict or a refusal; nil where p does not see it.
func matter(v *sight, p Principal, k *record.Kind, id record.ID) (*stored, *record.Doc, error) {
	st, err := v.load(k, id)
	if err != nil || st == nil {
		return nil, nil, err
	}
	d, err := st.decode(k)
	if err != nil {
		return nil, nil, err
	}
	sees := func(p Principal, d *record.Doc) (bool, error) { return seesConflict(v, p, d) }
	if k == record.Refusal {
		sees = func(p Principal, d *record.Doc) (bool, error) { return seesRefusal(v, p, d) }
	}
	if ok, err := sees(p, d); err != nil || !ok {
		return nil, nil, err
	}
	return st, d, nil
}

// seesConflict tells whether p sees the record that a conflict is about; one that is deleted is seen where it was.
func seesConflict(v *sight, p Principal, d *record.Doc) (bool, error) {
	if p.IsWhole() {
		return true, nil
	}
	k, id, _ := listedRecord(record.Conflict, d)
	if k == nil || k.Home == "" { // a record without a home is changed at denomination level
		return false, nil
	}
	st, err := v.loadAny(k, id)
	if err != nil || st == nil {
		return false, err
	}
	if k == record.Membership {
		return holdsChurch(v, p, st.home(k)) // one that is deleted names no group
	}
	return sees(v, p, k, st)
}

// seesRefusal tells whether a document was refused in a database of p's.
func seesRefusal(v *sight, p Principal, d *record.Doc) (bool, error) {
	if p.IsWhole() {
		return true, nil
	}
	scope, ok := scopes.Parse(d.Text("db"))
	switch {
	case !ok:
		return false, nil
	case scope.Sort == scopes.Church, scope.Sort == scopes.ChurchFinance:
		return holdsChurch(v, p, scope.ID)
	case scope.ID != 0:
		return seesEvent(v, p, scope.ID)
	}
	return false, nil
}

// SeesMatter returns nil if p may decide a conflict or a refusal, as far as the list shows. It returns ErrNotFound or
// *Forbidden if not.
func (s *Store) SeesMatter(p Principal, k *record.Kind, id record.ID) error {
	if err := p.CheckKind(record.Admin, k, "POST"); err != nil {
		return err
	}
	return s.view(func(v *sight) error {
		st, _, err := matter(v, p, k, id)
		if err == nil && st == nil {
			err = ErrNotFound
		}
		return err
	})
}
