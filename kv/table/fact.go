package table

import (
	"crypto/rand"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
)

func NewFactID(now time.Time) record.ID {
	return record.FromULID(ulid.MustNew(millis(now), rand.Reader))
}
