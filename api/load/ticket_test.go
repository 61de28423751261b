package load_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"doorward/api/load"
	"doorward/kv/auth"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"
)

// told is a ticket file and what becomes of it: its tickets by "code field=value", or rejections.
type told struct {
	rows   [][]any // a workbook
	text   string  // or a text
	set    map[string]string
	want   []map[string]any
	reject []load.Rejection
	ignore []string
}

func (c told) source(t *testing.T) load.Source {
	src := load.Source{Reader: strings.NewReader(c.text), Kind: "ticket", Event: 7, Map: c.set}
	if c.rows != nil {
		src.Reader = book(t, false, c.rows)
	}
	return src
}

func (c told) check(t *testing.T, name string) {
	t.Helper()
	s := congregation(t)
	rep := mustImport(t, s, c.source(t))
	if diff := cmp.Diff(c.reject, rep.Rejected); diff != "" {
		t.Errorf("%s: rejections differ (-want +got):\n%s", name, diff)
	}
	if diff := cmp.Diff(c.ignore, rep.Ignored); diff != "" {
		t.Errorf("%s: ignored columns differ (-want +got):\n%s", name, diff)
	}
	got := tickets(t, s)
	for _, m := range got {
		delete(m, "event_id")
		if m["state"] == "valid" {
			delete(m, "state")
		}
	}
	if diff := cmp.Diff(c.want, got); diff != "" {
		t.Errorf("%s: tickets differ (-want +got):\n%s", name, diff)
	}
}

type m = map[string]any

func TestImportOfTicketDatesInAWorkbook(t *testing.T) {
	day := time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)
	told{rows: [][]any{{"Código", "Válido de", "Válido até"}, {"A-1", day, day}},
		want: []m{{"code": "A-1", "valid_from": "2026-12-31T00:00:00Z", "valid_until": "2026-12-31T23:59:59.999999Z"}}}.check(t, "a day")
}

// TestADayBeginsWithItsFirstMoment: in Santiago the clocks go from midnight to one, so the day begins at one. The hour before is the day before.
func TestADayBeginsWithItsFirstMoment(t *testing.T) {
	zone, err := time.LoadLocation("America/Santiago")
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2026, 9, 6, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]told{
		"a text":     {text: "code;Válido de;Válido até\nA-1;06/09/2026;05/09/2026\n"},
		"a workbook": {rows: [][]any{{"code", "Válido de", "Válido até"}, {"A-1", day, day.AddDate(0, 0, -1)}}},
	} {
		s := congregation(t)
		src := c.source(t)
		src.Zone, src.Dates = zone, "dmy"
		mustImport(t, s, src)
		if got := tickets(t, s)[0]; got["valid_from"] != "2026-09-06T04:00:00Z" || got["valid_until"] != "2026-09-06T03:59:59.999999Z" {
			t.Errorf("%s: valid from %v until %v, want 04:00 in UTC and the moment before", name, got["valid_from"], got["valid_until"])
		}
	}
}

// TestTheLastDayOfAllIsTaken: west of Greenwich the evening of 31/12/9999, which means for ever, is in the year 10000 in UTC.
func TestTheLastDayOfAllIsTaken(t *testing.T) {
	west := time.FixedZone("west", -3*60*60)
	for name, c := range map[string]told{
		"a text":          {text: "code;Válido até\nA-1;31/12/9999\n"},
		"a text and time": {text: "code;Válido até\nA-1;31/12/9999 23:59\n"},
		"a workbook":      {rows: [][]any{{"code", "Válido até"}, {"A-1", time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}}},
	} {
		s := congregation(t)
		src := c.source(t)
		src.Zone, src.Dates = west, "dmy"
		mustImport(t, s, src)
		if got := tickets(t, s); len(got) != 1 || got[0]["valid_until"] != "9999-12-31T23:59:59.999999Z" {
			t.Errorf("%s: tickets = %v, want one that is valid to the last moment of 9999", name, got)
		}
	}
}

func TestImportOfTicketCodes(t *testing.T) {
	for _, title := range []string{"Nº ingresso", "N. do ingresso", "Número do ingresso", "Barcode #", "Ticket code", "Código", "code"} {
		told{text: title + ";Nome\nA-1;Ana\n;Bia\nA-3;Caio\n", want: []m{{"code": "A-1", "holder_name": "Ana"}, {"code": "A-3", "holder_name": "Caio"}},
			reject: []load.Rejection{{Line: 3, Column: title, Reason: "This field may not be blank."}}}.check(t, title)
	}
}

