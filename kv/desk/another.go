package desk

import (
	"slices"
	"strings"

	"doorward/kv/entry"
	"doorward/kv/names"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// Two systems, or one system in two churches, give their people the same ids. Families give one CPF for father and child. A row that such an
// id or CPF leads to the record of another person would write that person over.

// anotherPerson is the conflict of a row that means another person than the record that its external_id or its CPF has found; nil if it may be
// the same. An id of ours is always believed.
func anotherPerson(st *table.Stored, row entry.Row) error {
	if row.Kind != record.Person || !row.ID.IsZero() || row.Patch.Text("full_name") == "" {
		return nil
	}
	c := comparison{st, row.Patch}
	field, called := "external_id", "external_id"
	if ext := row.Patch.Text(field); ext == "" || ext != c.stored(field) {
		field, called = "cpf", "CPF"
	}
	if c.isAnother(field) {
		return &table.Conflict{Reason: "the record with this " + called + " is of another person, by name and data: change its name first if both are one person", Field: field}
	}
	return nil
}

// comparison compares a person with a row.
type comparison struct {
	st  *table.Stored
	row *record.Patch
}

func (c comparison) stored(field string) string { return value.Unquote(c.st.Body.Member(field)) }

// isAnother tells whether name and data say that the row is another person. People change their last names, and lists correct first names. Two
// ids are seldom equal by chance where an e-mail or a phone is equal too; a child has the e-mail and the phone of the parent with the CPF, but
// seldom the initial: Bia may be Beatriz, and is not José.
func (c comparison) isAnother(field string) bool {
	ours, theirs := names.Words(c.stored("full_name")), names.Words(c.row.Text("full_name"))
	if len(ours) == 0 || len(theirs) == 0 || isSameSet(ours, theirs) {
		return false
	}
	born, contact := c.equal("birthday"), c.contacts()
	switch first := ours[0] == theirs[0]; {
	case born != 0:
		return born == differs && (field == "cpf" || contact != equals)
	case field == "cpf":
		return []rune(ours[0])[0] != []rune(theirs[0])[0]
	case contact == equals:
		return false
	case first:
		return false
	}
	shared := slices.ContainsFunc(ours, func(word string) bool { return slices.Contains(theirs, word) })
	return !shared || contact == differs
}

func isSameSet(a, b []string) bool {
	within := func(a, b []string) bool {
		return !slices.ContainsFunc(a, func(word string) bool { return !slices.Contains(b, word) })
	}
	return within(a, b) && within(b, a)
}

// likeness is what two values say; the zero likeness says nothing, because one of them is blank.
type likeness byte

const (
	differs likeness = iota + 1
	equals
)

func (c comparison) equal(field string) likeness {
	return compare(strings.ToLower(c.stored(field)), strings.ToLower(c.row.Text(field)))
}

func compare(ours, theirs string) likeness {
	switch {
	case ours == "" || theirs == "":
		return 0
	case ours == theirs:
		return equals
	}
	return differs
}

// contacts compares e-mails and phones. One that is equal is enough.
func (c comparison) contacts() likeness {
	best := c.equal("email")
	for _, ours := range phoneFields {
		for _, theirs := range phoneFields {
			best = max(best, compare(names.Digits(c.stored(ours)), names.Digits(c.row.Text(theirs))))
		}
	}
	return best
}

var phoneFields = []string{"phone", "mobile_phone"}
