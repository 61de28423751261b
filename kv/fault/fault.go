package fault

import (
	"fmt"
	"maps"
	"slices"
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
