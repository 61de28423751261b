package erase

import (
	"cmp"
	"slices"

	"doorward/kv/auth"
	"doorward/kv/ledger"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Erasure tells that a record was erased. The keyed hash of its id says whom it is about to those alone who have the record. Of a holding it is the ULID.
type Erasure struct {
	Kind *record.Kind
	Hash [ledger.CodeHashSize]byte
	seq  uint64
}

// toldErasures is how many erasures a laptop is told of at once.
const toldErasures = 5000

// Erasures are those after a sequence, oldest first; the next are told of after upto. A laptop is told of all: what it holds of whom
// nobody knows but itself, for it may have been given more once, or by another way. ErrNotFound for a key of another class.
func (rg *Register) Erasures(p auth.Principal, since uint64) (all []Erasure, upto uint64, err error) {
	upto = since
	err = rg.tables.View(func(v *table.View) error {
		if _, err := office.LaptopOf(v, p); err != nil {
			return err
		}
		if all, err = erasuresAfter(v, since); len(all) > 0 {
			all = all[:min(len(all), toldErasures)]
			upto = all[len(all)-1].seq
		}
		return err
	})
	return all, upto, err
}

// erasuresAfter are all that were noted after a sequence, oldest first.
func erasuresAfter(v *table.View, since uint64) (all []Erasure, err error) {
	for _, id := range table.IdsOf(v, record.Erasure) {
		st, err := v.Load(record.Erasure, id)
		if err != nil {
			return nil, err
		}
		if st == nil || st.Seq <= since {
			continue
		}
		d, err := st.Decode(record.Erasure)
		if err != nil {
			return nil, err
		}
		if k, known := record.ByName(d.Text("kind")); known {
			all = append(all, Erasure{Kind: k, Hash: ledger.ErasedHash(id.ULID()), seq: st.Seq})
		}
	}
	slices.SortFunc(all, func(a, b Erasure) int { return cmp.Compare(a.seq, b.seq) })
	return all, nil
}

// TakeErasures erases what a laptop's centre has told of (Erasures), before the laptop brings anything of it. What cannot be finished now
// is tried again by itself. *Forbidden.
func (rg *Register) TakeErasures(p auth.Principal, all []Erasure) error {
	if err := p.CheckWhole(); err != nil {
		return err
	}
	var steps []table.Step
	for _, l := range all {
		if l.Kind != nil && table.IsErasable(l.Kind) {
			steps = append(steps, table.Step{Run: func(o *table.Tx) error {
				merge.ApplyErasure(o, l.Kind, l.Hash)
				return nil
			}})
		}
	}
	if err := rg.tables.DoEach(steps); err != nil || len(steps) == 0 {
		return err
	}
	rg.EraseBegun() // what fails is logged, hidden, and tried again
	return nil
}
