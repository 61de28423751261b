package value

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

const dateLayout = "2006-01-02"

// ParseDate reads YYYY-MM-DD as midnight in UTC.
func ParseDate(text string) (time.Time, bool) {
	t, err := time.Parse(dateLayout, text)
	return t, err == nil && t.Year() >= 1
}

// Day is the date of a moment in a zone, as it is stored.
func Day(t time.Time, zone *time.Location) jsontext.Value {
	dst := append(make([]byte, 0, 12), '"')
	return append(t.In(orUTC(zone)).AppendFormat(dst, dateLayout), '"')
}

// Time is a date-time's stored form: UTC with Z, microseconds only when not zero.
func Time(t time.Time) jsontext.Value { return AppendTime(make([]byte, 0, 29), t) }

func AppendTime(dst []byte, t time.Time) []byte {
	dst = t.UTC().AppendFormat(append(dst, '"'), time.RFC3339)
	if micro := t.Nanosecond() / 1000; micro > 0 {
		dst[len(dst)-1] = '.'
		for unit := 100_000; unit > 0; unit /= 10 {
			dst = append(dst, byte('0'+micro/unit%10))
		}
		dst = append(dst, 'Z')
	}
	return append(dst, '"')
}

func orUTC(zone *time.Location) *time.Location {
	if zone == nil {
		return time.UTC
	}
	return zone
}

// ParseDateTime reads YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z]: a space for T, and an offset without its colon or
// minutes, are taken; digits beyond microseconds are cut. A text without an offset is in zone; nil is UTC.
func ParseDateTime(text string, zone *time.Location) (time.Time, bool) {
	if len(text) < len("2006-01-02T15:04") || strings.IndexByte("Tt ", text[10]) < 0 {
		return time.Time{}, false
	}
	date, ok := ParseDate(text[:10])
	if !ok {
		return time.Time{}, false
	}
	clock, rest, ok := readClock(text[11:])
	if !ok {
		return time.Time{}, false
	}
	zone, ok = readOffset(rest, zone)
	if !ok {
		return time.Time{}, false
	}
	y, m, d := date.Date()
	t := time.Date(y, m, d, clock.hour, clock.minute, clock.second, clock.nano, zone).UTC()
	return t, 1 <= t.Year() && t.Year() <= 9999
}

type clock struct{ hour, minute, second, nano int }

// readClock reads hh:mm[:ss[.uuuuuu]] and answers what follows.
func readClock(s string) (c clock, rest string, ok bool) {
	if c.hour, s, ok = pair(s, 23); !ok || len(s) == 0 || s[0] != ':' {
		return c, "", false
	}
	if c.minute, s, ok = pair(s[1:], 59); !ok || len(s) == 0 || s[0] != ':' {
		return c, s, ok
	}
	if c.second, s, ok = pair(s[1:], 59); !ok || len(s) == 0 || s[0] != '.' {
		return c, s, ok
	}
	s = s[1:]
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	if digits == 0 || digits > 12 {
		return c, "", false
	}
	for i := range 6 {
		c.nano *= 10
		if i < digits {
			c.nano += int(s[i] - '0')
		}
	}
	c.nano *= 1000
	return c, s[digits:], true
}

// readOffset reads what stands after the clock: nothing, Z, or an offset.
func readOffset(s string, zone *time.Location) (*time.Location, bool) {
	switch {
	case s == "":
		return orUTC(zone), true
	case s == "Z" || s == "z":
		return time.UTC, true
	case s[0] != '+' && s[0] != '-':
		return nil, false
	}
	hours, rest, ok := pair(s[1:], 23)
	minutes := 0
	if rest != "" && ok {
		minutes, rest, ok = pair(strings.TrimPrefix(rest, ":"), 59)
	}
	if !ok || rest != "" {
		return nil, false
	}
	seconds := (hours*60 + minutes) * 60
	if s[0] == '-' {
		seconds = -seconds
	}
	return time.FixedZone("", seconds), true
}

// pair reads two digits of at most the given value.
func pair(s string, most int) (n int, rest string, ok bool) {
	if len(s) < 2 || s[0] < '0' || s[0] > '9' || s[1] < '0' || s[1] > '9' {
		return 0, "", false
	}
	n = int(s[0]-'0')*10 + int(s[1]-'0')
	return n, s[2:], n <= most
}
