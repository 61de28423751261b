package cells

import (
	"regexp"
	"strings"
)

// amount reads a number as people write it: "R$ 1.234,56", "1,234.56", "1 234,56", "12,5"; "(50,00)" and "50,00-" are below
// zero. Of two different separators the last is the decimal one; a point before groups of three digits, and no more, parts
// thousands.
func amount(text string) string {
	s := spaces.Replace(text)
	s, below := unsigned(strings.TrimSpace(currency.ReplaceAllString(s, "")))
	if spaced.MatchString(s) {
		s = strings.ReplaceAll(s, " ", "")
	}
	comma, point := strings.LastIndexByte(s, ','), strings.LastIndexByte(s, '.')
	switch {
	case comma >= 0 && point > comma:
		s = strings.ReplaceAll(s, ",", "")
	case comma >= 0:
		s = strings.Replace(strings.ReplaceAll(s, ".", ""), ",", ".", 1)
	case thousands(s):
		s = strings.ReplaceAll(s, ".", "")
	}
	if below {
		return "-" + s
	}
	return s
}

// SignOf tells whether a cell is an amount, and whether it is above (1), below (-1) or nothing (0).
func SignOf(cell string) (sign int, ok bool) {
	if !strings.ContainsAny(cell, "0123456789") {
		return 0, false
	}
	digits, below := strings.CutPrefix(amount(cell), "-")
	switch {
	case !plainNumber.MatchString(digits):
		return 0, false
	case strings.Trim(digits, "0.") == "":
		return 0, true
	case below:
		return -1, true
	}
	return 1, true
}

var (
	currency    = regexp.MustCompile(`(?i)(R|US)?\$|€|£|\b(BRL|USD|EUR|GBP)\b`)
	plainNumber = regexp.MustCompile(`^\d+(\.\d+)?$`)
	spaces      = strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2009", " ", "\u2212", "-")
	spaced      = regexp.MustCompile(`^\d{1,3}( \d{3})+([.,]\d+)?$`) // thousands parted by spaces
)

// unsigned takes one sign off an amount: a minus before or behind it, or brackets around it.
func unsigned(s string) (rest string, below bool) {
	if inner, ok := strings.CutPrefix(s, "("); ok && strings.HasSuffix(inner, ")") {
		return strings.TrimSpace(strings.TrimSuffix(inner, ")")), true
	}
	if rest, below = strings.CutPrefix(s, "-"); !below {
		rest, below = strings.CutSuffix(s, "-")
	}
	return strings.TrimSpace(rest), below
}

// thousands tells "1.234" and "12.345.678" from "0.234" and "12.50".
func thousands(s string) bool {
	groups := strings.Split(s, ".")
	if len(groups) < 2 || len(groups[0]) < 1 || len(groups[0]) > 3 || groups[0][0] == '0' {
		return false
	}
	for _, g := range groups[1:] {
		if len(g) != 3 {
			return false
		}
	}
	return true
}