func TestImportTakesTheMoreSpecificTitle(t *testing.T) {
	for name, c := range map[string]told{
		"code":                 {text: "Código;Código do ingresso\nP-1;A-1\n", want: []m{{"code": "A-1"}}, ignore: []string{"Código"}},
		"state":                {text: "code;Situação;Situação do ingresso\nA-1;ok;cancelado\n", want: []m{{"code": "A-1", "state": "cancelled"}}},
		"state of the payment": {text: "code;Status do pagamento;Status\nA-1;pendente;ok\n", want: []m{{"code": "A-1", "state": "unpaid"}}},
		"holder": {text: "code;Nome;Participante;Comprador\nA-1;Ana;Bia;Caio\n", want: []m{{"code": "A-1", "holder_name": "Bia"}},
			ignore: []string{"Nome", "Comprador"}},
		"holder's name": {text: "code;Comprador;Nome do participante\nA-1;Ana;Bia\n", want: []m{{"code": "A-1", "holder_name": "Bia"}},
			ignore: []string{"Comprador"}},
		"the telephone before the mobile": {text: "code;Celular;Telefone\nA-1;11;22\n", want: []m{{"code": "A-1", "phone": "22"}},
			ignore: []string{"Celular"}},
		"two names": {text: "code;Nome;Sobrenome\nA-1;Ana;Reis\nA-2;Bia;\n",
			want: []m{{"code": "A-1", "holder_name": "Ana Reis"}, {"code": "A-2", "holder_name": "Bia"}}},
		"two names and a whole one": {text: "code;First Name;Last Name;Name\nA-1;A;R;Ana Reis\n", want: []m{{"code": "A-1", "holder_name": "Ana Reis"}},
			ignore: []string{"First Name", "Last Name"}},
		"a list of attendees": {text: "Order #,First Name,Last Name,Attendee #,Barcode #,Ticket Type,Attendee Status\n" +
			"77,Ana,Reis,501,A-1,Adulto,Attending\n77,Bia,Luz,502,A-2,Adulto,Not Attending\n78,Caio,Sá,503,A-3,Adulto,Checked In\n" +
			"79,Davi,Sá,504,A-4,Adulto,Transferred\n",
			want: []m{{"code": "A-1", "holder_name": "Ana Reis", "order": "77", "type": "Adulto"},
				{"code": "A-2", "holder_name": "Bia Luz", "order": "77", "type": "Adulto", "state": "cancelled"},
				{"code": "A-3", "holder_name": "Caio Sá", "order": "78", "type": "Adulto"},
				{"code": "A-4", "holder_name": "Davi Sá", "order": "79", "type": "Adulto", "state": "cancelled"}},
			ignore: []string{"Attendee #"}},
		"yes and no": {text: "code;Pago;Cancelado;Bloqueado;Reembolsado\nA-1;sim;não;;\nA-2;não;não;;\nA-3;não;sim;x;sim\nA-4;;;x;\nA-5;Pix;;;\nA-6;Pendente;;;\n",
			want: []m{{"code": "A-1"}, {"code": "A-2", "state": "unpaid"}, {"code": "A-3", "state": "cancelled"}, {"code": "A-4", "state": "blocked"},
				{"code": "A-6", "state": "unpaid"}},
			reject: []load.Rejection{{Line: 6, Column: "Pago", Reason: "not a known state; --states 'WORD=valid' says what a word means"}}},
		"yes and no beside a state": {text: "code;Status;Cancelado\nA-1;pendente;não\nA-2;pendente;sim\n",
			want: []m{{"code": "A-1", "state": "unpaid"}, {"code": "A-2", "state": "cancelled"}}},
	} {
		c.check(t, name)
	}
}

