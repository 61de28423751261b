package record_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"doorward/kv/record"
)

// called is a person of whom nothing is known but the name.
func called(name string) record.Body {
	d := record.Person.NewDoc()
	d.Set("full_name", record.Quote(name))
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
		s := record.ParseSearch(row.query)
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
		if got := record.ParseSearch(query).Fuzzy().Matches(record.Person, body); got != want {
			t.Errorf("fuzzy search %q = %t, want %t", query, got, want)
		}
	}
}

// TestFuzzyAgreesWithATable compares with the table of all alignments.
func TestFuzzyAgreesWithATable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word, typed := nearly(t)
		name, term := record.Fold(word), record.Fold(typed)
		want := typed == "" || strings.ContainsFunc(term, unicode.IsLetter) &&
			(strings.Contains(name, term) || lettersOf(term) >= 4 && begunEdits(term, name) <= 1)
		if got := record.ParseSearch(typed).Fuzzy().Matches(record.Person, called("Zz "+word)); got != want {
			t.Errorf("fuzzy search %q in %q = %t, want %t", term, name, got, want)
		}
	})
}

// tier is what ranked search makes of one typed word and one of a name: 0 whole, 1 begun, 2 one edit, 3 one edit in a
// beginning, 4 two edits; -1 not found.
func tier(typed, word string) int {
	n := lettersOf(typed)
	switch {
	case typed == word:
		return 0
	case strings.HasPrefix(word, typed):
		return 1
	case n >= 3 && edits(typed, word) <= 1:
		return 2
	case n >= 4 && begunEdits(typed, word) <= 1:
		return 3
	case n >= 8 && edits(typed, word) <= 2:
		return 4
	}
	return -1
}

// TestRankedWordsAgreeWithATable puts each pair of words between those whose tiers are known.
func TestRankedWordsAgreeWithATable(t *testing.T) {
	t.Parallel()
	marks := make([]int, 5) // the cost of each tier
	for i, typed := range []string{"goncalves", "goncal", "goncalvez", "goncx", "gonzalvez"} {
		cost, ok := record.ParseRanked(typed).Cost(record.Person, called("Gonçalves"))
		if marks[i] = cost; !ok || i > 0 && cost <= marks[i-1] {
			t.Fatalf("cost of %q = %d, %t after %v", typed, cost, ok, marks)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		word, typed := nearly(t)
		name, term := record.Fold(word), record.Fold(typed)
		if lettersOf(term) == 0 {
			return
		}
		want := tier(term, name)
		cost, ok := record.ParseRanked(typed).Cost(record.Person, called(word))
		if ok != (want >= 0) || ok && cost != marks[want] {
			t.Errorf("ranked %q in %q = %d, %t, want tier %d", term, name, cost, ok, want)
		}
	})
}

// TestRankedGivesEachWordItsOwn compares with every way of giving a name's words to those that were typed.
func TestRankedGivesEachWordItsOwn(t *testing.T) {
	t.Parallel()
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"ana", "anna", "ane", "anabela", "maria", "mariana", "mari", "d", "da", "souza", "sousa"}), 1, 5)
	rapid.Check(t, func(t *rapid.T) {
		name, typed := words.Draw(t, "name"), words.Draw(t, "typed")
		r := record.ParseRanked(strings.Join(typed, " "))
		body := called(strings.Join(name, " "))
		cost, ok := r.Cost(record.Person, body)
		best := cheapest(r.Words(), name, nil)
		if ok != (best != nil) {
			t.Fatalf("ranked %q in %q is found: %t, want %t", r.Words(), name, ok, best != nil)
		}
		if !ok {
			return
		}
		other := words.Draw(t, "other")
		if second, ok := r.Cost(record.Person, called(strings.Join(other, " "))); ok {
			want := slices.Compare(best, cheapest(r.Words(), other, nil))
			if (cost < second) != (want < 0) || (cost > second) != (want > 0) {
				t.Errorf("ranked %q: %q costs %d and %q %d, want %v and %v", r.Words(), name, cost, other, second, best, cheapest(r.Words(), other, nil))
			}
		}
	})
}

// cheapest tries all ways: how many words are two edits away, one edit, begun, whether the first answers not the first, and how
// many are left, particles not counted; nil where there is no way.
func cheapest(typed, name []string, taken []int) []int {
	if len(taken) == len(typed) {
		sum := make([]int, 5)
		for i, j := range taken {
			for at, tiers := range [][]int{{4}, {2, 3}, {1, 3}} {
				if slices.Contains(tiers, tier(typed[i], name[j])) {
					sum[at]++
				}
			}
		}
		if taken[0] != 0 {
			sum[3] = 1
		}
		for j, word := range name {
			if word != "da" && !slices.Contains(taken, j) {
				sum[4]++
			}
		}
		return sum
	}
	var best []int
	for j := range name {
		if slices.Contains(taken, j) || tier(typed[len(taken)], name[j]) < 0 {
			continue
		}
		sum := cheapest(typed, name, append(slices.Clone(taken), j))
		if sum != nil && (best == nil || slices.Compare(sum, best) < 0) {
			best = sum
		}
	}
	return best
}

