package table

import (
	"encoding/binary"
	"time"
)

// A root that was restored from a backup lacks what was made after the backup, by itself and by laptops that may be lost by
// now. Other laptops hold it. For a week the root takes from a laptop also what other nodes have made: their facts, and tickets
// that were changed at the centre. All other checks of a laptop's documents stay.
const recoveryTime = 7 * 24 * time.Hour

var restoredKey = []byte("restored") // in meta: when the store was restored, microseconds since 1970 8

// beginRecovery notes the moment of a restore.
func beginRecovery(o *Tx) {
	o.Put(MetaBucket, restoredKey, binary.BigEndian.AppendUint64(nil, uint64(o.Now.UnixMicro())))
}

// Recovers tells whether the store takes from laptops what a backup did not have.
func Recovers(o *Tx) (bool, error) {
	row, err := o.Get(MetaBucket, restoredKey)
	if err != nil || len(row) != 8 {
		return false, err
	}
	return o.Now.Sub(time.UnixMicro(int64(binary.BigEndian.Uint64(row)))) < recoveryTime, nil
}
