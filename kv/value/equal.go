package value

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Equal reports whether two stored values are the same: by their text, objects whatever the order of their members.
func Equal(a, b jsontext.Value) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if a.Kind() != b.Kind() || a.Kind() != '{' && a.Kind() != '[' {
		return false
	}
	return bytes.Equal(AppendCanonical(nil, a), AppendCanonical(nil, b))
}
