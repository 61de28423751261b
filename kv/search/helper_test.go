package search_test

import (
	"testing"

	"doorward/kv/record"
)

// benchPerson is a person with names, numbers and accents.
const benchPerson = `{"full_name":"João Conceição da Silva","cpf":"12345678901","email":"joao.silva@example.org",` +
	`"phone":"+55 11 98765-4321","mobile_phone":"11 91234-5678","membership_number":1234,"occupation":"Engenheiro \"civil\""}`

// settled returns a record made of a body that has no fault.
func settled(tb testing.TB, k *record.Kind, text string) *record.Doc {
	tb.Helper()
	p, err := k.Parse([]byte(text), record.ParseOptions{Surface: record.Admin})
	if err != nil || len(p.Faults) > 0 {
		tb.Fatalf("Parse(%s) of %s: %v, faults %v", text, k.Name, err, p.Faults)
	}
	d := k.NewDoc()
	d.Apply(p)
	return d
}

// personBody returns a person as it is stored.
func personBody(tb testing.TB, text string) record.Body {
	tb.Helper()
	return settled(tb, record.Person, text).Encode()
}
