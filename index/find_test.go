package index_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"doorward/index"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/feed"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/search"
	"doorward/kv/table"

	"pgregory.net/rapid"
)

// odd are queries that mean something elsewhere.
var odd = []string{
	``, ` `, `"`, `""`, `"ana souza"`, `"ana  souza"`, `"a s"`, `.*`, `a+`, `(ana)`, `[a-z]`, `full_name:ana`, `ana~1`, `an*`, `a?a`, `\`, `\d`, `+ana -souza`, `ana AND souza`,
	"🎉", "ana🎉", "\u0301", "a\u0301na", "%", "_", "\x00", "a\x00", "\xff\xfe", "ß", "ss", "ﬁ", "Ω", "李", "小龍", "1", "12", "000", "+55 (11)", "11-0", "1 1", "é", ",", "ana,souza", "e", "de", "da de",
	"anamaria", "goncalvez", "gonçlaves", "antoniosilv", "natoniosilv", "antonoisivla", "mraiana", "xouza", "souza ana", "ana ana", "o'neil", "neil", "ex.org", "@", "joao.souza", "olaosr",
	"14", "ana 14", "14-", "+55 11 90000-0000", "11900000001", "ana 119000-00012", "0055 (011) 90000-0001",
	"d'avila", "d avila", "davila", "davilla", "de avila", "santana", "sant ana", "sant’anna", "santa ana", "sta", "sta ana", "santa", "junior", "jr", "ma", "m.ª", "mariaana", "maria na", "anajo", "tainah",
	"thaina souza", "d'avyla", "stax", "123.456.789-09", "012.345.678-90", "ana 12345678909", "joao.souza0", "maria_", "ana@", "sara", "sarah", "hanna",
}

// query is a search, odd or made of what names are made of.
func (w *world) query() string {
	switch rapid.IntRange(0, 3).Draw(w.T, "kind of query") {
	case 0:
		return rapid.SampledFrom(odd).Draw(w.T, "odd")
	case 1:
		return rapid.SampledFrom(odd).Draw(w.T, "odd") + " " + rapid.SampledFrom(nameWords).Draw(w.T, "word")
	}
	name := []rune(w.name())
	from := rapid.IntRange(0, len(name)-1).Draw(w.T, "from")
	to := rapid.IntRange(from+1, len(name)).Draw(w.T, "to")
	part := slices.Clone(name[from:to])
	i := rapid.IntRange(0, len(part)-1).Draw(w.T, "at")
	switch rapid.IntRange(0, 5).Draw(w.T, "edit") {
	case 0:
		part = slices.Delete(part, i, i+1)
	case 1:
		part = slices.Insert(part, i, 'x')
	case 2:
		part[i] = 'k'
	case 3:
		part[i], part[len(part)-1-i] = part[len(part)-1-i], part[i]
	}
	return string(part)
}

// wanted draws a question's scope.
func (w *world) wanted() desk.Wanted {
	ask := desk.Wanted{Kind: record.Person, All: rapid.Bool().Draw(w.T, "all")}
	homes := append([]int64{0}, w.churches...)
	if rapid.IntRange(0, 4).Draw(w.T, "holders") == 0 {
		ask.Kind, homes = record.HolderName, append([]int64{99}, w.events...)
	}
	if !ask.All {
		ask.Homes = rapid.SliceOfDistinct(rapid.SampledFrom(homes), func(n int64) int64 { return n }).Draw(w.T, "homes")
	}
	return ask
}

func inScope(ask desk.Wanted, r feed.Replayed) bool {
	return r.Kind == ask.Kind && (ask.All || slices.Contains(ask.Homes, r.Home))
}

// check puts a question to the index and holds the answer against every record of the store.
func (w *world) check(ask desk.Wanted, must func(known []feed.Replayed) []record.ID) {
	found, err := w.index.Find(ask)
	if err == desk.ErrNoIndex {
		return
	}
	if err != nil {
		w.Fatalf("Find: %v", err)
	}
	var known []feed.Replayed
	newer := map[record.ID]bool{}
	scope := map[record.ID]bool{}
	for _, r := range stored(w.tb, w.store) {
		if !inScope(ask, r) {
			continue
		}
		scope[r.ID] = true
		if r.Seq <= found.Upto {
			known = append(known, r)
		}
	}
	for _, c := range kvtest.Changes(w.tb, w.store, found.Upto) {
		newer[c.ID] = true
	}
	for i, id := range found.IDs {
		if i > 0 && found.IDs[i-1].Compare(id) >= 0 {
			w.Fatalf("Find names %d after %d", id.Int(), found.IDs[i-1].Int())
		}
		if !scope[id] && !newer[id] {
			w.Fatalf("Find names %d, which is not in scope", id.Int())
		}
	}
	for _, id := range must(known) {
		if !slices.Contains(found.IDs, id) {
			w.Fatalf("Find leaves out %d; upto %d of %d", id.Int(), found.Upto, w.store.Tables.Commits.Seq())
		}
	}
}

// ask puts one drawn question.
func (w *world) ask() {
	q := w.query()
	w.Logf("query %q", q)
	ask := w.wanted()
	switch rapid.IntRange(0, 2).Draw(w.T, "mode") {
	case 0:
		ask.Search = search.Parse(q)
	case 1:
		ask.Search = search.Parse(q).Fuzzy()
	default:
		w.askRanked(ask, search.ParseRanked(q))
		return
	}
	w.check(ask, func(known []feed.Replayed) (ids []record.ID) {
		for _, r := range known {
			if ask.Search.Matches(ask.Kind, r.Body) {
				ids = append(ids, r.ID)
			}
		}
		return ids
	})
}

func (w *world) askRanked(ask desk.Wanted, q *search.Ranked) {
	ask.Ranked, ask.Limit = q, rapid.IntRange(1, 6).Draw(w.T, "limit")
	if odd := rapid.Bool().Draw(w.T, "keep"); odd {
		ask.Keep = func(id record.ID) bool { return id.Int()%3 != 0 }
	}
	type answer struct {
		id   record.ID
		cost int64
	}
	w.check(ask, func(known []feed.Replayed) (ids []record.ID) {
		var best []answer
		for _, r := range known {
			if cost, ok := q.Cost(ask.Kind, r.Body); ok && (ask.Keep == nil || ask.Keep(r.ID)) {
				best = append(best, answer{r.ID, cost})
			}
		}
		slices.SortFunc(best, func(a, b answer) int { return cmp.Or(cmp.Compare(a.cost, b.cost), a.id.Compare(b.id)) })
		for _, a := range best[:min(len(best), ask.Limit)] {
			ids = append(ids, a.id)
		}
		return ids
	})
}

// then stops the process, or does not, and waits for the index, or does not.
func (w *world) then() {
	switch rapid.IntRange(0, 7).Draw(w.T, "then") {
	case 0:
		w.close()
		w.open()
	case 1, 2:
		w.close()
		w.open()
		caughtUp(w.tb, w.store, w.index)
	case 3, 4: // killed
		dir := copied(w.tb, w.dir)
		w.close()
		w.dir = dir
		w.open()
		caughtUp(w.tb, w.store, w.index)
	case 5: // late
	default:
		caughtUp(w.tb, w.store, w.index)
	}
}

func TestFindNamesWhateverASearchMeans(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, t)
		defer func() { w.close() }()
		for range rapid.IntRange(1, 6).Draw(rt, "rounds") {
			for range rapid.IntRange(0, 15).Draw(rt, "changes") {
				w.change()
			}
			w.then()
			for range 20 {
				w.ask()
			}
		}
	})
}

func TestFindAnswersNothingBeforeTheFirstCatchUp(t *testing.T) {
	t.Parallel()
	var x index.Index
	if _, err := x.Find(desk.Wanted{}); err != desk.ErrNoIndex {
		t.Errorf("Find = %v, want %v", err, desk.ErrNoIndex)
	}
}

// list holds a list that asks the index against one that looks at every record.
func (w *world) list(readers []auth.Principal) {
	text := w.query()
	w.Logf("query %q", text)
	q := desk.Query{Surface: record.V1, Kind: record.Person, Offset: rapid.IntRange(0, 3).Draw(w.T, "offset"), Limit: rapid.IntRange(0, 30).Draw(w.T, "limit")}
	switch rapid.IntRange(0, 2).Draw(w.T, "mode") {
	case 0:
		q.Search = search.Parse(text)
	case 1:
		q.Search = search.Parse(text).Fuzzy()
	default:
		q.Ranked = search.ParseRanked(text)
	}
	if rapid.Bool().Draw(w.T, "filtered") {
		q.Where = append(q.Where, desk.Where{Field: "church_id", In: []any{rapid.SampledFrom(w.churches[:2]).Draw(w.T, "church")}})
	}
	if rapid.IntRange(0, 3).Draw(w.T, "led") == 0 {
		q.Where = append(q.Where, desk.Where{Field: "is_leader", In: []any{false}})
	}
	p := rapid.SampledFrom(readers).Draw(w.T, "reader")
	want, wantErr := w.store.Desk.List(p, q)
	q.Finder = w.index
	got, err := w.store.Desk.List(p, q)
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		w.Fatalf("List = %v, without the index %v", err, wantErr)
	}
	if got.Count != want.Count || fmt.Sprint(got.IDs) != fmt.Sprint(want.IDs) || string(got.Results) != string(want.Results) {
		w.Fatalf("List = %d: %v, without the index %d: %v", got.Count, got.IDs, want.Count, want.IDs)
	}
}

// readers are keys of each level, and the operator.
func (w *world) readers() []auth.Principal {
	out := []auth.Principal{auth.Operator()}
	for _, level := range []string{"denomination", fmt.Sprintf("church:%d", w.churches[0]), fmt.Sprintf("church:%d,%d", w.churches[0], w.churches[1])} {
		out = append(out, kvtest.Login(w.tb, w.store, level))
	}
	return out
}

func TestSearchesFindTheSameWithTheIndexAsWithoutIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, t)
		defer func() { w.close() }()
		for range rapid.IntRange(1, 5).Draw(rt, "rounds") {
			for range rapid.IntRange(0, 15).Draw(rt, "changes") {
				w.change()
			}
			w.then()
			readers := w.readers()
			for range 20 {
				w.list(readers)
			}
		}
	})
}

func TestOfMoreThanCanBeRankedTheBestAreNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := kvtest.OpenConfig(t, table.Config{Dir: dir})
	names := strings.Fields("Ana Maria Mariana José Souza da Silva de Santos Marina")
	last := []string{"Marea Carvalho", "Ma Ca", "Jono Zz", "Jo No Zz"} // what stands behind many that nearly are it
	kvtest.Fill(t, s, record.Person, 10000+len(last), func(i int) string {
		switch {
		case i >= 10000:
			return fmt.Sprintf(`{"full_name":%q}`, last[i-10000])
		case i >= 8000:
			return `{"full_name":"Jona Zn"}`
		case i >= 6000:
			return `{"full_name":"Maria Carvalho"}`
		}
		words := []string{names[i%7], names[i%10], names[i%3], names[(i/3)%9]}
		return fmt.Sprintf(`{"full_name":%q}`, strings.Join(words[i%4:], " ")+" "+names[(i/7)%5])
	})
	x := opened(t, s, index.Config{Dir: dir})
	caughtUp(t, s, x)
	people := stored(t, s)
	for _, text := range []string{"ana", "maria", "mar", "m", "souza", "ana maria", "maria ana", "s", "marea carvalho", "ma ca", "jono", "mara s"} {
		for _, keep := range []func(record.ID) bool{nil, func(id record.ID) bool { return id.Int()%5 != 0 }} {
			q := search.ParseRanked(text)
			want, all := best(people, q, keep, 300)
			found, err := x.Find(desk.Wanted{Kind: record.Person, All: true, Ranked: q, Keep: keep, Limit: 300})
			if err != nil {
				t.Fatal(err)
			}
			if text == "maria" && len(found.IDs) == all {
				t.Errorf("%q names all %d", text, all)
			}
			for _, id := range want {
				if _, ok := slices.BinarySearchFunc(found.IDs, id, record.ID.Compare); !ok {
					t.Fatalf("%q leaves out %d, which is among the best of %d", text, id.Int(), all)
				}
			}
		}
	}
}

// best are the n best answers of a ranked search, of so many.
func best(people []feed.Replayed, q *search.Ranked, keep func(record.ID) bool, n int) (ids []record.ID, all int) {
	type answer struct {
		id   record.ID
		cost int64
	}
	var found []answer
	for _, p := range people {
		if cost, ok := q.Cost(p.Kind, p.Body); ok && p.Kind == record.Person && (keep == nil || keep(p.ID)) {
			found = append(found, answer{p.ID, cost})
		}
	}
	slices.SortFunc(found, func(a, b answer) int { return cmp.Or(cmp.Compare(a.cost, b.cost), a.id.Compare(b.id)) })
	for _, a := range found[:min(n, len(found))] {
		ids = append(ids, a.id)
	}
	return ids, len(found)
}
