package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"doorward/kv/record"
	"doorward/kv/search"
	"doorward/kv/value"
)

func TestSearch(t *testing.T) {
	people := map[string]string{
		"joao":   `{"full_name":"João  Conceição da Silva","email":"JS.99@example.org","phone":"+55 (11) 98765-4321","membership_number":120}`,
		"strauß": `{"full_name":"Jürgen Groß-Strauß","mobile_phone":"0049 171 555"}`,
		"nfd":    `{"full_name":"Jose\u0301 Muñoz","membership_number":12}`,
		"quote":  `{"full_name":"Ana \"Zé\" O'Neil\\x"}`,
		"ligat":  `{"full_name":"Soﬁa Œuvrard Ærø Łukasz İpek"}`,
		"greek":  `{"full_name":"ΟΔΥΣΣΕΥΣ 漢字"}`,
		"blank":  `{}`,
	}
	for _, row := range []struct{ query, want string }{
		{"", "blank greek joao ligat nfd quote strauß"},
		{` , ,"" `, "blank greek joao ligat nfd quote strauß"}, {`"`, "blank greek joao ligat nfd quote strauß"},
		{"joao", "joao"}, {"JOÃO", "joao"}, {"oã", "joao"}, {"conceicao", "joao"}, {"silva,joao", "joao"}, {"joao souza", ""},
		{"da", "joao"}, {"joao da", "joao"}, {"example.org", "joao"}, {"js.99", "joao"}, {"joao example", "joao"},
		{`"conceicao da"`, "joao"}, {`"joao conceicao"`, "joao"}, {`"da conceicao"`, ""}, {`"joao conc`, "joao"}, {`silva"joao"`, "joao"},
		{"joaoconceicao", ""},
		{"gross", "strauß"}, {"STRAUSS", "strauß"}, {"groß-strauß", "strauß"}, {"jurgen", "strauß"}, {"GROẞ", "strauß"},
		{"josé", "nfd"}, {"jose\u0301", "nfd"}, {"munoz", "nfd"}, {"jose", "nfd"},
		{"zé", "quote"}, {"o'neil", "quote"}, {`neil\x`, "quote"},
		{"sofia", "ligat"}, {"oeuvre", ""}, {"oeuvrard", "ligat"}, {"œuv", "ligat"}, {"aero", "ligat"}, {"lukasz", "ligat"}, {"ipek", "ligat"},
		{"οδυσσευς", "greek"}, {"οδυσσευσ", "greek"}, {"漢", "greek"},
		{"98765", "joao"}, {"11987654321", "joao"}, {"(11)", "joao"}, {"+55 98765-4321", "joao"}, {`"11 98765"`, "joao"}, {"98765 555", ""},
		{"171555", "strauß"}, {"９８７６５", "joao"},
		{"120", "joao"}, {"12", "nfd"}, {"2", "joao"}, {"99", ""}, {"0120", ""}, {"joao 120", "joao"},
		{"-", ""}, {"+", ""}, {"joao -", ""}, {"\u0301", ""}, {"...", ""}, {strings.Repeat("joao ", 70), "joao"}, {strings.Repeat("joao ", 70) + "zz", ""},
	} {
		s := search.Parse(row.query)
		var got []string
		for _, name := range []string{"blank", "greek", "joao", "ligat", "nfd", "quote", "strauß"} {
			if s.Matches(record.Person, settled(t, record.Person, people[name]).Encode()) {
				got = append(got, name)
			}
		}
		if found := strings.Join(got, " "); found != row.want {
			t.Errorf("search %q found %q, want %q", row.query, found, row.want)
		}
		if s.Empty() != (row.query == "" || strings.Trim(row.query, ` ,"`) == "") {
			t.Errorf("Empty of %q is %t", row.query, s.Empty())
		}
	}
}

func TestSearchAtTheDoor(t *testing.T) {
	named := settled(t, record.HolderName, `{"event_id":7,"full_name":"Ana Souza"}`)
	named.Set("phone_tail", value.Quote("4321"))
	name := named.Encode()
	for query, want := range map[string]bool{"souza": true, "4321": true, "321 ana": true, "5432": false} {
		if got := search.Parse(query).Matches(record.HolderName, name); got != want {
			t.Errorf("search %q = %t, want %t", query, got, want)
		}
	}
}

func TestEveryNameIsFoundByItsOwnWords(t *testing.T) {
	letters := rapid.StringOfN(rapid.RuneFrom([]rune("abcXYZãçÉßœñüŁø\u0301'-")), 1, 12, -1)
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(letters, 1, 5).Draw(t, "words")
		d := record.Person.NewDoc()
		d.Set("full_name", value.Quote("q"+strings.Join(words, " q")))
		word := "q" + rapid.SampledFrom(words).Draw(t, "word")
		if !search.Parse(strings.ToUpper(word)).Matches(record.Person, d.Encode()) {
			t.Errorf("%q is not found in %v", word, words)
		}
	})
}

func TestPartsOfASearch(t *testing.T) {
	s := search.Parse(`João "Da Silva" abc maria-joao 99-88 - ab¨c JOAO,abc "da silva" - "abc"`)
	for name, row := range map[string]struct {
		s         *search.Terms
		forgiving bool
	}{"exact": {s, false}, "fuzzy": {s.Fuzzy(), true}} {
		want := []search.Part{{Text: "joao", Forgiving: row.forgiving}, {Text: "da silva", Phrase: true}, {Text: "abc"}, {Text: "maria-joao"},
			{Digits: "9988"}, {}, {Text: "ab c"}, {Text: "abc", Phrase: true}}
		if got := row.s.Parts(); !slices.Equal(got, want) {
			t.Errorf("%s Parts = %+v, want %+v", name, got, want)
		}
	}
}

func TestRankedTakesWhatWasTypedApart(t *testing.T) {
	for typed, want := range map[string]string{
		"Souza da ANA":      "[souza ana] []",
		"da":                "[da] []",
		"e da":              "[e da] []",
		"Ana-Maria D'Ávila": "[ana maria davila] []",
		"ana 4321":          "[ana] [4321]",
		"ana 4":             "[ana] []",
		"4":                 "[] [4]",
		"(11) 98765-4321":   "[] [11987654321]",
		"12 ana 34":         "[ana] [12 34]",
		`"João","Silva" 🙂`:  "[joao silva] []",
		" - ":               "[] []",
	} {
		r := search.ParseRanked(typed)
		if got := fmt.Sprint(texts(r), r.Digits); got != want || r.Empty() != (want == "[] []") {
			t.Errorf("ParseRanked(%q) = %s, empty %t, want %s", typed, got, r.Empty(), want)
		}
	}
}

// TestSearchesPassOverValuesOfAnotherType looks into what a replica has stored unread.
func TestSearchesPassOverValuesOfAnotherType(t *testing.T) {
	b := record.Body{Shown: []byte(`"full_name":5,"email":[],"phone":{}`)}
	for _, q := range []string{"a", "5", `"a b"`} {
		if s := search.Parse(q); s.Matches(record.Person, b) || s.Fuzzy().Matches(record.Person, b) {
			t.Errorf("Matches(%q) of a name that is no text", q)
		}
	}
	if _, ok := search.ParseRanked("ana 55").Cost(record.Person, b); ok {
		t.Error("Cost of a name that is no text")
	}
}
