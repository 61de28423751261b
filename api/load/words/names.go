package words

import (
	"slices"
	"strings"
)

// PlainTitle is a title's plain form; a # at its end means a number.
func PlainTitle(title string) string {
	if t, ok := strings.CutSuffix(strings.TrimSpace(title), "#"); ok {
		return Plain(t + " number")
	}
	return Plain(title)
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
