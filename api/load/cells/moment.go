package cells

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

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
	if isSpan(rest) {
		return "", false
	}
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

// span is two clock times, as 19:30-21:00. Behind a T the second one is an offset.
var span = regexp.MustCompile(`^[, ]*(\d\d?:\d\d)-(\d\d:\d\d)$`)

// isSpan tells two clock times from one with an offset: the second one is later.
func isSpan(text string) bool {
	parts := span.FindStringSubmatch(text)
	return parts != nil && fmt.Sprintf("%5s", parts[1]) < parts[2]
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

// isNoDate tells the zeros that some programs write where they have no date: 0000-00-00, 0/0/00.
func isNoDate(text string) bool {
	_, ok := ThreeNumbers(text)
	return ok && strings.Trim(text, "0/-.") == ""
}

// IsDay tells a text that begins with a day of this century, as written or as a workbook stores it. 0000-00-00 and 1970-01-01 stand for none.
func IsDay(text string) bool { return cmp.Or(DayOf(text, DayFirst), DayOf(text, MonthFirst)) >= "2000" }

// DayOf is the day that a text begins with, as written in an order or as a workbook stores it: 2026-12-31. It is "" for any other text.
func DayOf(text string, order Order) string {
	if isSerial(text) {
		at, _ := serial(text, false)
		return at.Format(time.DateOnly)
	}
	if day, _, ok := datePart(text, order); ok {
		return day
	}
	return ""
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

// Order is in which order a written date names its day, month and year. A date that begins with a year of four digits is
// year first, whatever the order of the others.
type Order string

const (
	DayFirst   Order = "dmy"
	MonthFirst Order = "mdy"
	yearFirst  Order = "ymd"
)

// Known tells the three orders, and none.
func (o Order) Known() bool {
	return o == "" || o == DayFirst || o == MonthFirst || o == yearFirst
}

// written are the three numbers of a date as they stand, and what stands behind them.
type written struct {
	parts [3]string
	rest  string
}

// ThreeNumbers reads the numbers that a text with a date begins with.
func ThreeNumbers(text string) (w written, ok bool) {
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '/' && r != '-' && r != '.' })
	if end < 0 {
		end = len(text)
	}
	parts := strings.FieldsFunc(text[:end], func(r rune) bool { return r < '0' || r > '9' })
	if len(parts) != 3 {
		return w, false
	}
	for i, p := range parts {
		if len(p) > 4 || len(p) == 3 || len(p) == 4 && i == 1 {
			return w, false
		}
	}
	if (len(parts[0]) == 4) == (len(parts[2]) == 4) && len(parts[0]) == 4 {
		return w, false
	}
	return written{[3]string(parts), strings.TrimSpace(text[end:])}, true
}

// date puts the numbers into 2006-01-02. A year of two digits is one of this century.
func (w written) date(order Order) (string, bool) {
	a, b, c := w.parts[0], w.parts[1], w.parts[2]
	var y, m, d string
	switch {
	case len(a) == 4 || order == yearFirst:
		y, m, d = a, b, c
	case order == MonthFirst:
		y, m, d = c, a, b
	default:
		y, m, d = c, b, a
	}
	if len(m) > 2 || len(d) > 2 || len(y) < 2 {
		return "", false
	}
	if len(y) == 2 {
		y = "20" + y
	}
	date := y + "-" + pad(m) + "-" + pad(d)
	_, err := time.Parse(time.DateOnly, date)
	return date, err == nil
}

// yearless tells a birthday without a year, as other programs write it: 0000-07-04, 1885-07-04, 7/4.
func yearless(text string) bool {
	parts := strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if strings.Trim(text, "0123456789/-.") != "" || len(parts) < 2 {
		return false
	}
	if len(parts) == 2 {
		return len(parts[0]) <= 2 && len(parts[1]) <= 2
	}
	w, ok := ThreeNumbers(text)
	for _, p := range w.parts {
		if ok && (p == "0000" || p == "1885") {
			return true
		}
	}
	return false
}

// Evidence is what the dates of a column say of their order.
type Evidence struct {
	dayFirst   string // a date that can only begin with a day
	monthFirst string // one in which only the second number can be a day
	open       string // one that may be read both ways
	short      bool   // a year of two digits
}

// Add notes what a cell says of the order.
func (e *Evidence) Add(cell string) {
	if len(cell) > 40 {
		return
	}
	w, ok := ThreeNumbers(cell)
	if !ok || len(w.parts[0]) == 4 {
		return
	}
	a, _ := strconv.Atoi(w.parts[0])
	b, _ := strconv.Atoi(w.parts[1])
	e.short = e.short || len(w.parts[2]) == 2
	switch {
	case a > 12:
		e.dayFirst = strings.Clone(cell)
	case b > 12:
		e.monthFirst = strings.Clone(cell)
	case a != b && e.open == "":
		e.open = strings.Clone(cell)
	}
}

// Order decides how a column's dates are read: "" and a reason where nothing does.
func (e *Evidence) Order() (Order, string) {
	switch {
	case e.dayFirst != "" && e.monthFirst != "":
		return "", fmt.Sprintf("holds dates of two orders: “%s” begins with the day, “%s” with the month", e.dayFirst, e.monthFirst)
	case e.monthFirst != "":
		return MonthFirst, ""
	case e.dayFirst != "" || e.open == "":
		return DayFirst, ""
	}
	w, _ := ThreeNumbers(e.open)
	d, _ := w.date(DayFirst)
	m, _ := w.date(MonthFirst)
	return "", fmt.Sprintf("does not say whether the day or the month comes first: “%s” is %s or %s", e.open, inWords(d), inWords(m))
}

// Agrees tells whether no date speaks against an order.
func (e *Evidence) Agrees(order Order) bool {
	return order == DayFirst && e.monthFirst == "" || order == MonthFirst && e.dayFirst == ""
}

func inWords(date string) string {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return "no date"
	}
	return t.Format("2 January 2006")
}
