package nullable

import (
	"time"

	"doorward/kv/value"

	"github.com/go-json-experiment/json/jsontext"
)

// Text shows an empty text as null.
func Text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Time shows the zero moment as null.
func Time(t time.Time) jsontext.Value {
	if t.IsZero() {
		return jsontext.Value("null")
	}
	return value.Time(t)
}

// ID shows no id as null.
func ID(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}
