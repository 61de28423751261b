package load_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"doorward/api/load"

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
	format := "000000"
	style, err := f.NewStyle(&excelize.Style{CustomNumFmt: &format})
	for _, e := range []error{err,
		f.SetSheetRow("Sheet1", "A1", &[]any{"Código", "Telefone", "Pedido"}),
		f.SetSheetRow("Sheet1", "A2", &[]any{42, 5511999990000, 12}), f.SetSheetRow("Sheet1", "A4", &[]any{"K-1", "11 9", 13}),
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
		{"code": "K-1", "phone": "119", "order": "000013", "state": "valid", "event_id": 7.0}}
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
