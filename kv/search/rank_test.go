package search_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"doorward/kv/names"
	"doorward/kv/record"
	"doorward/kv/search"
	"doorward/kv/value"
)

// tier is what ranked search makes of one typed word and one of a name: 0 whole, 1 begun, 2 one edit, 3 one edit in a
// beginning, 4 two edits, 5 the same sound; -1 not found.
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
	case n >= 3 && names.Sound(typed) == names.Sound(word):
		return 5
	}
	return -1
}

// TestRankedWordsAgreeWithATable puts each pair of words between those whose tiers are known.
func TestRankedWordsAgreeWithATable(t *testing.T) {
	t.Parallel()
	marks := make([]int64, 6) // the cost of each tier
	for i, typed := range []string{"goncalves", "goncal", "goncalvez", "goncx", "gonzalvez", "ghonnkallvess"} {
		cost, ok := search.ParseRanked(typed).Cost(record.Person, called("Gonçalves"))
		if marks[i] = cost; !ok || i > 0 && cost <= marks[i-1] {
			t.Fatalf("cost of %q = %d, %t after %v", typed, cost, ok, marks)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		word, typed := nearly(t)
		name, term := strings.ReplaceAll(names.Fold(word), "'", ""), strings.ReplaceAll(names.Fold(typed), "'", "")
		if lettersOf(term) == 0 {
			return
		}
		want := -1
		if name != "" {
			want = tier(term, name)
		}
		cost, ok := search.ParseRanked(typed).Cost(record.Person, called(word))
		if ok != (want >= 0) || ok && cost != marks[want] {
			t.Errorf("ranked %q in %q = %d, %t, want tier %d", term, name, cost, ok, want)
		}
	})
}

// TestRankedGivesEachWordItsOwn compares with every way of giving a name's words to those that were typed.
func TestRankedGivesEachWordItsOwn(t *testing.T) {
	t.Parallel()
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "ab", "aba", "abab", "abac", "abacab", "acab", "d", "da", "dora"}), 1, 6)
	rapid.Check(t, func(t *rapid.T) {
		name := words.Draw(t, "name")
		typed := rapid.Permutation(name).Draw(t, "typed")
		for i, word := range typed { // beginnings, which several may have
			typed[i] = word[:rapid.IntRange(1, len(word)).Draw(t, "end")]
		}
		r := search.ParseRanked(strings.Join(typed, " "))
		body := called(strings.Join(name, " "))
		if joints(r, name) > 4 {
			return // not all of them are looked at
		}
		cost, ok := spelled(r, body)
		best := cheapest(r, name, nil, nil)
		if ok != (best != nil) {
			t.Fatalf("ranked %q in %q is found: %t, want %t", texts(r), name, ok, best != nil)
		}
		if !ok {
			return
		}
		other := rapid.Permutation(append(words.Draw(t, "more"), name...)).Draw(t, "other")
		other = other[:min(len(other), 7)]
		if joints(r, other) > 4 {
			return
		}
		if second, ok := spelled(r, called(strings.Join(other, " "))); ok {
			want := slices.Compare(best, cheapest(r, other, nil, nil))
			if (cost < second) != (want < 0) || (cost > second) != (want > 0) {
				t.Errorf("ranked %q: %q costs %d and %q %d, want %v and %v", texts(r), name, cost, other, second, best, cheapest(r, other, nil, nil))
			}
		}
	})
}

// texts are the typed words.
func texts(r *search.Ranked) (all []string) {
	for _, w := range r.Words {
		all = append(all, w.Text)
	}
	return all
}

// spelled is the cost of a name that is found not only by how it sounds.
func spelled(r *search.Ranked, name record.Body) (cost int64, ok bool) {
	sound, _ := search.ParseRanked("vaghner").Cost(record.Person, called("Wagner"))
	cost, ok = r.Cost(record.Person, name)
	return cost, ok && cost < sound
}

