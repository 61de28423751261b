package laptop

import (
	"encoding/binary"
	"fmt"

	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/table"
)

// TakeLease keeps a range of ids that the centre has leased to this store. It returns *Conflict if the range, or a later one, was taken
// before.
func (lp *Laptop) TakeLease(p auth.Principal, l office.Lease) error {
	if err := p.CheckWhole(); err != nil {
		return err
	}
	if l.From < 1 || l.To < l.From || l.To >= record.FirstDrawn || table.LeaseSize(l.Kind) == 0 {
		return fmt.Errorf("%w: a lease from %d to %d", table.ErrNotFound, l.From, l.To)
	}
	return lp.tables.Do(func(o *table.Tx) error {
		last, err := o.Get(table.LeaseBucket, []byte{table.LeaseLast, l.Kind.Number})
		if err != nil {
			return err
		}
		if len(last) == 8 && uint64(l.From) <= binary.BigEndian.Uint64(last) {
			return &table.Conflict{Reason: "the range was taken before"}
		}
		o.Put(table.LeaseBucket, []byte{table.LeaseLast, l.Kind.Number}, table.SeqKey(uint64(l.To)))
		o.Put(table.LeaseBucket, table.LeaseKey(table.LeaseTaken, l.Kind, l.From), entry.TakenRow(l.To, l.From))
		return nil
	})
}

// LeasesWanted lists the kinds of which this store asks the centre for ids, because at most half a range is left.
func (lp *Laptop) LeasesWanted(p auth.Principal) (kinds []*record.Kind, err error) {
	if err := p.CheckWhole(); err != nil || !lp.tables.Identity.IsLeaf() {
		return nil, err
	}
	err = lp.tables.View(func(v *table.View) error {
		for _, k := range record.Kinds() {
			left := int64(0)
			err := v.Scan(table.LeaseBucket, []byte{table.LeaseTaken, k.Number}, nil, func(_, row []byte) (bool, error) {
				to, next, err := entry.ParseTaken(row)
				left += to - next + 1
				return true, err
			})
			if err != nil {
				return err
			}
			if size := table.LeaseSize(k); size > 0 && left <= size/2 {
				kinds = append(kinds, k)
			}
		}
		return nil
	})
	return kinds, err
}
