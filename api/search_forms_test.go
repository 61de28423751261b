package api_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"doorward/api"
	"doorward/index"
	"doorward/kv/record"
)

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
		w := newWorld(t, indexed(t), func(c *api.Config) { x = c.Indexer.(keeper).Index })
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
