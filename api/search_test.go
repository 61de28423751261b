package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"doorward/api"
	"doorward/index"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"

	"github.com/prometheus/client_golang/prometheus"
)

// indexIn has a site's searches answered by an index in a folder.
func indexIn(t testing.TB, dir string) func(*api.Config) {
	return func(c *api.Config) {
		c.Registry = prometheus.NewRegistry()
		x, err := index.Open(index.Config{Store: c.Store, Dir: dir, Registerer: c.Registry})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(x.Close)
		c.Finder, c.Indexer = x, x
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

// Names, numbers and addresses in the forms in which people type and store them.

// formPeople are who is searched for, by what they are called here.
var formPeople = map[string]string{
	"apostrophe": `"full_name":"Ana D'Ávila"`, "accent": `"full_name":"Ana d´Avila"`, "one word": `"full_name":"Ana Davila"`, "two words": `"full_name":"Ana D Avila"`,
	"sant'anna": `"full_name":"Bento Sant'Anna"`, "sant ana": `"full_name":"Bento Sant Ana"`, "santana": `"full_name":"Bento Santana"`,
	"maria-clara": `"full_name":"Maria-Clara Prado"`, "maria clara": `"full_name":"Maria Clara Prado"`, "mariaclara": `"full_name":"Mariaclara Prado"`,
	"depaula": `"full_name":"Olga Depaula"`, "de paula": `"full_name":"Olga de Paula"`,
	"mª": `"full_name":"Mª Quitéria"`, "maria": `"full_name":"Maria Quitéria"`, "sta": `"full_name":"Rita Sta. Cruz"`, "santa": `"full_name":"Rita Santa Cruz"`,
	"sto": `"full_name":"Gil Sto. Amaro"`, "jr": `"full_name":"Davi Leal Jr."`, "junior": `"full_name":"Davi Leal Júnior"`, "stanley": `"full_name":"Stanley Ipê"`,
	"tainá": `"full_name":"Tainá Um"`, "kauã": `"full_name":"Kauã Um"`, "wesley": `"full_name":"Wesley Um"`, "luís": `"full_name":"Luís Um"`, "rafael": `"full_name":"Rafael Um"`,
	"vitor": `"full_name":"Vitor Um"`, "mateus": `"full_name":"Mateus Um"`, "sousa": `"full_name":"Sousa Um"`, "camila": `"full_name":"Camila Um"`, "felipe": `"full_name":"Felipe Um"`,
	"jeferson": `"full_name":"Jeferson Um"`,
	"cpf":      `"full_name":"Íris","cpf":"12345678909"`, "short cpf": `"full_name":"Íris","cpf":"1234567890"`,
	"mail": `"full_name":"Íris","email":"Ana.Souza@example.org"`, "other mail": `"full_name":"Íris","email":"juliana.souza@example.org"`,
	"phone 1": `"full_name":"Íris","phone":"+55 (11) 98765-4321"`, "phone 2": `"full_name":"Íris","mobile_phone":"11987654321"`,
	"phone 3": `"full_name":"Íris","phone":"0055 11 98765.4321"`, "phone 4": `"full_name":"Íris","phone":"(0xx11) 9 8765 4321"`, "phone 5": `"full_name":"Íris","phone":"0 15 11 98765-4321"`,
	"other area": `"full_name":"Íris","phone":"+55 (21) 98765-4321"`, "gaúcha": `"full_name":"Íris","phone":"(55) 98765-4399"`,
}

// phones are the people of one number, in any form.
const phones = "phone 1,phone 2,phone 3,phone 4,phone 5"

// formQueries are who is found by what is typed, and nobody else: the better answers before a bar, of one rank in any order.
var formQueries = map[string]string{
	"d'avila": davila, "d’avila": davila, "D‘Ávila": davila, "d`avila": davila, "d´avila": davila, "dʼavila": davila, "d′avila": davila, "d＇avila": davila, "davila": davila,
	"ana d avila": "two words,apostrophe,accent,one word", "ana davila": davila, "dávila ana": davila, "d avela": "two words|apostrophe,accent,one word", "d'avelino": "", "d oliva": "",

	"sant'anna": "sant'anna|santana|sant ana", "sant’anna": "sant'anna|santana|sant ana", "santana": "santana|sant ana|sant'anna", "sant ana": "sant ana|santana|sant'anna",
	"bento sant'ana": "santana|sant ana|sant'anna", "santa ana": "sant ana|santana,sant'anna", "sant bruno": "",

	"maria-clara": claras, "maria clara": claras, "mariaclara": "mariaclara|maria-clara,maria clara", "maria‐clara prado": claras, "maria–clara": claras, "MARIA CLARA": claras,
	"claramaria": "", "maria cla": claras, "maria-clarice": "",
	"olga de paula": "de paula|depaula", "olga depaula": "depaula|de paula", "olga de saula": "de paula",

	"Mª quiteria": "mª,maria", "m.ª quitéria": "mª,maria", "maria quiteria": "mª,maria", "mªquiteria": "mª,maria", "ma quiteria": "mª,maria", "mo quiteria": "",
	"sta cruz": "sta,santa", "sta. cruz": "sta,santa", "Stª Cruz": "sta,santa", "santa cruz": "sta,santa", "santo amaro": "sto", "sto amaro": "sto", "sto. amaro": "sto",
	"davi jr": "jr,junior", "davi jr.": "jr,junior", "davi junior": "jr,junior", "JÚNIOR leal": "jr,junior", "davi senior": "", "stanl": "stanley", "sta ipe": "stanley", "santa ipe": "",

	"thaynná": "tainá", "thayna um": "tainá", "cauan": "kauã", "kawan": "kauã", "cauan um": "kauã", "uesley": "wesley", "weslley": "wesley", "luiz um": "luís",
	"raphael": "rafael", "victor": "vitor", "matheus": "mateus", "mattheus um": "mateus", "souza um": "sousa", "kamilla": "camila", "philipe": "felipe", "phellyppe": "felipe",
	"jefferson": "jeferson", "gefferson": "jeferson", "daina um": "tainá", "bauan": "", "pablo um": "", "vescley": "", "talita um": "", "ruiz": "", "zzamylla": "", "rapaz": "",

	"123.456.789-09": "cpf", "12345678909": "cpf", "123 456 789 09": "cpf", "１２３.456.789-09": "cpf", "iris 123.456.789-09": "cpf", "012.345.678-90": "short cpf",
	"45678909": "", "12345678": "", "123.456.789-00": "", "012.345.678-91": "", "ana 123.456.789-09": "", "789-09": "",

	"ana.sou": "mail", "ANA.SOU": "mail", "ana.souza@example.org": "mail", "ana.souza@": "mail", "juliana.": "other mail", "na.souza": "", "example.org": "", "@example": "",
	"ana.souzas": "", "an": "apostrophe,accent,one word,two words|sant ana", "souza@": "sousa",

	"(11) 98765-4321": phones, "11987654321": phones, "+55 11 98765 4321": phones, "0055 (011) 98765-4321": phones, "011 98765-4321": phones, "0 21 11 98765-4321": phones,
	"98765-4321": phones + ",other area", "4321": phones + ",other area", "987654321": phones + ",other area", "iris 11 98765-4321": phones,
	"(12) 98765-4321": "", "11 98765-4322": "", "11 8765-4321": "", "(55) 98765-4399": "gaúcha", "+55 55 98765-4399": "gaúcha", "+55 98765-4399": "gaúcha", "(11) 98765-4399": "", "ana 11 98765-4321": "",
}

const (
	davila = "apostrophe,accent,one word|two words"
	claras = "maria-clara,maria clara|mariaclara"
)

// searchedBehind is searched for a test that wants, where there is an index, to wait until it has all that was written: until then the
// store looks at these records itself.
func searchedBehind(t *testing.T, test func(w *world, wait func())) {
	t.Run("by looking at every record", func(t *testing.T) { test(newWorld(t), func() {}) })
	t.Run("by the index", func(t *testing.T) {
		var x *index.Index
		w := newWorld(t, indexed(t), func(c *api.Config) { x = c.Indexer.(*index.Index) })
		test(w, func() {
			if err := x.Await(t.Context(), w.store.Tables.Commits.Seq()); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// TestSearchTakesEveryForm asks what formQueries wants.
func TestSearchTakesEveryForm(t *testing.T) {
	searchedBehind(t, func(w *world, wait func()) {
		home := w.create(record.Church, `{"name":"Igreja das Formas"}`)
		names := map[int64]string{}
		for _, name := range slices.Sorted(maps.Keys(formPeople)) {
			names[w.create(record.Person, fmt.Sprintf(`{%s,"church_id":%d}`, formPeople[name], home))] = name
		}
		wait()
		here, elsewhere := w.as(fmt.Sprintf("church:%d", home), "*:*"), w.as(fmt.Sprintf("church:%d", w.church), "*:*")
		for typed, want := range formQueries {
			ids, _ := here.find(staffPath, typed, "&ranked=true&limit=100")
			var found []string
			for _, id := range ids {
				found = append(found, names[id])
			}
			if !inRanks(found, want) {
				t.Errorf("%q finds %s, want %s", typed, strings.Join(found, ","), want)
			}
			if ids, _ := elsewhere.find(staffPath, typed, "&ranked=true&limit=100"); slices.ContainsFunc(ids, func(id int64) bool { return names[id] != "" }) {
				t.Errorf("%q finds people of another church", typed)
			}
		}
	})
}

// inRanks tells whether what was found is what is wanted, rank by rank.
func inRanks(found []string, want string) bool {
	for rank := range strings.SplitSeq(want, "|") {
		var names []string
		if rank != "" {
			names = strings.Split(rank, ",")
		}
		if len(found) < len(names) {
			return false
		}
		have := slices.Sorted(slices.Values(found[:len(names)]))
		if !slices.Equal(have, slices.Sorted(slices.Values(names))) {
			return false
		}
		found = found[len(names):]
	}
	return len(found) == 0
}

// TestV1SearchTakesFormsOfACharacter: it is for scripts, and makes no other difference less.
func TestV1SearchTakesFormsOfACharacter(t *testing.T) {
	searchedBehind(t, func(w *world, wait func()) {
		is := func(more string) int64 {
			return w.create(record.Person, fmt.Sprintf(`{%s,"church_id":%d}`, more, w.church))
		}
		straight, curly := is(`"full_name":"Eva D'Ávila"`), is(`"full_name":"Eva D’A\u0301vila"`)
		hyphen, dash := is(`"full_name":"Rosa-Mar"`), is(`"full_name":"Rosa‑Mar"`)
		ordinal := is(`"full_name":"Mª Inês","cpf":"12345678909","email":"mi@example.org"`)
		is(`"full_name":"Noé","cpf":"isento"`)
		wait()
		for search, want := range map[string][]int64{
			"d'avila": {straight, curly}, "d’ávila": {straight, curly}, "d´avila": {straight, curly}, "d`avila": {straight, curly}, "ｄ＇ａｖｉｌａ": {straight, curly},
			"d avila": {straight, curly}, "davila": {}, "rosa-mar": {hyphen, dash}, "rosa–mar": {hyphen, dash}, "rosamar": {},
			"mª ines": {ordinal}, "ma ines": {ordinal}, "maria ines": {}, "santo": {}, "ynes": {}, "12345678909": {}, "123.456.789-09": {}, "isento": {}, "i@exam": {ordinal},
		} {
			if got, _ := w.find(peoplePath, search, ""); !slices.Equal(got, want) {
				t.Errorf("GET %s?search=%s = %v, want %v", peoplePath, search, got, want)
			}
		}
		for search, want := range map[string][]int64{"d’avyla": {straight, curly}, "davyla": {}, "eva avyla": {}, "rosamar": {}, "mariia": {}} {
			if got, _ := w.find(peoplePath, search, "&fuzzy=true"); !slices.Equal(got, want) {
				t.Errorf("GET %s?search=%s&fuzzy=true = %v, want %v", peoplePath, search, got, want)
			}
		}
	})
}

// TestADoorFindsByNamesAndLastDigitsOnly: its key sees neither documents nor addresses nor whole phones.
func TestADoorFindsByNamesAndLastDigitsOnly(t *testing.T) {
	searchedBehind(t, func(w *world, wait func()) {
		person := w.create(record.Person, fmt.Sprintf(`{"full_name":"Íris Melo","cpf":"12345678909","email":"zulmira@example.org","phone":"11 98765-4321","church_id":%d}`, w.church))
		guest := w.guest(w.event, "Thaynná D'Ávila", fmt.Sprintf(`"person_id":%d,"email":"quiteria@example.org","phone":"+55 (11) 97777-1234"`, person))
		wait()
		door := w.as(fmt.Sprintf("event:%d", w.event), "checkin:*")
		for q, found := range map[string]bool{
			"d’avila": true, "d avila": true, "davila": true, "taina": true, "tainá dávila": true, "1234": true, "(11) 97777-1234": true, "5511977771234": true,
			"123.456.789-09": false, "12345678909": false, "zulmira": false, "zulmira@example.org": false, "quiteria@example.org": false, "quiteria": false,
			"iris": false, "77771": false, "971234": false, "4321": false,
		} {
			var want []int64
			if found {
				want = []int64{guest}
			}
			if got := door.hits(w.event, q); !slices.Equal(got, want) {
				t.Errorf("a door's search %q = %v, want %v", q, got, want)
			}
		}
		for _, q := range []string{"12345678909", "zulmira@", "11987654321"} {
			if got, _ := w.as(fmt.Sprintf("event:%d", w.event), "*:*").find(staffPath, q, "&ranked=true"); len(got) > 0 {
				t.Errorf("an event's key finds %v by %q", got, q)
			}
		}
	})
}

// The door's search (design.md §7).

func searchPath(event int64, q string) string {
	return fmt.Sprintf("/door/v1/event/%d/search/?q=%s", event, url.QueryEscape(q))
}

// hits are the tickets that a door's search finds, in its order.
func (s *site) hits(event int64, q string) (ids []int64) {
	s.Helper()
	a := s.status(s.do("GET", searchPath(event, q), ""), 200)
	var found struct {
		Results []struct {
			ID int64 `json:"ticket_id"`
		}
	}
	if err := json.Unmarshal([]byte(a.body), &found); err != nil {
		s.Fatalf("body %q: %v", a.body, err)
	}
	for _, r := range found.Results {
		ids = append(ids, r.ID)
	}
	return ids
}

// guest makes a ticket for somebody.
func (w *world) guest(event int64, name, more string) int64 {
	w.Helper()
	if more != "" {
		more = "," + more
	}
	return w.create(record.Ticket, fmt.Sprintf(`{"event_id":%d,"holder_name":%q%s}`, event, name, more))
}

func TestDoorSearchRanks(t *testing.T) {
	searched(t, func(w *world) {
		edit, begun := w.guest(w.event, "Joana Sousa", ""), w.guest(w.event, "Joana Souzalima", "")
		whole := w.guest(w.event, "Joana de Souza", `"phone":"(11) 98765-0042"`)
		joao := w.guest(w.event, "João Gonçalves", "")
		bea := w.guest(w.event, "Beatriz Albuquerque", "")
		w.guest(w.farEvent, "Joana de Souza", `"phone":"(11) 98765-0042"`)
		for q, want := range map[string][]int64{
			"joana souza": {whole, begun, edit}, "SOUZA, joana": {whole, begun, edit}, "joana da souza": {whole, begun, edit},
			"joao": {joao, edit, begun, whole}, "JOÃO goncalvez": {joao}, "gonç jo": {joao}, "jaoo": {joao}, // without accents, with a letter wrong, begun, swapped
			"beatris albuquerqe": {bea}, "albukuerqe": {bea}, "beatrz": {bea}, "albukerk": {}, // two edits in a long word
			"0042": {whole}, "42": {whole}, "joana 42": {whole}, "4200": {}, "x0": {},
			"joana s": {edit, whole, begun}, "!!": nil, "zacarias": nil,
		} {
			got := w.hits(w.event, q)
			if q == "joana s" {
				slices.Sort(got) // all begin so: who is first does not matter here
				slices.Sort(want)
			}
			if !slices.Equal(got, want) {
				t.Errorf("q=%s: %v, want %v", q, got, want)
			}
		}
		if got := w.hits(w.openEvent, "joana"); len(got) != 0 {
			t.Errorf("an event without tickets has %v", got)
		}
	})
}

func TestDoorSearchShowsWhatADoorMayKnow(t *testing.T) {
	searched(t, func(w *world) {
		id := w.create(record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":"zqcode","type":"Adult","order":"H-7","holder_name":"Ana Zqmiddle Zqlast",`+
			`"email":"zqmail@mail.example","phone":"+55 11 98765-4321","person_id":%d,"external_id":"zqext"}`, w.event, w.person))
		bare := w.create(record.Ticket, fmt.Sprintf(`{"event_id":%d,"holder_name":"Ana"}`, w.event))
		door := w.as(fmt.Sprintf("event:%d", w.event), "checkin:*")
		a := door.status(door.do("GET", searchPath(w.event, "ana"), ""), 200)
		want := fmt.Sprintf(`{"results":[{"ticket_id":%d,"label":"Ana","type":null,"order":null,"state":"valid","phone_tail":null,"admitted_at":null,"checkin_id":null,"notice":null,"matched":["name"]},`+
			`{"ticket_id":%d,"label":"Ana Z.","type":"Adult","order":"H-7","state":"valid","phone_tail":"4321","admitted_at":null,"checkin_id":null,"notice":null,"matched":["name"]}]}`, bare, id)
		if a.body != want {
			t.Errorf("body = %s\nwant   %s", a.body, want)
		}
		for q, want := range map[string]string{"4321": `["phone"]`, "zqlast 4321": `["name","phone"]`, "ana zqmiddle": `["name"]`} {
			if a := door.status(door.do("GET", searchPath(w.event, q), ""), 200); a.text(t, "results.0.matched") != want {
				t.Errorf("q=%s is matched by %s, want %s", q, a.text(t, "results.0.matched"), want)
			}
		}
		for _, q := range []string{"zqlast", "ana zqmiddle", "4321", "zqcode", "zqmail", "zqext", "8765", "ana 98765-4321"} {
			a := door.status(door.do("GET", searchPath(w.event, q), ""), 200)
			if strings.Contains(a.body, "zq") || strings.Contains(a.body, "Zq") || strings.Contains(a.body, "9876") {
				t.Errorf("q=%s: %s", q, a.body)
			}
		}
	})
}

func TestDoorSearchTellsWhoIsIn(t *testing.T) {
	searched(t, func(w *world) {
		w.ticket(w.event, "K7QP-2M", "")
		found := func() answer { return w.status(w.do("GET", searchPath(w.event, "ana souza"), ""), 200) }
		if a := found(); a.value(t, "results.0.admitted_at") != nil || a.value(t, "results.0.checkin_id") != nil {
			t.Errorf("before: %s", a.body)
		}
		scanned := w.scan(w.event, `{"code":"K7QP-2M"}`)
		a := found()
		if a.text(t, "results.0.admitted_at") != scanned.text(t, "admitted_at") || a.text(t, "results.0.checkin_id") != scanned.text(t, "checkin_id") {
			t.Errorf("after %s: %s", scanned.body, a.body)
		}
		w.status(w.do("POST", fmt.Sprintf("/door/v1/event/%d/undo/", w.event), fmt.Sprintf(`{"checkin_id":%q}`, scanned.text(t, "checkin_id"))), 200)
		if a := found(); a.value(t, "results.0.admitted_at") != nil || a.value(t, "results.0.checkin_id") != nil {
			t.Errorf("after the undo: %s", a.body)
		}
		w.status(w.do("PATCH", adminPath("ticket", 1), `{"state":"cancelled"}`), 200)
		if a := found(); a.text(t, "results.0.state") != "cancelled" {
			t.Errorf("after the cancellation: %s", a.body)
		}
	})
}

func TestDoorSearchAnswersTwenty(t *testing.T) {
	searched(t, func(w *world) {
		var ids []int64
		for range 25 {
			ids = append(ids, w.guest(w.event, "Maria Silvas", ""))
		}
		best := w.guest(w.event, "Maria Silva", "")
		if got, want := w.hits(w.event, "maria silva"), append([]int64{best}, ids[:19]...); !slices.Equal(got, want) {
			t.Errorf("hits = %v, want %v", got, want)
		}
	})
}

// TestDoorSearchTellsAStewardOfMore: a steward is shown five tickets, and whether there are others.
func TestDoorSearchTellsAStewardOfMore(t *testing.T) {
	w := newWorld(t)
	steward := w.as(fmt.Sprintf("event:%d", w.event), "checkin:GET", "checkin:POST")
	for n := 1; n <= 6; n++ {
		w.guest(w.event, "Maria Silva", "")
		a := steward.status(steward.do("GET", searchPath(w.event, "maria"), ""), 200)
		if shown, more := strings.Count(a.body, `"label":"Maria S."`), strings.Contains(a.body, `"more":true`); shown != min(n, 5) || more != (n > 5) {
			t.Errorf("of %d tickets %d are shown, and more is %v", n, shown, more)
		}
	}
}

func TestDoorSearchWantsTwoCharacters(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("ã", 256)
	for query, want := range map[string]string{
		"": "This field is required.", "?": "This field is required.", "?Q=ana": "This field is required.", "?q=": "This field may not be blank.",
		"?q=%20%20": "This field may not be blank.", "?q=,%20%22": "This field may not be blank.", "?q=ana&q=": "This field may not be blank.",
		"?q=a": "Ensure this field has at least 2 characters.", "?q=%20%C3%A3,": "Ensure this field has at least 2 characters.",
		"?q=%F0%9F%98%80": "Ensure this field has at least 2 characters.", "?q=" + url.QueryEscape(long): "Ensure this field has no more than 255 characters.",
	} {
		path := fmt.Sprintf("/door/v1/event/%d/search/%s", w.event, query)
		a := w.status(w.do("GET", path, "", invalid), 400)
		if got := a.text(t, "error.details.q.0"); got != want || a.text(t, "error.code") != "VALIDATION_ERROR" {
			t.Errorf("%s: %s, want %q", query, a.body, want)
		}
	}
	for _, q := range []string{"an", "ãé", long[:2*255], " an, ", "a\x00", "\"an"} {
		w.status(w.do("GET", searchPath(w.event, q), ""), 200)
	}
	w.status(w.do("GET", fmt.Sprintf("/door/v1/event/%d/search/?q=x&q=ana", w.event), "", invalid), 200) // the last one counts
}

func TestDoorSearchIsForItsDoors(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.farEvent, "FAR", "")
	for level, permissions := range map[string][]string{fmt.Sprintf("event:%d", w.event): {"checkin:*"}, fmt.Sprintf("church:%d", w.church): nil} {
		s := w.as(level, permissions...)
		s.status(s.do("GET", searchPath(w.event, "ana"), ""), 200)
		s.status(s.do("HEAD", searchPath(w.event, "ana"), ""), 200)
		s.status(s.do("GET", strings.Replace(searchPath(w.event, "ana"), "search/", "search", 1), ""), 200)
		for _, q := range []string{"?q=ana", "?q=a", ""} {
			a := s.status(s.do("GET", fmt.Sprintf("/door/v1/event/%d/search/%s", w.farEvent, q), "", invalid), 404)
			if b := s.status(s.do("GET", "/door/v1/event/9999/search/"+q, "", invalid), 404); a.body != b.body {
				t.Errorf("an event outside is told from none: %s, %s", a.body, b.body)
			}
		}
		s.status(s.do("GET", "/door/v1/event/x/search/?q=ana", "", invalid), 404)
		a := s.status(s.do("POST", searchPath(w.event, "ana"), `{}`), 405)
		if got := a.header.Get("Allow"); got != "GET, HEAD, OPTIONS" {
			t.Errorf("Allow = %q", got)
		}
	}
	for _, permission := range []string{"people:*", "event:*", "checkin:POST", "admin:*"} {
		s := w.as("denomination", permission)
		if a := s.status(s.do("GET", searchPath(w.event, "ana"), ""), 403); a.text(t, "error.details.required_scope") != "checkin:GET" {
			t.Errorf("%s: %s", permission, a.body)
		}
	}
	w.status(w.do("GET", searchPath(w.event, "ana"), "", anybody), 401)
}

func TestDoorSearchIsNotLogged(t *testing.T) {
	var log strings.Builder
	w := newWorld(t, logTo(&log))
	w.ticket(w.event, "A1", `"type":"x"`)
	w.hits(w.event, "zqsecret")
	w.do("GET", searchPath(w.event, "Z"), "", invalid)
	if page := w.do("GET", "/metrics", "").body; strings.Contains(page, "zqsecret") || strings.Contains(log.String(), "zqsecret") {
		t.Error("what was typed is in the log or in the metrics")
	}
}

func TestWhoIsFoundIsLetInByTheTicket(t *testing.T) {
	w := newWorld(t)
	ana := w.guest(w.event, "Ana Souza", `"code":"K7QP-2M"`)
	other, away := w.guest(w.event, "Bia Lima", `"state":"unpaid"`), w.guest(w.farEvent, "Caio Reis", "")
	door := w.as(fmt.Sprintf("event:%d", w.event), "checkin:*")
	byTicket := func(id int64) string { return fmt.Sprintf(`{"ticket_id":%d,"nonce":"n%d"}`, id, id) }

	first := door.scan(w.event, byTicket(door.hits(w.event, "ana")[0]))
	if first.text(t, "outcome") != "admitted" || first.text(t, "label") != "Ana S." {
		t.Errorf("a ticket that was found: %s", first.body)
	}
	for what, body := range map[string]string{"its code": `{"code":"K7QP-2M"}`, "the ticket again": fmt.Sprintf(`{"ticket_id":%d}`, ana)} {
		if again := door.scan(w.event, body); again.text(t, "outcome") != "already_admitted" || again.text(t, "checkin_id") != first.text(t, "checkin_id") {
			t.Errorf("%s: %s", what, again.body)
		}
	}
	if a := door.scan(w.event, byTicket(ana)); a.text(t, "outcome") != "admitted" || a.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the same nonce again: %s", a.body)
	}
	if a := door.scan(w.event, byTicket(other)); a.text(t, "outcome") != "unpaid" {
		t.Errorf("an unpaid ticket: %s", a.body)
	}
	path := doorPath(w.event, "scan")
	door.status(door.do("POST", path, fmt.Sprintf(`{"ticket_id":%d,"nonce":"n%d"}`, other, ana)), 422)
	door.status(door.do("POST", path, byTicket(away)), 404)
	door.status(door.do("POST", path, byTicket(987654)), 404)
	for body, want := range map[string]string{
		`{}`: "This field is required.", `{"code":null}`: "This field may not be null.", `{"ticket_id":null}`: "This field is required.", `{"code":""}`: "This field may not be blank.",
	} {
		if a := door.status(door.do("POST", path, body, invalid), 400); a.text(t, "error.details.code.0") != want {
			t.Errorf("%s: %s", body, a.body)
		}
	}
	if a := door.status(door.do("POST", path, fmt.Sprintf(`{"code":"K7QP-2M","ticket_id":%d}`, ana), invalid), 400); a.text(t, "error.details.ticket_id.0") == "" {
		t.Errorf("both: %s", a.body)
	}
}
