package load_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"doorward/api/load"
	"doorward/api/load/columns"
	"doorward/api/load/export"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/kvtest/proof"
	"doorward/kv/record"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// exported is a file of another system and what becomes of it.
type exported struct {
	file   string
	kind   string
	source string
	asks   string                 // what the import asks, "" = nothing
	answer func(src *load.Source) // what its answer says
	states map[string]int
	people int
	left   int
}

var exports = []exported{
	{file: "pretix-positions.en.csv", source: "pretix-positions", asks: "Camiseta 8; say --only-type 'Criança,Adulto'", answer: onlyTickets,
		states: states(18, 8, 2, 2), left: 8},
	{file: "pretix-positions.pt.csv", source: "pretix-positions", asks: "Camiseta 8; say --only-type 'Criança,Adulto'", answer: onlyTickets,
		states: states(18, 8, 2, 2), left: 8},
	{file: "pretix-checkin.en.csv", source: "pretix-checkin", states: states(14, 4, 2, 0)},
	{file: "pretix-checkin.pt.csv", source: "pretix-checkin", states: states(14, 4, 2, 0)},
	{file: "pretix-codes.en.csv", source: "pretix-codes", states: states(9, 3, 0, 0)},
	{file: "pretix-codes.pt.csv", source: "pretix-codes", states: states(9, 3, 0, 0)},
	{file: "pretix.json", source: "pretix-json", states: states(10, 4, 0, 2), left: 4},
	{file: "sympla.csv", source: "sympla", states: states(47, 12, 0, 1)},
	{file: "eventbrite.csv", source: "eventbrite", states: states(14, 0, 0, 6)},
	{file: "eventbrite-without-barcodes.csv", source: "eventbrite", asks: "export the list again with it",
		answer: func(src *load.Source) { src.Map = map[string]string{"code": "Attendee #"} }, states: states(14, 0, 0, 6)},
	{file: "planning-center.csv", kind: "person", source: "planning-center", people: 24},
	{file: "planning-center-us.csv", kind: "person", source: "planning-center", people: 24},
	{file: "churchcrm.csv", kind: "person", source: "churchcrm", people: 15},
	{file: "churchcrm-import.csv", kind: "person", source: "churchcrm", people: 8},
	{file: "rock.csv", kind: "person", source: "rock", people: 12},
}

func onlyTickets(src *load.Source) { src.OnlyTypes = []string{"Adulto,Criança"} }

func states(valid, unpaid, blocked, cancelled int) map[string]int {
	all := map[string]int{"valid": valid, "unpaid": unpaid, "blocked": blocked, "cancelled": cancelled}
	for state, n := range all {
		if n == 0 {
			delete(all, state)
		}
	}
	return all
}

// encodings are how a table may be written; nil where one cannot write it.
func encodings(t *testing.T, text []byte) map[string][]byte {
	t.Helper()
	wide, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().Bytes(text)
	if err != nil {
		t.Fatal(err)
	}
	bare, err := unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewEncoder().Bytes(text)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{"UTF-16 without a mark": bare, "UTF-8": text, "UTF-8 with a mark": append([]byte("\ufeff"), text...), "UTF-16": wide}
	if old, err := charmap.Windows1252.NewEncoder().Bytes(text); err == nil {
		all["Windows-1252"] = old
	}
	return all
}

// TestImportOfOtherSystems: with no flag each file is understood, or stops with one question whose answer then makes it right.
func TestImportOfOtherSystems(t *testing.T) {
	proof.Unraced(t)
	for _, e := range exports {
		text, err := os.ReadFile(filepath.Join("testdata", "exports", e.file))
		if err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{"JSON": text}
		if strings.HasSuffix(e.file, ".csv") {
			files = encodings(t, text)
			if e.file != "churchcrm.csv" { // its quotes are its own
				files["a workbook"] = bookOf(t, e.file, text)
			}
		}
		for encoding, file := range files {
			t.Run(e.file+" in "+encoding, func(t *testing.T) { e.check(t, file) })
		}
	}
}

