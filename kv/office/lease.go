package office

import (
	"encoding/binary"

	"doorward/kv/access"
	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Lease is a range of ids of one kind, from the first to the last.
type Lease struct {
	Kind     *record.Kind
	From, To int64
}

// Lease gives a key ids that no other key will ever use. epoch is the epoch of the laptop that asks, "" for any other key. It returns
// *Forbidden if the key does not make this kind, or has asked for too many ranges; *Conflict if a store with a centre has too few ids left;
// ErrNotFound if count is less than 1 or more than LeaseSize.
func (of *Desk) Lease(p auth.Principal, k *record.Kind, count int64, epoch string) (l Lease, err error) {
	l.Kind = k
	err = of.tables.Do(func(o *table.Tx) error {
		p, err := of.standing(o.View, p)
		if err == nil {
			err = mayLease(p, k)
		}
		if err != nil {
			return err
		}
		if count < 1 || count > table.LeaseSize(k) {
			return table.ErrNotFound
		}
		ok, _, err := table.Spend(o, p.Key(), of.tables.Rules.Limits.Leases, 0)
		if err == nil && !ok {
			err = table.Refused("the key has asked for too many ranges of ids")
		}
		if err != nil {
			return err
		}
		if l.From, err = cut(o, k, count); err != nil {
			return err
		}
		l.To = l.From + count - 1
		row := binary.AppendUvarint(table.SeqKey(uint64(l.To)), uint64(p.Key()))
		o.Put(table.LeaseBucket, table.LeaseKey(table.LeaseGiven, k, l.From), append(row, epoch...))
		return nil
	})
	return l, err
}

func mayLease(p auth.Principal, k *record.Kind) error {
	if err := p.Check("sync", "POST"); err != nil {
		return err
	}
	brings := access.Brings(p, k)
	switch {
	case p.IsOperator(), p.IsLaptop() && table.LeaseSize(k) > 0 && brings:
		return nil
	case p.IsLaptop():
		return table.Refused("the laptop makes no such records")
	}
	if err := entry.AsRefusal(entry.MayCreate(p, k)); err != nil { // what a level writes it sees
		return err
	}
	if !brings {
		return table.Refused(access.NoKey.String())
	}
	return p.Check(k.Resource, "POST")
}

// cut takes ids from the store's own supply, and returns the first.
func cut(o *table.Tx, k *record.Kind, count int64) (from int64, err error) {
	if !o.Store.Identity.IsLeaf() {
		from = o.State.Minted[k.Number] + 1
		if from+count > record.FirstDrawn {
			return 0, &table.Conflict{Reason: "the ids of this kind are used up"}
		}
		o.State.Minted[k.Number] += count
		return from, nil
	}
	from, err = entry.FromLease(o, k, count)
	if err == nil && from == 0 {
		err = &table.Conflict{Reason: "no such range of ids is left until the centre gives one"}
	}
	return from, err
}
