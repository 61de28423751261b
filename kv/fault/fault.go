package fault

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ByField are what is wrong with a body: field → sentences, in the words of the contract.
type ByField map[string][]string

// MaxListed is how many words a list in a message or an answer has at most, where it is no page of a list.
const MaxListed = 100

// First answers the first MaxListed of some words, and how many more there are.
func First(words []string) (shown []string, more int) {
	shown = words[:min(len(words), MaxListed)]
	return shown, len(words) - len(shown)
}

// Listed is a list as messages have it: at most MaxListed of the words, and how many more there are.
func Listed(words []string) string {
	shown, more := First(words)
	return ListedOf(shown, more)
}

// ListedOf is Listed for a list that is cut already.
func ListedOf(shown []string, more int) string {
	text := strings.Join(shown, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Add notes one fault of a field.
func (f *ByField) Add(field, text string) {
	if *f == nil {
		*f = ByField{}
	}
	(*f)[field] = append((*f)[field], text)
}

// Err returns the faults as an error, nil if there are none.
func (f ByField) Err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// Cut are the faults with at most MaxListed texts for each field, and how many more there are.
func (f ByField) Cut() ByField {
	short := make(ByField, len(f))
	for field, texts := range f {
		if more := len(texts) - MaxListed; more > 0 {
			texts = append(slices.Clone(texts[:MaxListed]), fmt.Sprintf("And %d more.", more))
		}
		short[field] = texts
	}
	return short
}

// Error names the fields at fault, and no value.
func (f ByField) Error() string {
	return "invalid fields: " + strings.Join(slices.Sorted(maps.Keys(f)), ", ")
}

// The sentences that say what is wrong with a field: Django REST framework's own, which existing clients know
// (contract.md §3). This is the one table of them; those with a verb are filled in by the functions below.
const (
	Required        = "This field is required."
	Null            = "This field may not be null."
	Blank           = "This field may not be blank."
	NotString       = "Not a valid string."
	NUL             = "Null characters are not allowed."
	NotInteger      = "A valid integer is required."
	NotBool         = "Must be a valid boolean."
	NotNumber       = "A valid number is required."
	TooLarge        = "String value too large."
	Places          = "Ensure that there are no more than 2 decimal places."
	Whole           = "Ensure that there are no more than 8 digits before the decimal point."
	LongNumber      = "Ensure that each number in it has no more than 64 characters."
	Date            = "Date has wrong format. Use one of these formats instead: YYYY-MM-DD."
	DateTime        = "Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z]."
	TimeOfDay       = "Time has wrong format. Use one of these formats instead: hh:mm."
	Email           = "Enter a valid email address."
	URL             = "Enter a valid URL."
	Hex             = "Enter a valid hexadecimal value."
	ULID            = "Enter a valid ULID."
	FilterTime      = "Enter a valid date/time."
	textMax         = "Ensure this field has no more than %d characters."
	textMin         = "Ensure this field has at least %d characters."
	textMany        = "Ensure this field has no more than %d elements."
	textMost        = "Ensure this value is less than or equal to %d."
	textLeast       = "Ensure this value is greater than or equal to %d."
	textChoice      = "%s is not a valid choice."
	textPK          = "Invalid pk \"%s\" - object does not exist."
	textPKType      = "Incorrect type. Expected pk value, received %s."
	textDictionary  = "Expected a dictionary of items but got type \"%s\"."
	textList        = "Expected a list of items but got type \"%s\"."
	textFilterValue = "“%s” is not a valid value."
	textFilterPick  = "Select a valid choice. %s is not one of the available choices."
)

// maxEcho is how many characters of a value a sentence repeats.
const maxEcho = 100

// InvalidPK says that a reference names no record that the key may see.
func InvalidPK(id string) string { return fmt.Sprintf(textPK, echo(id)) }

// InvalidFilter says that a filter's value cannot be read.
func InvalidFilter(value string) string { return fmt.Sprintf(textFilterValue, echo(value)) }

// InvalidChoice says that a filter names a record that there is none of.
func InvalidChoice(value string) string { return fmt.Sprintf(textFilterPick, echo(value)) }

// TooLong says how many characters a text may have.
func TooLong(limit int) string { return fmt.Sprintf(textMax, limit) }

// TooShort says how many characters a text must have.
func TooShort(limit int) string { return fmt.Sprintf(textMin, limit) }

// TooMany says how many elements a list may have.
func TooMany(limit int) string { return fmt.Sprintf(textMany, limit) }

// AtMost says how large a number may be.
func AtMost(limit int64) string { return fmt.Sprintf(textMost, limit) }

// AtLeast says how small a number may be.
func AtLeast(limit int64) string { return fmt.Sprintf(textLeast, limit) }

// NotAChoice says that a value is not one of a field's choices.
func NotAChoice(value string) string { return fmt.Sprintf(textChoice, `"`+echo(value)+`"`) }

// NotAnID says that a reference is of another JSON type.
func NotAnID(typeName string) string { return fmt.Sprintf(textPKType, typeName) }

// NotAnObject says that a value is of another JSON type.
func NotAnObject(typeName string) string { return fmt.Sprintf(textDictionary, typeName) }

// NotAList says that a value is of another JSON type.
func NotAList(typeName string) string { return fmt.Sprintf(textList, typeName) }

// InvalidID is InvalidPK for an id that was read as an integer.
func InvalidID(id int64) string { return InvalidPK(strconv.FormatInt(id, 10)) }

// echo cuts what a sentence repeats of a value.
func echo(s string) string {
	n := 0
	for i := range s {
		if n == maxEcho {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
