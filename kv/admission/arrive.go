package admission

import (
	"doorward/kv/record"
	"doorward/kv/table"
)

// The flags of facts that staff have to review.
const (
	FlagNeedsReview  = "needs_review"  // a laptop wrote or brought the fact after it was revoked
	FlagClockSuspect = "clock_suspect" // the machine's clock was doubted when the fact was written
)

// MayBring returns a *Forbidden if the code of a check-in that a laptop brings has as many check-ins as laptops may bring.
func MayBring(o *table.Tx, d *record.Doc) error {
	c := Checkin{Event: d.Int("event_id"), CodeHash: table.HashOf(d.Value("code_hash")), List: d.Text("list"), Out: Direction(d.Text("direction")) == Out}
	return c.Fewer(o.View, o.Store.Rules.Limits.Checkins, "the code has been checked in too often")
}

// IndexFact writes the lookups of a new fact.
func IndexFact(o *table.Tx, k *record.Kind, st *table.Stored) {
	for i := range k.Fields {
		field := &k.Fields[i]
		if !field.Flags.Has(record.Indexed) {
			continue
		}
		for v := range table.Indexed(st.Body.Member(field.Name)) {
			if key, ok := table.AppendIndexed(table.LookupPrefix(o.Scratch[:0], k, field.Name), field, v); ok {
				o.Scratch = k.AppendID(key, st.ID)
				o.Put(table.LookupBucket, o.Scratch, nil)
			}
		}
	}
}
