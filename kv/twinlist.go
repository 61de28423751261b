package kv

import (
	"fmt"
	"slices"

	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/value"
)

// listTwin tells staff of a record that was merged: all that it was, and which one stays.
func listTwin(o *op, k *record.Kind, st *stored, d *record.Doc, into int64) error {
	t, err := loadTree(o.sight, k, st)
	if err != nil {
		return err
	}
	c := record.Clash{Winner: value.Quote(k.DocID(record.Int(into))), Other: d.Canonical()}
	return listConflict(o, k, st.id, c, t.Winner().Node)
}

// listDifferences tells staff of what a merged record had and the one that stays has not.
func listDifferences(o *op, k *record.Kind, kept, merged *stored, d *record.Doc) error {
	stays, err := kept.decode(k)
	if err != nil {
		return err
	}
	t, err := loadTree(o.sight, k, merged)
	if err != nil {
		return err
	}
	by := t.Winner().Node
	for _, name := range d.Differs(stays) {
		f, known := k.Field(name)
		if d.IsNull(name) || known && f.Rule() != rev.Pick && f.Rule() != rev.Strict {
			continue
		}
		c := record.Clash{Field: name, Winner: stays.Value(name), Other: d.Value(name)}
		if err := listConflict(o, k, kept.id, c, by); err != nil {
			return err
		}
	}
	return nil
}

// repoint makes a record name those that stay instead of merged ones, and answers it as it is then.
func repoint(o *op, k *record.Kind, st *stored, d *record.Doc) (*stored, *record.Doc, error) {
	if !anyMerged(o) {
		return st, d, nil
	}
	is := d.Clone()
	for i := range k.Fields {
		f := &k.Fields[i]
		to, _ := record.ByName(refersTo(f))
		if to == nil || !hasTwins(to) {
			continue
		}
		if err := repointField(o, f, to, is); err != nil {
			return nil, nil, err
		}
	}
	if len(is.Differs(d)) == 0 {
		return st, d, nil
	}
	next, err := o.write(change{kind: k, id: st.id, before: st, was: d, is: is})
	return next, is, err
}

// repointField does it for one field.
func repointField(o *op, f *record.Field, to *record.Kind, d *record.Doc) error {
	if _, many := f.Type.(record.Refs); !many {
		n, err := kept(o, to, d.Int(f.Name))
		if err == nil && n != d.Int(f.Name) {
			d.Set(f.Name, value.Number(n))
		}
		return err
	}
	list := []byte{'['}
	var seen []int64
	for _, n := range d.Ints(f.Name) {
		n, err := kept(o, to, n)
		if err != nil {
			return err
		}
		if slices.Contains(seen, n) {
			continue
		}
		if seen = append(seen, n); len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, value.Number(n)...)
	}
	if list = append(list, ']'); len(seen) > 0 && !slices.Equal(seen, d.Ints(f.Name)) {
		d.Set(f.Name, list)
	}
	return nil
}

// kept is the id of the record that stays where one was merged, or else the same.
func kept(o *op, k *record.Kind, id int64) (int64, error) {
	st, err := o.loadAny(k, record.Int(id))
	if err != nil || st == nil || !st.deleted {
		return id, err
	}
	if st, err = survivor(o.sight, k, st.id); err != nil || st == nil {
		return id, err
	}
	return st.id.Int(), nil
}

// repointAll makes all records name the one that stays which have named a merged one.
func repointAll(o *op, to *record.Kind, id record.ID) error {
	for _, k := range record.Kinds() {
		for i := range k.Fields {
			f := &k.Fields[i]
			if refersTo(f) != to.Name || !f.Flags.Has(record.Indexed) {
				continue
			}
			ids, err := o.lookup(k, f.Name, id.Int())
			for n := 0; err == nil && n < len(ids); n++ {
				err = repointOne(o, k, ids[n])
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// repointOne does it for one record; two memberships may be one then.
func repointOne(o *op, k *record.Kind, id record.ID) error {
	st, err := o.load(k, id)
	if err != nil || st == nil {
		return err
	}
	d, err := st.decode(k)
	if err != nil {
		return err
	}
	if _, d, err = repoint(o, k, st, d); err != nil || !hasTwins(k) {
		return err
	}
	return join(o, k, id.Int(), d)
}

// verifyTwin checks that a row about a merged record leads to one that is here.
func verifyTwin(v *sight, key, value []byte) error {
	if len(key) < 2 || len(value) != 0 {
		return ErrCorrupt
	}
	k, ok := record.ByNumber(key[1])
	size := map[byte]int{twinKnown: 2 + codeHashSize + 8, twinInto: 2 + 8 + 8}[key[0]]
	if !ok || k.ULID || size != len(key) {
		return ErrCorrupt
	}
	id, _ := k.KeyID(key[len(key)-8:]) // its length is right
	st, err := v.loadAny(k, id)
	if err != nil || st == nil {
		return fmt.Errorf("a row leads to %s %s: %w", k.Name, k.FormatID(id), orNotFound(err))
	}
	return nil
}