// TestImportOfTicketsByExternalID takes a list without codes where it is plain which column names the tickets: it is mapped, or
// its title is the field's own name.
func TestImportOfTicketsByExternalID(t *testing.T) {
	for title, mapped := range map[string]map[string]string{"Inscrição": {"external_id": "Inscrição"}, "external_id": nil} {
		s := congregation(t)
		for _, want := range []load.Report{{Created: 1}, {Unchanged: 1}} {
			text := title + ";Nome\nX-1;Ana\n"
			got := mustImport(t, s, load.Source{Reader: strings.NewReader(text), Kind: "ticket", Event: 7, Map: mapped})
			if diff := cmp.Diff(want, core(got)); diff != "" {
				t.Errorf("%s: report differs (-want +got):\n%s", title, diff)
			}
		}
	}
}

// TestTheIDOfATypeIsNoTicketsID: a system calls the id of a type of tickets Ticket ID. Every row of the type has it.
func TestTheIDOfATypeIsNoTicketsID(t *testing.T) {
	for text, want := range map[string]load.Report{
		"Code;Ticket Holder Name;Ticket ID;Voided at\nKX7A1;Ana;55;\nKX7A2;Bia;55;2026-10-10\nKX7A3;Caio;56;\nKX7A4;Davi;56;\n": {Created: 4},
		"Code;Ticket Full Name;ID do ingresso;Voided\nKX7A1;Ana;55;No\nKX7A2;Bia;55;Yes\n":                                      {Created: 2},
		"Code;Nome;ID do ingresso;Voided\nKX7A1;Ana;55;No\nKX7A2;Bia;56;Yes\nKX7A3;Caio;57;No\nKX7A4;Caio;57;No\n": {Created: 3,
			Rejected: []load.Rejection{{Line: 5, Column: "ID do ingresso", Reason: "the same external_id stands in line 4"}}},
	} {
		s := congregation(t)
		got := mustImport(t, s, load.Source{Reader: strings.NewReader(text), Kind: "ticket", Event: 7})
		if got.Created != want.Created || !cmp.Equal(got.Rejected, want.Rejected) || got.States["cancelled"] != 1 {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
		for _, one := range tickets(t, s) {
			if one["holder_name"] == nil {
				t.Errorf("%s: nobody has the ticket %v", text, one["code"])
			}
		}
	}
}

func TestImportRefusesWhatIsNoTicket(t *testing.T) {
	const cut = "a number in scientific notation: a spreadsheet has cut its digits off"
	const spoiled = "an error value of a spreadsheet"
	one := []m{{"code": "A-1", "holder_name": "Ana"}}
	for name, c := range map[string]told{
		"the header again": {text: "Código;Nome\nA-1;Ana\nCódigo;Nome\n", want: one,
			reject: []load.Rejection{{Line: 3, Column: "Código", Reason: "the header once more"}}},
		"totals": {text: "Código;Nome;Tipo\nA-1;Ana;\nTotal;;\nTotal de ingressos;1;\n;Total: 1;\n", want: one,
			reject: []load.Rejection{{Line: 3, Column: "Código", Reason: "a line of totals"}, {Line: 4, Column: "Código", Reason: "a line of totals"},
				{Line: 5, Column: "Nome", Reason: "a line of totals"}}},
		"error values": {text: "Código;Nome\nA-1;Ana\n#N/D;Bia\nA-2;#NOME?\n#ref!;Caio\n", want: one,
			reject: []load.Rejection{{Line: 3, Column: "Código", Reason: spoiled}, {Line: 4, Column: "Nome", Reason: spoiled}, {Line: 5, Column: "Código", Reason: spoiled}}},
		"scientific notation": {text: "Código;Nome;Telefone\nA-1;Ana;\n9,00001E+16;Bia;\nA-3;Caio;5.51199E+12\nA-4;1E+05;\n", want: one,
			reject: []load.Rejection{{Line: 3, Column: "Código", Reason: cut}, {Line: 4, Column: "Telefone", Reason: cut}, {Line: 5, Column: "Nome", Reason: cut}}},
		"a code that looks like it": {text: "Código;Nome\n12E4;Ana\n", want: []m{{"code": "12E4", "holder_name": "Ana"}}},
		"a workbook's": {rows: [][]any{{"Código", "Nome"}, {"A-1", "Ana"}, {"Código", "Nome"}, {"Total"}, {90000112345678912.0, "Bia"}, {90000112345678912, "Bia"}, {true, "Caio"}},
			want: one, reject: []load.Rejection{{Line: 3, Column: "Código", Reason: "the header once more"}, {Line: 4, Column: "Código", Reason: "a line of totals"},
				{Line: 5, Column: "Código", Reason: cut}, {Line: 6, Column: "Código", Reason: cut}, {Line: 7, Column: "Código", Reason: "yes or no, where a code is wanted"}}},
	} {
		c.check(t, name)
	}
}

// TestImportRefusesTicketsThatNothingNames: each import would make them again.
func TestImportRefusesTicketsThatNothingNames(t *testing.T) {
	const required, blank = "This field is required.", "This field may not be blank."
	lines := `{"kind":"ticket","holder_name":"Ana"}
{"kind":"ticket","holder_name":"Bia","code":null,"external_id":null,"id":null}
{"kind":"ticket","holder_name":"Caio","external_id":""}
{"kind":"ticket","holder_name":"Davi","code":""}
{"kind":"ticket","holder_name":"Eva","id":""}
{"kind":"ticket","holder_name":"Fabio","code":"A-1"}
{"kind":"ticket","holder_name":"Gil","code":null,"external_id":"X-1"}
{"kind":"ticket","holder_name":"Hugo","id":4242}
`
	of := func(column string, line int, reason string) load.Rejection {
		return load.Rejection{Line: line, Column: column, Reason: reason}
	}
	refused := []load.Rejection{of("code", 1, required), of("code", 2, required), of("external_id", 3, blank), of("code", 4, blank), of("code", 5, required)}
	table := []load.Rejection{of("code", 2, required)}
	s := congregation(t)
	for _, c := range []struct {
		src  load.Source
		want load.Report
	}{
		{load.Source{Event: 7}, load.Report{Created: 3, Rejected: refused}}, {load.Source{Event: 7}, load.Report{Unchanged: 3, Rejected: refused}},
		{load.Source{Event: 7, Kind: "ticket"}, load.Report{Created: 1, Rejected: table}},
		{load.Source{Event: 7, Kind: "ticket"}, load.Report{Unchanged: 1, Rejected: table}},
	} {
		if c.src.Reader = strings.NewReader(lines); c.src.Kind != "" {
			c.src.Reader = strings.NewReader("external_id;Nome\n;Ana\nX-2;Bia\n")
		}
		got := mustImport(t, s, c.src)
		got.Warnings = nil // of short codes
		if diff := cmp.Diff(c.want, core(got)); diff != "" {
			t.Errorf("report differs (-want +got):\n%s", diff)
		}
	}
}

func TestImportOfCodesAsCellsShowThem(t *testing.T) {
	f := excelize.NewFile()
	format, groups := "000000", "#,##0"
	style, err := f.NewStyle(&excelize.Style{CustomNumFmt: &format})
	grouped, other := f.NewStyle(&excelize.Style{CustomNumFmt: &groups})
	for _, e := range []error{err, other,
		f.SetSheetRow("Sheet1", "A1", &[]any{"Código", "Telefone", "Pedido"}),
		f.SetSheetRow("Sheet1", "A2", &[]any{42, 5511999990000, 12}), f.SetSheetRow("Sheet1", "A4", &[]any{"K-1", "11 9", 13}),
		f.SetSheetRow("Sheet1", "A5", &[]any{100200300, "11 8", 14}), f.SetCellStyle("Sheet1", "A5", "A5", grouped),
		f.SetCellStyle("Sheet1", "A2", "A4", style), f.SetCellStyle("Sheet1", "C2", "C4", style)} {
		if e != nil {
			t.Fatal(e)
		}
	}
	var b bytes.Buffer
	if err := errors.Join(f.Write(&b), f.Close()); err != nil {
		t.Fatal(err)
	}
	s := congregation(t)
	mustImport(t, s, load.Source{Reader: &b, Kind: "ticket", Event: 7})
	want := []m{{"code": "000042", "phone": "5511999990000", "order": "000012", "state": "valid", "event_id": 7.0},
		{"code": "K-1", "phone": "119", "order": "000013", "state": "valid", "event_id": 7.0},
		{"code": "100200300", "phone": "118", "order": "14", "state": "valid", "event_id": 7.0}}
	if diff := cmp.Diff(want, tickets(t, s)); diff != "" {
		t.Errorf("tickets differ (-want +got):\n%s", diff)
	}
}

// TestImportNamesASecondColumnOfOneTitle where it says something else, and as --map names it.
func TestImportNamesASecondColumnOfOneTitle(t *testing.T) {
	for _, c := range []struct {
		file    string
		ignored []string
		holder  string
	}{
		{"code,Nome,Nome\nA-1,Ana,Bia\n", []string{"Nome#2"}, "Ana"},
		{"code,Foo,Nome,NOME,Nome\nA-1,1,Ana,,Bia\n", []string{"Foo", "Nome#3"}, "Ana"},
		{"code,Nome,Nome\nA-1,,Bia\n", nil, "Bia"},
		{"code,Nome,Nome\nA-1,Ana, Ana\n", nil, "Ana"},
		{"code,First name,Last name\nA-1,Ana,Souza\n", nil, "Ana Souza"},
	} {
		s := congregation(t)
		rep := mustImport(t, s, load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader(c.file)})
		if diff := cmp.Diff(c.ignored, rep.Ignored); diff != "" || len(rep.Rejected) > 0 {
			t.Errorf("%s: rejected %v, ignored columns differ (-want +got):\n%s", c.file, rep.Rejected, diff)
		}
		if got := tickets(t, s)[0]["holder_name"]; got != c.holder {
			t.Errorf("%s: holder %v, want %s", c.file, got, c.holder)
		}
		for _, name := range c.ignored {
			mustImport(t, congregation(t), load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader(c.file), Map: map[string]string{"order": name}})
		}
	}
}

