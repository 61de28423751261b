package table

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/rev"
)

// HashCode is a code's hash under the realm's key.
func (s *Set) HashCode(code string) (h [ledger.CodeHashSize]byte) {
	mac := hmac.New(sha256.New, s.Identity.Family.Load().CodeKey)
	mac.Write([]byte(code))
	copy(h[:], mac.Sum(nil))
	return h
}

func HexText(b []byte) jsontext.Value { return jsontext.Value(`"` + hex.EncodeToString(b) + `"`) }

// Made is a new record ready to be stored.
type Made struct {
	Doc       *record.Doc
	Body      record.Body
	Canonical []byte
	Revision  rev.ID
}
