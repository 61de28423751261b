package index_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"doorward/index"
	"doorward/kv/desk"
	"doorward/kv/feed"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/search"
	"doorward/kv/table"
)

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
