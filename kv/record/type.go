package record

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Type is what the values of a field may be.
type Type interface {
	// parse reads a given value, never null, into the text that is stored, or says in one sentence what is wrong with it.
	parse(v jsontext.Value, zone *time.Location) (stored jsontext.Value, fault string)
	// schema is the OpenAPI 3.1 schema of the value as shown, or as taken.
	schema(d Direction) map[string]any
}

// Direction tells a request's schema from a reply's.
type Direction byte

// The directions.
const (
	Reply Direction = iota
	Create
	Change
)

// Surface is the face of the server that a record passes through.
type Surface byte

// The surfaces: V1 is the public contract; Admin takes and shows what is stored besides.
const (
	V1 Surface = iota
	Admin
)