// TestTheEventOfTheImportBeatsTheEventOfALine: what a line says of its event counts in no kind of file.
func TestTheEventOfTheImportBeatsTheEventOfALine(t *testing.T) {
	for name, file := range map[string]string{
		"a table": "code,event_id\nKX7QP2M9D4RSX1,8\n",
		"lines":   `{"kind":"ticket","code":"KX7QP2M9D4RSX1","event_id":8}` + "\n",
	} {
		s := congregation(t)
		mustImport(t, s, load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader(file)})
		if got := tickets(t, s); len(got) != 1 || got[0]["event_id"] != 7.0 {
			t.Errorf("%s: tickets = %v, want one of event 7", name, got)
		}
	}
}

// TestAnImportOverrulesNoDecision: a row that would let in what is blocked, refunded or cancelled here is refused as a whole, also by way
// of unpaid, from which any order goes on to paid. All other rows are taken.
func TestAnImportOverrulesNoDecision(t *testing.T) {
	s := congregation(t)
	list := func(name string, states ...string) load.Source {
		var b strings.Builder
		b.WriteString("Código;Nome;Status\n")
		for i, state := range states {
			b.WriteString("KX7" + string(rune('A'+i)) + ";" + name + ";" + state + "\n")
		}
		return load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader(b.String())}
	}
	mustImport(t, s, list("Ana", "blocked", "cancelled", "refunded", "unpaid", "valid", "blocked", "cancelled"))
	const how = ": change it here, or say --reinstate to let the file decide"
	refused := []load.Rejection{{Line: 2, Column: "Status", Reason: "the ticket is blocked here and valid in the file" + how},
		{Line: 3, Column: "Status", Reason: "the ticket is cancelled here and valid in the file" + how},
		{Line: 4, Column: "Status", Reason: "the ticket is refunded here and unpaid in the file" + how}}
	next := []string{"pago", "pago", "pendente", "pago", "bloqueado", "cancelado", "cancelado"}
	for _, dry := range []bool{true, false} {
		src := list("Bia", next...)
		src.DryRun = dry
		if diff := cmp.Diff(load.Report{Updated: 4, Rejected: refused}, core(warned(mustImport(t, s, src)))); diff != "" {
			t.Errorf("dry run %t: report differs (-want +got):\n%s", dry, diff)
		}
	}
	stand := func(when, states, names string) {
		t.Helper()
		var is, called []string
		for _, one := range tickets(t, s) {
			is, called = append(is, one["state"].(string)), append(called, one["holder_name"].(string))
		}
		if strings.Join(is, " ") != states || strings.Join(called, " ") != names {
			t.Errorf("%s: states %v of %v, want %s of %s", when, is, called, states, names)
		}
	}
	stand("the file alone", "blocked cancelled refunded valid blocked cancelled cancelled", "Ana Ana Ana Bia Bia Bia Bia")
	mustImport(t, s, load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader("Código;Nome\nKX7A;Caio\n")})
	stand("a file that says no state", "blocked cancelled refunded valid blocked cancelled cancelled", "Caio Ana Ana Bia Bia Bia Bia")
	src := list("Bia", next...)
	src.Reinstate = true
	if rep := mustImport(t, s, src); len(rep.Rejected) > 0 || rep.Updated != 3 {
		t.Errorf("with --reinstate: %+v, want three changed", rep)
	}
	stand("with --reinstate", "valid valid unpaid valid blocked cancelled cancelled", "Bia Bia Bia Bia Bia Bia Bia")
}

