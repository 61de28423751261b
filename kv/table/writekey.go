package table

import (
	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/value"
)

func AppendMember(dst []byte, name string, v jsontext.Value) []byte {
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	return append(append(append(dst, value.Quote(name)...), ':'), v...)
}

// RefusedFor is a failure of the store itself, or else a refusal.
func RefusedFor(err error, reason string) error {
	if err != nil {
		return err
	}
	return Refused(reason)
}
