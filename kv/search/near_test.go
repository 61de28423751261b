package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"doorward/kv/names"
	"doorward/kv/record"
	"doorward/kv/search"
	"doorward/kv/value"
)

// called is a person of whom nothing is known but the name.
func called(name string) record.Body {
	d := record.Person.NewDoc()
	d.Set("full_name", value.Quote(name))
	return d.Encode()
}

// edits is how many letters more, less, other or swapped with their neighbour part two words, no letter being edited twice:
// the optimal string alignment, by its table.
func edits(a, b string) int {
	s, t := []rune(a), []rune(b)
	table := make([][]int, len(s)+1)
	for i := range table {
		table[i] = make([]int, len(t)+1)
		for j := range table[i] {
			switch {
			case i == 0:
				table[i][j] = j
			case j == 0:
				table[i][j] = i
			default:
				other := 1
				if s[i-1] == t[j-1] {
					other = 0
				}
				table[i][j] = min(table[i-1][j]+1, table[i][j-1]+1, table[i-1][j-1]+other)
				if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
					table[i][j] = min(table[i][j], table[i-2][j-2]+1)
				}
			}
		}
	}
	return table[len(s)][len(t)]
}

// begunEdits are the fewest edits to any beginning of a word.
func begunEdits(typed, word string) int {
	fewest := edits(typed, word)
	for i := range word {
		fewest = min(fewest, edits(typed, word[:i]))
	}
	return fewest
}

// nearly draws a word and what somebody may have typed for it.
func nearly(t *rapid.T) (word, typed string) {
	letters := []rune("abãñß'")
	word = rapid.StringOfN(rapid.RuneFrom(letters), 1, 10, -1).Draw(t, "word")
	typed = word[:rapid.SampledFrom(starts(word)).Draw(t, "end")]
	for range rapid.IntRange(0, 3).Draw(t, "edits") {
		r := []rune(typed)
		at := rapid.IntRange(0, len(r)).Draw(t, "at")
		switch rapid.IntRange(0, 2).Draw(t, "edit") {
		case 0:
			r = slices.Insert(r, at, rapid.SampledFrom(letters).Draw(t, "letter"))
		case 1:
			r = slices.Delete(r, at, min(at+1, len(r)))
		case 2:
			if at > 1 {
				r[at-1], r[at-2] = r[at-2], r[at-1]
			}
		}
		typed = string(r)
	}
	return word, typed
}

// starts are where a word's letters begin, and its end.
func starts(word string) (at []int) {
	for i := range word {
		at = append(at, i)
	}
	return append(at, len(word))
}

func lettersOf(word string) (n int) {
	for _, r := range word {
		if unicode.IsLetter(r) {
			n++
		}
	}
	return n
}

func TestFuzzyForgivesOneEdit(t *testing.T) {
	for _, row := range []struct {
		name, query  string
		exact, fuzzy bool
	}{
		{"João Gonçalves", "goncalvez", false, true}, {"João Gonçalves", "gnocalves", false, true}, {"João Gonçalves", "conçalves", false, true},
		{"João Gonçalves", "goncalvess", false, true}, {"João Gonçalves", "goncaves", false, true}, {"João Gonçalves", "goncz", false, true},
		{"João Gonçalves", "gonczlvez", false, false}, {"João Gonçalves", "joao goncalvez", false, true}, {"João Gonçalves", `"goncalvez"`, false, false},
		{"João Gonçalves", "jxao gxnc", false, true}, {"João Gonçalves", "joa", true, true}, {"João Gonçalves", "joz", false, false},
		{"João Gonçalves", "calves", true, true}, {"João Gonçalves", "calvez", false, false}, {"Ana-Marya Souza", "maria", false, true},
		{"Ana-Marya Souza", "ana-maria", false, false}, {"Ωδυσσεύς", "ωδισσευς", false, true}, {"Ωδυσσεύς", "ωδισσεθς", false, false},
	} {
		s := search.Parse(row.query)
		if got := s.Matches(record.Person, called(row.name)); got != row.exact {
			t.Errorf("search %q in %q = %t, want %t", row.query, row.name, got, row.exact)
		}
		if got := s.Fuzzy().Matches(record.Person, called(row.name)); got != row.fuzzy {
			t.Errorf("fuzzy search %q in %q = %t, want %t", row.query, row.name, got, row.fuzzy)
		}
	}
}

func TestFuzzyLooksInNamesOnly(t *testing.T) {
	body := settled(t, record.Person, `{"full_name":"Ana","email":"goncalves@example.org","phone":"+55 11 98765-4321"}`).Encode()
	for query, want := range map[string]bool{"goncalves": true, "goncalvez": false, "98765": true, "98764": false} {
		if got := search.Parse(query).Fuzzy().Matches(record.Person, body); got != want {
			t.Errorf("fuzzy search %q = %t, want %t", query, got, want)
		}
	}
}

// TestFuzzyAgreesWithATable compares with the table of all alignments.
func TestFuzzyAgreesWithATable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word, typed := nearly(t)
		name, term := names.Fold(word), names.Fold(typed)
		want := typed == "" || strings.ContainsFunc(term, unicode.IsLetter) &&
			(strings.Contains(name, term) || lettersOf(term) >= 4 && begunEdits(term, name) <= 1)
		if got := search.Parse(typed).Fuzzy().Matches(record.Person, called("Zz "+word)); got != want {
			t.Errorf("fuzzy search %q in %q = %t, want %t", term, name, got, want)
		}
	})
}

func BenchmarkSearchMatches(b *testing.B) {
	body := personBody(b, benchPerson)
	for _, query := range []string{"conceicao", "conceixao", "maria"} {
		for name, s := range map[string]*search.Terms{"exact": search.Parse(query), "fuzzy": search.Parse(query).Fuzzy()} {
			b.Run(fmt.Sprint(name, " ", query), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_ = s.Matches(record.Person, body)
				}
			})
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	body := personBody(b, benchPerson)
	for name, q := range map[string]string{
		"hit by name": "joao silva", "miss": "souza", "phone": "98765", "phrase": `"conceicao da"`,
	} {
		b.Run(name, func(b *testing.B) {
			s := search.Parse(q)
			b.ReportAllocs()
			for b.Loop() {
				s.Matches(record.Person, body)
			}
		})
	}
}
