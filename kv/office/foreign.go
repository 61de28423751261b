package office

import (
	"slices"

	"doorward/kv/auth"
	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// HoldsMore says that a folder holds databases which its code does not give, for example because replicate has filled it. No erasure, end
// of an event or revocation would ever remove them from it.
type HoldsMore struct{ Databases []string }

func (h *HoldsMore) Error() string {
	return "the folder holds more than its code gives (" + fault.Listed(h.Databases) + "): join with a new folder, or by a code that gives these too"
}

// givesAll returns a *HoldsMore if a laptop brings databases of churches and events that are not its own. A database that is
// unknown or deleted here has no owner: a laptop may bring it to a centre that was restored.
func givesAll(o *table.Tx, p auth.Principal, holds []string) error {
	e, err := LaptopOf(o.View, p)
	if err != nil {
		return err
	}
	given := ExchangedOf(o.View, &e)
	var more []string
	for _, name := range holds {
		if slices.ContainsFunc(given, func(db Exchanged) bool { return db.Name == name || db.Name == table.Mirror }) {
			continue
		}
		foreign, err := isForeign(o, p, name)
		if err != nil {
			return err
		}
		if foreign {
			more = append(more, name)
		}
	}
	if len(more) > 0 {
		return &HoldsMore{more}
	}
	return nil
}

// isForeign tells whether a database is of a church or an event that exists here. It is false for an event that the laptop had and drops.
func isForeign(o *table.Tx, p auth.Principal, name string) (bool, error) {
	k := record.Church
	scope, _ := scopes.Parse(name)
	if scope.Sort.OfEvent() {
		k = record.Event
	}
	st, err := o.Load(k, record.Int(scope.ID))
	if err != nil || st == nil || k == record.Church {
		return st != nil, err
	}
	had, err := HadEvent(o.View, p, scope.ID)
	return !had, err
}