// warned is a report without its warnings.
func warned(rep load.Report) load.Report {
	rep.Warnings = nil
	return rep
}

// TestAnOldExportOverrulesNoDecision: the rows that export wrote before are no exception.
func TestAnOldExportOverrulesNoDecision(t *testing.T) {
	s := congregation(t)
	mustImport(t, s, load.Source{Event: 7, Reader: strings.NewReader(`{"kind":"ticket","id":5,"code":"KX7A","state":"blocked"}`)})
	const before = `{"kind":"ticket","id":5,"event_id":7,"code":"KX7A","state":"valid"}`
	if rep := mustImport(t, s, load.Source{Reader: strings.NewReader(before)}); len(rep.Rejected) != 1 || rep.Rejected[0].Column != "state" {
		t.Errorf("%+v, want the line refused for its state", rep)
	}
	if rep := mustImport(t, s, load.Source{Reader: strings.NewReader(before), Reinstate: true}); rep.Updated != 1 || tickets(t, s)[0]["state"] != "valid" {
		t.Errorf("with --reinstate: %+v, want the ticket valid", rep)
	}
}

// TestAnImportSaysThatItLetsTicketsInAgain: what staff have blocked, a list may open if the operator says so. A ticket that was paid since
// is no matter.
func TestAnImportSaysThatItLetsTicketsInAgain(t *testing.T) {
	s := congregation(t)
	list := func(states ...string) load.Source {
		return load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader("code;state\n" + "KX7QP2M9D4RSX1;" + states[0] + "\nKX7QP2M9D4RSX2;" + states[1] + "\nKX7QP2M9D4RSX3;" + states[2] + "\n")}
	}
	if rep := mustImport(t, s, list("blocked", "unpaid", "cancelled")); len(rep.Warnings) > 0 {
		t.Fatalf("warnings of a first import = %q", rep.Warnings)
	}
	src, written := list("valid", "valid", "refunded"), list("valid", "valid", "refunded")
	src.DryRun, src.Reinstate, written.Reinstate = true, true, true
	const want = "1 ticket was blocked, refunded or cancelled here, and valid by the file, which counts"
	for _, src := range []load.Source{src, written} {
		if rep := mustImport(t, s, src); len(rep.Warnings) != 1 || rep.Warnings[0] != want {
			t.Errorf("dry run %t: warnings = %q, want %q", src.DryRun, rep.Warnings, want)
		}
	}
	if rep := mustImport(t, s, list("valid", "valid", "refunded")); len(rep.Warnings) > 0 {
		t.Errorf("warnings of the same file again = %q", rep.Warnings)
	}
}

