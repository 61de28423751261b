package merge

import (
	"slices"

	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// redirect replaces references to merged records by references to those that stay. It returns the record and its document after
// that.
func redirect(o *table.Tx, k *record.Kind, st *table.Stored, d *record.Doc) (*table.Stored, *record.Doc, error) {
	if !anyMerged(o) {
		return st, d, nil
	}
	is := d.Clone()
	for i := range k.Fields {
		f := &k.Fields[i]
		to, _ := record.ByName(table.RefersTo(f))
		if to == nil || !hasDuplicates(to) {
			continue
		}
		if err := redirectField(o, f, to, is); err != nil {
			return nil, nil, err
		}
	}
	if len(is.Differs(d)) == 0 {
		return st, d, nil
	}
	next, err := o.Write(table.Edit{Kind: k, ID: st.ID, Before: st, Was: d, Is: is})
	return next, is, err
}

// redirectField is redirect for one field.
func redirectField(o *table.Tx, f *record.Field, to *record.Kind, d *record.Doc) error {
	if _, many := f.Type.(record.Refs); !many {
		n, err := survivorOf(o, to, d.Int(f.Name))
		if err == nil && n != d.Int(f.Name) {
			d.Set(f.Name, value.Number(n))
		}
		return err
	}
	list := []byte{'['}
	var seen []int64
	for _, n := range d.Ints(f.Name) {
		n, err := survivorOf(o, to, n)
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

// survivorOf is the id of the record that stays if a record was merged; otherwise it is the same id.
func survivorOf(o *table.Tx, k *record.Kind, id int64) (int64, error) {
	st, err := o.LoadAny(k, record.Int(id))
	if err != nil || st == nil || !st.Deleted {
		return id, err
	}
	if st, err = table.Survivor(o.View, k, st.ID); err != nil || st == nil {
		return id, err
	}
	return st.ID.Int(), nil
}

// redirectAll is redirect for all records that refer to a merged record.
func redirectAll(o *table.Tx, to *record.Kind, id record.ID) error {
	for _, k := range record.Kinds() {
		for i := range k.Fields {
			f := &k.Fields[i]
			if table.RefersTo(f) != to.Name || !f.Flags.Has(record.Indexed) {
				continue
			}
			ids, err := o.Lookup(k, f.Name, id.Int())
			for n := 0; err == nil && n < len(ids); n++ {
				err = redirectOne(o, k, ids[n])
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// redirectOne is redirect for one record. Two memberships may have the same key after that, and are merged.
func redirectOne(o *table.Tx, k *record.Kind, id record.ID) error {
	st, err := o.Load(k, id)
	if err != nil || st == nil {
		return err
	}
	d, err := st.Decode(k)
	if err != nil {
		return err
	}
	if _, d, err = redirect(o, k, st, d); err != nil || !hasDuplicates(k) {
		return err
	}
	return join(o, k, id.Int(), d)
}
