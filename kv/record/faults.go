package record

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Faults are what is wrong with a body: field → sentences, in the words of the contract.
type Faults map[string][]string

// MaxListed is how many words a list in a message or an answer has at most, where it is no page of a list.
const MaxListed = 100

// Listed is a list as messages have it: at most MaxListed of the words, and how many more there are.
func Listed(words []string) string {
	shown := strings.Join(words[:min(len(words), MaxListed)], ", ")
	if more := len(words) - MaxListed; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return shown
}

// Add notes one fault of a field.
func (f *Faults) Add(field, text string) {
	if *f == nil {
		*f = Faults{}
	}
	(*f)[field] = append((*f)[field], text)
}

// Error names the fields at fault, and no value.
func (f Faults) Error() string {
	return "invalid fields: " + strings.Join(slices.Sorted(maps.Keys(f)), ", ")
}

// SyntaxError says where a body stops being a JSON object. Line and Column count from 1; columns are characters.
type SyntaxError struct {
	Line, Column int
	Reason       string
}

// Error is the sentence that the caller is answered.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("The body is not a JSON object: line %d, column %d: %s.", e.Line, e.Column, e.Reason)
}
