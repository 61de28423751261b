package entry

import (
	"errors"
	"slices"
	"strings"

	"doorward/kv/fault"
	"doorward/kv/table"
)

// AsRefusal turns the error that /v1 would return for a request into a refusal of the document: a client of the protocol must
// never get a conflict. Only fields are named.
func AsRefusal(err error) error {
	var faults fault.ByField
	var conflict *table.Conflict
	switch {
	case err == nil:
		return nil
	case errors.As(err, &faults):
		names := make([]string, 0, len(faults))
		for name := range faults {
			names = append(names, name)
		}
		slices.Sort(names)
		return table.Refused("not valid: " + strings.Join(names, ", "))
	case errors.As(err, &conflict):
		return table.Refused(conflict.Reason)
	case errors.Is(err, table.ErrNotFound):
		return table.Refused("the key may not write this kind")
	}
	return err
}
