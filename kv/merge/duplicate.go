package merge

import (
	"fmt"
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/access"
	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// Two records are duplicates if they have the same key: the same list was imported at the centre and on a laptop, for example. A key is
// an external_id within the church or the event that the record belongs to, the code of a ticket within its event, or the person and the
// group of a membership. So records of different churches are never duplicates. The root merges duplicates (sync.md §3): it deletes the
// record with the higher id, and the tombstone names the record with the lowest id that shares a key with it, even if that record is
// merged itself. The order of arrival does not matter, because the keys of merged records are kept:
//
//	k 1, kind 1, keyed hash of a key 16, id 8   -   a merged record had this key
//	i 1, kind 1, id 8, id of a merged record 8  -   the second record was merged into the first; at every store
//
// The rows stay if a merged record is made again. The file calls their bucket twin.
//
// A twin is a ticket from a laptop that may change only what it has made, with a key of a ticket that others have made or changed. It
// decides nothing about that ticket: whatever its id, it is merged into the other, its state is only listed, and its keys are not kept.
const mergedKey = 'k'

// hasDuplicates tells whether records of a kind are merged if they were made twice. Events are not: the tickets of an event would
// have to move with it.
func hasDuplicates(k *record.Kind) bool {
	return access.OfLaptops(k) && !k.Fact && k != record.Event && !k.OfTicket()
}

// joinDuplicates merges an arrived record with the records that share a key with it. It returns *Forbidden for an edit that gives a
// guest's ticket a key of a ticket of others, and for one that moves a record to a church which has its number.
func joinDuplicates(o *table.Tx, ad *Adoption) error {
	switch {
	case o.Store.Identity.IsLeaf() || ad.is == nil:
		return nil
	case ad.Kind.OfTicket():
		return joinPart(o, ad)
	case !hasDuplicates(ad.Kind) || ad.Was != nil && entry.SameKeys(ad.Was, ad.is) && !anyMerged(o):
		return nil
	}
	st, d, err := redirect(o, ad.Kind, ad.next, ad.is)
	if err != nil {
		return err
	}
	if ad.Guest != (ulid.ULID{}) {
		if twin, err := joinTwin(o, ad, st, d); err != nil || twin {
			return err
		}
	}
	if ad.Was != nil && ad.Before.Home(ad.Kind) != st.Home(ad.Kind) && ad.Kind != record.Membership {
		if err := entry.AsRefusal(entry.Unique(o, ad.Kind, st.ID, d)); err != nil {
			return err // as /v1 refuses it: who has the number there is somebody else
		}
	}
	return join(o, ad.Kind, st.ID.Int(), d)
}

// joinTwin merges a ticket of a guest with the ticket that it is a twin of, and reports whether there is one.
func joinTwin(o *table.Tx, ad *Adoption, st *table.Stored, d *record.Doc) (bool, error) {
	original, err := originalOf(o, ad, d)
	if err != nil || original == 0 {
		return false, err
	}
	if ad.Before != nil {
		return false, errOthersKey
	}
	merged, err := table.Merged(o.View, ad.Kind, record.Int(original))
	if err != nil {
		return false, err
	}
	if len(merged) >= maxTwins {
		return false, errTwins
	}
	return true, absorb(o, merging{Kind: ad.Kind, id: st.ID.Int(), into: original, guest: ad.Guest})
}

// maxTwins is how many records a ticket may have taken in for a guest to bring a twin of it: each makes the ticket longer.
const maxTwins = 20

// errOthersKey refuses an edit by which a guest's ticket would become a twin, and errTwins a twin of a ticket that has many.
var (
	errOthersKey = table.Refused("another ticket of the event has this code or external_id")
	errTwins     = table.Refused("too many tickets have this code or external_id")
)

// originalOf returns the id of the ticket that an arrived one is a twin of: the lowest that shares a key with it and that the guest
// could not change. It returns 0 if the arrived ticket is no twin.
func originalOf(o *table.Tx, ad *Adoption, d *record.Doc) (int64, error) {
	others, err := withSameKey(o, ad.Kind, d)
	if err != nil {
		return 0, err
	}
	original := int64(0)
	for _, other := range others {
		st, err := table.Survivor(o.View, ad.Kind, record.Int(other))
		if err != nil {
			return 0, err
		}
		if st == nil || st.ID == ad.ID {
			continue
		}
		t, err := table.LoadTree(o.View, ad.Kind, st)
		if err != nil {
			return 0, err
		}
		if !table.IsOnlyOf(&t, ad.Guest) && (original == 0 || st.ID.Int() < original) {
			original = st.ID.Int()
		}
	}
	return original, nil
}

// anyMerged tells whether any record was ever merged. Until then no merged keys need be looked up.
func anyMerged(o *table.Tx) (found bool) {
	err := o.Scan(table.MergedBucket, []byte{table.MergedInto}, nil, func(_, _ []byte) (bool, error) {
		found = true
		return false, nil
	})
	return found || err != nil
}

// join merges a live record with those that share a key with it.
func join(o *table.Tx, k *record.Kind, id int64, d *record.Doc) error {
	others, err := withSameKey(o, k, d)
	if err != nil {
		return err
	}
	into := id
	for _, other := range others {
		switch {
		case other < into:
			into = other
		case other > id:
			if err := mergeInto(o, k, other, id); err != nil {
				return err
			}
		}
	}
	if into == id {
		return nil
	}
	return mergeInto(o, k, id, into)
}

// keyedByID reports whether records of a kind with one external_id in one church or event are one record. Memberships are told apart by
// their person and group.
func keyedByID(k *record.Kind) bool { return k != record.Membership }

// withSameKey lists the records that share a key with a document, merged ones too, in order of their ids. Merged ones whose survivor has
// moved to another church are left out.
func withSameKey(o *table.Tx, k *record.Kind, d *record.Doc) (all []int64, err error) {
	add := func(ids []record.ID, failed error) {
		for _, id := range ids {
			all = append(all, id.Int())
		}
		if err == nil {
			err = failed
		}
	}
	home, err := table.HomeOf(o, k, d)
	if err != nil {
		return nil, err
	}
	if ext := d.Text("external_id"); ext != "" && keyedByID(k) {
		add(entry.ByExternalID(o, k, d.Int(entry.NumberedIn(k)), ext))
	}
	switch k {
	case record.Ticket:
		if hash := table.HashOf(d.Value("code_hash")); hash != (table.CodeHash{}) {
			add(table.TicketsOf(o.View, table.ExactForm, hash[:], d.Int("event_id")))
		}
	case record.Membership:
		add(entry.Memberships(o, d.Int("group_id"), d.Int("person")))
	}
	if err == nil && anyMerged(o) {
		add(mergedBy(o, k, d, home))
	}
	slices.Sort(all)
	return slices.Compact(all), err
}

// mergedBy lists the merged records that share a key with a document of a church or an event, unless their survivor belongs to another.
func mergedBy(o *table.Tx, k *record.Kind, d *record.Doc, home int64) (ids []record.ID, err error) {
	for _, key := range duplicateKeys(o, k, d, home) {
		some, err := table.IDsUnder(o.View, table.MergedBucket, key, k)
		if err != nil {
			return nil, err
		}
		for _, id := range some {
			st, err := table.Survivor(o.View, k, id)
			if err != nil {
				return nil, err
			}
			if st == nil || st.Home(k) == home {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}

// duplicateKeys are the prefixes of the rows that keep the keys of a merged record of a church or an event.
func duplicateKeys(o *table.Tx, k *record.Kind, d *record.Doc, home int64) (keys [][]byte) {
	add := func(field string, values ...any) {
		key := table.LookupPrefix(nil, k, field)
		for _, v := range values {
			key = table.AppendValue(key, v)
		}
		hash := o.Store.Identity.HashCode(string(key))
		keys = append(keys, append([]byte{mergedKey, k.Number}, hash[:]...))
	}
	if ext := d.Text("external_id"); ext != "" && keyedByID(k) {
		add("external_id", home, ext)
	}
	switch {
	case k == record.Ticket && !d.IsNull("code_hash"):
		add("code_hash", d.Int("event_id"), d.Text("code_hash"))
	case k == record.Membership:
		add("person", d.Int("group_id"), d.Int("person"))
	}
	return keys
}

// VerifyMerged checks that a row about a merged record leads to a record that is here.
func VerifyMerged(v *table.View, key, value []byte) error {
	if len(key) < 2 || len(value) != 0 {
		return engine.ErrCorrupt
	}
	k, ok := record.ByNumber(key[1])
	size := map[byte]int{mergedKey: 2 + ledger.CodeHashSize + 8, table.MergedInto: 2 + 8 + 8}[key[0]]
	if !ok || k.ULID || size != len(key) {
		return engine.ErrCorrupt
	}
	id, _ := k.KeyID(key[len(key)-8:]) // its length is right
	st, err := v.LoadAny(k, id)
	if err != nil || st == nil {
		return fmt.Errorf("a row leads to %s %s: %w", k.Name, k.FormatID(id), table.OrNotFound(err))
	}
	return nil
}

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
		seen = append(seen, n)
		list = append(value.AppendComma(list), value.Number(n)...)
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
	st, d, err := o.LoadDoc(k, id)
	if err != nil || st == nil {
		return err
	}
	if _, d, err = redirect(o, k, st, d); err != nil || !hasDuplicates(k) {
		return err
	}
	return join(o, k, id.Int(), d)
}