func TestRankedOrder(t *testing.T) {
	for typed, want := range map[string][]string{
		"joao silva": {"João da Silva", "JOÃO SILVA", "João Pedro Silva", "Silva João", "João Silvano", "Joana João Silvano", "João Silca", "Joãs Silvan", ""},
		"Souza Ana":  {"Souza Ana", "Ana Souza", "Ana de Souza", "Ana Clara Souza", "Ana Souzas", "Ana Sousa", ""},
		"ana ana":    {"Ana Ana", "Ana Anabela", "Anabela Anália", "Ana Ina", "", "Ana Souza"},
		"goncalvez":  {"Gonçalvez", "Ana Gonçalvez", "Gonçalves", "Gonsalves", "", "Gomes"},
		"maria jo":   {"Maria Jo", "Maria José", "José Maria", "Mariana José", "", "Maria Silva", "Maria"},
		"da silva":   {"Silva", "Ana da Silva", ""},
		"da":         {"Ana da Silva", "Dalva Souza", "", "Ana Silva"},
		"ab":         {"Ab", "Abel", "", "Ba", "Ana"},
		"abe":        {"Abel", "Bae", "Ab", "", "Ba"},
	} {
		r := record.ParseRanked(typed)
		last := -1
		found := true
		for _, name := range want {
			if name == "" {
				found = false
				continue
			}
			cost, ok := r.Cost(record.Person, called(name))
			if ok != found || ok && cost < last {
				t.Errorf("ranked %q in %q = %d, %t, want %t and %d at least", typed, name, cost, ok, found, last)
			}
			last = max(last, cost)
		}
	}
}

func TestRankedNumbers(t *testing.T) {
	person := settled(t, record.Person, `{"full_name":"Ana Souza","phone":"+55 (11) 98765-4321","mobile_phone":"91234 5678","membership_number":120}`).Encode()
	name := settled(t, record.HolderName, `{"event_id":7,"full_name":"Ana Souza","phone_tail":"4321"}`).Encode()
	ticket := settled(t, record.Ticket, `{"event_id":7}`)
	ticket.Set("label", record.Quote("Ana S."))
	for _, row := range []struct {
		typed                  string
		person, holder, ticket bool
	}{
		{"4321", true, true, false}, {"21", true, true, false}, {"1", false, false, false}, {"432", false, false, false}, {"(11) 98765-4321", true, false, false},
		{"5678", true, false, false}, {"120", true, false, false}, {"20", false, false, false}, {"ana 4321", true, true, false}, {"ana 432", false, false, false},
		{"ana 1", true, true, true}, {"ana s", true, true, true}, {"ana souza", true, true, false}, {"s ana", true, true, true}, {"-", false, false, false}, {"", false, false, false},
	} {
		r := record.ParseRanked(row.typed)
		for kind, want := range map[*record.Kind]bool{record.Person: row.person, record.HolderName: row.holder, record.Ticket: row.ticket} {
			body := map[*record.Kind]record.Body{record.Person: person, record.HolderName: name, record.Ticket: ticket.Encode()}[kind]
			if _, ok := r.Cost(kind, body); ok != want {
				t.Errorf("ranked %q in a %s = %t, want %t", row.typed, kind.Name, ok, want)
			}
		}
	}
}

// TestRankedLaws: the order of the words decides not who is found, accents, case and particles decide nothing.
func TestRankedLaws(t *testing.T) {
	t.Parallel()
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"joão", "jose", "silva", "silvia", "sílvia", "gonçalves", "goncalvez", "müller", "ç", "de"}), 1, 4)
	rapid.Check(t, func(t *rapid.T) {
		body := called(strings.Join(words.Draw(t, "name"), " "))
		typed := words.Draw(t, "typed")
		cost, ok := record.ParseRanked(strings.Join(typed, " ")).Cost(record.Person, body)
		shuffled := rapid.Permutation(typed).Draw(t, "shuffled")
		if _, is := record.ParseRanked(strings.Join(shuffled, ", ")).Cost(record.Person, body); is != ok {
			t.Errorf("ranked %q finds: %t, but %q: %t", typed, ok, shuffled, is)
		}
		plain := append([]string{}, typed...)
		for i, word := range plain {
			plain[i] = strings.ToUpper(record.Fold(word))
		}
		if slices.ContainsFunc(typed, func(word string) bool { return word != "de" }) {
			plain = slices.Insert(plain, rapid.IntRange(0, len(plain)).Draw(t, "at"), rapid.SampledFrom([]string{"da", "E", "dos"}).Draw(t, "particle"))
		}
		if same, is := record.ParseRanked(strings.Join(plain, " ")).Cost(record.Person, body); is != ok || same != cost {
			t.Errorf("ranked %q = %d, %t, but %q = %d, %t", typed, cost, ok, plain, same, is)
		}
	})
}

// TestRankedStaysCheap gives it what an attacker would.
func TestRankedStaysCheap(t *testing.T) {
	body := called(strings.TrimSpace(strings.Repeat("aaaaaaab ", 28)))
	r := record.ParseRanked(strings.Repeat("aaaaaaaa ", 16))
	if _, ok := r.Cost(record.Person, body); !ok {
		t.Error("sixteen words are not found in a name of as many that are near")
	}
	if _, ok := record.ParseRanked(strings.Repeat("aaaaaaab ", 17)).Cost(record.Person, body); ok {
		t.Error("more words are found than are compared")
	}
}

func BenchmarkRankedCost(b *testing.B) {
	body := personBody(b, benchPerson)
	for _, typed := range []string{"joao silva", "silva joao", "joao conceicao silva", "joao conceixao da silvs", "maria souza", "joao gomes", "joao 4321"} {
		r := record.ParseRanked(typed)
		b.Run(typed, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = r.Cost(record.Person, body)
			}
		})
	}
}

func BenchmarkSearchMatches(b *testing.B) {
	body := personBody(b, benchPerson)
	for _, query := range []string{"conceicao", "conceixao", "maria"} {
		for name, s := range map[string]*record.Search{"exact": record.ParseSearch(query), "fuzzy": record.ParseSearch(query).Fuzzy()} {
			b.Run(fmt.Sprint(name, " ", query), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_ = s.Matches(record.Person, body)
				}
			})
		}
	}
}
