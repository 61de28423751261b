package table

import (
	"encoding/hex"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/ledger"
	"doorward/kv/value"
)

// Outcome is what a door is told. The set is closed.
type Outcome string

// The outcomes.
const Admitted Outcome = "admitted"

type CodeHash = [ledger.CodeHashSize]byte

func TimeOf(v jsontext.Value) (time.Time, bool) {
	if v.Kind() != '"' {
		return time.Time{}, false
	}
	return value.ParseDateTime(string(v[1:len(v)-1]), time.UTC)
}

// HashOf is a member that holds a code hash.
func HashOf(v jsontext.Value) (h CodeHash) {
	if len(v) == 2+2*ledger.CodeHashSize {
		_, _ = hex.Decode(h[:], v[1:len(v)-1]) // another text is no hash of a code: zero
	}
	return h
}