// joint tells how a typed word at i is parted otherwise in a name: as two of its words from j on, or with the next typed one as one
// word at j, which is 1 more where it but begins that. 0 = not so.
func joint(r *search.Ranked, name []string, i, j int) (two, one int) {
	words := texts(r)
	if len(words[i]) >= 4 && j+1 < len(name) && name[j]+name[j+1] == words[i] {
		two = 1
	}
	for _, t := range r.Joints {
		switch {
		case t.First != i:
		case name[j] == t.Text:
			one = 1
		case strings.HasPrefix(name[j], t.Text):
			one = 2
		}
	}
	return two, one
}

// joints counts them.
func joints(r *search.Ranked, name []string) (n int) {
	for i := range r.Words {
		for j := range name {
			two, one := joint(r, name, i, j)
			n += two + min(one, 1)
		}
	}
	return n
}

// cheapest tries all ways: how many words are two edits away, one edit, parted otherwise, begun, whether the first answers not the
// first, and how many are left, particles not counted; nil where there is no way. Each typed word, of which so many are done, has
// what it costs.
func cheapest(r *search.Ranked, name []string, taken []int, done [][4]int) []int {
	i := len(done)
	if i == len(r.Words) {
		return total(name, taken, done)
	}
	var best []int
	try := func(costs [][4]int, words ...int) {
		for _, j := range words {
			if slices.Contains(taken, j) {
				return
			}
		}
		sum := cheapest(r, name, append(slices.Clone(taken), words...), append(slices.Clone(done), costs...))
		if sum != nil && (best == nil || slices.Compare(sum, best) < 0) {
			best = sum
		}
	}
	for j := range name {
		switch typed := r.Words[i].Text; tier(typed, name[j]) {
		case 0:
			try([][4]int{{}}, j)
		case 1:
			try([][4]int{{3: 1}}, j)
		case 2:
			try([][4]int{{1: 1}}, j)
		case 3:
			try([][4]int{{1: 1, 3: 1}}, j)
		case 4:
			try([][4]int{{0: 1}}, j)
		}
		two, one := joint(r, name, i, j)
		if two > 0 {
			try([][4]int{{2: 1}}, j, j+1)
		}
		if one > 0 {
			try([][4]int{{2: 1, 3: one - 1}, {}}, j)
		}
	}
	return best
}

// total adds up what a way costs.
func total(name []string, taken []int, done [][4]int) []int {
	sum := make([]int, 6)
	for _, costs := range done {
		for at, n := range costs {
			sum[at] += n
		}
	}
	if taken[0] != 0 {
		sum[4] = 1
	}
	for j, word := range name {
		if word != "da" && !slices.Contains(taken, j) {
			sum[5]++
		}
	}
	return sum
}

func TestRankedOrder(t *testing.T) {
	for typed, want := range map[string]string{ // from the best on; | ends those that are found
		"joao silva": "João da Silva=JOÃO SILVA<João Pedro Silva<Silva João<João Silvano<Joana João Silvano<João Silca<Joãs Silvan|",
		"Souza Ana":  "Souza Ana<Ana Souza=Ana de Souza<Ana Clara Souza<Ana Souzas<Ana Sousa|",
		"ana ana":    "Ana Ana<Ana Anabela<Anabela Anália<Ana Ina|Ana Souza",
		"goncalvez":  "Gonçalvez<Ana Gonçalvez<Gonçalves<Gonçalvesa<Gonsalves|Gomes",
		"maria jo":   "Maria Jo<Maria José<José Maria<José da Silva Maria<Mariana José|Maria Silva=Maria",
		"da silva":   "Silva<Ana da Silva|",
		"mesa 14":    "Mesa 14<Mesa 14 Lugar 3<Lugar 14 da Mesa 3|Mesa 3 Lugar 4=Mesa 140=Mesa=Lugar 14",
		"12":         "Convidado 12=12 Ana=Ana-12|Convidado 120=Convidado 1",
		"1":          "Convidado 1|Convidado 12",
		"mesa 14 3":  "Mesa 143|Mesa 14 Lugar 3",
		"da":         "Da<Da Ana<Ana da<Dado<Ana Dado|Ana Silva",
		"d":          "Dado<Da Dado<Ana Dado|Ana",
		"ab":         "Ab<Abel|Ba=Ana",
		"abe":        "Abe<Abel<Bae=Ab|Ba",
		"thaynnara":  "Thaynnara<Thaynnarah<Thaynn Ara=Tha'ynn-Ara<Taynnara<Tainnara<Tainara<Ana Tainara Lima|Tayrone",
	} {
		found, last := true, int64(-1)
		for _, part := range regexp.MustCompile(`[|=<]?[^|=<]+`).FindAllString(want, -1) {
			name := strings.TrimLeft(part, "|=<")
			found = found && part[0] != '|'
			cost, ok := search.ParseRanked(typed).Cost(record.Person, called(name))
			if ok != found || ok && (part[0] == '=') != (cost == last) || ok && cost < last {
				t.Errorf("ranked %q in %q = %d, %t after %d", typed, name, cost, ok, last)
			}
			last = max(last, cost)
		}
	}
}

