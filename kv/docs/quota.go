package docs

import (
	"fmt"
	"math"

	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/table"
)

// ErrQuota is returned if a free database would take more room than it may. Replication tries again later, as after any disk.ErrFull: a client
// never sends a document again that was refused by itself.
var ErrQuota = fmt.Errorf("%w: the database has reached its quota", disk.ErrFull)

// rowBytes is what a row takes in the file beyond its key and value: its checksum, its header in a page, and its share of the room that pages
// leave free. Documents of a few bytes consist of little else.
const rowBytes = 96

func sizeOfRow(key, value []byte) int64 { return int64(len(key) + len(value) + rowBytes) }

// A database takes documents and attachments up to its quota. Up to a sixteenth beyond it takes what gets a full database into use again or is
// needed to read it: deletions, and local documents, which hold the places of readers.
const reservePart = 16

// quota is how large an operation of p may make the database. The operator has no quota: what this store's replicator copies is here or nowhere.
func (db *freeDatabase) quota(o *table.Tx, p auth.Principal, reserved bool) int64 {
	limit := o.Store.Rules.Limits.Free
	if p.IsOperator() || limit == math.MaxInt64 {
		return math.MaxInt64
	}
	if reserved {
		limit += limit / reservePart
	}
	return limit
}

// charge adds what the operation has written to the size of the database and puts the row of the database. Each operation calls it once, after
// its last row. charge returns ErrQuota if the operation makes the database larger than limit.
func (db *freeDatabase) charge(o *table.Tx, limit int64) error {
	var grown int64
	for _, b := range freeBuckets {
		err := o.Tx.Written(b, db.Prefix, func(key, is []byte) error {
			if is != nil {
				grown += sizeOfRow(key, is)
			}
			if is != nil && b == table.FreeLogBucket {
				return nil // a row of the log has a sequence of its own: there was none
			}
			was, err := o.Tx.Before(b, key)
			if was != nil {
				grown -= sizeOfRow(key, was)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if db.Size += grown; db.unsized {
		var err error
		if db.Size, err = db.measure(o.View); err != nil {
			return err
		}
	}
	if grown > 0 && db.Size > limit {
		return ErrQuota
	}
	putDatabase(o.Tx, db)
	return nil
}

// measure adds up the sizes of all rows of the database.
func (db *freeDatabase) measure(v *table.View) (size int64, err error) {
	for _, b := range freeBuckets {
		err = v.Scan(b, db.Prefix, nil, func(key, row []byte) (bool, error) {
			size += sizeOfRow(key, row)
			return true, nil
		})
		if err != nil {
			return 0, err
		}
	}
	return size, nil
}
