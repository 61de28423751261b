package table

import (
	"crypto/rand"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
)

// NewFactID is the id of a fact made now.
func NewFactID(now time.Time) record.ID {
	return record.FromULID(ulid.MustNew(millis(now), rand.Reader))
}
