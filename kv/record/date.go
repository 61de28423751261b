package record

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/fault"
	"doorward/kv/value"
)

// Date is a day of the calendar, from year 1 to 9999.
type Date struct{}

func (Date) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	if v.Kind() != '"' {
		return nil, fault.Date
	}
	s := strings.TrimSpace(value.Unquote(v))
	if _, ok := value.ParseDate(s); !ok {
		return nil, fault.Date
	}
	return value.Quote(s), ""
}

func (Date) schema(Direction) map[string]any {
	return map[string]any{"type": "string", "format": "date"}
}

// DateTime is a moment, to the microsecond.
type DateTime struct{}

func (DateTime) parse(v jsontext.Value, zone *time.Location) (jsontext.Value, string) {
	if v.Kind() != '"' {
		return nil, fault.DateTime
	}
	t, ok := value.ParseDateTime(strings.TrimSpace(value.Unquote(v)), zone)
	if !ok {
		return nil, fault.DateTime
	}
	return value.Time(t), ""
}

func (DateTime) schema(d Direction) map[string]any {
	if d == Reply {
		return map[string]any{"type": "string", "format": "date-time"}
	}
	return map[string]any{"type": "string",
		"description": "RFC 3339; a space for T, and an offset without colon, are taken; without offset: the configured timezone."}
}
