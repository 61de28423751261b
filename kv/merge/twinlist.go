package merge

import (
	"fmt"
	"slices"

	"doorward/kv/engine"
	"doorward/kv/keys"
	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/kv/value"
)

// listTwin tells staff of a record that was merged: all that it was, and which one stays.
func listTwin(o *table.Tx, k *record.Kind, st *table.Stored, d *record.Doc, into int64) error {
	t, err := table.LoadTree(o.View, k, st)
	if err != nil {
		return err
	}
	c := record.Clash{Winner: value.Quote(k.DocID(record.Int(into))), Other: d.Canonical()}
	return listConflict(o, k, st.ID, c, t.Winner().Node)
}

// listDifferences tells staff of what a merged record had and the one that stays has not.
func listDifferences(o *table.Tx, k *record.Kind, kept, merged *table.Stored, d *record.Doc) error {
	stays, err := kept.Decode(k)
	if err != nil {
		return err
	}
	t, err := table.LoadTree(o.View, k, merged)
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
		if err := listConflict(o, k, kept.ID, c, by); err != nil {
			return err
		}
	}
	return nil
}

// repoint makes a record name those that stay instead of merged ones, and answers it as it is then.
func repoint(o *table.Tx, k *record.Kind, st *table.Stored, d *record.Doc) (*table.Stored, *record.Doc, error) {
	if !anyMerged(o) {
		return st, d, nil
	}
	is := d.Clone()
	for i := range k.Fields {
		f := &k.Fields[i]
		to, _ := record.ByName(table.RefersTo(f))
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
	next, err := o.Write(table.Edit{Kind: k, ID: st.ID, Before: st, Was: d, Is: is})
	return next, is, err
}

// repointField does it for one field.
func repointField(o *table.Tx, f *record.Field, to *record.Kind, d *record.Doc) error {
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
func kept(o *table.Tx, k *record.Kind, id int64) (int64, error) {
	st, err := o.LoadAny(k, record.Int(id))
	if err != nil || st == nil || !st.Deleted {
		return id, err
	}
	if st, err = table.Survivor(o.View, k, st.ID); err != nil || st == nil {
		return id, err
	}
	return st.ID.Int(), nil
}

// repointAll makes all records name the one that stays which have named a merged one.
func repointAll(o *table.Tx, to *record.Kind, id record.ID) error {
	for _, k := range record.Kinds() {
		for i := range k.Fields {
			f := &k.Fields[i]
			if table.RefersTo(f) != to.Name || !f.Flags.Has(record.Indexed) {
				continue
			}
			ids, err := o.Lookup(k, f.Name, id.Int())
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
func repointOne(o *table.Tx, k *record.Kind, id record.ID) error {
	st, err := o.Load(k, id)
	if err != nil || st == nil {
		return err
	}
	d, err := st.Decode(k)
	if err != nil {
		return err
	}
	if _, d, err = repoint(o, k, st, d); err != nil || !hasTwins(k) {
		return err
	}
	return join(o, k, id.Int(), d)
}

// VerifyTwin checks that a row about a merged record leads to one that is here.
func VerifyTwin(v *table.View, key, value []byte) error {
	if len(key) < 2 || len(value) != 0 {
		return engine.ErrCorrupt
	}
	k, ok := record.ByNumber(key[1])
	size := map[byte]int{twinKnown: 2 + ledger.CodeHashSize + 8, table.TwinInto: 2 + 8 + 8}[key[0]]
	if !ok || k.ULID || size != len(key) {
		return engine.ErrCorrupt
	}
	id, _ := k.KeyID(key[len(key)-8:]) // its length is right
	st, err := v.LoadAny(k, id)
	if err != nil || st == nil {
		return fmt.Errorf("a row leads to %s %s: %w", k.Name, k.FormatID(id), keys.OrNotFound(err))
	}
	return nil
}
