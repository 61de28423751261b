package record

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Faults are what is wrong with a body: field → sentences, in the words of the contract.
type Faults map[string][]string

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
