package docs

import (
	"errors"

	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/inbox"
	"doorward/kv/merge"
	"doorward/kv/table"
	"doorward/kv/value"
)

// keepRefused keeps refused documents of records for staff (design.md §5), because a client of the protocol skips them from
// then on. A document that arrives again is kept once. Of a document that is no record's, only the id is kept.
func keepRefused(db *Database, p auth.Principal, writes []merge.DocWrite, results []DocResult) error {
	var steps []table.Step
	for i := range results {
		var f *auth.Forbidden
		in, err := &writes[i], results[i].Err
		whole := errors.As(err, &f)
		switch {
		case whole:
			if in, err = prepareDoc(writes[i]); err != nil {
				return err // it was prepared before
			}
			if whole = !value.HasLongNumber(in.Content); !whole { // staff could not read a list that shows it
				in = in.Named()
			}
		case in.Path != nil && (in.Wrong != nil || errors.Is(err, merge.ErrDocument) || errors.Is(err, merge.ErrRevision) || errors.Is(err, entry.ErrTooLarge)):
			in, f = in.Named(), table.Refused(err.Error()).(*auth.Forbidden)
		default:
			continue
		}
		steps = append(steps, table.Step{Run: func(o *table.Tx) error {
			kept, err := inbox.KeepRefusal(o, p, db.name, in, f)
			results[i].Kept = kept && whole
			return err
		}})
	}
	if len(steps) == 0 {
		return nil
	}
	if err := db.store.tables.DoAll(steps); err != nil {
		return err
	}
	for i := range steps {
		if err := steps[i].Err; err != nil {
			return err
		}
	}
	return nil
}