// TestSoundsComeLast: behind whoever is found by an address, and however many other words are a worse answer.
func TestSoundsComeLast(t *testing.T) {
	address := settled(t, record.Person, `{"full_name":"Íris","email":"thaynnara@example.org"}`).Encode()
	last := int64(0)
	for _, body := range []record.Body{called("Thaynnara"), called("Ana Tainnara"), address, called("Tainara")} {
		cost, ok := search.ParseRanked("thaynnara").Cost(record.Person, body)
		if !ok || cost < last {
			t.Errorf("Cost = %d, %t after %d", cost, ok, last)
		}
		last = cost + 1
	}
	typed := strings.Repeat("goncalvez ", 3)
	edits, ok := search.ParseRanked(typed+"philippa").Cost(record.Person, called(strings.Repeat("Xonçalvxz ", 3)+"Philixxa"))
	sound, heard := search.ParseRanked(typed+"phelyppah").Cost(record.Person, called(strings.Repeat("Goncalvez ", 3)+"Filipa"))
	if !ok || !heard || sound <= edits {
		t.Errorf("one sound costs %d, %t, edits in all words %d, %t", sound, heard, edits, ok)
	}
}

func TestRankedNumbers(t *testing.T) {
	person := settled(t, record.Person, `{"full_name":"Ana Souza","phone":"+55 (11) 98765-4321","mobile_phone":"91234 5678","membership_number":120}`).Encode()
	named := settled(t, record.HolderName, `{"event_id":7,"full_name":"Ana Souza"}`)
	named.Set("phone_tail", value.Quote("4321"))
	name := named.Encode()
	ticket := settled(t, record.HolderLabel, `{"event_id":7}`)
	ticket.Set("label", value.Quote("Ana S."))
	for _, row := range []struct {
		typed                  string
		person, holder, ticket bool
	}{
		{"4321", true, true, false}, {"21", true, true, false}, {"1", false, false, false}, {"432", false, false, false}, {"(11) 98765-4321", true, true, false},
		{"0055 11 98765-4321", true, true, false}, {"1198765-4320", false, false, false}, {"765-4321", true, false, false}, {"876-54321", true, true, false},
		{"99999120", false, false, false},
		{"5678", true, false, false}, {"120", true, false, false}, {"20", false, false, false}, {"ana 4321", true, true, false}, {"ana 432", false, false, false},
		{"ana 1", true, true, true}, {"ana s", true, true, true}, {"ana souza", true, true, false}, {"s ana", true, true, true}, {"-", false, false, false}, {"", false, false, false},
	} {
		r := search.ParseRanked(row.typed)
		for kind, want := range map[*record.Kind]bool{record.Person: row.person, record.HolderName: row.holder, record.HolderLabel: row.ticket} {
			body := map[*record.Kind]record.Body{record.Person: person, record.HolderName: name, record.HolderLabel: ticket.Encode()}[kind]
			if _, ok := r.Cost(kind, body); ok != want {
				t.Errorf("ranked %q in a %s = %t, want %t", row.typed, kind.Name, ok, want)
			}
		}
	}
}

