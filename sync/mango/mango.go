package mango

import (
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	"doorward/kv/docs"
)

// Parse reads a selector from JSON. It returns nil for nil.
func Parse(text json.RawMessage) (Selector, error) {
	if text == nil {
		return nil, nil
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, ErrSelector
	}
	return New(v)
}

// Selector is a test of a document.
type Selector func(doc any) bool

// ErrSelector is an operator or operand that this package does not know.
var ErrSelector = errors.New("not a selector of these tests")

// ErrNoSelector is a selector that is not an object.
var ErrNoSelector = errors.New("a selector that is no object")

// Matches tells whether the winner of a change passes.
func (s Selector) Matches(c *docs.DocChange) bool {
	var doc map[string]any
	if c.Winner.Body == nil || json.Unmarshal(c.Winner.Body, &doc) != nil || doc == nil {
		doc = map[string]any{}
	}
	doc["_id"], doc["_rev"] = c.ID, c.Leaves[0].Revision.String()
	if c.Deleted {
		doc["_deleted"] = true
	}
	return s(doc)
}

// New reads an object of tests. All must hold.
func New(v any) (Selector, error) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, ErrNoSelector
	}
	var all []Selector
	for name, operand := range object {
		test, err := parseTest(name, operand)
		if err != nil {
			return nil, err
		}
		all = append(all, test)
	}
	return every(all), nil
}

func every(tests []Selector) Selector {
	return func(v any) bool {
		return !slices.ContainsFunc(tests, func(t Selector) bool { return !t(v) })
	}
}

func some(tests []Selector) Selector {
	return func(v any) bool {
		return slices.ContainsFunc(tests, func(t Selector) bool { return t(v) })
	}
}

// parseTest reads one member: an operator, or a field and what it must be.
func parseTest(name string, operand any) (Selector, error) {
	if strings.HasPrefix(name, "$") {
		return parseOperator(name, operand)
	}
	test, err := New(operand)
	if object, ok := operand.(map[string]any); !ok || len(object) == 0 {
		test, err = equal(operand), nil
	}
	if err != nil {
		return nil, err
	}
	path := strings.Split(name, ".")
	return func(v any) bool { return test(fieldOf(v, path)) }, nil
}

// absent is the value of a field that is not there.
type absent struct{}

// fieldOf returns a field of nested objects.
func fieldOf(v any, path []string) any {
	for _, name := range path {
		object, _ := v.(map[string]any)
		inner, ok := object[name]
		if !ok {
			return absent{}
		}
		v = inner
	}
	return v
}

func equal(operand any) Selector {
	return func(v any) bool { return reflect.DeepEqual(v, operand) }
}

func parseOperator(name string, operand any) (Selector, error) {
	switch name {
	case "$and", "$or":
		list, ok := operand.([]any)
		if !ok {
			return nil, ErrSelector
		}
		tests := make([]Selector, len(list))
		for i, v := range list {
			var err error
			if tests[i], err = New(v); err != nil {
				return nil, err
			}
		}
		if name == "$and" {
			return every(tests), nil
		}
		return some(tests), nil
	case "$in":
		list, ok := operand.([]any)
		if !ok {
			return nil, ErrSelector
		}
		isIn := func(v any) bool {
			return slices.ContainsFunc(list, func(one any) bool { return reflect.DeepEqual(v, one) })
		}
		return func(v any) bool {
			if values, ok := v.([]any); ok { // of a list one item is enough
				return slices.ContainsFunc(values, isIn)
			}
			return isIn(v)
		}, nil
	case "$exists":
		want, ok := operand.(bool)
		if !ok {
			return nil, ErrSelector
		}
		return func(v any) bool {
			_, none := v.(absent)
			return none != want
		}, nil
	case "$eq":
		return equal(operand), nil
	}
	return parseComparison(name, operand)
}

func parseComparison(name string, operand any) (Selector, error) {
	holds, known := map[string]func(int) bool{
		"$gt": func(n int) bool { return n > 0 }, "$gte": func(n int) bool { return n >= 0 },
		"$lt": func(n int) bool { return n < 0 }, "$lte": func(n int) bool { return n <= 0 },
	}[name]
	if !known {
		return nil, ErrSelector
	}
	return func(v any) bool {
		_, none := v.(absent)
		return !none && holds(compare(v, operand))
	}, nil
}

// compare orders values as CouchDB does: null, false, true, numbers, texts, lists, objects.
func compare(a, b any) int {
	if x, y := rank(a), rank(b); x != y {
		return cmp.Compare(x, y)
	}
	switch a := a.(type) {
	case float64:
		return cmp.Compare(a, b.(float64))
	case string:
		return strings.Compare(a, b.(string))
	case []any:
		return slices.CompareFunc(a, b.([]any), compare)
	}
	return 0
}

func rank(v any) int {
	switch v := v.(type) {
	case nil:
		return 0
	case bool:
		if v {
			return 2
		}
		return 1
	case float64:
		return 3
	case string:
		return 4
	case []any:
		return 5
	}
	return 6
}