// TestAnImportSaysWhatTheListLeavesOut: a shop exports no more what it has refunded. A further list leaves out all, and that is no matter.
func TestAnImportSaysWhatTheListLeavesOut(t *testing.T) {
	s := congregation(t)
	list := func(dry bool, codes ...string) load.Report {
		return mustImport(t, s, load.Source{Kind: "ticket", Event: 7, DryRun: dry, Reader: strings.NewReader("code;state\n" + strings.Join(codes, "\n") + "\n")})
	}
	const a, b, c, d = "KX7QP2M9D4RSX1;valid", "KX7QP2M9D4RSX2;unpaid", "KX7QP2M9D4RSX3;cancelled", "KX7QP2M9D4RSX4;valid"
	const note = "2 tickets of the event are valid or unpaid here and in no row that was taken: a shop may leave cancelled and refunded tickets out; cancel those here"
	for _, one := range []struct {
		rep  load.Report
		want bool
	}{
		{list(false, a, b, c), false}, {list(false, a, b), false}, {list(false, d), false}, {list(true, d), true}, {list(false, d), true},
		{list(false, a, "KX7QP2M9D4RSX2;cancelled", c, "KX7QP2M9D4RSX4;refunded"), false}, {list(false, a), false},
	} {
		if got := strings.Contains(strings.Join(one.rep.Warnings, "\n"), note); got != one.want {
			t.Errorf("%+v: warnings %q, want %q: %t", core(one.rep), one.rep.Warnings, note, one.want)
		}
	}
}

