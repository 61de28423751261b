package words

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// DidYouMean names the nearest of some names, in words.
func DidYouMean(name string, names []string) string {
	best, at := len(name)+1, -1
	for i, n := range names {
		if d, ok := Near(Plain(name), Plain(n)); ok && d < best || strings.TrimSuffix(name, "s") == n {
			best, at = d, i
		}
	}
	if at < 0 {
		return ""
	}
	return fmt.Sprintf(" (did you mean “%s”?)", names[at])
}

// Ranks are the plain titles under which a field is looked for, the best first. A name with an underscore has
// no other meaning.
func Ranks(field string) (out [][]string) {
	if strings.Contains(field, "_") {
		out = append(out, []string{Plain(field)})
	}
	for _, t := range titles {
		if t.field == field && t.words != "" {
			for rank := range strings.SplitSeq(t.words, ";") {
				out = append(out, strings.Split(rank, "|"))
			}
		}
	}
	if !strings.Contains(field, "_") {
		if len(out) == 0 {
			out = [][]string{nil}
		}
		out[0] = append(out[0], Plain(field))
	}
	return out
}

// Titles are all of them.
func Titles(field string) []string { return slices.Concat(Ranks(field)...) }

// PlainTitle is a title's plain form; a # at its end means a number.
func PlainTitle(title string) string {
	if t, ok := strings.CutSuffix(strings.TrimSpace(title), "#"); ok {
		return Plain(t + " number")
	}
	return Plain(title)
}

// Parted is a title with the words of hasPaid and orderStatus apart.
func Parted(title string) string {
	var b strings.Builder
	before := ' '
	for _, r := range title {
		if unicode.IsLower(before) && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

// The titles of names in parts.
var (
	WholeNames  = []string{"nome", "name", "nombre"} // of the whole name, unless the last name stands beside it
	FirstNames  = []string{"first name", "firstname", "primeiro nome", "attendee first name"}
	GivenNames  = []string{"given name"} // the legal one, where the first name is a nickname
	MiddleNames = []string{"middle name", "middlename", "nome do meio", "segundo nome", "segundo nombre"}
	LastNames   = []string{"last name", "lastname", "sobrenome", "ultimo nome", "surname", "family name", "attendee last name", "apellido", "apellidos"}
)

// checkinTitles are the titles of columns that say whether, or when, a ticket was used.
var checkinTitles = strings.Split("check in|checkin|checked in|data check in|data checkin|data do check in|check in em|checked in at|check in date|check in time|"+
	"fez check in|check in realizado|entrada registrada|hora de entrada|presente|presenca|compareceu|attended|attendance", "|")

// IsCheckin tells a title in plain form that says whether, or when, a ticket was used.
func IsCheckin(title string) bool { return slices.Contains(checkinTitles, title) }