// TestRankedNumbersAreWordsOrEnds compares with a look at each word, and at the ends of phones.
func TestRankedNumbersAreWordsOrEnds(tb *testing.T) {
	tb.Parallel()
	rapid.Check(tb, func(t *rapid.T) {
		number := rapid.StringMatching(`[12]{1,9}`)
		words := rapid.SliceOfN(rapid.OneOf(number, rapid.SampledFrom([]string{"ana", "lugar"})), 1, 4).Draw(t, "name")
		phone := rapid.StringMatching(`[12]{3,9}`).Draw(t, "phone")
		longer := rapid.StringMatching(`[12]{2,5}`).Draw(t, "more") + phone
		typed := rapid.OneOf(number, rapid.SampledFrom(words), rapid.Just(longer)).Draw(t, "typed")
		body := settled(tb, record.Person, `{"full_name":"`+strings.Join(words, " ")+`","phone":"`+phone+`"}`).Encode()
		if lettersOf(typed) > 0 {
			return
		}
		said := slices.Contains(words, typed)
		end := len(typed) > 1 && strings.HasSuffix(phone, typed) || len(typed) >= 8 && len(phone) >= 4 && strings.HasSuffix(typed, phone)
		cost, ok := search.ParseRanked(typed).Cost(record.Person, body)
		if ok != (said || end) || ok && (cost == 0) != (said || phone == typed) {
			t.Errorf("ranked %q in %q with %s = %d, %t", typed, words, phone, cost, ok)
		}
	})
}

// TestRankedLaws: the order of the words decides not who is found, accents, case and particles decide nothing.
func TestRankedLaws(t *testing.T) {
	t.Parallel()
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"joão", "jose", "silva", "silvia", "sílvia", "gonçalves", "goncalvez", "müller", "ç", "de"}), 1, 4)
	rapid.Check(t, func(t *rapid.T) {
		body := called(strings.Join(words.Draw(t, "name"), " "))
		typed := words.Draw(t, "typed")
		cost, ok := search.ParseRanked(strings.Join(typed, " ")).Cost(record.Person, body)
		shuffled := rapid.Permutation(typed).Draw(t, "shuffled")
		if _, is := search.ParseRanked(strings.Join(shuffled, ", ")).Cost(record.Person, body); is != ok {
			t.Errorf("ranked %q finds: %t, but %q: %t", typed, ok, shuffled, is)
		}
		plain := append([]string{}, typed...)
		for i, word := range plain {
			plain[i] = strings.ToUpper(names.Fold(word))
		}
		if slices.ContainsFunc(typed, func(word string) bool { return word != "de" }) {
			plain = slices.Insert(plain, rapid.IntRange(0, len(plain)).Draw(t, "at"), rapid.SampledFrom([]string{"da", "E", "dos"}).Draw(t, "particle"))
		}
		if same, is := search.ParseRanked(strings.Join(plain, " ")).Cost(record.Person, body); is != ok || same != cost {
			t.Errorf("ranked %q = %d, %t, but %q = %d, %t", typed, cost, ok, plain, same, is)
		}
	})
}

// TestRankedStaysCheap gives it what an attacker would.
func TestRankedStaysCheap(t *testing.T) {
	body := called(strings.TrimSpace(strings.Repeat("aaaaaaab ", 28)))
	r := search.ParseRanked(strings.Repeat("aaaaaaaa ", 16))
	if _, ok := r.Cost(record.Person, body); !ok {
		t.Error("sixteen words are not found in a name of as many that are near")
	}
	if _, ok := search.ParseRanked(strings.Repeat("aaaaaaab ", 17)).Cost(record.Person, body); ok {
		t.Error("more words are found than are compared")
	}
}

func BenchmarkRankedCost(b *testing.B) {
	body := personBody(b, benchPerson)
	for _, typed := range []string{"joao silva", "silva joao", "joao conceicao silva", "joao conceixao da silvs", "maria souza", "joao gomes", "joao 4321", "+55 11 98765-4321"} {
		r := search.ParseRanked(typed)
		b.Run(typed, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = r.Cost(record.Person, body)
			}
		})
	}
}
