package console

import (
	"strconv"
	"strings"
	"unicode"
)

// Number writes a number for people: 12,345.
func Number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural is the word for one thing, or the word for many.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Shell writes arguments as a shell reads them.
func Shell(args ...string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$&|;<>()*?[]#~!`{}") {
			quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// Printable is a text without what would do something to a terminal.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '·'
	}, text)
}

// OrDash is a text, or - where there is none.
func OrDash(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}
