package search_test

import (
	"fmt"

	"doorward/kv/record"
	"doorward/kv/search"
	"doorward/kv/value"
)

func ExampleParse() {
	doc := record.Person.NewDoc()
	doc.Set("full_name", value.Quote("João Conceição"))
	fmt.Println(search.Parse("conceicao joao").Matches(record.Person, doc.Encode()))
	// Output: true
}