// TestCodesThatLostTheirZerosAreSaid: 012345 is 12345 after a spreadsheet, and no scan finds it.
func TestCodesThatLostTheirZerosAreSaid(t *testing.T) {
	nine := strings.Fields("123456 234567 345678 456789 567891 678912 789123 891234 912345")
	for name, c := range map[string]struct {
		last string
		want bool
	}{"one is shorter": {"12345", true}, "none is": {"812345", false}, "one has its zero": {"012345", false}, "another kind": {"KX7A1", false}} {
		rep := mustImport(t, congregation(t), load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader("Código\n" + strings.Join(append(nine[:9:9], c.last), "\n") + "\n")})
		if got := strings.Contains(strings.Join(rep.Warnings, "\n"), "1 code of digits is shorter than the others"); got != c.want || rep.Created != 10 {
			t.Errorf("%s: %+v, want a note: %t", name, rep, c.want)
		}
	}
}

// TestImportReadsTheGuestOfEachTicket: lists of shops name the guest's e-mail, phone and type of ticket under titles of their own. These were left out,
// and so were titles whose words are written as one.
func TestImportReadsTheGuestOfEachTicket(t *testing.T) {
	want := []m{{"code": "KX-7A1", "holder_name": "Ana Reis", "email": "ana@example.org", "phone": "555101", "type": "VIP"}}
	for name, c := range map[string]told{
		"of the ticket": {text: "Ticket,Ticket Full Name,Ticket Email,Ticket Phone Number,Barcode\nVIP,Ana Reis,ana@example.org,555101,KX-7A1\n", want: want},
		"of the holder": {text: "Ticket Name,Ticket Holder Name,Ticket Holder Email Address,Mobile Number,Barcode,Purchaser Email Address\n" +
			"VIP,Ana Reis,ana@example.org,555101,KX-7A1,b@example.org\n", want: want, ignore: []string{"Purchaser Email Address"}},
		"of the attendee": {text: "TicketCode,Attendee First Name,Attendee Last Name,Attendee Email,Attendee Telephone,Ticket Type\nKX-7A1,Ana,Reis,ana@example.org,555101,VIP\n", want: want},
		"a product": {text: "Public ID,First Name,Last Name,Email,Cell Phone,Ticket Name,Product Name\nKX-7A1,Ana,Reis,ana@example.org,555101,VIP,VIP\n",
			set: map[string]string{"code": "Public ID"}, want: want, ignore: []string{"Product Name"}},
		"words as one":      {text: "ticketCode,fullName,email,phoneNumber,ticketType,paymentStatus\nKX-7A1,Ana Reis,ana@example.org,555101,VIP,paid\n", want: want},
		"first and last":    {text: "Code,First,Last,Email,Cell,Ticket\nKX-7A1,Ana,Reis,ana@example.org,555101,VIP\n", want: want},
		"a code in a QR":    {text: "name,email,phone_number,ticket_name,qr_code_url\nAna Reis,ana@example.org,555101,VIP,KX-7A1\n", want: want},
		"ids of mail":       {text: "Code,Name,Email Id,Mobile No,Ticket Name\nKX-7A1,Ana Reis,ana@example.org,555101,VIP\n", want: want},
		"with a messenger":  {text: "Nº do código de barras;Nome;E-mail;Celular (WhatsApp);Tipo\nKX-7A1;Ana Reis;ana@example.org;555101;VIP\n", want: want},
		"a last name alone": {text: "Code;Vorname;Name;State\nKX-7A1;Ana;Reis;paid\n", want: []m{{"code": "KX-7A1", "holder_name": "Ana Reis"}}},
		"a whole name":      {text: "Code;First;Last;Name;State\nKX-7A1;Ana;Reis;Ana M. Reis;paid\n", want: []m{{"code": "KX-7A1", "holder_name": "Ana M. Reis"}}, ignore: []string{"First", "Last"}},
	} {
		c.check(t, name)
	}
}

