package table

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// IntOf is a stored integer; 0 for null.
func IntOf(v jsontext.Value) int64 {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		return 0 // null, or not there
	}
	return n
}
