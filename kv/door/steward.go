package door

import (
	"errors"
	"time"

	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/table"
)

// A door has stewards and supervisors. A steward's key may GET and POST at doors; it takes back its own check-ins alone, for a minute. A
// supervisor's key may do everything at doors ("checkin:*"), which takes in DELETE: it takes back any check-in, at any time.

// undoLasts is how long a steward may take a check-in back.
const undoLasts = time.Minute

// mayUndo returns a *Forbidden for a steward that takes back a check-in of another key, or one that is too old.
func mayUndo(o *table.Tx, p auth.Principal, checkin *table.Stored) error {
	if p.IsRevoked() {
		return table.ErrRevoked
	}
	at, _ := table.TimeOf(checkin.Body.Member("at")) // facts have one
	if own := p.Key() != 0 && table.IntOf(checkin.Body.Member("key_id")) == p.Key(); p.Supervises() || own && o.Now.Sub(at) <= undoLasts {
		return nil
	}
	err := p.Check(record.Undo.Resource, "DELETE")
	if f, ok := errors.AsType[*auth.Forbidden](err); ok {
		f.Reason = "a steward takes back only the own check-ins of the last minute: ask a supervisor"
	}
	return err
}