// TestImportUnderstandsTheStatesOfShops: a shop says of a guest who is still to come that the ticket is not checked in, and has a column for what is void.
func TestImportUnderstandsTheStatesOfShops(t *testing.T) {
	importsStates(t, map[string]stateCase{
		"not checked in":      {"Code,Ticket Status,Order Status\nKX-7A1,Not Checked In,Completed\nKX-7A2,Checked In,Completed\nKX-7A3,Canceled,Completed\n", states(2, 0, 0, 1), 0},
		"void":                {"Ticket,Void Status,Barcode\nVIP,,KX-7A1\nVIP,true,KX-7A2\nVIP,,KX-7A3\n", states(2, 0, 0, 1), 0},
		"withdrawn":           {"Code,Registration state\nKX-7A1,Completed\nKX-7A2,Withdrawn\nKX-7A3,Pending\n", states(1, 1, 0, 1), 0},
		"words as one":        {"ticketCode,isPaid,isCancelled\nKX-7A1,true,false\nKX-7A2,false,false\nKX-7A3,true,true\n", states(1, 1, 0, 1), 0},
		"who has arrived":     {"Code,Has Arrived\nKX-7A1,No\nKX-7A2,Yes\n", states(2, 0, 0, 0), 0},
		"a code in French":    {"Code barre;Status\n1234567890123;paid\n1234567890124;pending\n", states(1, 1, 0, 0), 0},
		"what is not decided": {"Code,approval_status\nKX-7A1,approved\nKX-7A2,waitlist\nKX-7A3,invited\nKX-7A4,declined\n", states(1, 1, 0, 0), 2},
	})
}

// TestAStatusOfTheCheckInIsNoState: it says who has come in, and not who may. The list asked what Not Checked In means, or took it for a state.
func TestAStatusOfTheCheckInIsNoState(t *testing.T) {
	for title, values := range map[string][2]string{"Check-in Status": {"Checked In", "Not Checked In"}, "Scan Status": {"Scanned", "Not Scanned"}} {
		s := congregation(t)
		rep := mustImport(t, s, load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader(
			"Code," + title + ",Status\nKX-7A1," + values[0] + ",active\nKX-7A2," + values[1] + ",active\nKX-7A3," + values[1] + ",refunded\n")})
		isState := func(c load.Column) bool { return c.Field == "state" && c.Column == title }
		if rep.States["valid"] != 2 || rep.States["refunded"] != 1 || slices.ContainsFunc(rep.Columns, isState) || rep.Entered != 1 {
			t.Errorf("%s: report = %+v, want two valid, one refunded, one that came in", title, rep)
		}
	}
}

// TestImportNamesTheColumnsThatMayHoldTheCodes: an export without a column called a code was answered with one that has a word for all rows, or that counts
// them, or with its first five columns.
func TestImportNamesTheColumnsThatMayHoldTheCodes(t *testing.T) {
	for text, want := range map[string]string{
		"Number,Ticket,Ticket Full Name,Ticket Reference,Unique URL,Price\n1,VIP,Ana Reis,KXAB-1,https://example.org/t/k1,50\n2,VIP,Bia Luz,KXAB-2,https://example.org/t/k2,50\n": "not recognised are “Ticket Reference”, “Unique URL”; say --map 'code=…'",
		"ID,First Name,Last Name,Email,Ticket ID,Product ID,Public ID\n1,Ana,Reis,a@example.org,5,5,A-1K2J\n2,Bia,Luz,b@example.org,5,5,A-1K2K\n":                                 "not recognised are “Public ID”; say --map 'code=…'",
		"TicketID,TicketID Number,Attendee Name,OrderID\n111111111,1,Ana Reis,301\n111111112,2,Bia Luz,302\n":                                                                     "nearest is “TicketID” for code; say --map 'code=TicketID'",
	} {
		src := load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader(text)}
		_, err := load.Import(context.Background(), congregation(t), auth.Operator(), src, nil)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, load.ErrSource) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}
