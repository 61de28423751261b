package merge

import (
	"slices"

	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/table"
)

// A thing that was made twice, as the same list imported at the centre and on a laptop makes it, becomes one at the root (sync.md
// §3): where two records of a kind have one key, an external_id within the kind or the event, the code of a ticket within its event,
// or the person and the group of a membership, the one with the higher id is deleted, and its tombstone names the lowest of those
// that share a key with it, should that be merged itself too. This is so in whatever order they come, as what merged records were
// known by is kept:
//
//	k 1, kind 1, keyed hash of a key 16, id 8   -   a merged record was known by it
//	i 1, kind 1, id 8, id of a merged record 8  -   it was merged into the first one; at every store
//
// Rows stay should a merged record be made again.
const twinKnown = 'k'

// hasTwins tells the kinds whose records are merged. An event's tickets would have to move with it: two events stay two.
func hasTwins(k *record.Kind) bool {
	return auth.OfLaptops(k) && !k.Fact && k != record.Event && !k.OfTicket()
}

// joinTwins makes one of what was made twice, in the operation by which the second has come.
func joinTwins(o *table.Tx, ad *Adoption) error {
	switch {
	case o.Store.IsLeaf() || ad.is == nil:
		return nil
	case ad.Kind.OfTicket():
		return joinPart(o, ad)
	case !hasTwins(ad.Kind) || ad.Was != nil && entry.SameKeys(ad.Was, ad.is) && !anyMerged(o):
		return nil
	}
	st, d, err := repoint(o, ad.Kind, ad.next, ad.is)
	if err != nil {
		return err
	}
	return join(o, ad.Kind, st.ID.Int(), d)
}

// anyMerged tells whether a record was ever merged: before, nobody need look for what such were known by.
func anyMerged(o *table.Tx) (found bool) {
	err := o.Scan(table.TwinBucket, []byte{table.TwinInto}, nil, func(_, _ []byte) (bool, error) {
		found = true
		return false, nil
	})
	return found || err != nil
}

// join merges a live record with those that share a key with it.
func join(o *table.Tx, k *record.Kind, id int64, d *record.Doc) error {
	others, err := sharing(o, k, d)
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

// sharing are the records that share a key with one, merged ones too, in order.
func sharing(o *table.Tx, k *record.Kind, d *record.Doc) (all []int64, err error) {
	add := func(ids []record.ID, failed error) {
		for _, id := range ids {
			all = append(all, id.Int())
		}
		if err == nil {
			err = failed
		}
	}
	if ext := d.Text("external_id"); ext != "" {
		add(allByExternalID(o, k, d.Int("event_id"), ext))
	}
	switch k {
	case record.Ticket:
		if hash := table.HashOf(d.Value("code_hash")); hash != (table.CodeHash{}) {
			add(table.TicketsOf(o.View, table.ExactForm, hash[:], d.Int("event_id")))
		}
	case record.Membership:
		add(memberships(o, d.Int("group_id"), d.Int("person")))
	}
	if err == nil && anyMerged(o) {
		add(mergedBy(o, k, d))
	}
	slices.Sort(all)
	return slices.Compact(all), err
}

// mergedBy are the records that were merged and share a key with one.
func mergedBy(o *table.Tx, k *record.Kind, d *record.Doc) (ids []record.ID, err error) {
	for _, key := range twinKeys(o, k, d) {
		err = o.Scan(table.TwinBucket, key, nil, func(key, _ []byte) (bool, error) {
			id, ok := k.KeyID(key[len(key)-8:])
			if !ok {
				return false, engine.ErrCorrupt
			}
			ids = append(ids, id)
			return true, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// twinKeys are the prefixes of the rows that a merged record leaves.
func twinKeys(o *table.Tx, k *record.Kind, d *record.Doc) (keys [][]byte) {
	add := func(field string, values ...any) {
		key := table.LookupPrefix(nil, k, field)
		for _, v := range values {
			key = table.AppendValue(key, v)
		}
		hash := o.Store.HashCode(string(key))
		keys = append(keys, append([]byte{twinKnown, k.Number}, hash[:]...))
	}
	if ext := d.Text("external_id"); ext != "" {
		add("external_id", d.Int("event_id"), ext)
	}
	switch {
	case k == record.Ticket && !d.IsNull("code_hash"):
		add("code_hash", d.Int("event_id"), d.Text("code_hash"))
	case k == record.Membership:
		add("person", d.Int("group_id"), d.Int("person"))
	}
	return keys
}

// allByExternalID finds records by their external_id, within an event for tickets.
func allByExternalID(o *table.Tx, k *record.Kind, event int64, ext string) ([]record.ID, error) {
	ids, err := o.Lookup(k, "external_id", ext)
	if k.Home != "event_id" {
		return ids, err
	}
	return having(o, k, ids, err, func(st *table.Stored) bool { return st.Home(k) == event })
}

// memberships are those of a person in a group.
func memberships(o *table.Tx, group, person int64) ([]record.ID, error) {
	ids, err := o.Lookup(record.Membership, "person", person)
	return having(o, record.Membership, ids, err, func(st *table.Stored) bool { return entry.Member(st.Body, "group_id").Int() == group })
}

// having keeps of some records those that are live and for which is answers true.
func having(o *table.Tx, k *record.Kind, ids []record.ID, err error, is func(*table.Stored) bool) (kept []record.ID, _ error) {
	for i := 0; err == nil && i < len(ids); i++ {
		var st *table.Stored
		if st, err = o.Load(k, ids[i]); err == nil && st != nil && is(st) {
			kept = append(kept, ids[i])
		}
	}
	return kept, err
}
