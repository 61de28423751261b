package value

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Content is what stands between a stored string's quotes, decoded; nothing of another value, which a replica may have stored.
func Content(v jsontext.Value) []byte {
	if v.Kind() != '"' {
		return nil
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return v[1 : len(v)-1]
	}
	return []byte(Unquote(v))
}

// Plain is the text of a string or number, trimmed; ok is false for anything else.
func Plain(v jsontext.Value) (s string, ok bool) {
	switch v.Kind() {
	case '"':
		return strings.TrimSpace(Unquote(v)), true
	case '0':
		return string(v), true
	}
	return "", false
}

// Compact is a value without white space, its strings with the shortest escapes, its numbers as they were.
func Compact(v jsontext.Value) jsontext.Value {
	v = v.Clone()
	if err := v.Format(); err != nil {
		panic("record: a value that was read is no JSON: " + err.Error())
	}
	return v
}

// Quote is a string's stored form: the shortest escapes. Bytes that are no UTF-8 become U+FFFD.
func Quote(s string) jsontext.Value { return AppendQuote(make([]byte, 0, len(s)+2), s) }

func AppendQuote(dst []byte, s string) []byte {
	for _, c := range []byte(s) {
		if c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			dst, _ = jsontext.AppendQuote(dst, s)
			return dst
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

// Texts is a list of texts in its stored form.
func Texts(texts ...string) jsontext.Value {
	v := jsontext.Value{'['}
	for _, t := range texts {
		v = AppendQuote(AppendComma(v), t)
	}
	return append(v, ']')
}

// ReadTexts returns the texts of a list in its stored form.
func ReadTexts(v jsontext.Value) (all []string) {
	for e := range Elements(v) {
		if e.Kind() == '"' {
			all = append(all, Unquote(e))
		}
	}
	return all
}

// ReadInteger reads an integer as contract.md §4 takes it: 7, "7", 7.0, spaces and leading zeros. One beyond 18 digits comes
// back as the largest or smallest there is.
func ReadInteger(v jsontext.Value) (n int64, ok bool) {
	switch v.Kind() {
	case '0':
		s := string(v)
		if whole, places, point := strings.Cut(s, "."); point && strings.Trim(places, "0") == "" {
			s = whole
		}
		return ParseInt(s)
	case '"':
		return ParseInt(Unquote(v))
	}
	return 0, false
}

// ParseInt reads an integer's text: ASCII digits after an optional minus, spaces around and leading zeros taken. One beyond
// 18 digits comes back as the largest or smallest int64.
func ParseInt(text string) (n int64, ok bool) {
	digits := strings.TrimSpace(text)
	digits, negative := strings.CutPrefix(digits, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	digits = strings.TrimLeft(digits, "0")
	if len(digits) > 18 {
		n = math.MaxInt64
	} else {
		for _, c := range []byte(digits) {
			n = n*10 + int64(c-'0')
		}
	}
	if negative {
		return -n, true
	}
	return n, true
}

// Number is an integer's stored form.
func Number(n int64) jsontext.Value { return strconv.AppendInt(nil, n, 10) }

// ParseBool reads a word for true or false, in any case: true, 1, yes, on, t, y; false, 0, no, off, f, n.
func ParseBool(text string) (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "1", "yes", "on", "t", "y":
		return true, true
	case "false", "0", "no", "off", "f", "n":
		return false, true
	}
	return false, false
}

// maxNumber is how many characters a number has at most in JSON that is kept as it was given. A list that shows one of thousands of digits
// cannot be read at all by clients in some languages.
const maxNumber = 64

// HasLongNumber reports whether JSON holds, at any depth, a number of more than 64 characters.
func HasLongNumber(v []byte) bool {
	size := 0
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case c == '"':
			i, size = skipString(v, i)-1, 0
		case '0' <= c && c <= '9', c == '-', c == '+', c == '.', c == 'e', c == 'E':
			if size++; size > maxNumber {
				return true
			}
		default:
			size = 0
		}
	}
	return false
}

// Cents reads a stored amount: "12.50" is 1250.
func Cents(v jsontext.Value) int64 {
	var n int64
	negative := false
	for _, c := range v {
		switch {
		case '0' <= c && c <= '9':
			n = n*10 + int64(c-'0')
		case c == '-':
			negative = true
		}
	}
	if negative {
		return -n
	}
	return n
}

// AppendAmount appends an amount of cents as a stored amount is written.
func AppendAmount(dst []byte, cents int64) []byte {
	dst = append(dst, '"')
	if cents < 0 {
		dst, cents = append(dst, '-'), -cents
	}
	dst = strconv.AppendInt(dst, cents/100, 10)
	return append(dst, '.', byte('0'+cents/10%10), byte('0'+cents%10), '"')
}

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

// DayStart is the first instant of a local day, given as its midnight in UTC. Where clocks are set at midnight that may be another
// hour, or the first of two midnights.
func DayStart(day time.Time, zone *time.Location) time.Time {
	for t := day.Add(-24 * time.Hour).In(zone); ; { // no zone is so far ahead
		_, offset := t.Zone()
		start := day.Add(-time.Duration(offset) * time.Second)
		if start.Before(t) {
			start = t
		}
		_, end := t.ZoneBounds()
		if end.IsZero() || start.Before(end) {
			return start
		}
		t = end
	}
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

// TimeOfDay is a time that clocks show each day, in minutes after midnight.
type TimeOfDay int

// ParseTimeOfDay reads hh:mm. Seconds may follow if they are 00.
func ParseTimeOfDay(text string) (TimeOfDay, bool) {
	if len(text) == len("15:04:00") {
		text = strings.TrimSuffix(text, ":00")
	}
	t, err := time.Parse("15:04", text)
	return TimeOfDay(t.Hour()*60 + t.Minute()), err == nil
}

// String is hh:mm.
func (t TimeOfDay) String() string { return fmt.Sprintf("%02d:%02d", int(t)/60, int(t)%60) }

// DayOf returns the date of a moment in a zone, if each day begins at t: before t it is that of the day before.
func (t TimeOfDay) DayOf(at time.Time, zone *time.Location) string {
	at = at.In(orUTC(zone))
	y, m, d := at.Date()
	if at.Before(local(time.Date(y, m, d, 0, int(t), 0, 0, time.UTC), at.Location())) {
		d--
	}
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Format(dateLayout)
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
	t := local(time.Date(y, m, d, clock.hour, clock.minute, clock.second, clock.nano, time.UTC), zone).UTC()
	return t, 1 <= t.Year() && t.Year() <= 9999
}

// local is when the clocks of a zone show what wall shows in UTC. In an hour that they skip, they count as not yet set: a midnight that is
// skipped is the first moment of its day.
func local(wall time.Time, zone *time.Location) time.Time {
	y, m, d := wall.Date()
	t := time.Date(y, m, d, wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), zone)
	_, offset := t.Zone()
	return t.Add(max(0, wall.Sub(t)-time.Duration(offset)*time.Second))
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