func (e exported) check(t *testing.T, file []byte) {
	s := congregation(t)
	src := load.Source{Kind: "ticket", Event: 7}
	if e.kind != "" {
		src = load.Source{Kind: e.kind}
	}
	if e.asks != "" {
		src.Reader = bytes.NewReader(file)
		_, err := load.Import(context.Background(), s, auth.Operator(), src, nil)
		if err == nil || !strings.Contains(err.Error(), e.asks) || !errors.Is(err, load.ErrSource) {
			t.Fatalf("error = %v, want it to ask %q", err, e.asks)
		}
		if n := len(tickets(t, s)); n != 0 {
			t.Fatalf("%d tickets written by an import that asks", n)
		}
		e.answer(&src)
	}
	src.Reader = bytes.NewReader(file)
	rep := mustImport(t, s, src)
	if rep.Source != e.source || len(rep.Rejected) != 0 || rep.LeftOut != e.left || e.kind != "" && rep.Created != e.people {
		t.Fatalf("report = %+v; want source %s, nothing refused, %d left out, %d people", rep, e.source, e.left, e.people)
	}
	got := map[string]int{}
	for _, one := range tickets(t, s) {
		got[one["state"].(string)]++
	}
	if e.kind == "" {
		if diff := cmp.Diff(e.states, got); diff != "" {
			t.Errorf("states differ (-want +got):\n%s\n%+v", diff, rep)
		}
	}
	src.Reader = bytes.NewReader(file)
	if again := mustImport(t, s, src); again.Created+again.Updated != 0 {
		t.Errorf("the second time %d created and %d updated, want nothing changed", again.Created, again.Updated)
	}
}

// bookOf puts a table into a workbook, Sympla's below its seven lines of preface.
func bookOf(t *testing.T, file string, text []byte) []byte {
	t.Helper()
	r := csv.NewReader(bytes.NewReader(text))
	r.LazyQuotes = true
	if strings.HasPrefix(file, "sympla") {
		r.Comma = ';'
	}
	all, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]any
	if strings.HasPrefix(file, "sympla") {
		rows = append(rows, []any{"Relatório de participantes"}, nil, []any{"Evento:", "Festa"}, []any{"Data:", "05/12/2026"}, nil, []any{"Total: 60"}, nil)
	}
	for _, one := range all {
		row := make([]any, len(one))
		for i, cell := range one {
			row[i] = cell
		}
		rows = append(rows, row)
	}
	return book(t, false, rows).Bytes()
}

