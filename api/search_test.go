package api_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/api"
	"doorward/index"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

// keeper is an index as a server wants it kept.
type keeper struct{ *index.Index }

func (k keeper) Rebuild(ctx context.Context, progress func(done, total int)) (int, error) {
	err := k.Index.Rebuild(ctx, progress)
	return k.Status().Documents, err
}

func (k keeper) Usable() bool { return k.Status().Usable }

// indexIn has a site's searches answered by an index in a folder.
func indexIn(t testing.TB, dir string) func(*api.Config) {
	return func(c *api.Config) {
		c.Registry = prometheus.NewRegistry()
		x, err := index.Open(index.Config{Store: c.Store, Dir: dir, Registerer: c.Registry})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(x.Close)
		c.Finder, c.Indexer = x, keeper{x}
	}
}

// indexed has a site's searches answered by an index that is ready.
func indexed(t testing.TB) func(*api.Config) {
	return func(c *api.Config) {
		indexIn(t, t.TempDir())(c)
		if _, err := c.Indexer.Rebuild(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
}

// searched runs a test on a site whose store looks at every record, and on one that has an index.
func searched(t *testing.T, test func(w *world)) {
	t.Run("by looking at every record", func(t *testing.T) { test(newWorld(t)) })
	t.Run("by the index", func(t *testing.T) { test(newWorld(t, indexed(t))) })
}

// find searches a list and answers the ids that it holds and all headers.
func (s *site) find(path, search, more string) ([]int64, answer) {
	s.Helper()
	a := s.status(s.do("GET", path+"?search="+url.QueryEscape(search)+more, ""), 200)
	return a.ids(s), a
}

const (
	peoplePath = "/v1/people/"
	staffPath  = "/admin/v1/person/"
)

// finds wants a search to find people, on /v1 and for staff.
func (s *site) finds(search, more string, want ...int64) {
	s.Helper()
	for _, path := range []string{peoplePath, staffPath} {
		if got, _ := s.find(path, search, more); !slices.Equal(got, want) {
			s.Errorf("GET %s?search=%s%s = %v, want %v", path, search, more, got, want)
		}
	}
}

// The rows of contract.md §6 and §12 on search.

func TestSearchIsExact(t *testing.T) {
	searched(t, func(w *world) {
		joao := w.create(record.Person, fmt.Sprintf(`{"full_name":"João da Conceição Gonçalves","email":"jcg@mail.example","phone":"(11) 3322-4455",`+
			`"mobile_phone":"+55 11 98765-4321","membership_number":4711,"church_id":%d}`, w.far))
		for search, want := range map[string][]int64{
			"joao": {joao}, "JOÃO": {joao}, "goncal": {joao}, "nceic": {joao}, // accents and case do not count, parts of words do
			"goncalves joao": {joao}, "joao,goncalves": {joao}, "joao souza": {}, // all terms, in any order
			"joao da": {joao}, "ana da": {}, "\"da conceição\"": {joao}, "\"conceição da\"": {}, "\"joao conceicao\"": {}, // particles too; phrases stay together
			"joao mail.exam": {joao}, "JCG@MAIL": {joao}, "joao 98765": {joao}, // each term in any field
			"3322-4455": {joao}, "(11)": {joao}, "98765-4321": {joao}, "4711": {joao}, "47": {}, "711": {}, // digits within phones, a number as a whole
			"goncalvez": {}, "jaoo": {}, "!!": {}, "joao !!": {}, "joao 😀": {}, ".*": {}, "joao*": {}, "-joao": {}, "full_name:joao": {},
			"": {w.person, w.farPerson, w.nomad, joao}, " , ": {w.person, w.farPerson, w.nomad, joao},
		} {
			w.finds(search, "", want...)
		}
		w.finds("98765", fmt.Sprintf("&church_id=%d", w.far), joao)
		w.finds("98765", fmt.Sprintf("&church_id=%d", w.church))
		w.as(fmt.Sprintf("church:%d", w.church), "*:*").finds("joao", "")
		w.as(fmt.Sprintf("event:%d", w.event), "*:*").finds("joao", "")
	})
}

func TestSearchFindsARecordJustWritten(t *testing.T) {
	searched(t, func(w *world) {
		for i := range 12 {
			name := fmt.Sprintf("Novato%dfim", i)
			id := w.create(record.Person, fmt.Sprintf(`{"full_name":%q}`, name))
			w.finds(name, "", id)
			w.status(w.do("PATCH", personPath(id), fmt.Sprintf(`{"full_name":"Outro%dfim"}`, i)), 200)
			w.finds(name, "")
			w.finds(fmt.Sprintf("outro%dfim", i), "", id)
			w.status(w.do("DELETE", adminPath("person", id), ""), 204)
			w.finds(fmt.Sprintf("outro%dfim", i), "")
		}
	})
}

func TestSearchForgivesAnEditOnlyWhereItIsAskedTo(t *testing.T) {
	searched(t, func(w *world) {
		bia := w.create(record.Person, fmt.Sprintf(`{"full_name":"Beatriz Gonçalves","email":"bgoncalves@mail.example","church_id":%d}`, w.church))
		far := w.create(record.Person, fmt.Sprintf(`{"full_name":"Rui Goncalvez","church_id":%d}`, w.far))
		church := w.as(fmt.Sprintf("church:%d", w.church))
		for _, c := range []struct {
			search, more string
			fuzzy        bool
			want         []int64
		}{
			{"goncalvez", "", false, []int64{}},
			{"goncalvez", "&fuzzy=true", true, []int64{bia}},             // a letter other, while another church has it exactly
			{"gonclaves", "&fuzzy=true", true, []int64{bia}},             // two neighbours swapped are one edit
			{"goncalvess", "&fuzzy=true", true, []int64{bia}},            // a letter more
			{"gonalves beatris", "&fuzzy=true", true, []int64{bia}},      // one in each term
			{"gonalvez", "&fuzzy=true", true, []int64{}},                 // two are too many
			{"goncalves", "&fuzzy=true", false, []int64{bia}},            // found as it is
			{"ann", "&fuzzy=true", true, []int64{}},                      // three letters are too few
			{"\"goncalvez\"", "&fuzzy=true", true, []int64{}},            // a phrase stays exact
			{"bgoncalvesx@mail", "&fuzzy=true", true, []int64{}},         // in names only
			{"goncalvez", "&fuzzy=true&is_leader=true", true, []int64{}}, // the filters count
			{"goncalvez", "&fuzzy=false", false, []int64{}},
			{"", "&fuzzy=true", false, []int64{w.person, bia}},
		} {
			got, a := church.find(peoplePath, c.search, c.more)
			if !slices.Equal(got, c.want) || (a.header.Get("X-Search") == "fuzzy") != c.fuzzy {
				t.Errorf("search=%s%s = %v, X-Search %q, want %v, fuzzy %v", c.search, c.more, got, a.header.Get("X-Search"), c.want, c.fuzzy)
			}
		}
		w.finds("goncalvez", "&fuzzy=true", far)
		w.finds("gonkalves", "&fuzzy=true", bia)
	})
}

func TestSearchPagesAllForgive(t *testing.T) {
	searched(t, func(w *world) {
		var want, got []int64
		for range 7 {
			want = append(want, w.create(record.Person, `{"full_name":"Marília Antunes"}`))
		}
		link := peoplePath + "?limit=3&search=antunis&fuzzy=true"
		for link != "" {
			a := w.status(w.do("GET", strings.TrimPrefix(link, w.url), ""), 200)
			if a.header.Get("X-Search") != "fuzzy" || a.text(t, "count") != "7" {
				t.Errorf("GET %s: X-Search %q, %s", link, a.header.Get("X-Search"), a.body)
			}
			got, link = append(got, a.ids(t)...), a.text(t, "next")
			if link != "" && !strings.Contains(link, "fuzzy=true") {
				t.Errorf("next = %s", link)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("all pages hold %v, want %v", got, want)
		}
		for page, want := range map[string]int{"": 7, "&offset=7": 0} {
			ids, a := w.find(peoplePath, "antunis", page+"&fuzzy=true")
			if len(ids) != want || a.text(t, "count") != "7" {
				t.Errorf("%q: %s, want %d of 7", page, a.body, want)
			}
		}
	})
}

func TestSearchParametersThatCannotBeMeant(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{peoplePath + "?fuzzy=maybe", peoplePath + "?search=ana&fuzzy=2", staffPath + "?fuzzy=maybe", staffPath + "?ranked=maybe"} {
		a := w.status(w.do("GET", path, "", invalid), 400)
		if details := a.text(t, "error.details"); !strings.Contains(details, "Must be a valid boolean.") {
			t.Errorf("GET %s: %s", path, a.body)
		}
	}
	a := w.status(w.do("GET", staffPath+"?fuzzy=x&ranked=z&church_id=z", "", invalid), 400)
	for _, name := range []string{"fuzzy", "ranked", "church_id"} {
		if a.text(t, "error.details."+name+".0") == "" {
			t.Errorf("%s is not at fault: %s", name, a.body)
		}
	}
	for _, path := range []string{peoplePath + "?ranked=maybe", peoplePath + "?search=ann&fuzzy=", staffPath + "?ranked=%20", "/v1/event/?search=x&fuzzy=maybe", "/v1/group/?fuzzy=maybe", "/admin/v1/event/?ranked=maybe"} {
		w.status(w.do("GET", path, "", invalid), 200) // unknown there, or blank
	}
}

func TestSearchForStaffWhoTypeIsRanked(t *testing.T) {
	searched(t, func(w *world) {
		add := func(name string, church int64) int64 {
			return w.create(record.Person, fmt.Sprintf(`{"full_name":%q,"church_id":%d,"mobile_phone":"11987650042"}`, name, church))
		}
		edit, begun, whole := add("Joana Sousa", w.church), add("Joana Souzalima", w.church), add("Joana de Souza", w.far)
		for _, c := range []struct {
			search string
			want   []int64
		}{
			{"joana souza", []int64{whole, begun, edit}}, {"souza joana", []int64{whole, begun, edit}}, {"JOÂNA DA SOUZA", []int64{whole, begun, edit}},
			{"jo so", []int64{edit, begun, whole}}, {"joana 0042", []int64{edit, whole, begun}}, {"42 joana souza", []int64{whole, begun, edit}},
			{"joana 0043", []int64{}}, {"xavier", []int64{}},
		} {
			got, a := w.find(staffPath, c.search, "&ranked=true")
			if c.search == "jo so" || c.search == "joana 0042" {
				slices.Sort(got) // only who is found is told here
				slices.Sort(c.want)
			}
			if !slices.Equal(got, c.want) || a.text(t, "count") != fmt.Sprint(len(c.want)) || a.header.Get("X-Search") != "" {
				t.Errorf("search=%s: %v of %s, want %v", c.search, got, a.text(t, "count"), c.want)
			}
		}
		got, a := w.find(staffPath, "joana souza", "&ranked=true&limit=1&offset=1")
		if !slices.Equal(got, []int64{begun}) || !strings.Contains(a.text(t, "next"), "offset=2&ranked=true") || a.text(t, "previous") == "" {
			t.Errorf("the second page = %s", a.body)
		}
		if got, _ = w.find(staffPath, "joana souza", fmt.Sprintf("&ranked=true&church_id=%d", w.church)); !slices.Equal(got, []int64{begun, edit}) {
			t.Errorf("within a church: %v", got)
		}
		s := w.as(fmt.Sprintf("church:%d", w.far), "admin:GET")
		if got, _ = s.find(staffPath, "joana souza", "&ranked=true&fuzzy=true"); !slices.Equal(got, []int64{whole}) {
			t.Errorf("to a church's key: %v", got)
		}
		for _, search := range []string{"", " , ", "!!"} { // nothing was typed
			if got, _ = w.find(staffPath, search, "&ranked=true"); len(got) != 6 {
				t.Errorf("search=%q: %v, want everybody", search, got)
			}
		}
		if got, _ = w.find(peoplePath, "souza joana", "&ranked=true"); !slices.Equal(got, []int64{begun, whole}) {
			t.Errorf("/v1 knows of ranks: %v", got)
		}
	})
}

func TestSearchAsksTheIndex(t *testing.T) {
	w := newWorld(t, indexed(t))
	w.ticket(w.event, "A1", "")
	asked := func(mode string) string {
		_, after, ok := strings.Cut(w.do("GET", "/metrics", "").body, fmt.Sprintf("doorward_index_query_seconds_count{mode=%q} ", mode))
		if !ok {
			t.Fatalf("no figure of %s searches", mode)
		}
		number, _, _ := strings.Cut(after, "\n")
		return number
	}
	for _, c := range []struct{ mode, path string }{
		{"exact", peoplePath + "?search=ana"}, {"fuzzy", peoplePath + "?search=annas&fuzzy=true"}, {"exact", staffPath + "?search=ana"},
		{"ranked", staffPath + "?search=ana&ranked=true"}, {"ranked", searchPath(w.event, "ana")},
	} {
		before := asked(c.mode)
		w.status(w.do("GET", c.path, ""), 200)
		if asked(c.mode) == before {
			t.Errorf("GET %s did not ask the index", c.path)
		}
	}
}

// Without its index a store is searched by looking at every record, unless there are too many.
func TestSearchWaitsForTheIndexOfALargeStore(t *testing.T) {
	const nowhere = "/dev/null" // no folder can be made there
	for people, status := range map[int]int{3: 200, 4: 503} {
		t.Run(fmt.Sprint(people, " people"), func(t *testing.T) {
			s := newSiteOver(t, kvtest.OpenConfig(t, table.Config{ScanLimit: 3}), indexIn(t, nowhere))
			crowd(s, people)
			for _, path := range []string{"/readyz", peoplePath + "?search=ana", peoplePath + "?search=anna&fuzzy=true", staffPath + "?search=ana&ranked=true"} {
				a := s.status(s.do("GET", path, ""), status)
				if status == 503 && (a.text(t, "error.code") != "SERVICE_UNAVAILABLE" || a.header.Get("Retry-After") == "" || a.header.Get("X-Search") != "") {
					t.Errorf("GET %s: %v %s", path, a.header, a.body)
				}
			}
			s.status(s.do("GET", peoplePath, ""), 200)
			s.status(s.do("GET", peoplePath+"?search=,", ""), 200)
			s.status(s.do("GET", "/healthz", ""), 200)
		})
	}
	ready := newSiteOver(t, kvtest.OpenConfig(t, table.Config{ScanLimit: 3}), indexed(t))
	crowd(ready, 9)
	ready.status(ready.do("GET", "/readyz", ""), 200)
	if got, _ := ready.find(peoplePath, "ana", ""); len(got) != 9 {
		t.Errorf("found %v, want nine", got)
	}
}
