package cells

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// dayEnd is the last moment of a day.
const dayEnd = "23:59:59.999999"

const (
	faultDate   = "not a date; 31/12/2026 and 2026-12-31 are understood"
	faultMoment = "not a date and time; 31/12/2026 19:30 and 2026-12-31 19:30 are understood"
	faultYear   = "a year of two digits: the century is not certain"
)

// day reads a date as people write it, into 2006-01-02. A time of day behind it is left out.
func day(text string, order Order) (string, string) {
	w, ok := ThreeNumbers(text)
	if !ok {
		return "", faultDate
	}
	date, ok := w.date(order)
	switch {
	case !ok:
		return "", faultDate
	case len(w.parts[0]) != 4 && len(w.parts[2]) != 4:
		return "", faultYear
	}
	return date, ""
}

// moment reads a date and time as people write it, into RFC 3339, without an offset where the text has none. A date alone
// is its midnight.
func moment(text string, order Order) (string, bool) {
	date, rest, ok := datePart(text, order)
	if !ok {
		return "", false
	}
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, "às"), "as")
	clock, ok := clockPart(strings.TrimSpace(strings.TrimLeft(rest, "Tt, ")))
	return date + "T" + clock, ok
}

// datePart reads the date that a text begins with.
func datePart(text string, order Order) (date, rest string, ok bool) {
	w, ok := ThreeNumbers(text)
	if !ok {
		return "", "", false
	}
	date, ok = w.date(order)
	return date, w.rest, ok
}

func pad(s string) string {
	if len(s) == 1 {
		return "0" + s
	}
	return s
}

// clockPart reads "19:30", "19h30", "19h", "19:30:05.5" and "7:30 PM", with or without an offset behind it.
func clockPart(text string) (string, bool) {
	if text == "" {
		return "00:00:00", true
	}
	clock, zone := cutZone(text)
	clock, half := cutHalf(strings.ToLower(strings.TrimSpace(clock)))
	clock = strings.TrimRight(strings.Replace(clock, "h", ":", 1), ":hmins ")
	parts := strings.Split(clock, ":")
	if len(parts) > 3 {
		return "", false
	}
	hour, err := strconv.Atoi(parts[0])
	if err != nil || len(parts[0]) > 2 || half != 0 && (hour < 1 || hour > 12) {
		return "", false
	}
	if half != 0 {
		hour = hour%12 + half - 1
	}
	for len(parts) < 3 {
		parts = append(parts, "00")
	}
	clock = fmt.Sprintf("%02d:%s:%s", hour, pad(parts[1]), pad(parts[2]))
	_, err = time.Parse("15:04:05", clock)
	return clock + zone, err == nil
}

// cutZone takes an offset off the end of a clock time.
func cutZone(text string) (clock, zone string) {
	if i := strings.LastIndexAny(text, "+-Zz"); i > 0 {
		return text[:i], strings.ToUpper(text[i:])
	}
	return text, ""
}

// cutHalf takes "am" (1) or "pm" (13) off the end of a clock time; 0 = neither.
func cutHalf(text string) (clock string, half int) {
	for i, suffix := range []string{"am", "pm"} {
		if c, ok := strings.CutSuffix(text, suffix); ok {
			return strings.TrimSpace(c), 1 + 12*i
		}
	}
	return text, 0
}

// serial reads a date as a workbook stores it: days since 1899-12-30, or since 1904-01-01, and a fraction of a day.
func serial(text string, from1904 bool) (time.Time, bool) {
	days, err := strconv.ParseFloat(text, 64)
	year := days >= 1900 && days <= 2100 && days == math.Floor(days) // a bare year, rather than a day of 1905
	if err != nil || days < 1 || days >= 2958466 || year {
		return time.Time{}, false
	}
	first := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case from1904:
		first = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case days < 60: // a workbook counts a 29 February 1900
		days++
	}
	whole := math.Floor(days)
	seconds := math.Round((days - whole) * 86400)
	return first.AddDate(0, 0, int(whole)).Add(time.Duration(seconds) * time.Second), true
}

// IsDated tells a text that begins with a date, or is one as a workbook stores it.
func IsDated(text string) bool {
	_, ok := ThreeNumbers(text)
	return ok || isSerial(text)
}

// isSerial tells a day of this century as a workbook stores it.
func isSerial(text string) bool {
	days, err := strconv.ParseFloat(text, 64)
	return err == nil && days >= 36526 && days < 73050
}

// InZone reads a moment that names no offset in a zone; zero where it is none.
func InZone(moment string, zone *time.Location) time.Time {
	at, err := time.Parse(time.RFC3339, moment)
	if err != nil && zone != nil {
		at, _ = time.ParseInLocation("2006-01-02T15:04:05", moment, zone)
	}
	return at
}
