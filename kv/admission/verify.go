package admission

import (
	"bytes"
	"fmt"

	"doorward/kv/record"
	"doorward/kv/table"
)

// VerifyDouble checks that the check-in which a row among the double entries leads to is one.
func VerifyDouble(v *table.View, key []byte) error {
	id, ok := record.Checkin.KeyID(key[max(0, len(key)-16):])
	st, err := v.Load(record.Checkin, id)
	if err != nil || st == nil || !ok {
		return fmt.Errorf("a double entry leads to check-in %s: %w", record.Checkin.FormatID(id), table.OrNotFound(err))
	}
	if c := Of(st); !bytes.Equal(key, c.doubleKey()) {
		return fmt.Errorf("a double entry does not lead back from check-in %s", record.Checkin.FormatID(id))
	}
	return VerifyListed(v, st)
}

// VerifyListed checks that a check-in is among the double entries just if it is one.
func VerifyListed(v *table.View, st *table.Stored) error {
	c := Of(st)
	reason, err := doubled(v, &c)
	if err != nil {
		return err
	}
	if listed, err := c.Listed(v); err != nil || listed != reason {
		return fmt.Errorf("check-in %s is listed wrongly among the double entries", record.Checkin.FormatID(st.ID))
	}
	return nil
}
