package cells

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

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