func importedPeople(t *testing.T, file string, src load.Source) (out []map[string]any, rep load.Report) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "exports", file))
	if err != nil {
		t.Fatal(err)
	}
	s := congregation(t)
	src.Kind, src.Reader = "person", bytes.NewReader(text)
	rep = mustImport(t, s, src)
	err = s.Log.Export(auth.Operator(), record.Person, func(b []byte) error {
		m := map[string]any{}
		err := json.Unmarshal(b, &m)
		if m["id"] != 1.0 {
			out = append(out, m)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, rep
}

// TestImportOfPeopleOfOtherSystems: names are whole and without titles, birthdays have their day and month, numbers no punctuation.
func TestImportOfPeopleOfOtherSystems(t *testing.T) {
	for _, c := range []struct {
		file  string
		src   load.Source
		at    int
		want  map[string]any
		note  string
		notes []string // columns that are not kept
	}{
		{"planning-center.csv", load.Source{}, 0, map[string]any{"full_name": "Maria Ana Alves Souza", "birthday": nil, "mobile_phone": "24924030000",
			"email": "w0@example.org", "external_id": "planning-center:70000"}, "2 dates have no year", []string{"Nickname", "First Name"}},
		{"planning-center.csv", load.Source{}, 3, map[string]any{"full_name": "Dora Vaz", "birthday": "1963-04-04"}, "", []string{"Name Suffix"}},
		{"planning-center-us.csv", load.Source{}, 4, map[string]any{"full_name": "Elisa Melo", "birthday": "1964-05-05"}, "", nil},
		{"planning-center-us.csv", load.Source{}, 13, map[string]any{"birthday": "1973-02-14"}, "", nil},
		{"churchcrm.csv", load.Source{}, 4, map[string]any{"full_name": `Elisa "Lis" Melo`, "birthday": "1954-05-05", "phone": "2422220004",
			"external_id": "churchcrm:304"}, "3 dates have no year", []string{"Title"}},
		{"churchcrm-import.csv", load.Source{}, 0, map[string]any{"full_name": "Ana Souza", "birthday": nil}, "2 dates have no year", nil},
		{"rock.csv", load.Source{}, 6, map[string]any{"full_name": "Gil Sá", "birthday": "1976-07-07", "external_id": "rock:806"}, "", []string{"Nick Name"}},
	} {
		people, rep := importedPeople(t, c.file, c.src)
		for field, want := range c.want {
			if got := people[c.at][field]; got != want {
				t.Errorf("%s, person %d: %s = %v, want %v", c.file, c.at, field, got, want)
			}
		}
		if said := strings.Join(rep.Warnings, "\n"); !strings.Contains(said, c.note) {
			t.Errorf("%s: notes = %q, want %q", c.file, said, c.note)
		}
		for _, column := range c.notes {
			if !strings.Contains(strings.Join(rep.Ignored, "\n"), column) {
				t.Errorf("%s: not read = %q, want %s among them", c.file, rep.Ignored, column)
			}
		}
	}
}

// TestImportOfTimesOfPretix: one ticket's time stands in the local zone in one export and in UTC in the other.
func TestImportOfTimesOfPretix(t *testing.T) {
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		t.Fatal(err)
	}
	for file, types := range map[string][]string{"pretix-positions.en.csv": {"Adulto", "Criança"}, "pretix-checkin.en.csv": nil, "pretix-codes.pt.csv": nil} {
		text, err := os.ReadFile(filepath.Join("testdata", "exports", file))
		if err != nil {
			t.Fatal(err)
		}
		s := congregation(t)
		mustImport(t, s, load.Source{Kind: "ticket", Event: 7, Zone: zone, OnlyTypes: types, Reader: bytes.NewReader(text)})
		got, err := time.Parse(time.RFC3339, tickets(t, s)[1]["valid_from"].(string))
		if want := time.Date(2026, 12, 5, 10, 0, 0, 0, time.UTC); err != nil || !got.Equal(want) {
			t.Errorf("%s: valid from %v, %v, want %v", file, got, err, want)
		}
	}
}

func TestExportIsWhatImportReads(t *testing.T) {
	ctx := context.Background()
	first := congregation(t)
	mustImport(t, first, load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader("codigo,nome,telefone\nA-1,Ana,21 99\nA-2,Bia,22\n")})
	mustImport(t, first, load.Source{Reader: strings.NewReader(`{"kind":"group","id":3,"name":"Jovens","church_id":1}
{"kind":"membership","person":1,"group_id":3}`)})
	export := func(s *kv.Store) string {
		var b bytes.Buffer
		if err := export.Write(ctx, &b, export.Options{Log: s.Log, Who: auth.Operator()}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	second := kvtest.Open(t)
	file := export(first)
	if rep := mustImport(t, second, load.Source{Reader: strings.NewReader(file)}); len(rep.Rejected)+len(rep.Ignored) != 0 {
		t.Errorf("import of an export = %+v, want nothing rejected or ignored", rep)
	}
	if diff := cmp.Diff(timeless(file), timeless(export(second))); diff != "" {
		t.Errorf("the second export differs (-first +second):\n%s", diff)
	}
	if rep := mustImport(t, kvtest.Open(t), load.Source{Reader: strings.NewReader(file), DryRun: true}); len(rep.Rejected) != 0 {
		t.Errorf("dry run of an export = %+v, want nothing rejected", rep)
	}
}

// TestTheLineOfALargeRecordIsRead: it is longer than the record, by the names of its roles.
func TestTheLineOfALargeRecordIsRead(t *testing.T) {
	var large strings.Builder
	var roles []string
	for i := range 200 {
		roles = append(roles, strconv.Itoa(i+1))
		fmt.Fprintf(&large, `{"kind":"role","id":%d,"name":"%s"}`+"\n", i+1, strings.Repeat("r", 200))
	}
	fmt.Fprintf(&large, `{"kind":"person","id":1,"full_name":"Ana Souza","role_ids":[%s],"location":{"a":"%s"}}`,
		strings.Join(roles, ","), strings.Repeat("x", 1<<20-20<<10))
	s, file := kvtest.Open(t), bytes.Buffer{}
	mustImport(t, s, load.Source{Reader: strings.NewReader(large.String())})
	if err := export.Write(t.Context(), &file, export.Options{Log: s.Log, Who: auth.Operator()}); err != nil {
		t.Fatal(err)
	}
	if rep := mustImport(t, kvtest.Open(t), load.Source{Reader: &file}); rep.Created != 201 {
		t.Errorf("created %d of 201: %+v", rep.Created, rep.Rejected)
	}
}

// timeless is an export without the stamps of the store that wrote it.
func timeless(export string) (lines []string) {
	for line := range strings.Lines(export) {
		m := map[string]json.RawMessage{}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			lines = append(lines, err.Error())
			continue
		}
		delete(m, "updated_at")
		b, _ := json.Marshal(m)
		lines = append(lines, string(b))
	}
	slices.Sort(lines)
	return lines
}

// odd are records whose values a spreadsheet would change, or a table could lose.
const odd = `{"kind":"church","id":3,"name":"=HYPERLINK(1)"}
{"kind":"church","id":5,"name":"'=literal","external_id":"'''+x"}
{"kind":"person","id":2,"full_name":"+Ana; \"D'Ávila\", Souza","church_id":3,"phone":"+55 11 98765-4321","cpf":"12345678909","location":{"a":[1,null,"x"]},"birthday":"1985-03-04"}
{"kind":"person","id":4,"full_name":"-Bia\nLuz","church_id":5,"birthday":"1985-04-03"}
{"kind":"person","id":6,"full_name":"'1985'","church_id":5}
{"kind":"event","id":7,"name":"@Festa","start_datetime":"2026-12-31T19:30:00Z"}
{"kind":"ticket","id":9,"event_id":7,"code":"00012345678901234567","holder_name":"=cmd|' /C calc'!A0","state":"unpaid","valid_from":"2026-12-31T10:00:00Z"}
{"kind":"ticket","id":10,"event_id":7,"code":"9E17","state":"blocked"}
`

// TestATableThatWasExportedComesBack: every kind, with its ids, in both formats, whatever the values look like.
func TestATableThatWasExportedComesBack(t *testing.T) {
	ctx, op := t.Context(), auth.Operator()
	from := kvtest.Open(t)
	if rep, err := load.Import(ctx, from, op, load.Source{Reader: strings.NewReader(odd), Yes: true}, nil); err != nil || len(rep.Rejected) > 0 {
		t.Fatal(err, rep.Rejected)
	}
	for _, format := range []string{export.CSV, export.XLSX} {
		to := kvtest.Open(t)
		for _, kind := range []string{"church", "person", "event", "ticket"} {
			var file, want, got bytes.Buffer
			if err := export.Write(ctx, &want, export.Options{Log: from.Log, Who: op, Kind: kind}); err != nil {
				t.Fatal(err)
			}
			if err := export.Write(ctx, &file, export.Options{Log: from.Log, Who: op, Kind: kind, Format: format}); err != nil {
				t.Fatal(err)
			}
			if format == export.CSV && regexp.MustCompile(`(?m)(^|,|")[=+@-]`).Match(file.Bytes()) {
				t.Errorf("%s: a spreadsheet takes a cell for a formula:\n%s", kind, &file)
			}
			rep, err := load.Import(ctx, to, op, load.Source{Reader: bytes.NewReader(file.Bytes())}, nil)
			if err != nil || len(rep.Rejected) > 0 || len(rep.Ignored) > 0 || rep.Source != "doorward" {
				t.Fatalf("%s %s: %v, %+v", format, kind, err, rep)
			}
			if err := export.Write(ctx, &got, export.Options{Log: to.Log, Who: op, Kind: kind}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(timeless(want.String()), timeless(got.String())); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", format, kind, diff)
			}
			if rep, err := load.Import(ctx, from, op, load.Source{Reader: bytes.NewReader(file.Bytes())}, nil); err != nil || rep.Created+rep.Updated != 0 {
				t.Errorf("%s %s into the same store: %v, %+v", format, kind, err, rep)
			}
		}
	}
}

// TestAnExportWithMovedColumnsFindsItsRecords: a spreadsheet keeps the columns in any order.
func TestAnExportWithMovedColumnsFindsItsRecords(t *testing.T) {
	s := kvtest.Open(t)
	for _, c := range []struct {
		file             string
		created, updated int
	}{{"kind,id,name\nchurch,77,Norte\n", 1, 0}, {"name;id;kind\nNorte e Sul;77;church\n", 0, 1}, {"id;name;kind\n77;Norte e Sul;church\n", 0, 0}} {
		rep, err := load.Import(t.Context(), s, auth.Operator(), load.Source{Kind: "church", Reader: strings.NewReader(c.file)}, nil)
		if err != nil || rep.Created != c.created || rep.Updated != c.updated || len(rep.Ignored) > 0 {
			t.Errorf("%q: %v, %+v", c.file, err, rep)
		}
	}
}

// TestATableOfSomebodyElseBringsNoIDs: a column called id is ours only where each row says its kind.
func TestATableOfSomebodyElseBringsNoIDs(t *testing.T) {
	s := kvtest.Open(t)
	rep, err := load.Import(t.Context(), s, auth.Operator(), load.Source{Kind: "church", Reader: strings.NewReader("kind,id,name\nsede,77,Central\nchurch,78,Norte\n")}, nil)
	if err != nil || rep.Created != 2 {
		t.Fatal(err, rep)
	}
	var got bytes.Buffer
	if err := export.Write(t.Context(), &got, export.Options{Log: s.Log, Who: auth.Operator(), Kind: "church"}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(got.String(), `"id":77`) || strings.Contains(got.String(), `"id":78`) {
		t.Errorf("ids of somebody else: %s", &got)
	}
}

// TestPretixJSONSaysWhatItsTablesSay: the JSON of pretix names the event of a series, the variation of a product and the comment on an order, by
// which a ticket may not get in.
func TestPretixJSONSaysWhatItsTablesSay(t *testing.T) {
	for _, c := range []struct{ name, first, second, comment, asked string }{
		{"two events of a series", `"subevent":3`, `"subevent":4`, "", "Event date"},
		{"an event and an unknown one", `"subevent":3`, `"subevent":9`, "", "Event date"},
		{"variations for two days", `"variation":7`, `"variation":8`, "", "Variation"},
		{"one event of a series", `"subevent":3,"variation":7`, `"subevent":3,"variation":7`, "", ""},
		{"no series", `"subevent":null`, `"variation":null`, "window seat", ""},
		{"a comment", `"subevent":3`, `"subevent":3`, "refunded by bank transfer", "-"},
	} {
		s := congregation(t)
		file := `{"event":{"items":[{"id":1,"name":"Adult","admission":true,"variations":[{"id":7,"name":"Saturday"},{"id":8,"name":"Sunday"}]}],"orders":[` +
			`{"code":"A","status":"p","comment":"","positions":[{"item":1,"attendee_name":"Ana","secret":"secret0000000000000000000000000a",` + c.first + `}]},` +
			`{"code":"B","status":"p","comment":"` + c.comment + `","positions":[{"item":1,"attendee_name":"Bia","secret":"secret0000000000000000000000000b",` + c.second + `}]},` +
			`{"code":"C","status":"p","comment":"","positions":[{"item":1,"attendee_name":"Caio","secret":"secret0000000000000000000000000c",` + c.first + `}]}],` +
			`"subevents":[{"id":3,"name":"Festa","date_from":"2026-12-05T19:30:00Z"},{"id":4,"name":"Festa","date_from":"2026-12-06T19:30:00Z"}]}}`
		rep, err := load.Import(t.Context(), s, auth.Operator(), load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader(file)}, nil)
		var asked columns.Questions
		switch {
		case errors.As(err, &asked) && asked[0].Column == c.asked:
		case err == nil && c.asked == "" && rep.States["valid"] == 3:
		case err == nil && c.asked == "-" && rep.States["valid"] == 2 && len(rep.Rejected) == 1:
		default:
			t.Errorf("%s: %v, %+v", c.name, err, rep)
		}
	}
}
